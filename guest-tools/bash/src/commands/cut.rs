//! `cut`.

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, Result};

use super::{inputs::Inputs, options::Known, output::refuse};

pub(super) struct Cut;

/// `x` stands for `--complement`, `o` for `--output-delimiter`; they have no short form of their own.
const KNOWN: Known = Known {
    short: "b:c:d:f:nso:xz",
    long: &[
        ("bytes", 'b'),
        ("characters", 'c'),
        ("complement", 'x'),
        ("delimiter", 'd'),
        ("fields", 'f'),
        ("only-delimited", 's'),
        ("output-delimiter", 'o'),
        ("zero-terminated", 'z'),
    ],
};

/// What to cut out, and how.
struct Plan {
    kind: char,
    ranges: Vec<(usize, usize)>,
    complement: bool,
    delimiter: u8,
    joint: Option<Vec<u8>>,
    only_delimited: bool,
    end: u8,
}

#[async_trait]
impl Command for Cut {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let given = match KNOWN.read(context.args) {
            Ok(given) => given,
            Err(words) => return refuse(&context, &words, 1).await,
        };
        let Some(kind) = given.last_of("bcf") else {
            return refuse(&context, "you must specify a list of bytes, characters, or fields", 1).await;
        };
        let list = given.value(kind).unwrap_or_default();
        let Some(ranges) = ranges(list) else {
            return refuse(
                &context,
                &format!("invalid {} value '{list}'", if kind == 'f' { "field" } else { "byte/character position" }),
                1,
            )
            .await;
        };
        let delimiter = match given.value('d').map(str::as_bytes) {
            None => b'\t',
            Some([]) => 0,
            Some([delimiter]) => *delimiter,
            Some(_) => return refuse(&context, "the delimiter must be a single character", 1).await,
        };
        let plan = Plan {
            kind,
            ranges,
            complement: given.has('x'),
            delimiter,
            joint: given.value('o').map(|text| text.as_bytes().to_vec()),
            only_delimited: given.has('s'),
            end: if given.has('z') { 0 } else { b'\n' },
        };
        let mut inputs = Inputs::new(&context, &given.operands);
        while let Some((_, input)) = inputs.next().await? {
            inputs.each_line(input, plan.end, |line, text| plan.cut(line, text)).await?;
        }
        inputs.finish().await
    }
}

impl Plan {
    fn cut(&self, line: &[u8], text: &mut Vec<u8>) {
        let body = line.strip_suffix(&[self.end]).unwrap_or(line);
        match self.kind {
            'f' if memchr::memchr(self.delimiter, body).is_none() => {
                if self.only_delimited {
                    return;
                }
                text.extend_from_slice(body);
            }
            'f' => {
                let joint = self.joint.as_deref().unwrap_or(std::slice::from_ref(&self.delimiter));
                self.join(body.split(|byte| *byte == self.delimiter), joint, text);
            }
            // GNU's characters are bytes, too.
            _ => self.join(body.chunks(1), self.joint.as_deref().unwrap_or_default(), text),
        }
        text.push(self.end);
    }

    /// Puts the chosen parts together. Between characters there is something only where a range ends.
    fn join<'a>(&self, parts: impl Iterator<Item = &'a [u8]>, joint: &[u8], text: &mut Vec<u8>) {
        let mut last: Option<usize> = None;
        for (index, part) in parts.enumerate() {
            let number = index + 1;
            let chosen = self.ranges.iter().any(|(from, to)| (*from..=*to).contains(&number));
            if chosen == self.complement {
                continue;
            }
            let apart = self.kind == 'f' || last.is_some_and(|last| last + 1 != number || self.begins(number));
            if last.is_some() && apart {
                text.extend_from_slice(joint);
            }
            text.extend_from_slice(part);
            last = Some(number);
        }
    }

    fn begins(&self, number: usize) -> bool {
        !self.complement && self.ranges.iter().any(|(from, _)| *from == number)
    }
}

/// A list such as `1,3-5,7-`, in order, with what touches put together.
fn ranges(list: &str) -> Option<Vec<(usize, usize)>> {
    let place = |text: &str| text.parse::<usize>().ok().filter(|place| *place > 0);
    let mut ranges = Vec::new();
    for range in list.split([',', ' ']) {
        ranges.push(match range.split_once('-') {
            None => place(range).map(|place| (place, place))?,
            Some(("", "")) => return None,
            Some((from, to)) => {
                let from = if from.is_empty() { 1 } else { place(from)? };
                let to = if to.is_empty() { usize::MAX } else { place(to)? };
                (from <= to).then_some((from, to))?
            }
        });
    }
    ranges.sort_unstable();
    let mut merged: Vec<(usize, usize)> = Vec::new();
    for (from, to) in ranges {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    Some(merged)
}
