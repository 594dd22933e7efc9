//! Whom the worker asks: agents that leave marks of their own, one that it waits for and one that it does not.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use palisade_agent::{
    Account, Agent, Cancellation, Ceiling, Crew, Delegation, DelegationLimits, Equipment, LOCAL_TENANT, Peer, Quiet,
    Recruit, RecruitError, Seat, SessionKey, Store, Surroundings, Tool,
};

use crate::{
    plan::{Planner, markers},
    worker::SESSION,
};

/// Those that the worker asks.
pub(crate) const ASKED: [&str; 2] = ["helper", "runner"];

/// Instants of agents that ask agents.
pub(crate) const INSTANTS: [&str; 5] = [
    "delegation.before_spawn",
    "delegation.after_spawn",
    "delegation.before_report",
    "delegation.before_callback",
    "delegation.callback_queued",
];

struct Markers(PathBuf);

#[async_trait]
impl Crew for Markers {
    fn peers(&self, _: &Agent, _: bool) -> Vec<Peer> {
        let peer = |name: &str| Peer {
            name: name.to_owned(),
            display_name: name.to_owned(),
            description: "Leaves marks.".to_owned(),
        };
        ASKED.map(peer).to_vec()
    }

    fn recruit(&self, name: &str, asked_by: &Seat) -> Result<Recruit, RecruitError> {
        let agent = Agent::new(name, "Leaves marks.");
        let (ceiling, fingerprint) = (asked_by.ceiling.clone(), name.to_owned());
        Ok(Recruit { budget: agent.budget(), agent, ceiling, tools: Vec::new(), cut: Vec::new(), fingerprint })
    }

    async fn equip(&self, recruit: &Recruit, _: &Seat, _: Vec<Arc<dyn Tool>>) -> Result<Equipment, RecruitError> {
        let name = &recruit.agent.name;
        let toolbox = markers(&self.0, Vec::new())
            .map_err(|error| RecruitError::Unusable { name: name.clone(), why: error.to_string() })?;
        let provider = Arc::new(Planner::of(name));
        Ok(Equipment { provider, toolbox, surroundings: Surroundings::default(), warnings: Vec::new() })
    }
}

/// What the worker asks others through.
pub(crate) fn hub(store: &Arc<dyn Store>, folder: PathBuf) -> Arc<Delegation> {
    let owner = palisade_store::this_process();
    Arc::new(Delegation::new(Arc::clone(store), Arc::new(Markers(folder)), DelegationLimits::default(), owner))
}

/// The tools with which it does, in one run.
pub(crate) fn tools(hub: &Arc<Delegation>, agent: &Agent, run: &str, account: &Account) -> Vec<Arc<dyn Tool>> {
    hub.tools(Arc::new(Seat {
        session: SessionKey::new(LOCAL_TENANT, SESSION),
        run: Some(run.to_owned()),
        agent: agent.clone(),
        ceiling: Ceiling::open(),
        account: account.clone(),
        cancellation: Cancellation::never(),
        chain: vec![agent.name.clone()],
        messages: 0,
        provider: Arc::new(Planner::of(&agent.name)),
        watcher: Arc::new(Quiet),
        asker: None,
        warrant: None,
    }))
}
