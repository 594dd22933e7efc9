//! `wc`.

use std::fs;

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, Result};

use super::{
    input::{Input, absolute},
    options::Known,
    output::{Output, complain, refuse},
};
use crate::place::Place;

pub(super) struct Wc;

const KNOWN: Known = Known {
    short: "clmwL",
    long: &[("bytes", 'c'), ("chars", 'm'), ("lines", 'l'), ("max-line-length", 'L'), ("words", 'w')],
};

/// What is counted, in the order in which it is shown.
const COLUMNS: &str = "lwmcL";

#[derive(Clone, Copy, Default)]
struct Counts {
    lines: u64,
    words: u64,
    characters: u64,
    bytes: u64,
    longest: u64,
    in_word: bool,
    line: u64,
}

#[async_trait]
impl Command for Wc {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let given = match KNOWN.read(context.args) {
            Ok(given) => given,
            Err(words) => return refuse(&context, &words, 1).await,
        };
        let asked = |column: &char| match given.last_of(COLUMNS) {
            Some(_) => given.has(*column),
            None => "lwc".contains(*column),
        };
        let columns: Vec<char> = COLUMNS.chars().filter(asked).collect();
        let only_lines_and_bytes = columns.iter().all(|column| "lc".contains(*column));
        let operands = super::input::operands(&given.operands);
        let width = width(&context, &operands, columns.len());
        let row = |counts: &Counts, name: &str| {
            let cells: Vec<String> = columns.iter().map(|column| format!("{:width$}", counts.of(*column))).collect();
            let name = if name.is_empty() { String::new() } else { format!(" {name}") };
            format!("{}{name}\n", cells.join(" "))
        };
        let mut output = Output::new(&context);
        let (mut total, mut code) = (Counts::default(), 0);
        for operand in &operands {
            let mut input = match Input::open(&context, operand).await {
                Ok(input) => input,
                Err(error) => {
                    output.flush().await?;
                    complain(&context, &format!("{operand}: {error}")).await?;
                    code = 1;
                    if error.kind() == std::io::ErrorKind::IsADirectory {
                        output.put(row(&Counts::default(), operand).as_bytes()).await?;
                    }
                    continue;
                }
            };
            let mut counts = Counts::default();
            while let Some(piece) = input.next().await? {
                if only_lines_and_bytes {
                    counts.lines += memchr::memchr_iter(b'\n', &piece).count() as u64;
                    counts.bytes += piece.len() as u64;
                } else {
                    counts.take(&piece);
                }
            }
            counts.longest = counts.longest.max(counts.line);
            let name = if given.operands.is_empty() { "" } else { operand };
            output.put(row(&counts, name).as_bytes()).await?;
            total.add(&counts);
        }
        if operands.len() > 1 {
            output.put(row(&total, "total").as_bytes()).await?;
        }
        output.flush().await?;
        Ok(CommandStatus::with_code(code))
    }
}

impl Counts {
    fn of(&self, column: char) -> u64 {
        match column {
            'l' => self.lines,
            'w' => self.words,
            'm' => self.characters,
            'c' => self.bytes,
            _ => self.longest,
        }
    }

    fn take(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        for byte in piece {
            let starts_character = byte & 0xC0 != 0x80;
            self.characters += u64::from(starts_character);
            let is_space = matches!(byte, b' ' | b'\t'..=b'\r');
            self.words += u64::from(!is_space && !self.in_word);
            self.in_word = !is_space;
            match byte {
                b'\n' => {
                    self.lines += 1;
                    self.longest = self.longest.max(std::mem::take(&mut self.line));
                }
                b'\t' => self.line += 8 - self.line % 8,
                _ => self.line += u64::from(starts_character && *byte >= b' ' && *byte != 127),
            }
        }
    }

    fn add(&mut self, other: &Self) {
        self.lines += other.lines;
        self.words += other.words;
        self.characters += other.characters;
        self.bytes += other.bytes;
        self.longest = self.longest.max(other.longest);
    }
}

/// How wide a column is: as the sum of the sizes is long, and wider if some size is not known before.
fn width(context: &CommandContext<'_>, operands: &[String], columns: usize) -> usize {
    if operands.len() == 1 && columns == 1 {
        return 1;
    }
    let sizes: Vec<Option<u64>> = operands
        .iter()
        .map(|operand| match Place::of(&absolute(context.cwd, operand)) {
            Place::Real(real) if operand != "-" => {
                // What is not there has no size and no row.
                Some(fs::metadata(real).map_or(Some(0), |there| there.is_file().then_some(there.len()))?)
            }
            _ => None,
        })
        .collect();
    let least = if sizes.contains(&None) { 7 } else { 1 };
    sizes.iter().flatten().sum::<u64>().to_string().len().max(least)
}
