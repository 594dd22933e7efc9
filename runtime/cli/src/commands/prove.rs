//! `palisade prove`: hostile guests try to break out of an agent's sandbox.

use palisade_catalog::{
    available, effective,
    prove::{Ending, Verdict, prove},
};
use serde_json::json;

use crate::{
    Exit,
    assemble::Assembly,
    places::Lookup,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Try to break out of an agent's sandbox with hostile guests.
///
/// They run in the agent's real sandbox, over a throw-away workspace; your files are not touched.
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 every attempt was refused or is granted, 1 a breach or an error")]
pub(crate) struct Arguments {
    /// The agent's name.
    agent: String,
    #[command(flatten)]
    lookup: Lookup,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The widths of the first columns.
const ATTEMPT: usize = 20;
const TRIED: usize = 48;

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (_, registry) = arguments.lookup.open(settings)?;
    let effective = effective(registry.look_up(&arguments.agent)?.agent, &available(&registry), &registry);
    let assembly = Assembly::start(settings, terminal)?;
    // The first failure to print ends the table, not the proof.
    let mut printed = Ok(());
    let mut print = |line: Line| {
        if !arguments.json && printed.is_ok() {
            printed = terminal.line(&line);
        }
    };
    print(row(Style::Dim, "attempt", "what was tried", Style::Dim, "", "how it was refused"));
    let verdicts = prove(&assembly.engine, &effective, |verdict| print(verdict_row(verdict)))?;
    printed?;

    let count = |ending| verdicts.iter().filter(|verdict| verdict.ending == ending).count();
    let (refused, granted, breaches) = (count(Ending::Refused), count(Ending::Granted), count(Ending::Breach));
    if arguments.json {
        terminal.json(&json!({
            "agent": effective.agent.name,
            "refused": refused,
            "granted": granted,
            "breaches": breaches,
            "verdicts": verdicts,
        }))?;
    } else {
        let style = if breaches == 0 { Style::Good } else { Style::Bad };
        let counts = format!("{refused} refused, {granted} granted, {breaches} breaches");
        terminal.line(&Line::new().add(style, &counts))?;
    }
    Ok(if breaches == 0 { Exit::Done } else { Exit::Failed })
}

fn verdict_row(verdict: &Verdict) -> Line {
    let (style, ending) = match verdict.ending {
        Ending::Refused => (Style::Good, "refused"),
        Ending::Granted => (Style::Caution, "granted"),
        Ending::Breach => (Style::Bad, "BREACH"),
    };
    row(Style::Plain, verdict.attempt, verdict.tried, style, ending, &verdict.how)
}

fn row(text: Style, attempt: &str, tried: &str, mark: Style, ending: &str, how: &str) -> Line {
    Line::new().column(text, attempt, ATTEMPT).column(text, tried, TRIED).column(mark, ending, 7).add(text, how)
}
