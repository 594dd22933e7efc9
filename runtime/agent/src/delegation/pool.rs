//! Idle agents that wait for another question of the one who asked before. An entry is a few ids and hashes;
//! what was said is in the store.

use super::sync::{Mutex, MutexGuard, PoisonError};

/// Who may ask an idle agent again: only somebody for whom it would be the very same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolKey {
    /// Identity, prompt, tools, rights, limits and model, as a hash in full.
    pub fingerprint: Box<str>,
    /// Whose sessions these are.
    pub tenant: Box<str>,
    /// The session of the one who asks. What was said for one is never heard by another.
    pub parent: Box<str>,
}

/// What the pool has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStatistics {
    /// Agents that wait.
    pub idle: usize,
    /// Agents at work.
    pub busy: usize,
    /// How often a waiting one was asked again.
    pub reused: u64,
    /// How many were taken in.
    pub adopted: u64,
    /// How many waiting ones had to make room.
    pub evicted: u64,
    /// How many were given up because of how their work ended.
    pub discarded: u64,
}

/// Whether a session can be had from the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// It is yours until you release or discard it.
    Reserved,
    /// Somebody else works with it.
    Busy,
    /// The pool does not know it.
    Unknown,
}

/// The agents that are kept. One lock: what is reserved by one is never seen by another.
#[derive(Debug)]
pub struct Pool {
    table: Mutex<Table>,
    most: usize,
}

#[derive(Debug, Default)]
struct Table {
    kept: Vec<Kept>,
    /// Grows with every release; the smallest has waited longest.
    clock: u64,
    statistics: PoolStatistics,
}

#[derive(Debug)]
struct Kept {
    key: PoolKey,
    session: Box<str>,
    plugin: Option<Box<str>>,
    released: u64,
    busy: bool,
    /// It is not to be used again, whatever becomes of its work.
    doomed: bool,
}

impl Pool {
    /// A pool that keeps at most so many, as long as not all of them are at work.
    pub fn of(most: usize) -> Self {
        Self { table: Mutex::new(Table::default()), most }
    }

    /// The bytes of an entry, without the ids and hashes it points to.
    pub const ENTRY: usize = size_of::<Kept>();

    /// Takes a waiting agent with this key, if there is one, and gives its session.
    pub fn reserve(&self, key: &PoolKey) -> Option<String> {
        let mut table = self.lock();
        let kept = table.kept.iter_mut().find(|kept| !kept.busy && !kept.doomed && kept.key == *key)?;
        kept.busy = true;
        let session = kept.session.to_string();
        table.statistics.reused += 1;
        Some(session)
    }

    /// Takes the agent of a session.
    pub fn reserve_session(&self, tenant: &str, session: &str) -> Reserve {
        let mut table = self.lock();
        match table.find(tenant, session).and_then(|at| table.kept.get_mut(at)) {
            None => Reserve::Unknown,
            Some(kept) if kept.busy => Reserve::Busy,
            Some(kept) => {
                kept.busy = true;
                table.statistics.reused += 1;
                Reserve::Reserved
            }
        }
    }

    /// Takes in an agent that is at work. Those that have waited longest make room; where none waits, the pool
    /// holds more than it should for a while.
    pub fn adopt(&self, key: PoolKey, plugin: Option<&str>, session: &str) {
        let mut table = self.lock();
        let (session, plugin) = (Box::from(session), plugin.map(Box::from));
        table.kept.push(Kept { key, session, plugin, released: 0, busy: true, doomed: false });
        table.statistics.adopted += 1;
        table.make_room(self.most);
    }

    /// Gives an agent back whose work ended well.
    pub fn release(&self, tenant: &str, session: &str) {
        let mut table = self.lock();
        table.clock += 1;
        let clock = table.clock;
        let Some(at) = table.find(tenant, session) else { return };
        if let Some(kept) = table.kept.get_mut(at) {
            (kept.busy, kept.released) = (false, clock);
            if kept.doomed {
                table.discard(at);
            }
        }
        table.make_room(self.most);
    }

    /// Gives an agent up: nobody knows what state its aborted, late or failed work left it in.
    pub fn discard(&self, tenant: &str, session: &str) {
        let mut table = self.lock();
        if let Some(at) = table.find(tenant, session) {
            table.discard(at);
        }
    }

    /// Gives up all agents of a plugin; those at work, when they are done. Says how many.
    pub fn evict_plugin(&self, plugin: &str) -> usize {
        self.give_up(|kept| kept.plugin.as_deref() == Some(plugin))
    }

    /// Gives up all agents that somebody asked from a session; those at work, when they are done.
    pub fn clear_session(&self, tenant: &str, parent: &str) -> usize {
        self.give_up(|kept| *kept.key.tenant == *tenant && *kept.key.parent == *parent)
    }

    /// What it has done so far.
    pub fn statistics(&self) -> PoolStatistics {
        let table = self.lock();
        let busy = table.kept.iter().filter(|kept| kept.busy).count();
        PoolStatistics { idle: table.kept.len() - busy, busy, ..table.statistics }
    }

    fn give_up(&self, which: impl Fn(&Kept) -> bool) -> usize {
        let mut table = self.lock();
        let before = table.kept.len();
        table.kept.retain(|kept| kept.busy || !which(kept));
        let gone = before - table.kept.len();
        table.statistics.evicted += gone as u64;
        let doomed = table.kept.iter_mut().filter(|kept| !kept.doomed && which(kept));
        gone + doomed.map(|kept| kept.doomed = true).count()
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn find(&self, tenant: &str, session: &str) -> Option<usize> {
        self.kept.iter().position(|kept| *kept.session == *session && *kept.key.tenant == *tenant)
    }

    fn discard(&mut self, at: usize) {
        self.kept.swap_remove(at);
        self.statistics.discarded += 1;
    }

    fn make_room(&mut self, most: usize) {
        while self.kept.len() > most {
            let idle = self.kept.iter().enumerate().filter(|(_, kept)| !kept.busy);
            let Some((at, _)) = idle.min_by_key(|(_, kept)| kept.released) else { return };
            self.kept.swap_remove(at);
            self.statistics.evicted += 1;
        }
    }
}
