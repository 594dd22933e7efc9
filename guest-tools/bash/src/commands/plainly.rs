//! Commands of the interpreter that end the whole script where a file cannot be read or written, or call that an
//! `io error`. Here they say it as elsewhere, and the script goes on.

use async_trait::async_trait;
use bashkit::{BashBuilder, Command, CommandContext, CommandStatus, Error, Result};

use super::{nested, output::refuse};

struct Plainly;

/// None of them is run so often that a shell inside of the shell would be felt.
const NAMES: [&str; 21] = [
    "b2sum",
    "cksum",
    "dd",
    "gunzip",
    "gzip",
    "install",
    "join",
    "md5sum",
    "mkfifo",
    "patch",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shuf",
    "split",
    "tar",
    "truncate",
    "unzip",
    "zip",
];

pub(super) fn add(builder: BashBuilder) -> BashBuilder {
    NAMES.into_iter().fold(builder, |builder, name| builder.command(name, Plainly))
}

#[async_trait]
impl Command for Plainly {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        match nested::run(&context).await {
            Err(Error::Io(error)) => refuse(&context, &error.to_string(), 1).await,
            ended => ended,
        }
    }
}
