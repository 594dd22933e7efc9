//! Agents that ask agents. What one may do is worked out by the host alone, from its definition and from what
//! the one that asks may do; a request is words and carries no rights.
//!
//! The path of one request: a tool in `tools/` reads it, `engage.rs` works out who may do it and with which rights,
//! an `Order` is made of that, `work.rs` carries it out in a task of its own and makes a `Report`.

mod active;
mod crew;
mod desk;
mod engage;
mod fresh;
mod keep;
mod left_behind;
mod order;
mod place;
mod pool;
mod queue;
mod refusal;
mod report;
mod seat;
mod sync;
mod telling;
mod tools;
mod work;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::sync::{Notify, watch};

pub use active::Piece;
pub use crew::{Crew, Equipment, Peer, Recruit, RecruitError};
pub use desk::{Client, Conclusion, Inquiry, Visit, Which};
pub use engage::HOST_ATTRIBUTES;
pub use pool::{Pool, PoolKey, PoolStatistics, Reserve};
pub use refusal::Refusal;
pub use seat::{DelegationLimits, Seat};
pub use tools::DELEGATION_TOOLS;

use crate::{Canceller, SessionKey, Store, Tool, ToolSpec};
use active::Active;
use place::Place;
use report::Report;

/// How often a session that another process holds is looked at.
const POLL: Duration = Duration::from_millis(500);

/// For how long a run holds its session without saying that it is alive.
const LEASE: Duration = Duration::from_secs(30);

/// How many results are kept that nobody has asked for.
const RESULTS: usize = 256;

/// What an agent reads of a task, unless it is set otherwise.
const TASK_MESSAGE: &str = "Execute this task: {{task}}";

/// All that agents of one process ask each other to do.
pub struct Delegation {
    store: Arc<dyn Store>,
    crew: Arc<dyn Crew>,
    limits: DelegationLimits,
    owner: String,
    lease: Duration,
    task_message: String,
    pool: Pool,
    active: Active<Handle>,
    /// Told whenever a piece of work is over or a message came in.
    changed: Notify,
    /// Sessions below which nothing is left that another process has left behind.
    tended: Mutex<HashSet<SessionKey>>,
}

/// What a piece of work is ended and waited for with.
#[derive(Clone, Debug)]
pub struct Handle {
    canceller: Canceller,
    report: watch::Receiver<Option<Arc<Report>>>,
}

impl Handle {
    /// Ends the work.
    pub fn cancel(&self) {
        self.canceller.cancel();
    }

    async fn ended(&mut self) -> Result<Arc<Report>, Refusal> {
        match self.report.wait_for(Option::is_some).await {
            Ok(report) => report.clone().ok_or_else(Refusal::over),
            Err(_gone) => Err(Refusal::over()),
        }
    }
}

impl Delegation {
    /// Nothing is asked yet. `owner` names this process in the store, so that it can be told from any other.
    pub fn new(store: Arc<dyn Store>, crew: Arc<dyn Crew>, limits: DelegationLimits, owner: impl Into<String>) -> Self {
        Self {
            store,
            crew,
            limits,
            owner: owner.into(),
            lease: LEASE,
            task_message: TASK_MESSAGE.to_owned(),
            pool: Pool::of(limits.pooled),
            active: Active::keeping(RESULTS),
            changed: Notify::new(),
            tended: Mutex::default(),
        }
    }

    /// The same, with another text in which an agent reads its task, in place of `{{task}}`.
    pub fn saying(mut self, task_message: impl Into<String>) -> Self {
        self.task_message = task_message.into();
        self
    }

    /// The same, with runs that hold their session for so long without saying that they are alive.
    pub fn leasing(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// The tools with which the agent in a seat asks others. Those that could only be refused, because nothing
    /// may be below it or no message may follow, are left out.
    pub fn tools(self: &Arc<Self>, seat: Arc<Seat>) -> Vec<Arc<dyn Tool>> {
        let (depth, messages) = (seat.account.depth(), seat.messages);
        self.tools_at(&Arc::new(Place::outermost(seat)), depth, messages)
    }

    /// How these tools are described, without the agents that there are.
    pub fn specs() -> Vec<ToolSpec> {
        tools::specs()
    }

    /// Waits until no work goes on.
    pub async fn settled(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.active.is_idle() {
                return;
            }
            changed.await;
        }
    }

    /// The work that goes on.
    pub fn running(&self) -> Vec<Piece<Handle>> {
        self.active.running()
    }

    /// Ends all work that goes on. [`Delegation::settled`] returns when it has ended.
    pub fn cancel_all(&self) {
        for piece in self.active.running() {
            piece.handle.cancel();
        }
    }

    /// Idle agents.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }
}
