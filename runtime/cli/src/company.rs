//! What the agent of a conversation asks others through: who there is, where their sessions are kept, and the answers
//! that come when nobody waits for them any more.

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use palisade_agent::{
    Account, Asker, Cancellation, Delegation, DelegationLimits, FailureKind, Progress, Provider, Queued, Seat,
    SessionKey, Store, StoreError, Tool, ToolResult, ToolSpec, Warrant, Watcher,
};
use palisade_catalog::{Effective, LocalCrew, SharedRegistry};
use palisade_grants::DELEGATION;

use crate::crew::Outfit;

/// How long agents are waited for that were told to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// What an agent asks others through.
pub(crate) struct Company {
    registry: SharedRegistry,
    workspace: PathBuf,
    outfit: Arc<Outfit>,
    /// Who is asked whether a call may be made, whichever agent makes it.
    asker: Option<Arc<dyn Asker>>,
    /// Made when there is a store.
    hub: Option<Arc<Delegation>>,
}

/// The place of one run.
pub(crate) struct Post {
    /// The agents that its session was begun by, the outermost first.
    pub(crate) above: Vec<String>,
    pub(crate) session: SessionKey,
    pub(crate) run: String,
    pub(crate) account: Account,
    pub(crate) cancellation: Cancellation,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) watcher: Arc<dyn Watcher>,
    pub(crate) warrant: Arc<dyn Warrant>,
}

/// What came of waiting for agents in the background.
pub(crate) enum Waited {
    /// An answer has come; it is a turn of its own.
    For(Queued),
    /// There is nothing to wait for any more.
    Done,
    /// Somebody does not want to wait; what was under way has been ended.
    Ended,
}

impl Company {
    /// The agents there are, for an agent that can ask them; nothing for any other.
    pub(crate) fn of(
        effective: &Effective,
        registry: &SharedRegistry,
        outfit: Outfit,
        asker: Option<Arc<dyn Asker>>,
    ) -> Option<Self> {
        let asks = effective.tools.iter().any(|tool| DELEGATION.contains(&tool.candidate.canonical()));
        asks.then(|| Self {
            registry: registry.clone(),
            workspace: outfit.workspace.clone(),
            outfit: Arc::new(outfit),
            asker,
            hub: None,
        })
    }

    /// The tools with which the agent asks others in one run. They do no more than the agent may.
    pub(crate) fn tools(&mut self, effective: &Effective, store: &Arc<dyn Store>, post: Post) -> Vec<Arc<dyn Tool>> {
        let Post { above, session, run, account, cancellation, provider, watcher, warrant } = post;
        let seat = Seat {
            session,
            run: Some(run),
            agent: effective.agent.clone(),
            ceiling: effective.ceiling(),
            account,
            cancellation,
            chain: above.into_iter().chain([effective.agent.name.clone()]).collect(),
            messages: 0,
            provider,
            watcher,
            asker: self.asker.clone(),
            warrant: Some(warrant),
        };
        self.hub(store).tools(Arc::new(seat))
    }

    fn hub(&mut self, store: &Arc<dyn Store>) -> Arc<Delegation> {
        let hub = self.hub.get_or_insert_with(|| {
            let outfitter = Arc::clone(&self.outfit);
            let crew = LocalCrew::new(self.registry.clone(), self.workspace.clone(), outfitter)
                .intersecting(self.outfit.config.typed.intersects);
            let (limits, owner) = (DelegationLimits::default(), palisade_store::this_process());
            Arc::new(Delegation::new(Arc::clone(store), Arc::new(crew), limits, owner))
        });
        Arc::clone(hub)
    }

    /// How many agents work in the background.
    pub(crate) fn at_work(&self) -> usize {
        self.hub.as_ref().map_or(0, |hub| hub.running().len())
    }

    /// Ends all that is under way. Whoever does not end soon is left to the end of the program.
    pub(crate) async fn end(&self) {
        if let Some(hub) = &self.hub {
            hub.cancel_all();
            drop(tokio::time::timeout(PATIENCE, hub.settled()).await);
        }
    }

    /// Waits for the next answer, or until somebody does not want to wait any more: then all that is under way ends.
    pub(crate) async fn wait(&self, session: &SessionKey, cancellation: &Cancellation) -> Result<Waited, StoreError> {
        let Some(hub) = &self.hub else { return Ok(Waited::Done) };
        tokio::select! {
            biased;
            () = cancellation.cancelled() => {
                self.end().await;
                Ok(Waited::Ended)
            }
            answer = hub.next_callback(session) => Ok(answer?.map_or(Waited::Done, Waited::For)),
        }
    }
}

/// The tools with which others are asked, as they are between two runs: to be looked at.
pub(crate) fn described() -> Vec<Arc<dyn Tool>> {
    Delegation::specs().into_iter().map(|spec| Arc::new(Described(spec)) as Arc<dyn Tool>).collect()
}

struct Described(ToolSpec);

#[async_trait]
impl Tool for Described {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _: &str, _: &Progress) -> ToolResult {
        ToolResult::failed(FailureKind::Failed, "agents are asked in a run, and there is none")
    }
}
