//! `cat`.

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, Result};

use super::{inputs::Inputs, options::Known, output::refuse};

pub(super) struct Cat;

const KNOWN: Known = Known {
    short: "AbeEnstTuv",
    long: &[
        ("number", 'n'),
        ("number-nonblank", 'b'),
        ("show-all", 'A'),
        ("show-ends", 'E'),
        ("show-nonprinting", 'v'),
        ("show-tabs", 'T'),
        ("squeeze-blank", 's'),
    ],
};

/// How lines are shown.
#[derive(Default)]
struct Shown {
    numbers: bool,
    numbers_of_full: bool,
    squeeze: bool,
    ends: bool,
    tabs: bool,
    controls: bool,
    count: u64,
    last_was_empty: bool,
    /// The last line had no end, so what follows belongs to it.
    open: bool,
}

#[async_trait]
impl Command for Cat {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let given = match KNOWN.read(context.args) {
            Ok(given) => given,
            Err(words) => return refuse(&context, &words, 1).await,
        };
        let any = |letters: &str| given.last_of(letters).is_some();
        let mut shown = Shown {
            numbers: any("n") && !any("b"),
            numbers_of_full: any("b"),
            squeeze: any("s"),
            ends: any("AeE"),
            tabs: any("AtT"),
            controls: any("Aetv"),
            ..Shown::default()
        };
        let plain = !any("nbsAeEtTv");
        let mut inputs = Inputs::new(&context, &given.operands);
        while let Some((_, mut input)) = inputs.next().await? {
            if !plain {
                inputs.each_line(input, b'\n', |line, text| shown.line(line, text)).await?;
                continue;
            }
            while let Some(piece) = input.next().await? {
                inputs.output.put(&piece).await?;
            }
        }
        inputs.finish().await
    }
}

impl Shown {
    fn line(&mut self, line: &[u8], text: &mut Vec<u8>) {
        let (body, has_end) = line.strip_suffix(b"\n").map_or((line, false), |body| (body, true));
        let is_empty = body.is_empty();
        if self.squeeze && is_empty && std::mem::replace(&mut self.last_was_empty, is_empty) {
            return;
        }
        self.last_was_empty = is_empty;
        if !std::mem::replace(&mut self.open, !has_end) && (self.numbers || self.numbers_of_full && !is_empty) {
            self.count += 1;
            text.extend_from_slice(format!("{:6}\t", self.count).as_bytes());
        }
        // A line that ends as on Windows shows it, where ends are shown.
        let (body, returns) = match body.strip_suffix(b"\r") {
            Some(rest) if self.ends && has_end && !self.controls => (rest, true),
            _ => (body, false),
        };
        body.iter().for_each(|byte| self.byte(*byte, text));
        text.extend_from_slice(if returns { b"^M" } else { b"" });
        if has_end {
            text.extend_from_slice(if self.ends { b"$\n" } else { b"\n" });
        }
    }

    fn byte(&self, byte: u8, text: &mut Vec<u8>) {
        match byte {
            b'\t' if self.tabs => text.extend_from_slice(b"^I"),
            b'\t' => text.push(byte),
            _ if !self.controls => text.push(byte),
            0..32 => text.extend_from_slice(&[b'^', byte + 64]),
            127 => text.extend_from_slice(b"^?"),
            128.. => {
                text.extend_from_slice(b"M-");
                match byte - 128 {
                    low @ 0..32 => text.extend_from_slice(&[b'^', low + 64]),
                    127 => text.extend_from_slice(b"^?"),
                    low => text.push(low),
                }
            }
            _ => text.push(byte),
        }
    }
}
