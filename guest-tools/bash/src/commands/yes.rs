//! `yes`, for as long as somebody listens.

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, Result};

pub(super) struct Yes;

/// How much is said at once.
const PIECE: usize = 16 << 10;

#[async_trait]
impl Command for Yes {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let word = if context.args.is_empty() { "y".to_owned() } else { context.args.join(" ") };
        let line = format!("{word}\n");
        let piece = line.repeat((PIECE / line.len()).max(1));
        loop {
            context.stdout.write_all(piece.as_bytes()).await?;
        }
    }
}
