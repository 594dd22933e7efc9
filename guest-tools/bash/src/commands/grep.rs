//! `grep`, where it is simple and the input may be large: lines that match or do not, as they are read. All else is
//! left to the interpreter's own, which holds its input.

mod pattern;

use std::ops::Range;

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, Result};

use self::pattern::Pattern;
use super::{
    input::{Input, Lines, lines},
    inputs::Inputs,
    nested,
    options::{Given, Known},
    output::complain,
};

pub(super) struct Grep;

/// The options that do not need more than one line at a time.
const KNOWN: Known = Known {
    short: "cEFGhHilnqsvwxe:",
    long: &[
        ("count", 'c'),
        ("extended-regexp", 'E'),
        ("files-with-matches", 'l'),
        ("fixed-strings", 'F'),
        ("ignore-case", 'i'),
        ("invert-match", 'v'),
        ("line-number", 'n'),
        ("line-regexp", 'x'),
        ("no-filename", 'h'),
        ("no-messages", 's'),
        ("quiet", 'q'),
        ("regexp", 'e'),
        ("with-filename", 'H'),
        ("word-regexp", 'w'),
    ],
};

/// Something could not be read.
const TROUBLE: i32 = 2;

#[async_trait]
impl Command for Grep {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        match plan(&context) {
            Some((plan, operands)) => plan.run(&context, &operands).await,
            None => nested::run(&context).await,
        }
    }
}

/// What is looked for, and what is said of it.
struct Plan {
    given: Given,
    pattern: Pattern,
    /// Whether lines are shown under the name of their file.
    named: bool,
}

/// What is asked for, if it is simple.
fn plan(context: &CommandContext<'_>) -> Option<(Plan, Vec<String>)> {
    let given = KNOWN.read(context.args).ok()?;
    let mut operands = given.operands.clone();
    let text = match given.value('e') {
        Some(text) if given.count('e') == 1 => text.to_owned(),
        Some(_) => return None,
        None if operands.is_empty() => return None,
        None => operands.remove(0),
    };
    let pattern = Pattern::new(&text, &given)?;
    let named = given.last_of("hH").map_or(operands.len() > 1, |last| last == 'H');
    Some((Plan { given, pattern, named }, operands))
}

/// What came of one input.
enum Found {
    Lines(u64),
    /// It is not text: that it matches is all that is said.
    Binary,
}

impl Plan {
    async fn run(&self, context: &CommandContext<'_>, operands: &[String]) -> Result<CommandStatus> {
        let quiet = self.given.has('q');
        let mut inputs = Inputs::new(context, operands);
        if self.given.has('s') {
            inputs = inputs.silent();
        }
        let mut any = false;
        while let Some((operand, input)) = inputs.next().await? {
            let name = if operand == "-" { "(standard input)" } else { operand.as_str() };
            let found = self.search(input, name, &mut inputs).await?;
            any |= !matches!(found, Found::Lines(0));
            match found {
                _ if quiet && any => return Ok(CommandStatus::success()),
                Found::Lines(count) if self.given.has('c') && !self.given.has('l') => {
                    let name = if self.named { format!("{name}:") } else { String::new() };
                    inputs.output.put(format!("{name}{count}\n").as_bytes()).await?;
                }
                Found::Lines(1..) | Found::Binary if self.given.has('l') => {
                    inputs.output.put(format!("{name}\n").as_bytes()).await?;
                }
                Found::Binary => {
                    inputs.output.flush().await?;
                    complain(context, &format!("{name}: binary file matches")).await?;
                }
                Found::Lines(_) => {}
            }
        }
        let failed = inputs.has_failed();
        inputs.finish().await?;
        Ok(CommandStatus::with_code(if failed { TROUBLE } else { i32::from(!any) }))
    }

    /// Looks through one input; lines are shown if nothing else was asked for.
    async fn search(&self, input: Input, name: &str, inputs: &mut Inputs<'_>) -> Result<Found> {
        let counts_only = self.given.last_of("cql").is_some();
        let stops_early = self.given.last_of("ql").is_some();
        let prefix = if self.named { format!("{name}:") } else { String::new() };
        let mut shown = Shown { plan: self, prefix: &prefix, number: 0, is_binary: false, text: Vec::new() };
        let mut count = 0;
        let mut whole = Lines::new(input, b'\n');
        while let Some(some) = whole.next_some().await? {
            let regions = self.pattern.regions(some, self.given.has('v'));
            if counts_only {
                count += regions.into_iter().map(|region| count_lines(&some[region])).sum::<u64>();
                if stops_early && count > 0 {
                    break;
                }
                continue;
            }
            count += regions.len() as u64;
            let is_text = shown.take(some, &regions);
            inputs.output.put(&shown.text).await?;
            shown.text.clear();
            if !is_text {
                return Ok(Found::Binary);
            }
        }
        Ok(Found::Lines(count))
    }
}

/// Lines on their way to the output.
struct Shown<'a> {
    plan: &'a Plan,
    prefix: &'a str,
    /// How many lines came before.
    number: u64,
    is_binary: bool,
    text: Vec<u8>,
}

impl Shown<'_> {
    /// Adds the chosen regions of some lines; false if they are no text and not shown.
    fn take(&mut self, some: &[u8], regions: &[Range<usize>]) -> bool {
        let numbered = self.plan.given.has('n');
        self.is_binary |= memchr::memchr(0, some).is_some();
        let mut at = 0;
        for region in regions {
            let chosen = &some[region.clone()];
            if self.is_binary || std::str::from_utf8(chosen).is_err() {
                return false;
            }
            if numbered {
                self.number += count_lines(&some[at..region.start]);
            }
            at = region.end;
            if numbered || !self.prefix.is_empty() {
                lines(chosen, b'\n').for_each(|line| self.line(line, numbered));
            } else {
                self.text.extend_from_slice(chosen);
            }
            if !chosen.ends_with(b"\n") {
                self.text.push(b'\n');
            }
        }
        if numbered {
            self.number += count_lines(&some[at..]);
        }
        true
    }

    fn line(&mut self, line: &[u8], numbered: bool) {
        self.number += 1;
        self.text.extend_from_slice(self.prefix.as_bytes());
        if numbered {
            self.text.extend_from_slice(format!("{}:", self.number).as_bytes());
        }
        self.text.extend_from_slice(line);
    }
}

fn count_lines(text: &[u8]) -> u64 {
    let unfinished = !text.is_empty() && !text.ends_with(b"\n");
    memchr::memchr_iter(b'\n', text).count() as u64 + u64::from(unfinished)
}
