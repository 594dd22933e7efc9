//! Programs that nobody here wrote, for tests that hold ours against them. `just test` installs them; where they cannot
//! be, such a test is skipped, but not in CI.
#![expect(clippy::disallowed_methods, reason = "tests start programs")]
#![expect(clippy::unwrap_used, reason = "a program that cannot be started fails the test")]

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What a program came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Where a recipe has put a program; none where it is not installed, which is said, and is an error where everything has
/// to be.
pub(crate) fn installed(program: &str, recipe: &str) -> Option<PathBuf> {
    let folder = root().join("target/toolchains").join(program);
    if folder.join("installed").is_file() {
        return Some(folder);
    }
    let why = format!("SKIPPED: {program} is not here; `just {recipe}` installs it");
    assert!(env::var_os("CI").is_none_or(|ci| ci != "true"), "{why}");
    #[expect(clippy::print_stderr, reason = "what is not tested must not go unseen")]
    {
        eprintln!("{why}");
    }
    None
}

/// Where the repository is.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a program to its end, with a home of the test's and nothing of the real user's.
pub(crate) fn run(program: &Path, arguments: &[&str], home: &Path, variables: &[(&str, &str)]) -> Ran {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(home)
        .env_clear()
        .env("HOME", home)
        .env("PATH", env::var_os("PATH").unwrap())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        // What is on this machine is not asked for through somebody else.
        .env("NO_PROXY", "*")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
