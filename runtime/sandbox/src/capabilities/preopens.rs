//! The granted folders of an agent, opened once; and what one call has used up of them.

use std::{fs::File, sync::Arc};

use palisade_grants::{Access, Capability, Denial, FilesGrant, WorkspacePath};
use wasmtime_wasi::{FsPerms, OpenMode, filesystem::Dir};

use crate::{Limits, Workspace, WorkspaceError, meter::quota::Quota};

/// The granted folders, opened once per agent and shared by its calls.
#[derive(Clone)]
pub(crate) struct Preopens {
    /// The workspace itself, from which real paths are told.
    pub(crate) root: Option<Arc<File>>,
    pub(crate) folders: Arc<[Preopen]>,
    pub(crate) grant: Arc<FilesGrant>,
}

/// One granted folder.
#[derive(Clone)]
pub(crate) struct Preopen {
    path: WorkspacePath,
    /// What the guest calls it.
    pub(crate) name: Arc<str>,
    pub(crate) wasi: Dir,
}

/// One guest's files: its preopens and what it has used up.
pub(crate) struct Files {
    pub(crate) preopens: Preopens,
    pub(crate) quota: Arc<Quota>,
    open: usize,
    most_open: usize,
}

impl Preopens {
    pub(crate) fn open(workspace: &Workspace, grant: &FilesGrant) -> Result<Self, WorkspaceError> {
        let failed = |path: &WorkspacePath, error| WorkspaceError::Grant { path: path.clone(), error };
        let root = match workspace.root() {
            Some(root) => {
                let root = root.try_clone().map_err(|error| failed(&WorkspacePath::ROOT, error))?;
                Some(Arc::new(root.into_std_file()))
            }
            None => None,
        };
        let mut folders = Vec::new();
        for (path, fd) in workspace.open_granted(grant)? {
            let file = File::from(fd);
            folders.push(Preopen {
                name: path.to_string().into(),
                wasi: Dir::new(file, FsPerms::ReadOnly, OpenMode::READ, true),
                path,
            });
        }
        Ok(Self { root, folders: folders.into(), grant: Arc::default() }.narrow(grant))
    }

    pub(crate) fn none() -> Self {
        Self { root: None, folders: Arc::default(), grant: Arc::default() }
    }

    /// The same handles with no more than this grant allows.
    pub(crate) fn narrow(&self, grant: &FilesGrant) -> Self {
        let folders = self.folders.iter().filter_map(|folder| {
            let (perms, open_mode) = match grant.access(&folder.path)? {
                Access::Read => (FsPerms::ReadOnly, OpenMode::READ),
                Access::ReadWrite => (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE),
            };
            let mut folder = folder.clone();
            folder.wasi.perms = perms;
            folder.wasi.open_mode = open_mode;
            Some(folder)
        });
        Self { root: self.root.clone(), folders: folders.collect(), grant: Arc::new(grant.clone()) }
    }
}

impl Files {
    pub(crate) fn new(preopens: &Preopens, limits: &Limits) -> Self {
        Self {
            preopens: preopens.clone(),
            quota: Arc::new(Quota::new(limits.written, limits.created)),
            open: 0,
            most_open: limits.open_files,
        }
    }

    /// The preopen that a path lies in, and the path below it.
    pub(crate) fn preopen<'path>(&self, path: &'path WorkspacePath) -> Option<(Arc<File>, &'path str)> {
        let folders = self.preopens.folders.iter().filter(|folder| path.is_within(&folder.path));
        let folder = folders.max_by_key(|folder| folder.path.as_str().len())?;
        let below = path.as_str()[folder.path.as_str().len()..].trim_start_matches('/');
        Some((Arc::clone(&folder.wasi.dir), below))
    }

    pub(crate) fn written(&self) -> u64 {
        self.quota.used()
    }

    /// What a stream was refused while the guest ran: streams cannot reach the list of denials.
    pub(crate) fn refused_write(&self) -> Option<Denial> {
        self.quota.was_refused().then(|| too_much(&self.quota))
    }

    /// Counts one more file, directory or link.
    pub(crate) fn create(&self) -> Result<(), Denial> {
        self.quota.make_file().map_err(|most| used_up(format!("creating more than {most} files"), "files"))
    }

    /// Whether one more file or directory may be open.
    pub(crate) fn room_for_one(&self) -> Result<(), Denial> {
        if self.open >= self.most_open {
            return Err(used_up(format!("having more than {} files open", self.most_open), "open files"));
        }
        Ok(())
    }

    /// Counts one more open file or directory, which will be closed.
    pub(crate) fn opened(&mut self) {
        self.open += 1;
    }

    /// Counts the preopens that a guest asked for; it cannot be refused them.
    pub(crate) fn hand_out_preopens(&mut self) -> Arc<[Preopen]> {
        self.open += self.preopens.folders.len();
        Arc::clone(&self.preopens.folders)
    }

    pub(crate) fn closed(&mut self) {
        self.open = self.open.saturating_sub(1);
    }
}

fn too_much(quota: &Quota) -> Denial {
    used_up(format!("writing more than {} bytes", quota.limit()), "bytes")
}

fn used_up(asked: String, what: &str) -> Denial {
    Denial {
        capability: Capability::FsWrite,
        asked,
        rule: format!("one call may not use more {what}"),
        remedy: "do the work in several calls, or raise `limits` in the agent's definition".to_owned(),
    }
}
