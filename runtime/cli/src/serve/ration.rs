//! A tenant's share of the machine: how many of its tools work at the same time, with how much memory, and for how
//! long in every minute. Whoever wants more waits.

use std::{
    any::Any,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use palisade_agent::Gate;
use palisade_server::Quotas;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// A tenant's share of the machine.
pub(crate) struct Ration {
    sandboxes: Option<Arc<Semaphore>>,
    /// A permit is a MiB.
    memory: Option<(Arc<Semaphore>, u32)>,
    time: Option<(Duration, Mutex<Minute>)>,
}

struct Minute {
    began: Instant,
    used: Duration,
}

const MINUTE: Duration = Duration::from_secs(60);
const MIB: usize = 1 << 20;

impl Ration {
    /// What quotas allow.
    pub(crate) fn of(quotas: &Quotas) -> Self {
        let permits = |count: u32| Arc::new(Semaphore::new((count.max(1) as usize).min(Semaphore::MAX_PERMITS)));
        let minute = Minute { began: Instant::now(), used: Duration::ZERO };
        Self {
            sandboxes: quotas.sandboxes.map(permits),
            memory: quotas.memory_mib.map(|most| (permits(most), most.max(1))),
            time: quotas.sandbox_seconds.map(|most| (Duration::from_secs(most.max(1).into()), Mutex::new(minute))),
        }
    }

    /// How many bytes one call may have at most: no more than all of them together.
    pub(crate) fn memory(&self, wanted: usize) -> usize {
        self.memory.as_ref().map_or(wanted, |(_, most)| wanted.min(*most as usize * MIB))
    }

    /// The gate for calls with so many bytes each.
    pub(crate) fn gate(self: &Arc<Self>, memory: usize) -> Arc<dyn Gate> {
        let mib = u32::try_from(memory.div_ceil(MIB)).unwrap_or(u32::MAX);
        Arc::new(Entrance { ration: Arc::clone(self), mib })
    }

    /// Waits until this minute has time left.
    async fn time_left(&self) {
        let Some((most, minute)) = &self.time else { return };
        loop {
            let next = lock(minute).next(*most, Instant::now());
            match next {
                Some(next) => tokio::time::sleep_until(next).await,
                None => return,
            }
        }
    }
}

impl Minute {
    /// When there is time again; nothing if there is some left.
    fn next(&mut self, most: Duration, now: Instant) -> Option<Instant> {
        if now.saturating_duration_since(self.began) >= MINUTE {
            *self = Self { began: now, used: Duration::ZERO };
        }
        (self.used >= most).then(|| self.began + MINUTE)
    }
}

fn lock(minute: &Mutex<Minute>) -> MutexGuard<'_, Minute> {
    minute.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Entrance {
    ration: Arc<Ration>,
    mib: u32,
}

/// A call that was let in.
struct Entered {
    ration: Arc<Ration>,
    began: Instant,
    _sandbox: Option<OwnedSemaphorePermit>,
    _memory: Option<OwnedSemaphorePermit>,
}

#[async_trait]
impl Gate for Entrance {
    async fn enter(&self) -> Result<Box<dyn Any + Send>, String> {
        let closed = |_| "the server is about to stop".to_owned();
        let sandbox = match &self.ration.sandboxes {
            Some(sandboxes) => Some(Arc::clone(sandboxes).acquire_owned().await.map_err(closed)?),
            None => None,
        };
        let memory = match &self.ration.memory {
            Some((mib, most)) => Some(Arc::clone(mib).acquire_many_owned(self.mib.min(*most)).await.map_err(closed)?),
            None => None,
        };
        self.ration.time_left().await;
        let (ration, began) = (Arc::clone(&self.ration), Instant::now());
        Ok(Box::new(Entered { ration, began, _sandbox: sandbox, _memory: memory }))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some((_, minute)) = &self.ration.time {
            lock(minute).used += self.began.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn gate(quotas: Quotas, memory: usize) -> Arc<dyn Gate> {
        Arc::new(Ration::of(&quotas)).gate(memory)
    }

    #[tokio::test]
    async fn only_so_many_tools_work_at_the_same_time() {
        let gate = gate(Quotas { sandboxes: Some(2), ..Quotas::default() }, MIB);
        let (first, _second) = (gate.enter().await.unwrap(), gate.enter().await.unwrap());
        let mut third = gate.enter();
        assert!((&mut third).now_or_never().is_none());
        drop(first);
        assert!(third.now_or_never().is_some());
    }

    #[tokio::test]
    async fn calls_share_the_memory_there_is() {
        let ration = Arc::new(Ration::of(&Quotas { memory_mib: Some(300), ..Quotas::default() }));
        let (large, small) = (ration.gate(256 * MIB), ration.gate(44 * MIB));
        let (first, _second) = (large.enter().await.unwrap(), small.enter().await.unwrap());
        assert!(small.enter().now_or_never().is_none());
        drop(first);
        assert!(small.enter().now_or_never().is_some());
        // What no call could ever have is not waited for.
        assert_eq!(ration.memory(1 << 30), 300 * MIB);
        assert_eq!(ration.memory(MIB), MIB);
    }

    #[test]
    fn whoever_has_used_up_its_minute_waits_for_the_next() {
        let (began, most) = (Instant::now(), Duration::from_secs(5));
        let mut minute = Minute { began, used: Duration::from_secs(4) };
        assert_eq!(minute.next(most, began + Duration::from_secs(30)), None);
        minute.used += Duration::from_secs(1);
        assert_eq!(minute.next(most, began + Duration::from_secs(30)), Some(began + MINUTE));
        assert_eq!(minute.next(most, began + MINUTE), None);
        assert_eq!(minute.used, Duration::ZERO);
    }

    #[tokio::test]
    async fn what_a_tool_works_is_counted() {
        let ration = Arc::new(Ration::of(&Quotas { sandbox_seconds: Some(1), ..Quotas::default() }));
        let used = || lock(&ration.time.as_ref().unwrap().1).used;
        let entered = ration.gate(MIB).enter().await.unwrap();
        assert_eq!(used(), Duration::ZERO);
        tokio::task::yield_now().await;
        drop(entered);
        assert!(used() > Duration::ZERO);
    }

    #[tokio::test]
    async fn who_has_no_quota_does_not_wait() {
        let gate = gate(Quotas::default(), usize::MAX);
        let entered: Vec<_> = (0..100).map(|_| gate.enter().now_or_never().unwrap().unwrap()).collect();
        assert_eq!(entered.len(), 100);
    }
}
