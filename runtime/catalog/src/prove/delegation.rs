//! Proving that rights only shrink when agents ask agents: an agent that asks for more than the one above it has
//! is asked in every way there is, and tries to use more of everything there is to use.
//!
//! Everything is real: definitions, the hub of delegation, sandboxes, a store. Only the model is not; it does what
//! a hostile one would. What counts is judged from outside: what changed, what was read, how much was used.

mod axis;
mod hostile;
mod way;
mod world;

use std::{pin::Pin, sync::Arc};

use palisade_agent::{Agent, Store, StoreError};
use palisade_sandbox::{Engine, Programs};
use serde::Serialize;

use crate::{
    Effective,
    prove::{Ending, ProveError},
};

pub use axis::Axis;
pub use way::Way;

use way::Path;
use world::World;

/// Opens a store by its address: `memory:`, or `sqlite:` and a file. The same file again is what another process
/// would find.
pub type OpenStore<'a> = &'a (dyn Fn(String) -> Opening + Send + Sync);

type Opening = Pin<Box<dyn Future<Output = Result<Arc<dyn Store>, StoreError>> + Send>>;

/// What the attempts are made with.
pub struct Proof<'a> {
    engine: &'a Engine,
    stores: OpenStore<'a>,
    /// Where they can be confined.
    programs: Option<Programs>,
}

impl<'a> Proof<'a> {
    /// In this engine, with these stores; and with native programs, if they can be confined here.
    pub fn new(engine: &'a Engine, stores: OpenStore<'a>, programs: Programs) -> Self {
        Self { engine, stores, programs: programs.try_walls().is_ok().then_some(programs) }
    }

    /// Whether native programs are run. Where they cannot be confined, it is only looked at which ones could be.
    pub fn runs_programs(&self) -> bool {
        self.programs.is_some()
    }
}

/// What came of one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Case {
    /// How the agent was asked.
    pub way: Way,
    /// What it tried to have more of.
    pub axis: Axis,
    /// What came of it.
    pub ending: Ending,
    /// How it was refused, or what got through.
    pub how: String,
    /// Whether the agent came so far as to try. One that may ask nobody proves little.
    pub tried: bool,
}

impl Case {
    /// `follow-up/memory`
    pub fn name(&self) -> String {
        format!("{}/{}", self.way.name(), self.axis.name())
    }
}

/// Tries every way with every axis below an agent; without one, below a coordinator that has little. Tells
/// `watch` of each case as it comes.
pub async fn prove_delegation(
    proof: &Proof<'_>,
    below: Option<&Effective>,
    mut watch: impl FnMut(&Case),
) -> Result<Vec<Case>, ProveError> {
    control(proof).await?;
    let mut cases = Vec::new();
    for way in Way::ALL {
        for axis in Axis::ALL {
            let case = prove_case(proof, below.map(|effective| &effective.agent), way, axis).await?;
            watch(&case);
            cases.push(case);
        }
    }
    Ok(cases)
}

/// Tries one way with one axis, on every path of it. The worst that came of one of them counts.
pub async fn prove_case(proof: &Proof<'_>, below: Option<&Agent>, way: Way, axis: Axis) -> Result<Case, ProveError> {
    let mut worst: Option<Case> = None;
    let mut tried = true;
    for path in way.paths() {
        let case = prove_path(proof, below, (way, *path), axis).await?;
        tried &= case.tried;
        worst = match worst {
            Some(worst) if worst.ending.rank() >= case.ending.rank() => Some(worst),
            _ => Some(case),
        };
    }
    let worst = worst.ok_or_else(|| ProveError::Control(format!("{} has no path", way.name())))?;
    Ok(Case { tried, ..worst })
}

async fn prove_path(
    proof: &Proof<'_>,
    below: Option<&Agent>,
    (way, path): (Way, Path),
    axis: Axis,
) -> Result<Case, ProveError> {
    let at = |why: String| ProveError::Control(format!("{}/{} ({path:?}): {why}", way.name(), axis.name()));
    let mut world = World::narrow(proof, below, axis, path.begins_with_everything())?;
    let refused = path.go(&mut world, axis).await.map_err(at)?;
    let seen = world.seen();
    // Whoever may do nothing any more still speaks: steps are taken from the budget, not from rights.
    let may_use = !path.ends_with_nothing() || axis == Axis::Steps;
    let allowed = may_use && axis.allowed(&world.handed_down(), &world.budget());
    let (ending, how) = match (axis.judge(&world), allowed) {
        _ if seen.mixed_up.is_some() => (Ending::Breach, seen.mixed_up.unwrap_or_default()),
        (Some(deed), false) => (Ending::Breach, deed),
        (Some(deed), true) => (Ending::Granted, deed),
        (None, _) => (Ending::Refused, refused.unwrap_or_else(|| axis.refusal(&world))),
    };
    // What was not tried was not refused; with a coordinator of ours that is a fault of the proof.
    if !seen.tried && below.is_none() {
        return Err(at(format!("it was not tried: {how}")));
    }
    Ok(Case { way, axis, ending, how, tried: seen.tried })
}

/// The proof is worth something only if the agent does get through where it may: below one that has everything,
/// asked straight away and through a tool that calls another.
pub async fn control(proof: &Proof<'_>) -> Result<(), ProveError> {
    for (path, axis) in [Path::Task, Path::Relay].into_iter().flat_map(|path| Axis::ALL.map(|axis| (path, axis))) {
        let mut world = World::wide(proof, axis)?;
        let refused = path.go(&mut world, axis).await.map_err(ProveError::Control)?;
        if axis.judge(&world).is_none() {
            let why = refused.unwrap_or_else(|| axis.refusal(&world));
            return Err(ProveError::Control(format!(
                "{} is not to be had even where it is granted ({path:?}): {why}",
                axis.name()
            )));
        }
    }
    Ok(())
}
