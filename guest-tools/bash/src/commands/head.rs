//! `head`.

use std::collections::VecDeque;

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, Result};

use super::{
    input::{Input, Lines, lines, operands},
    options::{Known, number},
    output::{Output, complain, refuse},
};

pub(super) struct Head;

const KNOWN: Known = Known {
    short: "c:n:qvz",
    long: &[
        ("bytes", 'c'),
        ("lines", 'n'),
        ("quiet", 'q'),
        ("silent", 'q'),
        ("verbose", 'v'),
        ("zero-terminated", 'z'),
    ],
};

/// How much is wanted.
#[derive(Clone, Copy)]
enum Part {
    Lines(u64),
    Bytes(u64),
    AllButLines(u64),
    AllButBytes(u64),
}

#[async_trait]
impl Command for Head {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let given = match KNOWN.read(&modern(context.args)) {
            Ok(given) => given,
            Err(words) => return refuse(&context, &words, 1).await,
        };
        let part = match part(given.last_of("cn"), |option| given.value(option).unwrap_or("10")) {
            Ok(part) => part,
            Err(words) => return refuse(&context, &words, 1).await,
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

/// `-5` means `-n 5`.
pub(super) fn modern(arguments: &[String]) -> Vec<String> {
    let old = |argument: &String| {
        let digits =
            argument.strip_prefix('-').filter(|digits| digits.starts_with(|first: char| first.is_ascii_digit()));
        digits.filter(|digits| digits.chars().all(|digit| digit.is_ascii_digit())).map(|digits| format!("-n{digits}"))
    };
    match arguments.split_first() {
        Some((first, rest)) => {
            old(first).or_else(|| Some(first.clone())).into_iter().chain(rest.iter().cloned()).collect()
        }
        None => Vec::new(),
    }
}

fn part<'a>(option: Option<char>, value: impl Fn(char) -> &'a str) -> std::result::Result<Part, String> {
    let option = option.unwrap_or('n');
    let text = value(option);
    let (all_but, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let kind = if option == 'c' { "bytes" } else { "lines" };
    let count = number(digits).ok_or_else(|| format!("invalid number of {kind}: '{text}'"))?;
    Ok(match (option, all_but) {
        ('c', false) => Part::Bytes(count),
        ('c', true) => Part::AllButBytes(count),
        (_, false) => Part::Lines(count),
        (_, true) => Part::AllButLines(count),
    })
}

async fn show(mut input: Input, part: Part, end: u8, output: &mut Output) -> Result<()> {
    match part {
        Part::Bytes(mut left) => {
            while left > 0 {
                let Some(piece) = input.next().await? else { break };
                let wanted = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                output.put(&piece[..wanted]).await?;
                left -= wanted as u64;
            }
        }
        Part::Lines(mut left) => {
            while left > 0 {
                let Some(piece) = input.next().await? else { break };
                let mut wanted = 0;
                while left > 0 && wanted < piece.len() {
                    match memchr::memchr(end, &piece[wanted..]) {
                        Some(at) => (wanted, left) = (wanted + at + 1, left - 1),
                        None => wanted = piece.len(),
                    }
                }
                output.put(&piece[..wanted]).await?;
            }
        }
        Part::AllButBytes(count) => {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let mut held = Vec::new();
            while let Some(piece) = input.next().await? {
                held.extend_from_slice(&piece);
                let ready = held.len().saturating_sub(count);
                output.put(&held[..ready]).await?;
                held.drain(..ready);
            }
        }
        Part::AllButLines(count) => {
            let mut whole = Lines::new(input, end);
            let mut held: VecDeque<Vec<u8>> = VecDeque::new();
            while let Some(some) = whole.next_some().await? {
                held.extend(lines(some, end).map(<[u8]>::to_vec));
                while held.len() as u64 > count {
                    if let Some(line) = held.pop_front() {
                        output.put(&line).await?;
                    }
                }
            }
        }
    }
    Ok(())
}
