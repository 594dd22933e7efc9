//! `head` and `tail`: one end of each input, or all but the other.

use std::collections::VecDeque;

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, Result};

use super::{
    input::{Input, Lines, lines},
    inputs::Inputs,
    options::{Known, number},
    output::{Output, refuse},
};

/// Which end is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    Head,
    Tail,
}

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

/// How much is wanted, in lines or in bytes.
#[derive(Clone, Copy)]
enum Part {
    First(u64),
    AllButFirst(u64),
    Last(u64),
    AllButLast(u64),
}

#[async_trait]
impl Command for Ends {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let given = match KNOWN.read(&modern(context.args)) {
            Ok(given) => given,
            Err(words) => return refuse(&context, &words, 1).await,
        };
        if *self == Self::Head
            && let Some(option) = given.last_of("fFs")
        {
            return refuse(&context, &format!("invalid option -- '{option}'"), 1).await;
        }
        let in_bytes = given.last_of("cn") == Some('c');
        let text = given.value(if in_bytes { 'c' } else { 'n' }).unwrap_or("10");
        let Some(part) = self.part(text) else {
            let kind = if in_bytes { "bytes" } else { "lines" };
            return refuse(&context, &format!("invalid number of {kind}: '{text}'"), 1).await;
        };
        let end = if given.has('z') { 0 } else { b'\n' };
        let mut inputs = Inputs::new(&context, &given.operands)
            .explained(|operand, error| format!("cannot open '{operand}' for reading: {error}"));
        let titled = given.last_of("qv").map_or(inputs.left() > 1, |last| last == 'v');
        let mut first = true;
        while let Some((operand, input)) = inputs.next().await? {
            let output = &mut inputs.output;
            if titled {
                let name = if operand == "-" { "standard input" } else { &operand };
                let gap = if std::mem::take(&mut first) { "" } else { "\n" };
                output.put(format!("{gap}==> {name} <==\n").as_bytes()).await?;
            }
            if in_bytes { bytes(input, part, output).await? } else { whole_lines(input, part, end, output).await? }
        }
        inputs.finish().await
    }
}

impl Ends {
    /// What a number means: `-5` is all but five for `head`, `+5` from the fifth for `tail`.
    fn part(self, text: &str) -> Option<Part> {
        let (sign, digits) = match text.split_at_checked(1) {
            Some((sign @ ("-" | "+"), digits)) => (sign, digits),
            _ => ("", text),
        };
        let count = number(digits)?;
        Some(match (self, sign) {
            (Self::Head, "-") => Part::AllButLast(count),
            (Self::Head, _) => Part::First(count),
            (Self::Tail, "+") => Part::AllButFirst(count.saturating_sub(1)),
            (Self::Tail, _) => Part::Last(count),
        })
    }
}

/// `-5` as the first argument means `-n 5`.
fn modern(arguments: &[String]) -> Vec<String> {
    let mut arguments = arguments.to_vec();
    if let Some(first) = arguments.first_mut()
        && let Some(digits) = first.strip_prefix('-')
        && !digits.is_empty()
        && digits.bytes().all(|digit| digit.is_ascii_digit())
    {
        *first = format!("-n{digits}");
    }
    arguments
}

async fn bytes(mut input: Input, part: Part, output: &mut Output) -> Result<()> {
    let (Part::First(count) | Part::AllButFirst(count) | Part::Last(count) | Part::AllButLast(count)) = part;
    let mut left = usize::try_from(count).unwrap_or(usize::MAX);
    let mut held = Vec::new();
    while left > 0 || !matches!(part, Part::First(_)) {
        let Some(piece) = input.next().await? else { break };
        let (near, far) = piece.split_at(piece.len().min(left));
        match part {
            Part::First(_) => output.put(near).await?,
            Part::AllButFirst(_) => output.put(far).await?,
            Part::Last(_) | Part::AllButLast(_) => {
                held.extend_from_slice(&piece);
                let over = held.len().saturating_sub(left);
                if matches!(part, Part::AllButLast(_)) {
                    output.put(&held[..over]).await?;
                }
                held.drain(..over);
                continue;
            }
        }
        left -= near.len();
    }
    if matches!(part, Part::Last(_)) { output.put(&held).await } else { Ok(()) }
}

async fn whole_lines(mut input: Input, part: Part, end: u8, output: &mut Output) -> Result<()> {
    match part {
        Part::First(mut left) => {
            while left > 0 {
                let Some(piece) = input.next().await? else { break };
                let near = skip(&piece, &mut left, end);
                output.put(&piece[..near]).await?;
            }
        }
        Part::AllButFirst(mut left) => {
            while let Some(piece) = input.next().await? {
                let near = skip(&piece, &mut left, end);
                output.put(&piece[near..]).await?;
            }
        }
        Part::Last(count) | Part::AllButLast(count) => {
            let mut whole = Lines::new(input, end);
            let mut held: VecDeque<Vec<u8>> = VecDeque::new();
            while let Some(some) = whole.next_some().await? {
                for line in lines(some, end) {
                    held.push_back(line.to_vec());
                    if held.len() as u64 <= count {
                        continue;
                    }
                    if let (Some(line), Part::AllButLast(_)) = (held.pop_front(), part) {
                        output.put(&line).await?;
                    }
                }
            }
            if matches!(part, Part::Last(_)) {
                for line in held {
                    output.put(&line).await?;
                }
            }
        }
    }
    Ok(())
}

/// Where in a piece this many lines end; what is left of the count is for the next piece.
fn skip(piece: &[u8], left: &mut u64, end: u8) -> usize {
    let mut at = 0;
    while *left > 0 && at < piece.len() {
        match memchr::memchr(end, &piece[at..]) {
            Some(found) => (at, *left) = (at + found + 1, *left - 1),
            None => at = piece.len(),
        }
    }
    at
}
