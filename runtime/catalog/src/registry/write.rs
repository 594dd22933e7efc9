//! A new file below a folder.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use cap_std::fs::{Dir, OpenOptions};

/// Writes a file that is not there yet, with the folders on the way to it. No link on that way may
/// leave the folder `root`.
pub fn write_new(root: &Path, relative: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let dir = Dir::open_ambient_dir(root, cap_std::ambient_authority())?;
    if let Some(folder) = relative.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        dir.create_dir_all(folder)?;
    }
    let mut file = dir.open_with(relative, OpenOptions::new().write(true).create_new(true))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(root.join(relative))
}
