//! What the tools of one agent at work are bound to: its seat, and its right to be at work.

use std::{
    future::Future,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use super::refusal::Refusal;
use crate::{Account, Admitted, Agent, Seat, Session};

/// One agent at work, as its delegation tools know it.
pub(super) struct Place {
    pub(super) agent: Agent,
    /// Filled when its run begins: the tools are made before the model and the run are known.
    seat: OnceLock<Arc<Seat>>,
    /// Nobody admits the outermost agent.
    slot: OnceLock<Slot>,
    /// Whoever asked it, if an agent did.
    pub(super) above: Option<Above>,
}

/// Whoever asked an agent, and in which session of it.
pub(super) struct Above {
    pub(super) place: Arc<Place>,
    pub(super) session: Session,
    /// What it is called by.
    pub(super) name: String,
    pub(super) messages: u32,
}

impl Place {
    /// The outermost agent.
    pub(super) fn outermost(seat: Arc<Seat>) -> Self {
        let place = Self { agent: seat.agent.clone(), seat: OnceLock::new(), slot: OnceLock::new(), above: None };
        place.sit(seat);
        place
    }

    /// An agent that another asked, before its run begins.
    pub(super) fn below(agent: Agent, above: Above) -> Self {
        Self { agent, seat: OnceLock::new(), slot: OnceLock::new(), above: Some(above) }
    }

    /// Its run begins.
    pub(super) fn sit(&self, seat: Arc<Seat>) {
        // One place is made for one run.
        let _first = self.seat.set(seat);
    }

    /// It is at work.
    pub(super) fn admit(&self, slot: Slot) {
        let _first = self.slot.set(slot);
    }

    /// Its run is over. Work that it has started in the background may go on, and needs the place it took.
    pub(super) fn leave(&self) {
        if let Some(slot) = self.slot.get() {
            slot.give_up();
        }
    }

    /// Its seat.
    pub(super) fn seat(&self) -> Result<&Arc<Seat>, Refusal> {
        self.seat.get().ok_or_else(Refusal::over)
    }

    /// Waits for another agent. Whoever waits is not at work, so that agents that wait for each other's helpers
    /// never keep those from working.
    pub(super) async fn waiting<T>(&self, wait: impl Future<Output = T>) -> T {
        match self.slot.get() {
            Some(slot) => slot.lend(wait).await,
            None => wait.await,
        }
    }
}

/// The right to be at work, lent out while its holder waits.
pub(super) struct Slot {
    account: Account,
    most: u32,
    held: Mutex<Held>,
}

struct Held {
    admitted: Option<Admitted>,
    waiting: u32,
    over: bool,
}

impl Slot {
    /// Waits until one more agent of the tree may work.
    pub(super) async fn free(account: &Account, most: u32) -> Self {
        let admitted = Some(account.admitted(most).await);
        Self { account: account.clone(), most, held: Mutex::new(Held { admitted, waiting: 0, over: false }) }
    }

    async fn lend<T>(&self, wait: impl Future<Output = T>) -> T {
        {
            let mut held = self.lock();
            held.waiting += 1;
            held.admitted = None;
        }
        let value = wait.await;
        self.take_back().await;
        value
    }

    async fn take_back(&self) {
        {
            let mut held = self.lock();
            held.waiting = held.waiting.saturating_sub(1);
            if held.over || held.waiting > 0 || held.admitted.is_some() {
                return;
            }
        }
        let admitted = self.account.admitted(self.most).await;
        let mut held = self.lock();
        // Another call of the same agent may have begun to wait.
        held.admitted = (held.waiting == 0 && !held.over).then_some(admitted);
    }

    fn give_up(&self) {
        let mut held = self.lock();
        held.over = true;
        held.admitted = None;
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
