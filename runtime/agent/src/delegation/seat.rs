//! The place of one agent at work in the tree of those that ask each other.

use std::{sync::Arc, time::Duration};

use crate::{Account, Agent, Asker, Cancellation, Ceiling, Provider, SessionKey, Warrant, Watcher};

/// The place of one agent at work. Whatever the agent asks others to do happens below it: with no more rights
/// than its ceiling, out of its account, no longer than it is not cancelled, for its watcher to see.
#[derive(Clone)]
pub struct Seat {
    /// The session it works on.
    pub session: SessionKey,
    /// Its run, as the store knows it.
    pub run: Option<String>,
    /// Its definition.
    pub agent: Agent,
    /// What it may do, which is the most that it can hand down.
    pub ceiling: Ceiling,
    /// What it draws from.
    pub account: Account,
    /// When it is cancelled, so is all below.
    pub cancellation: Cancellation,
    /// The agents from the outermost to this one.
    pub chain: Vec<String>,
    /// How many of those steps down were messages.
    pub messages: u32,
    /// The model it speaks to; agents that name none speak to the same.
    pub provider: Arc<dyn Provider>,
    /// Is told what happens below.
    pub watcher: Arc<dyn Watcher>,
    /// Is asked whether a call may be made, by it or below it, where a rule wants that; absent: it is refused.
    pub asker: Option<Arc<dyn Asker>>,
    /// Whether its rights were taken back since it sat down; absent: nobody takes them back.
    pub warrant: Option<Arc<dyn Warrant>>,
}

impl Seat {
    /// What it can hand down now: its ceiling, without what was taken back since; or why nothing any more.
    pub(super) fn ceiling_now(&self) -> Result<Ceiling, String> {
        match &self.warrant {
            Some(warrant) => Ok(self.ceiling.narrow(&warrant.ceiling()?)),
            None => Ok(self.ceiling.clone()),
        }
    }
}

/// How far agents may ask agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelegationLimits {
    /// How often one agent may be in a chain.
    pub same_agent: usize,
    /// How many messages may follow each other down a chain.
    pub messages: u32,
    /// How many agents of one tree may be at work at the same time.
    pub live: u32,
    /// How many pieces of work one call may ask for.
    pub per_call: usize,
    /// How many idle agents are kept for another question.
    pub pooled: usize,
    /// How long an agent may take that says nothing about it.
    pub time: Duration,
    /// How long the answer of an agent may be that another reads, in bytes.
    pub answer: usize,
}

impl Default for DelegationLimits {
    fn default() -> Self {
        Self {
            same_agent: 2,
            messages: 1,
            live: 8,
            per_call: 32,
            pooled: 12,
            time: Duration::from_secs(300),
            answer: 64 * 1024,
        }
    }
}
