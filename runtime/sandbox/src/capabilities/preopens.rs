//! The granted folders of an agent, opened once; and what one call has used up of them.

use std::{collections::BTreeMap, fs::File, os::fd::AsFd, sync::Arc};

use palisade_grants::{Access, Capability, Denial, FilesGrant, WorkspacePath};
use wasmtime_wasi::{FsPerms, OpenMode, filesystem::Dir};

use crate::{
    Limits, Workspace, WorkspaceError,
    capabilities::confine::{Area, LastLink},
    meter::quota::Quota,
    scratch::Scratch,
};

/// The granted folders, opened once per agent and shared by its calls.
#[derive(Clone)]
pub(crate) struct Preopens {
    /// The workspace itself, from which real paths are told.
    workspace: Option<Area>,
    /// The same, to open granted folders in.
    around: Workspace,
    folders: Arc<[Preopen]>,
    /// Only agents that may write have one.
    scratch: Option<Arc<Scratch>>,
    /// Only tools of plugins have one.
    package: Option<Package>,
}

/// The folder of a plugin, for its own tools to look at.
#[derive(Clone)]
struct Package {
    preopen: Preopen,
    area: Area,
}

/// What the tools of a plugin call its folder.
const PACKAGE: &str = "/plugin";

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
    preopens: Preopens,
    /// The scratch folder, once the guest has it.
    scratch: Option<Area>,
    pub(crate) quota: Arc<Quota>,
    open: usize,
    most_open: usize,
    /// What is shown of the directories that are being read, by the handle of their listing.
    listed: BTreeMap<u32, Shown>,
}

/// Which names in a directory a guest may see.
pub(crate) enum Shown {
    All,
    Some(Arc<FilesGrant>, WorkspacePath),
    None,
}

impl Shown {
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Some(grant, directory) => {
                let path = format!("{}/{name}", directory.as_str());
                WorkspacePath::parse(path.trim_start_matches('/')).is_ok_and(|path| !grant.hides(&path))
            }
        }
    }
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
            folders.push(Preopen::at(path, File::from(fd)));
        }
        let scratch = root.as_ref().filter(|_| grant.writes()).map(|root| Arc::new(Scratch::new(workspace, root)));
        let around = workspace.clone();
        let workspace = root.map(|root| Area { root, grant: Arc::default(), name: None });
        Ok(Self { workspace, around, folders: folders.into(), scratch, package: None }.narrow(grant))
    }

    pub(crate) fn none() -> Self {
        Self { workspace: None, around: Workspace::none(), folders: Arc::default(), scratch: None, package: None }
    }

    /// The same with the folder of a plugin, if the workspace has it.
    pub(crate) fn with_package(self, plugin: &str) -> Self {
        let package = self.around.packages().get(plugin).and_then(|folder| {
            let (root, grant) = (Arc::clone(folder), Arc::new(FilesGrant::workspace(Access::Read)));
            let preopen = Preopen::new(PACKAGE, folder.try_clone().ok()?);
            Some(Package { preopen, area: Area { root, grant, name: Some(PACKAGE) } })
        });
        Self { package, ..self }
    }

    /// The same with no more than this grant allows. A folder inside of those that are open is opened
    /// if it is there.
    pub(crate) fn narrow(&self, grant: &FilesGrant) -> Self {
        let is_open = |path: &WorkspacePath| self.folders.iter().any(|folder| folder.path == *path);
        let inner = grant.folders().filter(|(path, access)| !is_open(path) && opens_more(grant, path, *access));
        let inner = inner.filter(|(path, _)| self.folders.iter().any(|folder| path.is_within(&folder.path)));
        let alone = inner.map(|(path, access)| FilesGrant::new([(path.clone(), access)]));
        let opened = alone.filter_map(|alone| self.around.open_granted(&alone).ok()).flatten();
        let opened = opened.map(|(path, fd)| Preopen::at(path, File::from(fd)));
        let folders: Vec<Preopen> = self.folders.iter().cloned().chain(opened).collect();
        let folders = folders.iter().filter(|folder| !grant.hides(&folder.path));
        let folders = folders.filter_map(|folder| Some(folder.with(grant.folder_access(&folder.path)?)));
        let narrowed = |area: &Area| Area { grant: Arc::new(grant.clone()), ..area.clone() };
        Self {
            workspace: self.workspace.as_ref().map(narrowed),
            around: self.around.clone(),
            folders: folders.collect(),
            scratch: self.scratch.clone().filter(|_| !grant.is_empty()),
            package: self.package.clone(),
        }
    }
}

/// What a shell calls the workspace. Relative paths would not do: to a guest `./tmp` is what `/tmp` is.
const SHELLS_NAME: &str = "/workspace";

impl Preopens {
    /// The same under the names that a shell has for them.
    pub(crate) fn for_shell(self) -> Self {
        let renamed = |folder: &Preopen| {
            let name = match folder.path.is_root() {
                true => SHELLS_NAME.into(),
                false => format!("{SHELLS_NAME}/{}", folder.path).into(),
            };
            Preopen { name, ..folder.clone() }
        };
        Self { folders: self.folders.iter().map(renamed).collect(), ..self }
    }
}

impl Preopen {
    /// An open folder, to be looked at.
    pub(crate) fn new(name: &str, folder: File) -> Self {
        let wasi = Dir::new(folder, FsPerms::ReadOnly, OpenMode::READ, true);
        Self { path: WorkspacePath::ROOT, name: name.into(), wasi }
    }

    /// An open folder of the workspace, to be looked at.
    fn at(path: WorkspacePath, folder: File) -> Self {
        Self { path: path.clone(), ..Self::new(&path.to_string(), folder) }
    }

    /// The same with this access.
    pub(crate) fn with(&self, access: Access) -> Self {
        let mut folder = self.clone();
        (folder.wasi.perms, folder.wasi.open_mode) = match access {
            Access::Read => (FsPerms::ReadOnly, OpenMode::READ),
            Access::ReadWrite => (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE),
        };
        folder
    }
}

impl Files {
    pub(crate) fn new(preopens: &Preopens, limits: &Limits) -> Self {
        Self {
            preopens: preopens.clone(),
            scratch: None,
            quota: Arc::new(Quota::new(limits.written, limits.created)),
            open: 0,
            most_open: limits.open_files,
            listed: BTreeMap::new(),
        }
    }

    /// The preopen that a path lies in, and the path below it.
    pub(crate) fn preopen<'path>(&self, path: &'path WorkspacePath) -> Option<(Arc<File>, &'path str)> {
        let folders = self.preopens.folders.iter().filter(|folder| path.is_within(&folder.path));
        let folder = folders.max_by_key(|folder| folder.path.as_str().len())?;
        let below = path.as_str()[folder.path.as_str().len()..].trim_start_matches('/');
        Some((Arc::clone(&folder.wasi.dir), below))
    }

    /// The scratch folder or that of the tool's plugin, if an absolute path lies in it, and the path below it.
    pub(crate) fn beside(&self, path: &str) -> Option<(Arc<File>, WorkspacePath)> {
        let in_package = || {
            let package = self.preopens.package.as_ref()?;
            let below = path.strip_prefix(PACKAGE).filter(|below| below.is_empty() || below.starts_with('/'))?;
            let below = WorkspacePath::parse(below.trim_start_matches('/')).ok()?;
            Some((Arc::clone(&package.area.root), below))
        };
        in_package().or_else(|| self.preopens.scratch.as_ref()?.find(path))
    }

    /// The trees that the guest has handles in.
    pub(crate) fn areas(&self) -> impl Iterator<Item = &Area> + Clone {
        // A plugin that lies in the workspace is first of all a plugin.
        let package = self.preopens.package.iter().map(|package| &package.area);
        package.chain(&self.preopens.workspace).chain(&self.scratch)
    }

    /// The workspace itself and what may be done in it, if anything may.
    pub(crate) fn workspace(&self) -> Option<(&File, &FilesGrant)> {
        let area = self.preopens.workspace.as_ref().filter(|area| !area.grant.is_empty())?;
        Some((&area.root, &area.grant))
    }

    /// What may be done in the workspace.
    pub(crate) fn grant(&self) -> Option<&FilesGrant> {
        Some(&self.preopens.workspace.as_ref()?.grant)
    }

    /// Whether anything in the workspace is hidden from the guest. If not, what it can open it may see.
    pub(crate) fn hides_anything(&self) -> bool {
        self.grant().is_some_and(FilesGrant::hides_anything)
    }

    /// Whether an open file or directory is hidden from the guest.
    pub(crate) fn hides(&self, opened: impl AsFd) -> bool {
        Area::hide(self.areas(), opened)
    }

    /// Whether a path means something hidden from the guest, or is found only by way of it.
    pub(crate) fn hides_way(&self, from: &File, path: &str, last: LastLink) -> bool {
        Area::hide_way(self.areas(), from, path, last)
    }

    /// Which names in an open directory the guest may see.
    pub(crate) fn shown_in(&self, directory: impl AsFd) -> Shown {
        match self.hides_anything().then(|| Area::around(self.areas(), directory)) {
            None => Shown::All,
            Some(Ok((area, path))) => Shown::Some(Arc::clone(&area.grant), path),
            Some(Err(_)) => Shown::None,
        }
    }

    /// Remembers what is shown of a listing.
    pub(crate) fn lists(&mut self, listing: u32, shown: Shown) {
        match shown {
            Shown::All => {}
            Shown::Some(..) | Shown::None => drop(self.listed.insert(listing, shown)),
        }
    }

    /// Whether a name of a listing is shown.
    pub(crate) fn shows(&self, listing: u32, name: &str) -> bool {
        self.listed.get(&listing).is_none_or(|shown| shown.has(name))
    }

    pub(crate) fn lists_no_more(&mut self, listing: u32) {
        self.listed.remove(&listing);
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
    pub(crate) fn hand_out_preopens(&mut self) -> Vec<Preopen> {
        let package = self.preopens.package.as_ref().map(|package| package.preopen.clone());
        let others = self.hand_out_scratch().into_iter().chain(package);
        let folders: Vec<Preopen> = self.preopens.folders.iter().cloned().chain(others).collect();
        self.open += folders.len();
        folders
    }

    fn hand_out_scratch(&mut self) -> Option<Preopen> {
        let access = if self.grant()?.writes() { Access::ReadWrite } else { Access::Read };
        let (preopen, area) = self.preopens.scratch.as_ref()?.lend(access)?;
        self.scratch = Some(area);
        Some(preopen)
    }

    pub(crate) fn closed(&mut self) {
        self.open = self.open.saturating_sub(1);
    }
}

/// Whether more is granted in a folder than in the one around it.
fn opens_more(grant: &FilesGrant, path: &WorkspacePath, access: Access) -> bool {
    let around = grant.folders().filter(|(folder, _)| *folder != path && path.is_within(folder));
    around.max_by_key(|(folder, _)| folder.as_str().len()).is_none_or(|(_, around)| around < access)
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
