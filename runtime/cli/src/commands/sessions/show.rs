//! `palisade sessions show`: what was said and done in a session. All of it comes from models, guests and files, so
//! all of it is made harmless.

use std::collections::HashMap;

use palisade_agent::{
    Ending, Entry, LOCAL_TENANT, Numbered, RunRecord, RunState, Session, SessionKey, ToolCall, ToolOutcome, ToolResult,
};
use serde_json::json;

use super::{One, list::ago};
use crate::{
    Exit,
    render::{Line, Style, Terminal, words},
    sessions::entries,
    settings::Settings,
};

/// Show what was said and done in a session.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    one: One,
    /// Print JSON: the session and its entries.
    #[arg(long)]
    json: bool,
}

/// What came of calls, by their ids.
type Results<'e> = HashMap<&'e str, &'e ToolResult>;

fn result(entry: &Entry) -> Option<(&str, &ToolResult)> {
    match entry {
        Entry::Result { id, result } => Some((id.as_str(), result)),
        _ => None,
    }
}

/// How many lines of a result are shown.
const RESULT_LINES: usize = 6;

pub(super) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (desk, session) = arguments.one.find(settings, terminal)?;
    let key = SessionKey::new(LOCAL_TENANT, session.id.clone());
    let entries = desk.wait(entries(desk.store.as_ref(), &key))?;
    let last = desk.wait(desk.store.last_run(&key))?;
    if arguments.json {
        let entry =
            |numbered: &Numbered| json!({ "number": numbered.number, "at": numbered.at, "entry": numbered.entry });
        let all: Vec<_> = entries.iter().map(entry).collect();
        terminal.json(&json!({ "session": session, "lastRun": last.as_ref().map(run_json), "entries": all }))?;
        return Ok(Exit::Done);
    }
    head(&session, last.as_ref(), terminal)?;
    let results: Results<'_> = entries.iter().filter_map(|numbered| result(&numbered.entry)).collect();
    entries.iter().try_for_each(|numbered| print(&numbered.entry, &results, terminal))?;
    Ok(Exit::Done)
}

fn run_json(run: &RunRecord) -> serde_json::Value {
    let (state, ending) = match &run.state {
        RunState::Open { .. } => ("open", None),
        RunState::Ended { ending, .. } => ("ended", ending.as_ref()),
    };
    json!({
        "runId": run.id,
        "state": state,
        "ending": ending,
        "model": run.model,
        "startedAt": run.started_at,
        "spending": run.spending,
    })
}

fn head(session: &Session, last: Option<&RunRecord>, terminal: &Terminal) -> std::io::Result<()> {
    let row = |name: &str, text: &str| terminal.line(&Line::new().column(Style::Bold, name, 9).add(Style::Plain, text));
    row("session", &session.id)?;
    if let Some(name) = &session.name {
        row("name", name)?;
    }
    row("agent", &session.agent)?;
    if let Some(folder) = &session.origin.workspace {
        row("folder", folder)?;
    }
    if !session.origin.chain.is_empty() {
        row("asked by", &session.origin.chain.join(" → "))?;
    }
    if let Some(pinned) = session.pinned_at {
        row("pinned", &ago(pinned))?;
    }
    row("begun", &ago(session.created_at))?;
    row("updated", &ago(session.updated_at))?;
    if let Some(run) = last {
        row("last run", &how(run))?;
    }
    terminal.line(&Line::new())
}

/// How a run ended, in words.
fn how(run: &RunRecord) -> String {
    let ending = match &run.state {
        RunState::Open { .. } => return "not finished; --continue goes on with it".to_owned(),
        RunState::Ended { ending, .. } => ending,
    };
    match ending {
        Some(Ending::Answered) => "answered".to_owned(),
        Some(Ending::Spent(spent)) => spent.to_string(),
        Some(Ending::Circling) => "went in circles".to_owned(),
        Some(Ending::Cancelled) => "cancelled".to_owned(),
        Some(Ending::Failed(why)) => format!("failed: {why}"),
        Some(Ending::Unfit(why)) => format!("did not fit: {why}"),
        Some(Ending::Unwritten(why)) => format!("could not be written down: {why}"),
        None => "interrupted".to_owned(),
    }
}

fn print(entry: &Entry, results: &Results<'_>, terminal: &Terminal) -> std::io::Result<()> {
    match entry {
        Entry::User { text } => {
            block("> ", Style::Bold, text, usize::MAX, terminal)?;
            terminal.line(&Line::new())
        }
        Entry::Reply { text, calls, .. } => {
            if !text.trim().is_empty() {
                match terminal.shows_output() {
                    true => terminal.markdown(text)?,
                    false => block("", Style::Plain, text, usize::MAX, terminal)?,
                }
                terminal.line(&Line::new())?;
            }
            // Each call is shown with what came of it, and not again where that was written down.
            calls.iter().try_for_each(|call| print_call(call, results.get(call.id.as_str()).copied(), terminal))
        }
        Entry::Result { .. } => Ok(()),
        Entry::Notice { text } => block("  ! ", Style::Caution, text, usize::MAX, terminal),
        Entry::Summary { text, covers } => {
            let title = format!("  a summary of the first {}:", words::count(*covers, "entry", "entries"));
            terminal.line(&Line::new().add(Style::Dim, &title))?;
            block("  | ", Style::Dim, text, usize::MAX, terminal)
        }
    }
}

fn print_call(call: &ToolCall, result: Option<&ToolResult>, terminal: &Terminal) -> std::io::Result<()> {
    let line = Line::new().add(Style::Plain, "  ").column(Style::Bold, &call.tool, 6);
    terminal.line(&line.add(Style::Plain, &words::arguments(&call.input.to_string())))?;
    let (style, text) = match result.map(|result| &result.outcome) {
        Some(ToolOutcome::Done(text)) => (Style::Dim, text.as_str()),
        Some(ToolOutcome::Failed { text, .. }) => (Style::Bad, text.as_str()),
        None => (Style::Caution, "not finished"),
    };
    block("    ", style, text, RESULT_LINES, terminal)?;
    terminal.line(&Line::new())
}

/// A text line by line, at most so many of them.
fn block(margin: &str, style: Style, text: &str, most: usize, terminal: &Terminal) -> std::io::Result<()> {
    let lines: Vec<&str> = text.lines().collect();
    for line in lines.iter().take(most) {
        terminal.whole(&Line::new().add(style, margin).verbatim(style, line))?;
    }
    match lines.len().checked_sub(most).filter(|more| *more > 0) {
        Some(more) => {
            let more = format!("{margin}… {}", words::count(more, "more line", "more lines"));
            terminal.line(&Line::new().add(Style::Dim, &more))
        }
        None => Ok(()),
    }
}
