//! One registry for several threads.

use std::sync::{Arc, PoisonError, RwLock};

use super::{LoadError, Registry};

/// A registry that several threads use. Whoever asks gets the agents as they are at that moment and
/// keeps them: a run is not changed by what is loaded while it goes on.
#[derive(Clone, Debug, Default)]
pub struct SharedRegistry {
    current: Arc<RwLock<Arc<Registry>>>,
}

impl SharedRegistry {
    /// Shares a registry.
    pub fn new(registry: Registry) -> Self {
        Self { current: Arc::new(RwLock::new(Arc::new(registry))) }
    }

    /// The agents there are now. A thread that panicked while it held the lock has left a whole
    /// registry behind, because changes are made to a copy: the lock is used on.
    pub fn now(&self) -> Arc<Registry> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the registry for everybody who asks from now on.
    pub fn change<T>(&self, change: impl FnOnce(&mut Registry) -> T) -> T {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let mut registry = Registry::clone(&current);
        let result = change(&mut registry);
        *current = Arc::new(registry);
        result
    }

    /// Looks again at the places the registry was loaded from.
    pub fn refresh(&self) -> Result<(), LoadError> {
        self.change(Registry::refresh)
    }
}
