//! Where agents come from. Implemented where definitions, tools and models meet.

use std::sync::Arc;

use async_trait::async_trait;
use thiserror::Error;

use crate::{Agent, Budget, Ceiling, Provider, Seat, Surroundings, Tool, Toolbox};

/// Knows the agents there are, and makes them ready to work.
#[async_trait]
pub trait Crew: Send + Sync {
    /// The agents that an agent sees and may ask, without itself; with `hidden`, also those that are not
    /// listed but may be asked.
    fn peers(&self, caller: &Agent, hidden: bool) -> Vec<Peer>;

    /// Works out what an agent is and may do, asked by the one in that seat and under its ceiling. Looks the
    /// definition up anew each time.
    fn recruit(&self, name: &str, asked_by: &Seat) -> Result<Recruit, RecruitError>;

    /// Learns what is not known yet of a recruit's tools, as far as the one in that seat may have it learnt. Says
    /// whether there was something to learn: then it is recruited anew.
    async fn learn(&self, _recruit: &Recruit, _asked_by: &Seat) -> bool {
        false
    }

    /// Gives a recruit its tools, the model it speaks to (its own, or the one of whoever asks) and what it is
    /// told of its surroundings. Of `own_tools`, which the host carries out, it gets those in its scope.
    async fn equip(
        &self,
        recruit: &Recruit,
        asked_by: &Seat,
        own_tools: Vec<Arc<dyn Tool>>,
    ) -> Result<Equipment, RecruitError>;
}

/// An agent that can be asked, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// What it is called by.
    pub name: String,
    /// What people read.
    pub display_name: String,
    /// What it is for.
    pub description: String,
}

/// What an agent is and may do under somebody's ceiling.
#[derive(Clone, Debug, PartialEq)]
pub struct Recruit {
    /// Its definition.
    pub agent: Agent,
    /// What it may do, and all that it asks others to do: its definition, no wider than the ceiling it is under.
    pub ceiling: Ceiling,
    /// What one run of it may use up by its definition; the account above it may leave less.
    pub budget: Budget,
    /// The tools it has, sorted.
    pub tools: Vec<String>,
    /// What its definition would allow and the ceiling does not, each with what would allow it, in words.
    pub cut: Vec<String>,
    /// Equal only for equal identity, prompt, tools, rights, limits and model: a hash in full.
    pub fingerprint: String,
}

/// What a recruit works with.
pub struct Equipment {
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// The tools.
    pub toolbox: Toolbox,
    /// What it is told.
    pub surroundings: Surroundings,
    /// What whoever asked should know.
    pub warnings: Vec<String>,
}

/// Why an agent cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecruitError {
    /// There is none of that name.
    #[error("Unknown subagent type: \"{name}\". Available: {}", available.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Those that the caller sees.
        available: Vec<String>,
    },
    /// It is there, but not for this caller.
    #[error("Agent not accessible: {0}")]
    NotAccessible(String),
    /// Its definition or its model cannot be used.
    #[error("agent `{name}` cannot be used: {why}")]
    Unusable {
        /// The name.
        name: String,
        /// Why.
        why: String,
    },
}
