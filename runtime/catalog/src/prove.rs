//! Proving an agent's limits: hostile guests run inside its real sandbox, and none may get through.
//!
//! The scope is built from the agent's own grants and limits, over a throw-away workspace with
//! bait in and around it. What counts is judged from outside: what changed, what leaked, how the
//! guest ended; never what the guest says.

mod attempts;
mod delegation;
mod recorder;
mod stage;
mod web;

use std::time::Duration;

use palisade_sandbox::{Call, Engine, Limits, Report, Scope, Workspace, WorkspaceError};
use serde::Serialize;

use crate::{
    BuiltIn, Effective,
    builtin::LinkProbe,
    prove::{
        attempts::{ATTEMPTS, Attempt, Expect, LINKS},
        stage::Stage,
    },
};

pub use delegation::{Axis, Case, OpenStore, Proof, Way, control as control_delegation, prove_case, prove_delegation};

/// What came of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The attempt's name.
    pub attempt: &'static str,
    /// What was tried, in words.
    pub tried: &'static str,
    /// What came of it.
    pub ending: Ending,
    /// How it was refused, or what got through.
    pub how: String,
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The sandbox held.
    Refused,
    /// The definition grants it, so there is nothing to refuse.
    Granted,
    /// It got through.
    Breach,
}

impl Ending {
    /// The worse it is, the higher.
    fn rank(self) -> u8 {
        match self {
            Self::Refused => 0,
            Self::Granted => 1,
            Self::Breach => 2,
        }
    }
}

/// Why the proof could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// The throw-away workspace could not be made.
    #[error("the throw-away workspace cannot be made: {0}")]
    Stage(#[from] std::io::Error),
    /// The agent's folders could not be opened in it.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The probe itself does not work, so its refusals would prove nothing.
    #[error("the probe does not work here, so it would prove nothing: {0}")]
    Control(String),
}

/// An endless loop proves as much in this time as in the agent's whole call time. Attempts that end
/// by themselves get that whole time, so that a busy machine does not change how they end.
const PATIENCE: Duration = Duration::from_millis(500);

/// Runs every attempt inside the agent's sandbox, telling `watch` each verdict as it comes.
pub fn prove(
    engine: &Engine,
    effective: &Effective,
    mut watch: impl FnMut(&Verdict),
) -> Result<Vec<Verdict>, ProveError> {
    control(engine, effective)?;
    let mut verdicts = Vec::new();
    for attempt in ATTEMPTS {
        let verdict = run(engine, effective, attempt)?;
        watch(&verdict);
        verdicts.push(verdict);
    }
    for probe in LinkProbe::all() {
        let Some((_, tried)) = LINKS.iter().find(|(name, _)| probe.name == format!("probe-{name}")) else { continue };
        let verdict = link(engine, effective, probe, tried)?;
        watch(&verdict);
        verdicts.push(verdict);
    }
    web::prove(engine, effective, |verdict| {
        watch(&verdict);
        verdicts.push(verdict);
    })?;
    Ok(verdicts)
}

/// The proof is worth something only if the probe can do what is granted.
fn control(engine: &Engine, effective: &Effective) -> Result<(), ProveError> {
    if effective.grants.files.is_empty() {
        return Ok(());
    }
    let stage = Stage::set(&effective.grants.files)?;
    let scope = scope(engine, effective, &stage, effective.limits)?;
    if let Err(refusal) = add_probe(engine, &scope) {
        return Err(ProveError::Control(refusal));
    }
    let input = format!(r#"{{"attempt":"read","path":{:?}}}"#, stage.own_file());
    match scope.call_here("probe", &input, &Call::new()).outcome {
        Ok(text) if text == stage::OWN_TEXT => Ok(()),
        Ok(text) => Err(ProveError::Control(format!("it read something else: {text}"))),
        Err(failure) => Err(ProveError::Control(failure.to_string())),
    }
}

fn scope(engine: &Engine, effective: &Effective, stage: &Stage, limits: Limits) -> Result<Scope, ProveError> {
    let workspace = Workspace::open(&stage.workspace())?;
    Ok(Scope::open(engine, &workspace, effective.grants.clone(), limits, None)?)
}

fn add_probe(engine: &Engine, scope: &Scope) -> Result<(), String> {
    let probe = BuiltIn::probe().ok_or("this build has no probe")?;
    let compiled = probe.load(engine, None).map_err(|failure| failure.to_string())?;
    scope.add(&compiled, &probe.description(), "probe").map_err(|refusal| refusal.to_string())
}

fn run(engine: &Engine, effective: &Effective, attempt: &Attempt) -> Result<Verdict, ProveError> {
    let verdict = |ending, how| Verdict { attempt: attempt.name, tried: attempt.tried, ending, how };
    let stage = Stage::set(&effective.grants.files)?;
    let limits = match attempt.is_endless() {
        true => effective.limits.narrow(&Limits { call_time: PATIENCE, ..effective.limits }),
        false => effective.limits,
    };
    let scope = scope(engine, effective, &stage, limits)?;
    if let Err(refusal) = add_probe(engine, &scope) {
        return Ok(verdict(Ending::Refused, refusal));
    }
    let before = stage.look()?;
    let report = scope.call_here("probe", &attempt.input(&stage), &Call::new());
    let after = stage.look()?;
    if after.outside != before.outside {
        return Ok(verdict(Ending::Breach, "something outside the workspace changed".to_owned()));
    }
    if stage.leaked(&report) {
        return Ok(verdict(Ending::Breach, "something outside the workspace was read".to_owned()));
    }
    let changed = after.inside != before.inside;
    let (ending, how) = match attempt.expect {
        Expect::NoChange if changed && effective.grants.files.writes() => {
            (Ending::Granted, "the agent may write here".to_owned())
        }
        Expect::NoChange | Expect::NeverChange if changed => {
            (Ending::Breach, "something in the workspace changed".to_owned())
        }
        Expect::NoChange | Expect::NeverChange | Expect::NoLeak => (Ending::Refused, ending_of(&report)),
        Expect::Failure(kinds) => match &report.outcome {
            Err(failure) if kinds.contains(&failure.kind()) => (Ending::Refused, failure.to_string()),
            Err(failure) => (Ending::Breach, format!("ended otherwise than it should: {failure}")),
            Ok(text) => (Ending::Breach, format!("went through: {}", text.chars().take(60).collect::<String>())),
        },
        Expect::Cut => cut(&report, &effective.limits),
    };
    Ok(verdict(ending, how))
}

fn link(engine: &Engine, effective: &Effective, probe: &LinkProbe, tried: &'static str) -> Result<Verdict, ProveError> {
    let verdict = |ending, how| Verdict { attempt: probe.name, tried, ending, how };
    if probe.name == "probe-borrow" && effective.tools.iter().any(|tool| tool.candidate.name() == "write") {
        return Ok(verdict(Ending::Granted, "the agent has this tool".to_owned()));
    }
    if probe.name == "probe-http" && !effective.grants.http.is_empty() {
        return Ok(verdict(Ending::Granted, "the agent may ask some hosts".to_owned()));
    }
    let stage = Stage::set(&effective.grants.files)?;
    let scope = scope(engine, effective, &stage, effective.limits)?;
    let compiled = match probe.load(engine) {
        Ok(compiled) => compiled,
        Err(failure) => return Ok(verdict(Ending::Refused, failure.to_string())),
    };
    Ok(match scope.add(&compiled, &probe.description(), "probe") {
        Err(refusal) => verdict(Ending::Refused, refusal.to_string()),
        Ok(()) => verdict(Ending::Breach, "it was linked".to_owned()),
    })
}

/// A flood must be cut: kept up to the limit, the rest dropped, or the guest stopped.
fn cut(report: &Report, limits: &Limits) -> (Ending, String) {
    let kept = report.stdout.kept.len();
    if kept > limits.output {
        return (Ending::Breach, format!("{kept} bytes were kept"));
    }
    (Ending::Refused, format!("{kept} bytes kept, {} dropped", report.stdout.dropped))
}

fn ending_of(report: &Report) -> String {
    if let Some(denial) = report.denials.first() {
        return format!("{}: {}", denial.capability, denial.rule);
    }
    match &report.outcome {
        Ok(_) => "nothing changed, and nothing from outside was seen".to_owned(),
        Err(failure) => failure.to_string(),
    }
}
