//! Which files of a project somebody has looked at and trusts.
//!
//! A project's agents come with the repository, from whoever may write to it. A decision is bound to
//! what the file said when it was made, so that a file that changes has to be looked at again.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::private::{self, Held, KeptError};
use crate::definition::Notice;

/// Longer than any list; what is longer is damaged.
const LARGEST: u64 = 32 << 20;

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
    /// The file was not changed.
    #[error("the decisions about trust: {0}")]
    Kept(#[from] KeptError),
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
            ..Notice::warning(path.display().to_string(), format!("nothing of a project is trusted: it {problem}"))
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
        let held = Held::hold(path)?;
        let mut decisions = stored(path).map_err(|why| held.damaged(why, "decide again"))?;
        self.changes.iter().for_each(|change| decisions.apply(change));
        held.replace(&decisions)?;
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
    let decisions: Decisions = private::read(path, LARGEST)?.unwrap_or_default();
    let mut digests = decisions.workspaces.values().flat_map(BTreeMap::values);
    match digests.find(|digest| blake3::Hash::from_hex(digest).is_err()) {
        Some(digest) => Err(format!("is damaged: `{digest}` is no digest")),
        None => Ok(decisions),
    }
}
