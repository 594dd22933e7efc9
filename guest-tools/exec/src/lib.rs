//! `exec`: a native program that was granted, run by the host behind its walls.

use palisade_tool::{
    Failure,
    process::{self, Command, Error, Outcome},
};
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `exec`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The program, such as `cargo`.
    program: String,
    /// Its arguments, one by one. There is no shell: quotes, `*`, `$` and `|` mean themselves.
    #[serde(default)]
    arguments: Vec<String>,
    /// The folder to run it in, relative to the workspace; the workspace itself if not given.
    #[serde(default)]
    directory: String,
    /// What it reads on its standard input.
    #[serde(default)]
    input: String,
}

palisade_tool::tool! {
    /// Runs one of the native programs that were granted, such as `cargo test` or `git diff`, and returns
    /// its exit code and what it printed. It is no shell: give the program and its arguments one by one.
    /// The program sees the granted folders; it can change files that are there if they are granted
    /// read-write, and makes new files only below $HOME, $TMPDIR and $CARGO_TARGET_DIR, which are gone
    /// afterwards. It has no network unless one was granted, and nothing it starts goes on after it.
    #[tool(needs = ["exec", "fs.read", "fs.write", "env"], read_only = false, idempotent = false)]
    pub fn exec(input: Input) -> Result<String, Failure> {
        let Input { program, arguments, directory, input } = input;
        if program.trim().is_empty() {
            return Err(Failure::InvalidInput("`program` is empty".to_owned()));
        }
        if program.contains(char::is_whitespace) {
            let fix = "it is one word; put the others into `arguments`";
            return Err(Failure::InvalidInput(format!("`program` has spaces: {fix}")));
        }
        // What is absolute stays so, and is refused.
        let directory = match directory.trim_start_matches("./") {
            "." => String::new(),
            absolute if absolute.starts_with('/') => absolute.to_owned(),
            relative => relative.trim_end_matches('/').to_owned(),
        };
        let command = Command { program, arguments, directory, input: input.into_bytes() };
        match process::run(&command) {
            Ok(outcome) => Ok(report(&outcome)),
            Err(Error::Denied(why)) => Err(Failure::Denied(why)),
            Err(Error::Failed(why)) => Err(Failure::Failed(why)),
            Err(Error::OutOfTime) => {
                let fix = "run less at once, or ask for more time (`[exec] time` in the configuration)";
                Err(Failure::Failed(format!("the program took too long and was ended; {fix}")))
            }
        }
    }
}

/// What the model reads.
fn report(outcome: &Outcome) -> String {
    let mut text = match outcome.code {
        Some(code) => format!("exit code: {code}\n"),
        None => "exit code: none, a signal ended it\n".to_owned(),
    };
    for (name, bytes) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
        let printed = String::from_utf8_lossy(bytes);
        if !printed.trim().is_empty() {
            text += &format!("{name}:\n{}\n", printed.trim_end());
        }
    }
    if outcome.omitted > 0 {
        text += &format!("({} more bytes were printed and not kept)\n", outcome.omitted);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_in_place_of_a_program_is_sent_back() {
        assert!(matches!(call(r#"{"program":"cargo test"}"#), Err(Failure::InvalidInput(_))));
        assert!(matches!(call(r#"{"program":" "}"#), Err(Failure::InvalidInput(_))));
        assert!(matches!(call(r#"{"command":"ls"}"#), Err(Failure::InvalidInput(_))));
    }

    #[test]
    fn a_report_has_the_code_and_both_streams() {
        let outcome = Outcome { code: Some(101), stdout: b"one\n".to_vec(), stderr: b"two\n\n".to_vec(), omitted: 7 };
        let expected = "exit code: 101\nstdout:\none\nstderr:\ntwo\n(7 more bytes were printed and not kept)\n";
        assert_eq!(report(&outcome), expected);
        let ended = Outcome { code: None, stdout: Vec::new(), stderr: Vec::new(), omitted: 0 };
        assert_eq!(report(&ended), "exit code: none, a signal ended it\n");
    }
}
