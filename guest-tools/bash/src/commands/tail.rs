//! `tail`.

use std::collections::VecDeque;

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, Result};

use super::{
    head::modern,
    input::{Input, Lines, lines, operands},
    options::{Known, number},
    output::{Output, complain, refuse},
};

pub(super) struct Tail;

/// `-f` is taken and means nothing: nobody else writes while a script runs.
const KNOWN: Known = Known {
    short: "c:fFn:qs:vz",
    long: &[
        ("bytes", 'c'),
        ("follow", 'f'),
        ("lines", 'n'),
        ("quiet", 'q'),
        ("silent", 'q'),
        ("verbose", 'v'),
        ("zero-terminated", 'z'),
    ],
};

#[derive(Clone, Copy)]
enum Part {
    Lines(u64),
    Bytes(u64),
    FromLine(u64),
    FromByte(u64),
}

#[async_trait]
impl Command for Tail {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let given = match KNOWN.read(&modern(context.args)) {
            Ok(given) => given,
            Err(words) => return refuse(&context, &words, 1).await,
        };
        let option = given.last_of("cn").unwrap_or('n');
        let text = given.value(option).unwrap_or("10");
        let Some(part) = part(option, text) else {
            let kind = if option == 'c' { "bytes" } else { "lines" };
            return refuse(&context, &format!("invalid number of {kind}: '{text}'"), 1).await;
        };
        let end = if given.has('z') { 0 } else { b'\n' };
        let operands = operands(&given.operands);
        let titled = given.last_of("qv").map_or(operands.len() > 1, |last| last == 'v');
        let mut output = Output::new(&context);
        let (mut code, mut first) = (0, true);
        for operand in &operands {
            let input = match Input::open(&context, operand).await {
                Ok(input) => input,
                Err(error) => {
                    output.flush().await?;
                    complain(&context, &format!("cannot open '{operand}' for reading: {error}")).await?;
                    code = 1;
                    continue;
                }
            };
            if titled {
                let name = if operand == "-" { "standard input" } else { operand };
                let gap = if std::mem::take(&mut first) { "" } else { "\n" };
                output.put(format!("{gap}==> {name} <==\n").as_bytes()).await?;
            }
            show(input, part, end, &mut output).await?;
        }
        output.flush().await?;
        Ok(CommandStatus::with_code(code))
    }
}

fn part(option: char, text: &str) -> Option<Part> {
    if let Some(digits) = text.strip_prefix('+') {
        let from = number(digits)?;
        return Some(if option == 'c' { Part::FromByte(from) } else { Part::FromLine(from) });
    }
    let count = number(text.strip_prefix('-').unwrap_or(text))?;
    Some(if option == 'c' { Part::Bytes(count) } else { Part::Lines(count) })
}

async fn show(mut input: Input, part: Part, end: u8, output: &mut Output) -> Result<()> {
    match part {
        Part::FromByte(from) => {
            let mut skip = from.saturating_sub(1);
            while let Some(piece) = input.next().await? {
                let skipped = piece.len().min(usize::try_from(skip).unwrap_or(usize::MAX));
                skip -= skipped as u64;
                output.put(&piece[skipped..]).await?;
            }
        }
        Part::FromLine(from) => {
            let mut skip = from.saturating_sub(1);
            while let Some(piece) = input.next().await? {
                let mut at = 0;
                while skip > 0 && at < piece.len() {
                    match memchr::memchr(end, &piece[at..]) {
                        Some(found) => (at, skip) = (at + found + 1, skip - 1),
                        None => at = piece.len(),
                    }
                }
                output.put(&piece[at..]).await?;
            }
        }
        Part::Bytes(count) => {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let mut held = Vec::new();
            while let Some(piece) = input.next().await? {
                held.extend_from_slice(&piece);
                held.drain(..held.len().saturating_sub(count));
            }
            output.put(&held).await?;
        }
        Part::Lines(count) => {
            let mut whole = Lines::new(input, end);
            let mut held: VecDeque<Vec<u8>> = VecDeque::new();
            while let Some(some) = whole.next_some().await? {
                for line in lines(some, end) {
                    held.push_back(line.to_vec());
                    if held.len() as u64 > count {
                        held.pop_front();
                    }
                }
            }
            for line in held {
                output.put(&line).await?;
            }
        }
    }
    Ok(())
}
