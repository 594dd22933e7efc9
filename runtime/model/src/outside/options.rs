//! Arguments of the operator's that say what is said here already.

use super::{OutsideError, Program};

/// Refuses options that are set here: given twice, a program takes the last one, or none.
pub(super) fn check(program: Program, extra: &[String]) -> Result<(), OutsideError> {
    let managed = |argument: &str| program.managed().iter().any(|option| says(argument, option));
    for (at, argument) in extra.iter().enumerate() {
        let setting = (program == Program::Codex).then(|| super::codex::setting(extra, at)).flatten();
        // What follows a `--` is no option to the program, but ours may follow.
        if argument == "--" || managed(argument) || setting.is_some() {
            let argument = setting.unwrap_or(argument).to_owned();
            return Err(OutsideError::Managed { program: program.name(), instead: instead(&argument), argument });
        }
    }
    Ok(())
}

/// Whether an argument is an option, written as `--option`, `--option=value`, `-o` or `-ovalue`.
fn says(argument: &str, option: &str) -> bool {
    match argument.strip_prefix(option) {
        Some("") => true,
        Some(rest) if option.starts_with("--") => rest.starts_with('='),
        Some(_) => option.starts_with('-') && option.len() == 2,
        None => false,
    }
}

/// Where what an option says is said instead.
fn instead(argument: &str) -> &'static str {
    let option = argument.split('=').next().unwrap_or(argument);
    match option {
        "--model" | "-m" | "model" => " and name the model as `provider:model`",
        "--effort" | "--thinking" | "model_reasoning_effort" => " and set `reasoning_effort` of the agent",
        "--append-system-prompt" | "--system-prompt" | "developer_instructions" => " and write the agent's prompt",
        "--cd" | "-C" => " and use --workspace",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_are_set_here_are_refused() {
        let refused = |program: Program, arguments: &[&str]| {
            let extra: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
            check(program, &extra).is_err()
        };
        let everywhere: [&[&str]; 3] = [&["--model", "x"], &["--model=x"], &["--"]];
        for arguments in everywhere {
            assert!(Program::ALL.into_iter().all(|program| refused(program, arguments)), "{arguments:?}");
        }
        for argument in ["-p", "--print", "--session-id=1", "--resume", "-r", "--output-format", "--effort", "-c"] {
            assert!(refused(Program::Claude, &[argument]), "{argument}");
        }
        for argument in ["--json", "-m", "-mgpt", "--cd", "-C", "resume", "--last", "--ephemeral"] {
            assert!(refused(Program::Codex, &[argument]), "{argument}");
        }
        for setting in [
            &["-c", "model=\"x\""][..],
            &["--config", "model_reasoning_effort=high"],
            &["-capproval_policy=never"],
            &["--config=developer_instructions=x"],
        ] {
            assert!(refused(Program::Codex, setting), "{setting:?}");
        }
        for argument in ["--mode", "--session", "--session-id", "--thinking=high", "--no-session", "-p", "-c"] {
            assert!(refused(Program::Pi, &[argument]), "{argument}");
        }
    }

    #[test]
    fn other_options_are_the_operators_own() {
        let passes = |program: Program, arguments: &[&str]| {
            let extra: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
            assert_eq!(check(program, &extra), Ok(()), "{arguments:?}");
        };
        passes(Program::Claude, &["--bare", "--max-budget-usd", "5", "--models-file", "--allowedTools", "Bash(git *)"]);
        passes(Program::Codex, &["-s", "read-only", "-c", "model_provider=\"x\"", "--skip-git-repo-check"]);
        passes(Program::Pi, &["--tools", "read,grep", "--provider", "x"]);
    }

    #[test]
    fn the_refusal_says_what_to_do() {
        let error = check(Program::Claude, &["--model=x".to_owned()]).unwrap_err().to_string();
        assert_eq!(
            error,
            "claude-cli: the argument `--model=x` is set by this program; remove it from `args` and name the model as \
             `provider:model`"
        );
    }
}
