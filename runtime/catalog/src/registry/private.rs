//! Files that only their owner can have written: what was decided about others.

use std::{
    io::{self, Read as _},
    path::Path,
};

use cap_std::fs::{Dir, MetadataExt as _};

use super::trust;

/// The bytes of a file; nothing if it is not there. What is wrong with it is said as what comes behind its name.
pub(super) fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, String> {
    let unreadable = |error: io::Error| format!("cannot be read: {error}");
    let (folder, name) = trust::place(path).ok_or("has no name")?;
    let dir = match Dir::open_ambient_dir(folder, cap_std::ambient_authority()) {
        Ok(dir) => dir,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let meta = match dir.symlink_metadata(name) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let own = rustix::process::geteuid().as_raw();
    if !meta.is_file() || meta.mode() & 0o022 != 0 || ![own, 0].contains(&meta.uid()) {
        return Err("can be written by others than its owner".to_owned());
    }
    let mut text = Vec::new();
    dir.open(name).and_then(|file| file.take(most).read_to_end(&mut text)).map_err(unreadable)?;
    Ok(Some(text))
}
