//! Replacing a file's whole content, so that nobody ever sees half of it.
//!
//! The new content goes to a temporary file in the same directory, to the disk, and only then
//! takes the old one's name.
#![expect(clippy::disallowed_methods, reason = "on WebAssembly std::fs reaches only the granted preopens")]

use std::{
    fs,
    io::{self, Write as _},
    sync::atomic::{AtomicU32, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use crate::{Failure, files::FileError, text};

/// What [`replace`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// There was no such file before.
    Created,
    /// The file had other content before.
    Replaced,
}

/// Temporary names that may be taken already before it is not chance any more.
const ATTEMPTS: u32 = 16;
/// Names have at most 255 bytes on most file systems; the temporary one is longer than the name.
const MAX_STEM: usize = 48;

/// Gives the file at `path` new content in one step and makes the directories above it. It
/// refuses directories, devices and symbolic links.
pub fn replace(path: &str, content: &[u8]) -> Result<Replaced, Failure> {
    let target = text::clean(path);
    let (directory, name) = target.rsplit_once('/').unwrap_or(("", &target));
    if name.is_empty() || name == ".." || path.ends_with('/') {
        return Err(Failure::InvalidInput(format!("`{path}` does not name a file")));
    }
    let done = look(path, &target)?;
    if !directory.is_empty() {
        fs::create_dir_all(directory).map_err(|error| Failure::on_io(directory, &error))?;
    }
    let above = if directory.is_empty() && !target.starts_with('/') { "" } else { &target[..=directory.len()] };
    let (temporary, file) = create_beside(above, name).map_err(|error| Failure::on_io(path, &error))?;
    if let Err(error) = fill(file, content).and_then(|()| fs::rename(&temporary, &target)) {
        // The first error is the one to report; a file that cannot be removed either stays.
        drop(fs::remove_file(&temporary));
        return Err(Failure::on_io(path, &error));
    }
    Ok(done)
}

/// Says what replacing will do, or why it cannot be done.
fn look(path: &str, target: &str) -> Result<Replaced, Failure> {
    let kind = match fs::symlink_metadata(target) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Replaced::Created),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(Failure::Failed(format!("{path}: a part of the path is a file, not a directory")));
        }
        Err(error) => return Err(Failure::on_io(path, &error)),
    };
    if kind.is_file() {
        Ok(Replaced::Replaced)
    } else if kind.is_dir() {
        Err(Failure::Failed(format!("{path} is a directory; give the path of a file in it")))
    } else if kind.is_symlink() {
        let link = fs::read_link(target).map_or_else(|_| "?".to_owned(), |link| link.display().to_string());
        Err(Failure::Failed(format!("{path} is a symbolic link to {link}; write to that file instead")))
    } else {
        Err(Failure::on_path(path, FileError::NotAFile))
    }
}

/// Creates a file under a name that nobody else has.
fn create_beside(above: &str, name: &str) -> io::Result<(String, fs::File)> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let stem = &name[..name.floor_char_boundary(MAX_STEM)];
    let mut attempt = 0;
    loop {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = format!("{above}.{stem}.palisade-{now:x}-{count}");
        match fs::OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

fn fill(mut file: fs::File, content: &[u8]) -> io::Result<()> {
    file.write_all(content)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(directory: &std::path::Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_created_with_its_directories_and_then_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = format!("{}/a/b/c.txt", dir.path().display());
        assert_eq!(replace(&path, b"one"), Ok(Replaced::Created));
        assert_eq!(replace(&path, b"two"), Ok(Replaced::Replaced));
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(names(&dir.path().join("a/b")), ["c.txt"]);
    }

    #[test]
    fn the_longest_name_is_no_longer_than_a_name_may_be() {
        let dir = tempfile::tempdir().unwrap();
        let path = format!("{}/{}", dir.path().display(), "é".repeat(127));
        assert_eq!(replace(&path, b"x"), Ok(Replaced::Created));
    }

    #[test]
    fn directories_and_links_are_refused_and_nothing_is_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().display();
        fs::create_dir(dir.path().join("d")).unwrap();
        fs::write(dir.path().join("file"), "x").unwrap();
        symlink("file", dir.path().join("link")).unwrap();
        let failed = |path: String| replace(&path, b"y").unwrap_err().text().replace(&root.to_string(), "");
        assert_eq!(failed(format!("{root}/d")), "/d is a directory; give the path of a file in it");
        assert_eq!(failed(format!("{root}/link")), "/link is a symbolic link to file; write to that file instead");
        assert_eq!(failed(format!("{root}/file/x")), "/file/x: a part of the path is a file, not a directory");
        assert_eq!(failed(format!("{root}/d/")), "`/d/` does not name a file");
        assert_eq!(failed(String::new()), "`` does not name a file");
        assert_eq!(names(dir.path()), ["d", "file", "link"]);
    }
}
