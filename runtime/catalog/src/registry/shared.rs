//! One registry for several threads.

use std::{
    sync::{Arc, PoisonError, RwLock, RwLockWriteGuard},
    time::{Duration, Instant},
};

use super::{LoadError, Registry};

/// A registry that several threads use. Whoever asks gets the agents as they are at that moment and
/// keeps them: a run is not changed by what is loaded while it goes on. What is taken back meanwhile
/// is seen by [`crate::Standing`].
#[derive(Clone, Debug, Default)]
pub struct SharedRegistry {
    current: Arc<RwLock<Current>>,
    /// How often the places it was loaded from are looked at again while agents work; absent: never.
    every: Option<Duration>,
}

#[derive(Debug)]
struct Current {
    registry: Arc<Registry>,
    /// Another one after every change.
    revision: u64,
    looked: Instant,
}

impl Default for Current {
    fn default() -> Self {
        Self { registry: Arc::default(), revision: 0, looked: Instant::now() }
    }
}

impl SharedRegistry {
    /// Shares a registry.
    pub fn new(registry: Registry) -> Self {
        let current = Current { registry: Arc::new(registry), ..Current::default() };
        Self { current: Arc::new(RwLock::new(current)), every: None }
    }

    /// The same, whose files are looked at again while agents work, but not more often than this.
    pub fn looking_every(mut self, time: Duration) -> Self {
        self.every = Some(time);
        self
    }

    /// The agents there are now. A thread that panicked while it held the lock has left a whole
    /// registry behind, because changes are made to a copy: the lock is used on.
    pub fn now(&self) -> Arc<Registry> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner).registry)
    }

    /// The same, with a number that is another one after every change; the files are looked at again
    /// if it is time. If the configuration cannot be used now, everything stays.
    pub(crate) fn looked_at(&self) -> (u64, Arc<Registry>) {
        let is_due = |current: &Current| self.every.is_some_and(|every| current.looked.elapsed() >= every);
        {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            if !is_due(&current) {
                return (current.revision, Arc::clone(&current.registry));
            }
        }
        let mut current = self.write();
        // Another thread may have been faster.
        if is_due(&current) {
            drop(current.change(Registry::refresh));
            current.looked = Instant::now();
        }
        (current.revision, Arc::clone(&current.registry))
    }

    /// Changes the registry for everybody who asks from now on.
    pub fn change<T>(&self, change: impl FnOnce(&mut Registry) -> T) -> T {
        self.write().change(change)
    }

    /// Looks again at the places the registry was loaded from.
    pub fn refresh(&self) -> Result<(), LoadError> {
        self.change(Registry::refresh)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Current> {
        self.current.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    fn change<T>(&mut self, change: impl FnOnce(&mut Registry) -> T) -> T {
        let mut registry = Registry::clone(&self.registry);
        let result = change(&mut registry);
        self.registry = Arc::new(registry);
        self.revision += 1;
        result
    }
}
