//! Making a symbolic link: the standard library has no stable way on WASI, the C library has.

use std::io;

#[cfg(target_family = "wasm")]
#[expect(unsafe_code, reason = "calls the C library's symlink")]
pub(crate) fn symlink(target: &str, path: &str) -> io::Result<()> {
    use std::ffi::{CString, c_char, c_int};
    unsafe extern "C" {
        fn symlink(target: *const c_char, path: *const c_char) -> c_int;
    }
    let (target, path) = (CString::new(target)?, CString::new(path)?);
    // SAFETY: both are valid C strings that outlive the call.
    match unsafe { symlink(target.as_ptr(), path.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(not(target_family = "wasm"))]
#[expect(clippy::disallowed_methods, reason = "the native twin")]
pub(crate) fn symlink(target: &str, path: &str) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}
