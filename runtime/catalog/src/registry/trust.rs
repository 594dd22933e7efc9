//! Which files of a project somebody has looked at and trusts.
//!
//! A project's agents come with the repository, from whoever may write to it. A decision is bound to
//! what the file said when it was made, so that a file that changes has to be looked at again.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use cap_std::fs::{Dir, File, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use serde::{Deserialize, Serialize};

use super::read::read;
use crate::definition::Notice;

/// The decisions of one user, from a file that only this user can write.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    decisions: Decisions,
    changes: Vec<Change>,
    /// A path that a decision is about and that cannot be written down.
    unspeakable: Option<PathBuf>,
    notice: Option<Notice>,
}

/// A decision that is not in the file yet; without a digest it is withdrawn.
#[derive(Clone, Debug)]
struct Change {
    workspace: String,
    file: String,
    digest: Option<blake3::Hash>,
}

/// What stands in the file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Decisions {
    /// By real path of the workspace, then by path of the file below it: the digest of its bytes.
    workspaces: BTreeMap<String, BTreeMap<String, String>>,
}

/// Why a decision was not kept.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// A path cannot be written in the file.
    #[error("{} is not valid text, so that no decision about it can be kept", .0.display())]
    Unspeakable(PathBuf),
    /// The file is there and not ours to replace.
    #[error("{0}; look at the file and remove it, then decide again")]
    Damaged(String),
    /// The file could not be replaced.
    #[error("the decisions about trust could not be written to {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

impl Trust {
    /// Reads the decisions. A file that is not there holds none; from one that is damaged, or that
    /// others could have written, none are taken, and [`Trust::notice`] says so.
    pub fn load(path: &Path) -> Self {
        let (decisions, problem) = match stored(path) {
            Ok(decisions) => (decisions, None),
            Err(problem) => (Decisions::default(), Some(problem)),
        };
        let notice = problem.map(|problem| Notice {
            fix: Some("look at the file and remove it, then decide again".to_owned()),
            ..Notice::warning(path.display().to_string(), format!("nothing of a project is trusted: {problem}"))
        });
        Self { decisions, notice, ..Self::default() }
    }

    /// What is wrong with the file.
    pub fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }

    /// Whether somebody trusts a file of a workspace that says exactly this. `workspace` is its real
    /// path, as [`real_path`] gives it.
    pub fn is_trusted(&self, workspace: &Path, file: &str, digest: &blake3::Hash) -> bool {
        self.decided(workspace, file).is_some_and(|trusted| trusted == *digest)
    }

    /// What a file said when it was trusted.
    pub fn decided(&self, workspace: &Path, file: &str) -> Option<blake3::Hash> {
        let files = self.decisions.workspaces.get(workspace.to_str()?)?;
        blake3::Hash::from_hex(files.get(file)?).ok()
    }

    /// Trusts a file of a workspace that says this.
    pub fn trust(&mut self, workspace: &Path, file: impl AsRef<Path>, bytes: &[u8]) {
        self.trust_digest(workspace, file, &blake3::hash(bytes));
    }

    /// Trusts a file of a workspace that says what has this digest.
    pub fn trust_digest(&mut self, workspace: &Path, file: impl AsRef<Path>, digest: &blake3::Hash) {
        self.change(workspace, file.as_ref(), Some(*digest));
    }

    /// Trusts a file of a workspace no longer.
    pub fn revoke(&mut self, workspace: &Path, file: impl AsRef<Path>) {
        self.change(workspace, file.as_ref(), None);
    }

    fn change(&mut self, workspace: &Path, file: &Path, digest: Option<blake3::Hash>) {
        let workspace = real_path(workspace);
        match (workspace.to_str(), file.to_str()) {
            (Some(workspace), Some(file)) => {
                let change = Change { workspace: workspace.to_owned(), file: file.to_owned(), digest };
                self.decisions.apply(&change);
                self.changes.push(change);
            }
            _ => self.unspeakable = Some(workspace.join(file)),
        }
    }

    /// Keeps the changes in a file, which becomes readable for nobody else. They are made to what is
    /// in the file now, not to what was there when it was read: in between another process may have
    /// withdrawn a decision.
    pub fn save(&mut self, path: &Path) -> Result<(), TrustError> {
        if let Some(path) = &self.unspeakable {
            return Err(TrustError::Unspeakable(path.clone()));
        }
        let io = |error| TrustError::Io { path: path.to_owned(), error };
        let (folder, name) = place(path).ok_or_else(|| io(io::ErrorKind::InvalidFilename.into()))?;
        Dir::create_ambient_dir_all(folder, cap_std::ambient_authority()).map_err(io)?;
        let dir = Dir::open_ambient_dir(folder, cap_std::ambient_authority()).map_err(io)?;
        let _lock = lock(&dir, name).map_err(io)?;
        let mut decisions = stored(path).map_err(TrustError::Damaged)?;
        self.changes.iter().for_each(|change| decisions.apply(change));
        replace(&dir, name, &decisions).map_err(io)?;
        *self = Self { decisions, ..Self::default() };
        Ok(())
    }
}

impl Decisions {
    fn apply(&mut self, Change { workspace, file, digest }: &Change) {
        let files = self.workspaces.entry(workspace.clone()).or_default();
        match digest {
            Some(digest) => drop(files.insert(file.clone(), digest.to_hex().to_string())),
            None => drop(files.remove(file)),
        }
        if files.is_empty() {
            self.workspaces.remove(workspace);
        }
    }
}

/// The path of a workspace that does not depend on how it was reached. What is not there keeps its
/// path.
pub fn real_path(workspace: &Path) -> PathBuf {
    workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned())
}

/// The decisions in a file, or what is wrong with it.
fn stored(path: &Path) -> Result<Decisions, String> {
    let (folder, name) = place(path).ok_or("it has no name")?;
    let dir = match Dir::open_ambient_dir(folder, cap_std::ambient_authority()) {
        Ok(dir) => dir,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Decisions::default()),
        Err(error) => return Err(format!("its folder cannot be opened: {error}")),
    };
    let contents = match read(&dir, name) {
        Ok(contents) => contents,
        Err(error) if error.is_missing() => return Ok(Decisions::default()),
        Err(error) => {
            return Err(format!("the decisions cannot be read: {error}"));
        }
    };
    let meta = dir.symlink_metadata(name).map_err(|error| format!("the decisions cannot be read: {error}"))?;
    let own = rustix::process::geteuid().as_raw();
    if meta.mode() & 0o022 != 0 || ![own, 0].contains(&meta.uid()) {
        return Err("others than its owner can write the file of decisions".to_owned());
    }
    let decisions: Decisions = serde_json::from_slice(&contents.bytes)
        .map_err(|error| format!("the file of decisions is damaged: {error}"))?;
    let mut digests = decisions.workspaces.values().flat_map(BTreeMap::values);
    match digests.find(|digest| blake3::Hash::from_hex(digest).is_err()) {
        Some(digest) => Err(format!("the file of decisions is damaged: `{digest}` is no digest")),
        None => Ok(decisions),
    }
}

/// Makes whoever else changes the file wait until this is dropped.
pub(super) fn lock(dir: &Dir, name: &OsStr) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    let file = dir.open_with(with_ending(name, ".lock"), &options)?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
    Ok(file)
}

/// Puts a new file in the place of the old one, so that a reader finds one or the other.
pub(super) fn replace(dir: &Dir, name: &OsStr, value: &impl Serialize) -> io::Result<()> {
    let fresh = with_ending(name, ".new");
    // Only whoever holds the lock is here, so this is what a crash left behind.
    match dir.remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = dir.open_with(&fresh, &options)?;
    serde_json::to_writer_pretty(&mut file, value)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    dir.rename(&fresh, dir, name)?;
    // A handle to look names up by cannot be made durable, so that it is opened once more.
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
    Ok(rustix::fs::fsync(rustix::fs::openat(dir, ".", flags, rustix::fs::Mode::empty())?)?)
}

fn with_ending(name: &OsStr, ending: &str) -> PathBuf {
    let mut name = name.to_owned();
    name.push(ending);
    name.into()
}

pub(super) fn place(path: &Path) -> Option<(&Path, &OsStr)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some((folder, path.file_name()?))
}
