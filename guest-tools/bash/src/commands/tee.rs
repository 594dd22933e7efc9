//! `tee`.

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, Error, Result};

use super::{
    input::absolute,
    options::Known,
    output::{complain, refuse},
};

pub(super) struct Tee;

const KNOWN: Known = Known { short: "aip", long: &[("append", 'a'), ("ignore-interrupts", 'i')] };

#[async_trait]
impl Command for Tee {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let given = match KNOWN.read(context.args) {
            Ok(given) => given,
            Err(words) => return refuse(&context, &words, 1).await,
        };
        let mut code = 0;
        let mut files = Vec::new();
        for operand in &given.operands {
            let path = absolute(context.cwd, operand);
            let opened = if given.has('a') {
                context.fs.append_file(&path, b"").await
            } else {
                context.fs.write_file(&path, b"").await
            };
            match opened {
                Ok(()) => files.push((operand, path)),
                Err(Error::Io(error)) => {
                    complain(&context, &format!("{operand}: {error}")).await?;
                    code = 1;
                }
                Err(error) => return Err(error),
            }
        }
        while let Some(piece) = context.stdin.read_chunk().await? {
            for (operand, path) in &files {
                if let Err(Error::Io(error)) = context.fs.append_file(path, &piece).await {
                    complain(&context, &format!("{operand}: {error}")).await?;
                    code = 1;
                }
            }
            context.stdout.write_all(&piece).await?;
        }
        Ok(CommandStatus::with_code(code))
    }
}
