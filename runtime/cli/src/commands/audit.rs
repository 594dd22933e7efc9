//! `palisade audit`: what happened that somebody may want to look into.

use palisade_agent::{AuditRecord, LOCAL_TENANT};
use serde_json::{Value, json};

use crate::{
    Exit,
    commands::completions as complete,
    database::{Desk, Reach},
    render::{Line, Style, Terminal},
    sessions::{by_word, short},
    settings::Settings,
};

/// Show what was written down to be looked into: agents that were started by others and what was cut from them,
/// requests that were refused, runs that were taken over, compiled code that somebody changed.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Only of this session: its id, the beginning of it, or its name.
    #[arg(long, value_name = "SESSION", add = complete::sessions())]
    session: Option<String>,
    /// Only of this kind, such as `spawn` or `refused`.
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// At most so many of the last ones.
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    #[command(flatten)]
    reach: Reach,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  palisade audit
  palisade audit --kind refused --json
  palisade audit --session \"login page\"";

/// How many records are looked at for those of one kind.
const LOOKED_AT: usize = 10_000;

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let desk = Desk::open(&arguments.reach, settings, terminal)?;
    let limit = arguments.limit as usize;
    let mut records = desk.wait(async {
        let session = match &arguments.session {
            Some(word) => Some(by_word(desk.store.as_ref(), None, word).await?.id),
            None => None,
        };
        let wanted = if arguments.kind.is_some() { LOOKED_AT } else { limit };
        anyhow::Ok(desk.store.audits(LOCAL_TENANT, session.as_deref(), wanted).await?)
    })?;
    records.retain(|record| arguments.kind.as_ref().is_none_or(|kind| *kind == record.kind));
    records.truncate(limit);
    if arguments.json {
        terminal.json(&records.iter().map(value).collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    // The last one stands where one looks.
    for record in records.iter().rev() {
        let at = record.at.map(|at| at.strftime("%Y-%m-%d %H:%M:%S").to_string()).unwrap_or_default();
        let line = Line::new().column(Style::Dim, &at, 20).column(Style::Bold, &record.kind, 20);
        let session = record.session.as_deref().map(|session| format!("{}  ", short(session))).unwrap_or_default();
        terminal.line(&line.add(Style::Dim, &session).add(Style::Plain, &words(&record.detail)))?;
    }
    Ok(Exit::Done)
}

fn value(record: &AuditRecord) -> Value {
    let AuditRecord { at, session, run, kind, detail, .. } = record;
    json!({ "at": at, "kind": kind, "session": session, "run": run, "detail": detail })
}

/// What is worth a line of it: who, by whom, why, what was cut. All of it is in the JSON.
fn words(detail: &Value) -> String {
    let text = |name: &str| match detail.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(items)) if !items.is_empty() => {
            let items = items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned));
            Some(items.collect::<Vec<_>>().join(if name == "chain" { " → " } else { "; " }))
        }
        _ => None,
    };
    let parts = ["chain", "agent", "tool", "code", "why", "cut", "entry"];
    parts.iter().filter_map(|name| Some(format!("{name}: {}", text(name)?))).collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_who_was_started_by_whom_and_what_was_cut() {
        let detail = json!({ "agent": "helper", "chain": ["boss", "clerk"], "cut": ["files", "hosts"], "ceiling": {} });
        assert_eq!(words(&detail), "chain: boss → clerk  agent: helper  cut: files; hosts");
        assert_eq!(words(&json!({ "chain": [], "why": "no" })), "why: no");
    }
}
