//! Who may be at work: at most so many runs at the same time, of each tenant at most its share, and in turn.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use crate::problem::Problem;

/// The right to be at work, for as long as it is there.
pub(crate) struct Admitted {
    admission: Admission,
    tenant: String,
}

/// Lets runs in.
#[derive(Clone)]
pub(crate) struct Admission {
    shared: Arc<Mutex<State>>,
    /// How many runs may be at work at the same time.
    most: u32,
}

/// A tenant's share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// How many of its runs may be at work.
    pub(crate) runs: u32,
    /// How many may wait.
    pub(crate) waiting: u32,
}

#[derive(Default)]
struct State {
    working: u32,
    tenants: HashMap<String, Line>,
    /// Whose turn it is, of those who wait.
    turns: VecDeque<String>,
    closed: bool,
}

#[derive(Default)]
struct Line {
    working: u32,
    runs: u32,
    waiting: VecDeque<oneshot::Sender<Admitted>>,
}

/// When somebody who was sent away may try again, in seconds.
const AGAIN: u64 = 2;

impl Admission {
    /// At most so many at the same time.
    pub(crate) fn of(most: u32) -> Self {
        Self { shared: Arc::default(), most: most.max(1) }
    }

    /// Waits for its turn. Whoever would wait behind too many others is sent away at once.
    pub(crate) async fn admit(&self, tenant: &str, share: Share) -> Result<Admitted, Problem> {
        let turn = {
            let mut state = self.lock();
            if state.closed {
                return Err(Problem::unavailable("the server is about to stop", AGAIN));
            }
            let (enough, line) = (state.working < self.most, state.tenants.entry(tenant.to_owned()).or_default());
            line.runs = share.runs.max(1);
            if enough && line.working < line.runs && line.waiting.is_empty() {
                line.working += 1;
                state.working += 1;
                return Ok(Admitted { admission: self.clone(), tenant: tenant.to_owned() });
            }
            line.waiting.retain(|waiting| !waiting.is_closed());
            if line.waiting.len() >= share.waiting as usize {
                let detail = format!("{} runs work and {} wait already", line.working, line.waiting.len());
                return Err(Problem::too_many(detail, AGAIN));
            }
            let (admit, turn) = oneshot::channel();
            line.waiting.push_back(admit);
            if !state.turns.iter().any(|waiting| waiting == tenant) {
                state.turns.push_back(tenant.to_owned());
            }
            turn
        };
        turn.await.map_err(|_| Problem::unavailable("the server is about to stop", AGAIN))
    }

    /// From now on nobody is let in.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.turns.clear();
        state.tenants.values_mut().for_each(|line| line.waiting.clear());
    }

    /// Whether nobody is let in any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// How many work, and how many wait.
    pub(crate) fn counts(&self) -> (u32, usize) {
        let state = self.lock();
        (state.working, state.tenants.values().map(|line| line.waiting.len()).sum())
    }

    /// Lets in whoever is next: of each tenant that waits one, in turn.
    fn let_in(&self) {
        loop {
            // Handed over without the lock: what nobody takes gives its place back when it is dropped.
            let Some((waiting, admitted)) = self.next() else { return };
            drop(waiting.send(admitted));
        }
    }

    fn next(&self) -> Option<(oneshot::Sender<Admitted>, Admitted)> {
        let mut state = self.lock();
        let state = &mut *state;
        if state.working >= self.most {
            return None;
        }
        for _ in 0..state.turns.len() {
            let Some(tenant) = state.turns.pop_front() else { break };
            let Some(line) = state.tenants.get_mut(&tenant) else { continue };
            line.waiting.retain(|waiting| !waiting.is_closed());
            if line.working >= line.runs {
                state.turns.push_back(tenant);
                continue;
            }
            let Some(waiting) = line.waiting.pop_front() else { continue };
            line.working += 1;
            state.working += 1;
            if !line.waiting.is_empty() {
                state.turns.push_back(tenant.clone());
            }
            return Some((waiting, Admitted { admission: self.clone(), tenant }));
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        {
            let mut state = self.admission.lock();
            state.working = state.working.saturating_sub(1);
            if let Some(line) = state.tenants.get_mut(&self.tenant) {
                line.working = line.working.saturating_sub(1);
                if line.working == 0 && line.waiting.is_empty() {
                    state.tenants.remove(&self.tenant);
                }
            }
        }
        self.admission.let_in();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt as _, future::BoxFuture};

    use super::*;

    const SHARE: Share = Share { runs: 2, waiting: 2 };

    fn waiting(admission: &Admission, tenant: &'static str) -> BoxFuture<'static, Result<Admitted, Problem>> {
        let admission = admission.clone();
        let mut turn = async move { admission.admit(tenant, SHARE).await }.boxed();
        assert!((&mut turn).now_or_never().is_none(), "{tenant} waits");
        turn
    }

    /// HTTP-17
    #[tokio::test]
    async fn whoever_asks_for_much_does_not_keep_others_from_working() {
        let admission = Admission::of(3);
        let own: Vec<_> =
            [admission.admit("loud", SHARE).await.unwrap(), admission.admit("loud", SHARE).await.unwrap()].into();
        // Its share is used up, though there is a place.
        let (third, fourth) = (waiting(&admission, "loud"), waiting(&admission, "loud"));
        assert_eq!(admission.admit("loud", SHARE).await.err().unwrap().status().as_u16(), 429);
        let quiet = admission.admit("quiet", SHARE).await.unwrap();
        assert_eq!(admission.counts(), (3, 2));
        let second = waiting(&admission, "quiet");
        drop(own);
        // In turn: one of each, though the loud one has waited longer with both.
        let (third, second) = (third.now_or_never().unwrap().unwrap(), second.now_or_never().unwrap().unwrap());
        assert_eq!(admission.counts(), (3, 1));
        drop((quiet, third, second));
        drop(fourth.now_or_never().unwrap().unwrap());
        assert_eq!(admission.counts(), (0, 0));
    }

    #[tokio::test]
    async fn a_place_that_nobody_takes_is_free_again() {
        let admission = Admission::of(1);
        let first = admission.admit("a", SHARE).await.unwrap();
        let gone = waiting(&admission, "a");
        let next = waiting(&admission, "a");
        drop(gone);
        drop(first);
        drop(next.now_or_never().unwrap().unwrap());
        assert_eq!(admission.counts(), (0, 0));
    }

    #[tokio::test]
    async fn nobody_is_let_in_who_comes_too_late() {
        let admission = Admission::of(1);
        let first = admission.admit("a", SHARE).await.unwrap();
        let second = waiting(&admission, "b");
        admission.close();
        assert_eq!(second.now_or_never().unwrap().err().unwrap().status().as_u16(), 503);
        assert_eq!(admission.admit("c", SHARE).await.err().unwrap().status().as_u16(), 503);
        drop(first);
    }
}
