//! Proving that rights only shrink when agents ask agents: an agent that asks for more than the one above it has
//! is asked in every way there is, and tries to use more of everything there is to use.
//!
//! Everything is real: definitions, the hub of delegation, sandboxes, a store. Only the model is not; it does what
//! a hostile one would. What counts is judged from outside: what changed, what was read, how much was used.

mod axis;
mod hostile;
mod way;
mod world;

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use palisade_agent::{Agent, Store, StoreError};
use palisade_sandbox::Engine;
use serde::Serialize;

use crate::{
    Effective,
    prove::{Ending, ProveError},
};

pub use axis::Axis;
pub use way::Way;

use world::World;

/// Where what lasts is kept during the proof.
#[async_trait]
pub trait Stores: Send + Sync {
    /// In memory.
    async fn passing(&self) -> Result<Arc<dyn Store>, StoreError>;

    /// In a file; the same file again is what another process would find.
    async fn lasting(&self, file: &Path) -> Result<Arc<dyn Store>, StoreError>;
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
    engine: &Engine,
    stores: &dyn Stores,
    below: Option<&Effective>,
    mut watch: impl FnMut(&Case),
) -> Result<Vec<Case>, ProveError> {
    control(engine, stores).await?;
    let mut cases = Vec::new();
    for way in Way::ALL {
        for axis in Axis::ALL {
            let case = prove_case(engine, stores, below.map(|effective| &effective.agent), way, axis).await?;
            watch(&case);
            cases.push(case);
        }
    }
    Ok(cases)
}

/// Tries one way with one axis.
pub async fn prove_case(
    engine: &Engine,
    stores: &dyn Stores,
    below: Option<&Agent>,
    way: Way,
    axis: Axis,
) -> Result<Case, ProveError> {
    let mut world = World::narrow(engine, stores, below)?;
    let refused =
        way.go(&mut world, axis).await.map_err(|why| ProveError::Control(format!("{}: {why}", way.name())))?;
    let allowed = axis.allowed(&world.handed_down(), &world.budget());
    let deed = axis.judge(&world);
    let tried = world.seen().tried;
    let (ending, how) = match (deed, allowed) {
        (Some(deed), false) => (Ending::Breach, deed),
        (Some(deed), true) => (Ending::Granted, deed),
        (None, _) => (Ending::Refused, refused.unwrap_or_else(|| axis.refusal(&world))),
    };
    // What was not tried was not refused; with a coordinator of ours that is a fault of the proof.
    if !tried && below.is_none() {
        return Err(ProveError::Control(format!("{}/{} was not tried: {how}", way.name(), axis.name())));
    }
    Ok(Case { way, axis, ending, how, tried })
}

/// The proof is worth something only if the agent does get through where it may: below one that has everything.
pub async fn control(engine: &Engine, stores: &dyn Stores) -> Result<(), ProveError> {
    for axis in Axis::ALL {
        let mut world = World::wide(engine, stores)?;
        let refused = Way::Spawn.go(&mut world, axis).await.map_err(ProveError::Control)?;
        if axis.judge(&world).is_none() {
            let why = refused.unwrap_or_else(|| axis.refusal(&world));
            return Err(ProveError::Control(format!(
                "{} is not to be had even where it is granted: {why}",
                axis.name()
            )));
        }
    }
    Ok(())
}
