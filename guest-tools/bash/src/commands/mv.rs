//! `mv`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, Result};

use super::{
    destinations::destinations,
    input::absolute,
    options::Known,
    output::{complain, refuse},
};
use crate::{
    files::{changeable, usual},
    links,
};

pub(super) struct Mv;

const KNOWN: Known = Known {
    short: "fint:Tuv",
    long: &[
        ("force", 'f'),
        ("interactive", 'i'),
        ("no-clobber", 'n'),
        ("no-target-directory", 'T'),
        ("target-directory", 't'),
        ("update", 'u'),
        ("verbose", 'v'),
    ],
};

#[async_trait]
impl Command for Mv {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let (given, pairs) = match destinations(&context, &KNOWN) {
            Ok(read) => read,
            Err(words) => return refuse(&context, &words, 1).await,
        };
        let mut code = 0;
        for (source, to) in &pairs {
            match rename(&context, source, to, given.last_of("fin") == Some('n'), given.has('u')) {
                Ok(true) if given.has('v') => {
                    context.stdout.write_all(format!("renamed '{source}' -> '{to}'\n").as_bytes()).await?;
                }
                Ok(_) => {}
                Err(words) => {
                    complain(&context, &words).await?;
                    code = 1;
                }
            }
        }
        Ok(CommandStatus::with_code(code))
    }
}

/// Moves one file or directory. It is not moved if what is there should be kept, or is newer.
fn rename(
    context: &CommandContext<'_>,
    source: &str,
    target: &str,
    keep: bool,
    keep_newer: bool,
) -> std::result::Result<bool, String> {
    let said = |error: io::Error| format!("cannot move '{source}' to '{target}': {}", usual(error));
    let unseen = |error: io::Error| format!("cannot stat '{source}': {}", usual(error));
    let from = changeable(&absolute(context.cwd, source)).map_err(unseen)?;
    let to = changeable(&absolute(context.cwd, target)).map_err(said)?;
    let moved = fs::symlink_metadata(&from).map_err(unseen)?;
    if let Ok(there) = fs::symlink_metadata(&to) {
        if from == to {
            return Err(format!("'{source}' and '{target}' are the same file"));
        }
        if there.is_dir() && !moved.is_dir() {
            return Err(format!("cannot overwrite directory '{target}' with non-directory"));
        }
        if moved.is_dir() && !there.is_dir() {
            return Err(format!("cannot overwrite non-directory '{target}' with directory '{source}'"));
        }
        let newer = there.modified().ok() >= moved.modified().ok();
        if keep || keep_newer && newer {
            return Ok(false);
        }
    }
    if moved.is_dir() && to.starts_with(&from) {
        return Err(format!("cannot move '{source}' to a subdirectory of itself, '{target}'"));
    }
    match fs::rename(&from, &to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            copy(&from, &to).and_then(|()| remove(&from)).map_err(said)?;
        }
        done => done.map_err(said)?,
    }
    Ok(true)
}

/// Copies a tree, as between two disks.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(from)?.file_type();
    if kind.is_symlink() {
        return links::symlink(&fs::read_link(from)?, to);
    }
    if !kind.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(PathBuf::from(entry.file_name())))?;
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}
