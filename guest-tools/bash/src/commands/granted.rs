//! Commands that the host runs: native programs that were granted, and tools of plugins.

use std::path::Path;

use async_trait::async_trait;
use bashkit::{BuiltinRegistry, Command, CommandContext, CommandStatus, Result};

use super::output::{complain, refuse};
use crate::{
    host::{self, NotRun},
    place::in_workspace,
};

struct Granted;

/// What `bash` itself answers when a command cannot be run.
const NOT_RUN: i32 = 126;
/// What `timeout` answers.
const OUT_OF_TIME: i32 = 124;
/// What a shell answers for a program that was ended by a signal, if it is not known which.
const ENDED: i32 = 137;

/// Adds a command for each of these names.
pub(crate) fn add(commands: &BuiltinRegistry, names: impl Iterator<Item = String>) {
    names.for_each(|name| commands.insert_command(name, Granted));
}

#[async_trait]
impl Command for Granted {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let Some(directory) = in_workspace(context.cwd) else {
            let words = format!("cannot be run in {}; go to the workspace first", Path::new(context.cwd).display());
            return refuse(&context, &words, NOT_RUN).await;
        };
        let mut input = Vec::new();
        while let Some(piece) = context.stdin.read_chunk().await? {
            input.extend_from_slice(&piece);
        }
        match host::run(context.name, context.args, directory, input) {
            Ok(outcome) => {
                context.stdout.write_all(&outcome.stdout).await?;
                context.stderr.write_all(&outcome.stderr).await?;
                if outcome.omitted > 0 {
                    complain(&context, &format!("{} more bytes of output were left out", outcome.omitted)).await?;
                }
                Ok(CommandStatus::with_code(outcome.code.unwrap_or(ENDED)))
            }
            Err(NotRun::OutOfTime) => refuse(&context, "out of time", OUT_OF_TIME).await,
            Err(NotRun::Refused(words)) => refuse(&context, &words, NOT_RUN).await,
        }
    }
}
