//! Symbolic links, which `std` can make on WASI only in unstable Rust.

use std::{io, path::Path};

/// Makes a symbolic link. The host decides whether it may be made and may lead where it leads.
#[cfg(target_family = "wasm")]
#[expect(unsafe_code, reason = "the one call of wasi-libc that std does not wrap")]
pub(crate) fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    use std::{ffi::CString, os::raw::c_int};
    let text = |path: &Path| {
        let path = path.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        CString::new(path).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
    };
    let (target, link) = (text(target)?, text(link)?);
    // SAFETY: both are strings that end with a zero and live until the call returns.
    let done: c_int = unsafe { libc::symlink(target.as_ptr(), link.as_ptr()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes a symbolic link.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}
