//! The author's own files, read and written where the author said.
#![expect(clippy::disallowed_methods, reason = "reads and writes the project that was named on the command line")]

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Folders of a project that are made from the others, or are nobody's source.
const MADE: [&str; 7] = ["target", "dist", ".palisade", ".git", "node_modules", "__pycache__", ".venv"];

/// A project with more files than this is none; it is the home folder.
const MOST: usize = 20_000;

pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
}

pub(super) fn read_text(path: &Path) -> io::Result<String> {
    fs::read_to_string(path)
}

pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Writes a file that is not there yet, with the folders above it.
pub(super) fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::OpenOptions::new().write(true).create_new(true).open(path)?.write_all(content)
}

/// Writes a file whole or not at all, unless it is the same already.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|present| present == content) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().permissions(readable()).tempfile_in(folder)?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
}

/// What is built is there for everybody; a temporary file is not, unless one says so.
fn readable() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode(0o644)
}

/// Makes a folder empty.
pub(super) fn clear(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir_all(folder)
}

/// Whether there is a folder with something in it, or something that is no folder.
pub(super) fn is_taken(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// The regular files below a folder, sorted, without what is made from others. Links are not followed.
pub(super) fn sources(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut waiting) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() && !MADE.iter().any(|made| entry.file_name() == *made) {
                waiting.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
            if found.len() > MOST {
                return Err(io::Error::other(format!("there are more than {MOST} files; is it the right folder?")));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// What changes when a file of the project does: how many there are, and when the last one was written.
pub(crate) fn newest(folder: &Path) -> io::Result<(usize, Option<SystemTime>)> {
    let files = sources(folder)?;
    let times = files.iter().filter_map(|file| fs::metadata(file).ok()?.modified().ok());
    Ok((files.len(), times.max()))
}
