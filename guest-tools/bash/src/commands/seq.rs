//! `seq` over whole numbers, as long as it is; of others the interpreter counts a hundred thousand.

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, Result};

use super::{nested, output::Output};

pub(super) struct Seq;

/// What there is to count, as far as it is simple.
struct Count {
    first: i64,
    step: i64,
    last: i64,
    between: String,
    padded: bool,
}

#[async_trait]
impl Command for Seq {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let Some(count) = count(context.args) else { return nested::run(&context).await };
        let width = if count.padded { count.first.to_string().len().max(count.last.to_string().len()) } else { 0 };
        let mut output = Output::new(&context);
        let (mut number, mut is_first) = (Some(count.first), true);
        while let Some(now) = number.filter(|now| if count.step > 0 { *now <= count.last } else { *now >= count.last })
        {
            let gap = if std::mem::take(&mut is_first) { "" } else { &count.between };
            output.put(format!("{gap}{now:0width$}").as_bytes()).await?;
            number = now.checked_add(count.step);
        }
        if !is_first {
            output.put(b"\n").await?;
        }
        output.flush().await?;
        Ok(CommandStatus::success())
    }
}

fn count(arguments: &[String]) -> Option<Count> {
    let (mut between, mut padded) = ("\n".to_owned(), false);
    let mut rest = arguments;
    loop {
        match rest {
            [option, after @ ..] if option == "-w" => (padded, rest) = (true, after),
            [option, text, after @ ..] if option == "-s" => (between, rest) = (text.clone(), after),
            [option, after @ ..] if option.starts_with("-s") => (between, rest) = (option[2..].to_owned(), after),
            _ => break,
        }
    }
    let is_whole = |text: &&String| text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
    let numbers: Option<Vec<i64>> = rest.iter().map(|text| Some(text).filter(is_whole)?.parse().ok()).collect();
    let (first, step, last) = match numbers?.as_slice() {
        [last] => (1, 1, *last),
        [first, last] => (*first, 1, *last),
        [first, step, last] if *step != 0 => (*first, *step, *last),
        _ => return None,
    };
    Some(Count { first, step, last, between, padded })
}
