//! Which processes guests run in: one for each workspace, and another one for agents that may change it.

use std::{
    collections::HashMap,
    fs::File,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use palisade_grants::FilesGrant;

use super::{keep::Room, start::Plan};
use crate::{
    Call, Failure, Report, Settings, Workspace, component::Digest, scope::LinkedTool, scope::Tools, workspace::Packages,
};

/// The processes that an engine's guests run in.
pub(crate) struct Runner {
    worker: PathBuf,
    settings: Settings,
    fingerprint: Digest,
    /// A room is there for as long as a scope has it.
    rooms: Mutex<HashMap<Key, Weak<Room>>>,
}

/// What tells one room from another. What an agent may not touch is not in the room that its guests are in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Key {
    /// The workspace, by device and number.
    workspace: Option<(u64, u64)>,
    /// Whether it may be changed.
    writes: bool,
    scratch_in: Option<Arc<Path>>,
    /// The folders of plugins, likewise.
    packages: Vec<(u64, u64)>,
}

/// A scope whose guests run in another process.
pub(crate) struct Apart {
    /// What it is called there.
    id: u64,
    key: Key,
    workspace: Option<Arc<File>>,
    packages: Arc<Packages>,
    files: FilesGrant,
    room: Mutex<Option<Arc<Room>>>,
}

impl Runner {
    pub(crate) fn new(worker: PathBuf, settings: Settings, fingerprint: Digest) -> Self {
        Self { worker, settings, fingerprint, rooms: Mutex::default() }
    }

    /// Starts a process with nothing in it, and ends it.
    pub(crate) fn try_out(&self) -> Result<(), String> {
        Room::start(self.plan(&Key::default(), None, Arc::default())).map(drop)
    }

    pub(crate) fn processes(&self) -> Vec<u32> {
        self.rooms().values().filter_map(Weak::upgrade).map(|room| room.process()).collect()
    }

    /// The room for a scope: one that is there, or a new one.
    fn room(&self, apart: &Apart) -> Result<Arc<Room>, Failure> {
        let mut rooms = self.rooms();
        if let Some(room) = rooms.get(&apart.key).and_then(Weak::upgrade).filter(|room| room.is_there()) {
            return Ok(room);
        }
        rooms.retain(|_, room| room.strong_count() > 0);
        let started = Room::start(self.plan(&apart.key, apart.workspace.clone(), Arc::clone(&apart.packages)));
        let room = Arc::new(started.map_err(|why| Failure::Host { reason: format!("no tool runner: {why}") })?);
        rooms.insert(apart.key.clone(), Arc::downgrade(&room));
        Ok(room)
    }

    fn plan(&self, key: &Key, workspace: Option<Arc<File>>, packages: Arc<Packages>) -> Plan {
        Plan {
            worker: self.worker.clone(),
            settings: self.settings,
            fingerprint: self.fingerprint,
            workspace,
            packages,
            writes: key.writes,
            scratch_in: key.scratch_in.clone(),
        }
    }

    fn rooms(&self) -> MutexGuard<'_, HashMap<Key, Weak<Room>>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Apart {
    /// A scope that has these folders of a workspace. Nothing is started before the first call.
    pub(crate) fn new(workspace: &Workspace, files: &FilesGrant) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let root = workspace.root().filter(|_| !files.is_empty());
        let root = root.and_then(|root| root.try_clone().ok()).map(|root| Arc::new(root.into_std_file()));
        let identity = |folder: &Arc<File>| rustix::fs::fstat(folder).ok().map(|stat| (stat.st_dev, stat.st_ino));
        let packages = Arc::clone(workspace.packages());
        let key = Key {
            workspace: root.as_ref().and_then(identity),
            writes: files.writes(),
            scratch_in: workspace.scratch_in(),
            packages: packages.values().filter_map(identity).collect(),
        };
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { id, key, workspace: root, packages, files: files.clone(), room: Mutex::default() }
    }

    /// Calls a tool there.
    pub(crate) fn call(&self, tool: &LinkedTool, tools: &Tools, input: &str, call: &Call) -> Report {
        match self.room(tool) {
            Ok(room) => room.call(self.id, &self.files, tool, tools, input, call),
            Err(failure) => Report::failed(failure),
        }
    }

    fn room(&self, tool: &LinkedTool) -> Result<Arc<Room>, Failure> {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = room.as_ref().filter(|room| room.is_there()) {
            return Ok(Arc::clone(room));
        }
        let runner = tool.engine.runner().ok_or_else(|| Failure::Host { reason: "no tool runner".to_owned() })?;
        Ok(Arc::clone(room.insert(runner.room(self)?)))
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        if let Some(room) = self.room.get_mut().unwrap_or_else(PoisonError::into_inner) {
            room.close(self.id);
        }
    }
}
