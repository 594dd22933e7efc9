//! The interpreter's own command of a name that one of ours has taken, for what ours does not do.

use bashkit::{CommandContext, CommandOutput, CommandStatus, ExecOptions, Result};

use crate::interpreter;

/// Runs it with the same arguments, files and input, which it holds as a whole.
pub(super) async fn run(context: &CommandContext<'_>) -> Result<CommandStatus> {
    let mut input = Vec::new();
    while let Some(piece) = context.stdin.read_chunk().await? {
        input.extend_from_slice(&piece);
    }
    let to = |output: &CommandOutput, change: fn(Vec<u8>) -> Vec<u8>| {
        let output = output.clone();
        move |bytes: Vec<u8>| {
            let output = output.clone();
            async move { output.write_all(&change(bytes)).await }
        }
    };
    let mut shell = interpreter::plain(context.cwd).fs(context.fs.clone()).build();
    let options = ExecOptions::new().positional(context.args.iter().cloned()).stdin(input);
    let script = format!("{} \"$@\"", context.name);
    let running = shell.execute(&script).options(options);
    let ended = running.stdout_fn(to(&context.stdout, |bytes| bytes)).stderr_fn(to(&context.stderr, plain)).await?;
    Ok(CommandStatus::with_code(ended.exit_code))
}

/// What went wrong with a file, without the name that the interpreter has for such errors.
fn plain(said: Vec<u8>) -> Vec<u8> {
    match std::str::from_utf8(&said) {
        Ok(text) if text.contains(MARK) => text.replace(MARK, ": ").into_bytes(),
        _ => said,
    }
}

const MARK: &str = ": io error: ";
