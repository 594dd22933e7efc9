//! Which file a program's name means.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use palisade_grants::{FilesGrant, WorkspacePath};
use rustix::fs::{Access, AtFlags, CWD, FileType, OFlags};

use super::plan::Plan;
use crate::workspace::{kernel_path, open_beneath};

/// The file that a name means. A name with a `/` in it was granted with it: it is a path of the
/// system, or one in the workspace that the agent may read.
pub(super) fn find(plan: &Plan, root: Option<&OwnedFd>) -> Result<PathBuf, String> {
    let name = plan.program.as_str();
    if !name.contains('/') {
        let found = plan.search.iter().map(|folder| folder.join(name)).find(|file| is_program(file));
        return found.ok_or_else(|| format!("there is no program `{name}` in {}", searched(plan)));
    }
    let found = match &plan.folder {
        _ if name.starts_with('/') => Some(PathBuf::from(name)),
        Some(folder) => folder.join(name).canonicalize().ok().filter(|file| file.starts_with(folder)),
        None => root.and_then(|root| inside(plan, root)),
    };
    found.filter(|file| is_program(file)).ok_or_else(|| format!("there is no program `{name}`"))
}

fn inside(plan: &Plan, root: &OwnedFd) -> Option<PathBuf> {
    let path = plan.program.strip_prefix("./").unwrap_or(&plan.program);
    let path = WorkspacePath::parse(path).ok()?;
    visible(&plan.files, &path).then_some(())?;
    let file = open_beneath(root.as_fd(), path.as_str(), OFlags::PATH).ok()?;
    kernel_path(file).ok()
}

fn visible(files: &FilesGrant, path: &WorkspacePath) -> bool {
    files.access(path).is_some()
}

fn is_program(file: &Path) -> bool {
    let is_file = rustix::fs::stat(file).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_file());
    is_file && rustix::fs::accessat(CWD, file, Access::EXEC_OK, AtFlags::empty()).is_ok()
}

fn searched(plan: &Plan) -> String {
    plan.search.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}
