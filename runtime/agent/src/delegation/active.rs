//! The work that agents have asked others to do and that is not over, or that nobody has taken the result of.

use std::collections::HashMap;

use super::sync::{Mutex, MutexGuard, PoisonError};

/// One piece of work.
#[derive(Clone, Debug)]
pub struct Piece<H> {
    /// Names it.
    pub task: String,
    /// Whose it is.
    pub tenant: String,
    /// The session of the agent that asked.
    pub parent: String,
    /// The call that asked.
    pub call: String,
    /// The agent that works.
    pub agent: String,
    /// Its session.
    pub session: String,
    /// What it is to do, shortened.
    pub description: String,
    /// Whether nobody waits for it, so that its result is kept until somebody asks.
    pub background: bool,
    /// What it is ended and waited for with.
    pub handle: H,
}

impl<H> Piece<H> {
    fn is_of(&self, tenant: &str, parent: &str) -> bool {
        self.tenant == tenant && self.parent == parent
    }
}

/// All pieces of work of one process. A piece is running, then finished, then gone; never the other way.
#[derive(Debug)]
pub(crate) struct Active<H> {
    table: Mutex<Table<H>>,
    /// How many results are kept for somebody to ask for.
    most: usize,
}

#[derive(Debug)]
struct Table<H> {
    running: HashMap<String, Piece<H>>,
    /// The oldest first.
    finished: Vec<Piece<H>>,
}

impl<H: Clone> Active<H> {
    /// A table that keeps at most so many results.
    pub(crate) fn keeping(most: usize) -> Self {
        Self { table: Mutex::new(Table { running: HashMap::new(), finished: Vec::new() }), most }
    }

    /// Work begins.
    pub(crate) fn start(&self, piece: Piece<H>) {
        self.lock().running.insert(piece.task.clone(), piece);
    }

    /// From now on nobody waits for the work. `false` if it was over before.
    pub(crate) fn leave(&self, task: &str) -> bool {
        match self.lock().running.get_mut(task) {
            Some(piece) => {
                piece.background = true;
                true
            }
            None => false,
        }
    }

    /// The result of the work is somewhere else and need not be kept. `false` if it was not.
    pub(crate) fn settle(&self, task: &str) -> bool {
        let mut table = self.lock();
        if let Some(piece) = table.running.get_mut(task) {
            return std::mem::take(&mut piece.background);
        }
        let before = table.finished.len();
        table.finished.retain(|piece| piece.task != task);
        table.finished.len() < before
    }

    /// Work is over. `false` if it was before: whatever is done once per piece is done by whom this returns
    /// `true` for.
    pub(crate) fn finish(&self, task: &str) -> bool {
        let mut table = self.lock();
        let Some(piece) = table.running.remove(task) else { return false };
        if piece.background {
            table.finished.push(piece);
            let too_many = table.finished.len().saturating_sub(self.most);
            table.finished.drain(..too_many);
        }
        true
    }

    /// The running or finished work of that name, for the one that asked for it and nobody else.
    pub(crate) fn find(&self, task: &str, tenant: &str, parent: &str) -> Option<Piece<H>> {
        let table = self.lock();
        let finished = || table.finished.iter().find(|piece| piece.task == task);
        table.running.get(task).or_else(finished).filter(|piece| piece.is_of(tenant, parent)).cloned()
    }

    /// All results that an agent has not asked for, the oldest first.
    pub(crate) fn finished_of(&self, tenant: &str, parent: &str) -> Vec<Piece<H>> {
        self.lock().finished.iter().filter(|piece| piece.is_of(tenant, parent)).cloned().collect()
    }

    /// How many pieces of work of one agent go on that nobody waits for.
    pub(crate) fn background_of(&self, tenant: &str, parent: &str) -> usize {
        self.lock().running.values().filter(|piece| piece.background && piece.is_of(tenant, parent)).count()
    }

    /// All work that goes on.
    pub(crate) fn running(&self) -> Vec<Piece<H>> {
        self.lock().running.values().cloned().collect()
    }

    /// Whether nothing goes on.
    pub(crate) fn is_idle(&self) -> bool {
        self.lock().running.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Table<H>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
