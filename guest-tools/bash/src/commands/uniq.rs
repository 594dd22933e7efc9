//! `uniq`.

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, Result};

use super::{
    input::{Input, Lines, absolute, lines},
    options::Known,
    output::{Output, refuse},
};

pub(super) struct Uniq;

const KNOWN: Known = Known {
    short: "cdDf:is:uw:z",
    long: &[
        ("all-repeated", 'D'),
        ("check-chars", 'w'),
        ("count", 'c'),
        ("ignore-case", 'i'),
        ("repeated", 'd'),
        ("skip-chars", 's'),
        ("skip-fields", 'f'),
        ("unique", 'u'),
        ("zero-terminated", 'z'),
    ],
};

/// What makes two lines the same, and which are shown.
struct Plan {
    counts: bool,
    repeated: bool,
    all_repeated: bool,
    single: bool,
    same_case: bool,
    skip_fields: usize,
    skip: usize,
    most: usize,
    end: u8,
}

#[async_trait]
impl Command for Uniq {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let given = match KNOWN.read(context.args) {
            Ok(given) => given,
            Err(words) => return refuse(&context, &words, 1).await,
        };
        let number = |option: char, otherwise: usize| match given.value(option) {
            Some(text) => text.parse().map_err(|_| format!("{text}: invalid number")),
            None => Ok(otherwise),
        };
        let (skip_fields, skip, most) = match (number('f', 0), number('s', 0), number('w', usize::MAX)) {
            (Ok(fields), Ok(skip), Ok(most)) => (fields, skip, most),
            (Err(words), ..) | (_, Err(words), _) | (.., Err(words)) => return refuse(&context, &words, 1).await,
        };
        let plan = Plan {
            counts: given.has('c'),
            repeated: given.has('d'),
            all_repeated: given.has('D'),
            single: given.has('u'),
            same_case: !given.has('i'),
            skip_fields,
            skip,
            most,
            end: if given.has('z') { 0 } else { b'\n' },
        };
        let from = given.operands.first().map_or("-", String::as_str);
        let input = match Input::open(&context, from).await {
            Ok(input) => input,
            Err(error) => return refuse(&context, &format!("{from}: {error}"), 1).await,
        };
        let mut whole = Lines::new(input, plan.end);
        let (mut held, mut count): (Option<Vec<u8>>, u64) = (None, 0);
        let mut text = Vec::new();
        let mut output = Output::new(&context);
        let mut to_file = Vec::new();
        while let Some(some) = whole.next_some().await? {
            for line in lines(some, plan.end) {
                let line = line.strip_suffix(&[plan.end]).unwrap_or(line);
                if held.as_ref().is_some_and(|held| plan.same(held, line)) {
                    if plan.all_repeated && count == 1 {
                        plan.put(held.as_deref().unwrap_or_default(), &mut text);
                    }
                    count += 1;
                    if plan.all_repeated {
                        plan.put(line, &mut text);
                    }
                    continue;
                }
                plan.show(held.as_deref(), count, &mut text);
                (held, count) = (Some(line.to_vec()), 1);
            }
            match given.operands.get(1) {
                Some(_) => to_file.append(&mut text),
                None => output.put(&text).await?,
            }
            text.clear();
        }
        plan.show(held.as_deref(), count, &mut text);
        match given.operands.get(1) {
            Some(to) => {
                to_file.append(&mut text);
                context.fs.write_file(&absolute(context.cwd, to), &to_file).await?;
            }
            None => output.put(&text).await?,
        }
        output.flush().await?;
        Ok(CommandStatus::success())
    }
}

impl Plan {
    fn put(&self, line: &[u8], text: &mut Vec<u8>) {
        text.extend_from_slice(line);
        text.push(self.end);
    }

    fn show(&self, line: Option<&[u8]>, count: u64, text: &mut Vec<u8>) {
        let Some(line) = line else { return };
        if self.all_repeated || self.repeated && count < 2 || self.single && count > 1 {
            return;
        }
        if self.counts {
            text.extend_from_slice(format!("{count:7} ").as_bytes());
        }
        self.put(line, text);
    }

    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        let (a, b) = (self.key(a), self.key(b));
        if self.same_case { a == b } else { a.eq_ignore_ascii_case(b) }
    }

    fn key<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let mut rest = line;
        for _ in 0..self.skip_fields {
            let blanks = rest.iter().take_while(|byte| is_blank(byte)).count();
            rest = &rest[blanks..];
            let field = rest.iter().take_while(|byte| !is_blank(byte)).count();
            rest = &rest[field..];
        }
        let rest = &rest[self.skip.min(rest.len())..];
        &rest[..self.most.min(rest.len())]
    }
}
