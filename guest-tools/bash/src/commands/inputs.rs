//! The inputs of a command, one after the other.

use std::io;

use bashkit::{CommandContext, CommandStatus, Result};

use super::{
    input::{Input, Lines, lines, operands},
    output::{Output, complain},
};

/// The inputs that a command was given. One that cannot be opened is said to be so, and the others are still
/// read.
pub(super) struct Inputs<'a> {
    context: &'a CommandContext<'a>,
    rest: std::vec::IntoIter<String>,
    explain: fn(&str, &io::Error) -> String,
    code: i32,
    silent: bool,
    /// Where the command writes to.
    pub(super) output: Output,
}

impl<'a> Inputs<'a> {
    /// The operands, or what is piped in.
    pub(super) fn new(context: &'a CommandContext<'a>, given: &[String]) -> Self {
        let explain = |operand: &str, error: &io::Error| format!("{operand}: {error}");
        Self {
            context,
            rest: operands(given).into_iter(),
            explain,
            code: 0,
            silent: false,
            output: Output::new(context),
        }
    }

    /// The same with other words for what cannot be opened.
    pub(super) fn explained(self, explain: fn(&str, &io::Error) -> String) -> Self {
        Self { explain, ..self }
    }

    /// The same without a word about what cannot be opened.
    pub(super) fn silent(self) -> Self {
        Self { silent: true, ..self }
    }

    /// Whether something could not be opened.
    pub(super) fn has_failed(&self) -> bool {
        self.code != 0
    }

    /// How many are left.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next one that can be opened, with its name.
    pub(super) async fn next(&mut self) -> Result<Option<(String, Input)>> {
        for operand in self.rest.by_ref() {
            match Input::open(self.context, &operand).await {
                Ok(input) => return Ok(Some((operand, input))),
                Err(error) => {
                    self.code = 1;
                    if !self.silent {
                        self.output.flush().await?;
                        complain(self.context, &(self.explain)(&operand, &error)).await?;
                    }
                }
            }
        }
        Ok(None)
    }

    /// Passes every line of an input through something that adds to a text.
    pub(super) async fn each_line(
        &mut self,
        input: Input,
        end: u8,
        mut change: impl FnMut(&[u8], &mut Vec<u8>) + Send,
    ) -> Result<()> {
        let mut whole = Lines::new(input, end);
        let mut text = Vec::new();
        while let Some(some) = whole.next_some().await? {
            lines(some, end).for_each(|line| change(line, &mut text));
            self.output.put(&text).await?;
            text.clear();
        }
        Ok(())
    }

    /// Writes what is left, and says how it went.
    pub(super) async fn finish(mut self) -> Result<CommandStatus> {
        self.output.flush().await?;
        Ok(CommandStatus::with_code(self.code))
    }
}
