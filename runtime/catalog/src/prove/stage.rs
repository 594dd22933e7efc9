//! A throw-away workspace with bait in and around it.
#![expect(clippy::disallowed_methods, reason = "sets and looks at a temporary folder of its own")]

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use palisade_grants::FilesGrant;
use palisade_sandbox::Report;

/// What the agent's own file says.
pub(crate) const OWN_TEXT: &str = "granted to be read";

/// A throw-away workspace, and a secret beside it.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
    own_file: String,
    secret: String,
}

/// How the stage looks: every path with what it is and holds.
pub(crate) struct Look {
    pub(crate) inside: Vec<(PathBuf, String)>,
    pub(crate) outside: Vec<(PathBuf, String)>,
}

impl Stage {
    /// Sets the stage for an agent with these grants.
    pub(crate) fn set(grant: &FilesGrant) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("palisade-prove-").tempdir()?;
        let workspace = folder.path().join("workspace");
        fs::create_dir_all(workspace.join(".git/hooks"))?;
        fs::create_dir_all(workspace.join("sub"))?;
        let mut own_file = "own.txt".to_owned();
        for (path, _) in grant.folders() {
            fs::create_dir_all(workspace.join(path.as_str()))?;
            own_file = format!("{}/own.txt", path.as_str()).trim_start_matches('/').to_owned();
        }
        fs::write(workspace.join(&own_file), OWN_TEXT)?;
        let outside = folder.path().join("outside");
        fs::create_dir(&outside)?;
        let secret = format!("canary-{:?}", folder.path().file_name());
        fs::write(outside.join("secret.txt"), &secret)?;
        symlink("../outside/secret.txt", workspace.join("link-out"))?;
        symlink(outside.join("secret.txt"), workspace.join("link-absolute"))?;
        symlink("../outside", workspace.join("link-directory"))?;
        Ok(Self { folder, own_file, secret })
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// A file that the agent may read, relative to the workspace.
    pub(crate) fn own_file(&self) -> &str {
        &self.own_file
    }

    pub(crate) fn secret_path(&self) -> String {
        self.folder.path().join("outside/secret.txt").display().to_string()
    }

    /// Looks at everything, to compare before and after.
    pub(crate) fn look(&self) -> io::Result<Look> {
        let mut all = Vec::new();
        record(self.folder.path(), &mut all)?;
        let workspace = self.workspace();
        let (inside, outside) = all.into_iter().partition(|(path, _)| path.starts_with(&workspace));
        Ok(Look { inside, outside })
    }

    /// Whether the secret, or the name of its file, is in anything that the guest gave back.
    pub(crate) fn leaked(&self, report: &Report) -> bool {
        let text = match &report.outcome {
            Ok(text) => text.clone(),
            Err(failure) => failure.to_string(),
        };
        let printed = String::from_utf8_lossy(&report.stdout.kept);
        text.contains(&self.secret)
            || printed.contains(&self.secret)
            || (report.outcome.is_ok() && (text.contains("outside") || text.contains("secret.txt")))
    }
}

fn record(folder: &Path, all: &mut Vec<(PathBuf, String)>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            all.push((path.clone(), format!("link to {}", fs::read_link(&path)?.display())));
        } else if kind.is_dir() {
            all.push((path.clone(), "directory".to_owned()));
            record(&path, all)?;
        } else {
            all.push((path.clone(), fs::read_to_string(&path)?));
        }
    }
    Ok(())
}
