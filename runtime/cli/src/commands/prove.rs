//! `palisade prove`: hostile guests try to break out of an agent's sandbox, and hostile agents out of what they were
//! handed down.

use palisade_catalog::{
    Effective, available, effective,
    prove::{Case, Ending, Proof, Verdict, prove, prove_delegation},
};
use palisade_sandbox::Programs;
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
///
/// With --delegation the agent asks another one, which wants more than it has, in every way there is; without an agent,
/// one that has little does.
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 every attempt was refused or is granted, 1 a breach or an error")]
pub(crate) struct Arguments {
    /// The agent's name.
    #[arg(required_unless_present = "delegation")]
    agent: Option<String>,
    /// Try to have more through agents that ask agents.
    #[arg(long)]
    delegation: bool,
    /// Run the guests in a process of their own, as `palisade run --apart` does.
    #[arg(long)]
    apart: bool,
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
    let agent = arguments.agent.as_deref().map(|agent| registry.look_up(agent)).transpose()?.map(|found| found.agent);
    let effective = agent.map(|agent| effective(agent, &available(&registry), &registry));
    let assembly = Assembly::start_at(settings, terminal, arguments.apart)?;
    let effective = match effective {
        Some(effective) if !arguments.delegation => effective,
        below => {
            // What lasts during the proof is gone after it.
            let programs = Programs::standard(settings.worker.clone());
            let proof = Proof::new(&assembly.engine, &palisade_store::open_boxed, programs);
            return delegation(arguments.json, below.as_ref(), &proof, terminal);
        }
    };
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

/// Tries to have more through agents that ask agents.
fn delegation(json: bool, below: Option<&Effective>, proof: &Proof<'_>, terminal: &Terminal) -> anyhow::Result<Exit> {
    let mut printed = Ok(());
    let mut print = |line: Line| {
        if !json && printed.is_ok() {
            printed = terminal.line(&line);
        }
    };
    print(row(Style::Dim, "asked by", "what it wanted more of", Style::Dim, "", "how it was refused"));
    let proving = prove_delegation(proof, below, |case| print(case_row(case)));
    let cases = crate::database::runtime()?.block_on(proving)?;
    printed?;
    let count = |ending| cases.iter().filter(|case| case.ending == ending).count();
    let (refused, granted, breaches) = (count(Ending::Refused), count(Ending::Granted), count(Ending::Breach));
    let untried = cases.iter().filter(|case| !case.tried).count();
    if json {
        terminal.json(&json!({
            "agent": below.map(|effective| effective.agent.name.as_str()),
            "refused": refused,
            "granted": granted,
            "breaches": breaches,
            "untried": untried,
            "runs_programs": proof.runs_programs(),
            "cases": cases,
        }))?;
    } else {
        if !proof.runs_programs() {
            let text = "native programs cannot be confined here: none was run, only looked at whether one could be";
            terminal.line(&Line::new().add(Style::Dim, text))?;
        }
        let style = if breaches == 0 { Style::Good } else { Style::Bad };
        let mut counts = format!("{refused} refused, {granted} granted, {breaches} breaches");
        if untried > 0 {
            counts += &format!("; {untried} could not be tried: the agent does not ask that far");
        }
        terminal.line(&Line::new().add(style, &counts))?;
    }
    Ok(if breaches == 0 { Exit::Done } else { Exit::Failed })
}

fn case_row(case: &Case) -> Line {
    let (style, ending) = shown(case.ending);
    row(Style::Plain, case.way.name(), case.axis.name(), style, ending, &case.how)
}

fn shown(ending: Ending) -> (Style, &'static str) {
    match ending {
        Ending::Refused => (Style::Good, "refused"),
        Ending::Granted => (Style::Caution, "granted"),
        Ending::Breach => (Style::Bad, "BREACH"),
    }
}

fn verdict_row(verdict: &Verdict) -> Line {
    let (style, ending) = shown(verdict.ending);
    row(Style::Plain, verdict.attempt, verdict.tried, style, ending, &verdict.how)
}

fn row(text: Style, attempt: &str, tried: &str, mark: Style, ending: &str, how: &str) -> Line {
    Line::new().column(text, attempt, ATTEMPT).column(text, tried, TRIED).column(mark, ending, 7).add(text, how)
}
