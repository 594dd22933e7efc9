//! `palisade stats`: what runs used up.

use anyhow::bail;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use palisade_agent::{LOCAL_TENANT, Span, UsageQuery, UsageRow};
use serde_json::{Value, json};

use crate::{
    Exit,
    commands::completions as complete,
    database::{Desk, Reach},
    render::{Line, Style, Terminal, words},
    sessions::short,
    settings::Settings,
};

/// Show what runs used up: steps, calls, tokens, money, time.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// One row for each of these.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = By::Agent)]
    by: By,
    /// Only runs that began since then: `90m`, `12h`, `7d`, `4w`, or a date such as 2026-11-01 (UTC).
    #[arg(long, value_name = "WHEN", value_parser = since)]
    since: Option<Timestamp>,
    /// Only runs of this agent.
    #[arg(long, value_name = "AGENT", add = complete::agents())]
    agent: Option<String>,
    #[command(flatten)]
    reach: Reach,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum By {
    Agent,
    Session,
    Day,
}

const AFTER_HELP: &str = "\
Examples:
  palisade stats --since 7d
  palisade stats --by day --agent explore --json";

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let desk = Desk::open(&arguments.reach, settings, terminal)?;
    let (by, word) = match arguments.by {
        By::Agent => (Span::Agent, "agent"),
        By::Session => (Span::Session, "session"),
        By::Day => (Span::Day, "day"),
    };
    let query =
        UsageQuery { tenant: LOCAL_TENANT.to_owned(), by, since: arguments.since, agent: arguments.agent.clone() };
    let rows = desk.wait(desk.store.usage(&query))?;
    let total = together(&rows);
    if arguments.json {
        let all: Vec<Value> = rows.iter().map(|row| with_name(word, &row.of, numbers(row))).collect();
        terminal.json(&json!({ "by": word, "since": arguments.since, "rows": all, "total": numbers(&total) }))?;
        return Ok(Exit::Done);
    }
    terminal.line(&titles(word))?;
    for row in &rows {
        let of = match by {
            Span::Session if row.of.is_empty() => "deleted",
            Span::Session => short(&row.of),
            Span::Agent | Span::Day => &row.of,
        };
        terminal.line(&line(Style::Plain, of, row))?;
    }
    if rows.len() != 1 {
        terminal.line(&line(Style::Bold, "together", &total))?;
    }
    Ok(Exit::Done)
}

fn together(rows: &[UsageRow]) -> UsageRow {
    let mut total = UsageRow::default();
    for row in rows {
        total.runs = total.runs.saturating_add(row.runs);
        total.answered = total.answered.saturating_add(row.answered);
        let (sum, own) = (&mut total.spending, &row.spending);
        sum.steps = sum.steps.saturating_add(own.steps);
        sum.calls = sum.calls.saturating_add(own.calls);
        sum.usage += own.usage;
        sum.time = sum.time.saturating_add(own.time);
    }
    total
}

fn numbers(row: &UsageRow) -> Value {
    let spending = &row.spending;
    json!({
        "runs": row.runs,
        "answered": row.answered,
        "steps": spending.steps,
        "calls": spending.calls,
        "usage": spending.usage,
        "micros": u64::try_from(spending.time.as_micros()).unwrap_or(u64::MAX),
    })
}

fn with_name(word: &str, of: &str, numbers: Value) -> Value {
    let mut named = json!({ word: of });
    if let (Value::Object(named), Value::Object(numbers)) = (&mut named, numbers) {
        named.extend(numbers);
    }
    named
}

/// How wide the columns are.
const WIDTHS: [usize; 7] = [5, 8, 6, 6, 12, 10, 10];

fn titles(word: &str) -> Line {
    let line = Line::new().column(Style::Dim, word, 16);
    let names = ["runs", "answered", "steps", "calls", "tokens", "cost", "time"];
    names.iter().zip(WIDTHS).fold(line, |line, (name, width)| right(line, Style::Dim, name, width))
}

fn line(style: Style, of: &str, row: &UsageRow) -> Line {
    let spending = &row.spending;
    let cost = match spending.usage.cost_micros {
        0 => "-".to_owned(),
        micros => words::dollars(micros),
    };
    let cells = [
        words::thousands(row.runs),
        words::thousands(row.answered),
        words::thousands(u64::from(spending.steps)),
        words::thousands(spending.calls),
        words::thousands(spending.usage.total()),
        cost,
        words::seconds(spending.time),
    ];
    let line = Line::new().column(style, of, 16);
    cells.iter().zip(WIDTHS).fold(line, |line, (cell, width)| right(line, style, cell, width))
}

fn right(line: Line, style: Style, text: &str, width: usize) -> Line {
    line.add(style, &format!("{text:>width$}  "))
}

/// Reads a moment: so long ago, or a date.
fn since(text: &str) -> Result<Timestamp, String> {
    moment(text, Timestamp::now()).map_err(|error| error.to_string())
}

fn moment(text: &str, now: Timestamp) -> anyhow::Result<Timestamp> {
    let text = text.trim();
    if let Ok(date) = text.parse::<Date>() {
        return Ok(date.to_zoned(TimeZone::UTC)?.timestamp());
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment);
    }
    let seconds = match text.chars().next_back() {
        Some('m') => 60,
        Some('h') => 60 * 60,
        Some('d') => 24 * 60 * 60,
        Some('w') => 7 * 24 * 60 * 60,
        _ => 0,
    };
    let count = text.get(..text.len().saturating_sub(1)).and_then(|count| count.parse::<u32>().ok());
    let Some(count) = count.filter(|_| seconds > 0) else {
        bail!("write how long ago, such as 7d or 12h, or a date such as 2026-11-01")
    };
    Ok(now.checked_sub(std::time::Duration::from_secs(u64::from(count) * seconds))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read() {
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        let check = |text: &str, expected: &str| assert_eq!(moment(text, now).unwrap().to_string(), expected, "{text}");
        check("7d", "2026-11-09T12:00:00Z");
        check("90m", "2026-11-16T10:30:00Z");
        check("1w", "2026-11-09T12:00:00Z");
        check("2026-11-01", "2026-11-01T00:00:00Z");
        check("2026-11-01T06:00:00Z", "2026-11-01T06:00:00Z");
        for wrong in ["", "d", "7", "7y", "-7d", "soon", "4000000000w", "日"] {
            assert!(moment(wrong, now).is_err(), "{wrong}");
        }
    }
}
