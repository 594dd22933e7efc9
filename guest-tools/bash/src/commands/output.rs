//! Where a command writes to, in pieces that are worth a call.

use bashkit::{CommandContext, CommandOutput, CommandStatus, Result};

const PIECE: usize = 16 << 10;

/// Output that is gathered before it is written.
pub(super) struct Output {
    to: CommandOutput,
    held: Vec<u8>,
}

impl Output {
    pub(super) fn new(context: &CommandContext<'_>) -> Self {
        Self { to: context.stdout.clone(), held: Vec::with_capacity(PIECE) }
    }

    /// Writes, now or later.
    pub(super) async fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= PIECE { self.flush().await } else { Ok(()) }
    }

    /// Writes what is gathered.
    pub(super) async fn flush(&mut self) -> Result<()> {
        let written = self.to.write_all(&self.held).await;
        self.held.clear();
        written
    }
}

/// What a command says when something is wrong, under its own name.
pub(super) async fn complain(context: &CommandContext<'_>, words: &str) -> Result<()> {
    context.stderr.write_all(format!("{}: {words}\n", context.name).as_bytes()).await
}

/// Ends a command whose arguments make no sense.
pub(super) async fn refuse(context: &CommandContext<'_>, words: &str, code: i32) -> Result<CommandStatus> {
    complain(context, words).await?;
    Ok(CommandStatus::with_code(code))
}
