//! The author's own tools: cargo, python, npm. They run as the author, outside of any sandbox.

use std::{
    ffi::OsStr,
    fmt, io,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::Context as _;

/// What is wrong with the author's sources, as the compiler says it.
#[derive(Debug)]
pub(crate) struct Mistake {
    /// What did not work.
    pub(crate) what: String,
    /// What the compiler printed.
    pub(crate) printed: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}\n{}", self.what, self.printed.trim_end())
    }
}

impl std::error::Error for Mistake {}

/// A program to be run.
pub(super) struct Program {
    command: Command,
    name: String,
    /// What to do when it is not there.
    remedy: &'static str,
}

impl Program {
    #[expect(clippy::disallowed_methods, reason = "this file owns running the author's tools")]
    pub(super) fn new(program: impl AsRef<OsStr>, remedy: &'static str) -> Self {
        let name = Path::new(&program).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut command = Command::new(program);
        command.stdin(Stdio::null());
        Self { command, name, remedy }
    }

    pub(super) fn arguments<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    pub(super) fn in_folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    pub(super) fn with(mut self, variable: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(variable, value);
        self
    }

    pub(super) fn without(mut self, variable: &str) -> Self {
        self.command.env_remove(variable);
        self
    }

    /// Runs it and gives what it printed on standard output. If it fails, `what` did not work, and what it
    /// printed says why.
    pub(super) fn run(mut self, what: &str) -> anyhow::Result<String> {
        let output = match self.command.output() {
            Ok(output) => output,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                anyhow::bail!("`{}` is not on this machine; {}", self.name, self.remedy)
            }
            Err(error) => return Err(error).with_context(|| format!("`{}` cannot be run", self.name)),
        };
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(stdout);
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        // Compilers speak on standard error; some on the other one.
        let printed = if stderr.trim().is_empty() { stdout } else { stderr.into_owned() };
        Err(Mistake { what: what.to_owned(), printed }.into())
    }
}
