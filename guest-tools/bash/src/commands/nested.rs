//! The interpreter's own command of a name that one of ours has taken, for what ours does not do.

use bashkit::{CommandContext, CommandOutput, CommandStatus, ExecOptions, Result};

use crate::interpreter;

/// Runs it with the same arguments, files and input, which it holds as a whole.
pub(super) async fn run(context: &CommandContext<'_>) -> Result<CommandStatus> {
    let mut input = Vec::new();
    while let Some(piece) = context.stdin.read_chunk().await? {
        input.extend_from_slice(&piece);
    }
    let to = |output: &CommandOutput| {
        let output = output.clone();
        move |bytes: Vec<u8>| {
            let output = output.clone();
            async move { output.write_all(&bytes).await }
        }
    };
    let mut shell = interpreter::plain(context.cwd).fs(context.fs.clone()).build();
    let options = ExecOptions::new().positional(context.args.iter().cloned()).stdin(input);
    let script = format!("{} \"$@\"", context.name);
    let running = shell.execute(&script).options(options);
    let ended = running.stdout_fn(to(&context.stdout)).stderr_fn(to(&context.stderr)).await?;
    Ok(CommandStatus::with_code(ended.exit_code))
}
