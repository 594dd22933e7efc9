//! Namespaces: processes, mounts and a network of a program's own.
//!
//! They are taken where the kernel gives them to everybody. With them, ending one process ends the
//! whole tree, other processes cannot be named, and what may not be changed is mounted read-only,
//! so that modes and times are out of reach, too. Without them the other walls stand alone.

use std::{
    ffi::CString,
    io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use rustix::{
    process::{getegid, geteuid},
    thread::UnshareFlags,
};

use super::{sys, walls::PROCESSES};

/// Leaves the common namespaces. The next child is the first process of its own tree.
pub(super) fn leave(network: bool) -> bool {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let mut flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS;
    if !network {
        flags |= UnshareFlags::NEWNET;
    }
    if sys::unshare(flags).is_err() {
        return false;
    }
    // Without them the process has no name for its user, which takes nothing away from the walls.
    drop(write("/proc/self/setgroups", "deny"));
    drop(write("/proc/self/uid_map", &format!("{user} {user} 1")));
    drop(write("/proc/self/gid_map", &format!("{group} {group} 1")));
    true
}

/// A `/proc` that shows the processes of this tree alone, and no more of them than there may be.
pub(super) fn own_proc() -> bool {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    if private().is_err() || sys::mount(c"proc", c"/proc", Some(c"proc"), flags).is_err() {
        return false;
    }
    // Kernels from 6.14 on have this for each tree. The first 300 numbers are not counted.
    drop(write("/proc/sys/kernel/pid_max", &(301 + PROCESSES).to_string()));
    true
}

/// Mounts everything read-only but these places.
pub(super) fn read_only_but(places: &[PathBuf]) -> io::Result<()> {
    private()?;
    let places: Vec<CString> = places.iter().map(|place| text(place)).collect::<io::Result<_>>()?;
    for place in &places {
        sys::mount(place, place, None, libc::MS_BIND | libc::MS_REC)?;
    }
    sys::set_read_only(c"/", true, true)?;
    places.iter().try_for_each(|place| sys::set_read_only(place, false, true))
}

/// What is mounted from now on is nobody else's business.
fn private() -> io::Result<()> {
    sys::mount(c"none", c"/", None, libc::MS_REC | libc::MS_PRIVATE)
}

fn text(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

#[expect(clippy::disallowed_methods, reason = "the kernel is told by writing into its own files")]
fn write(path: &str, value: &str) -> io::Result<()> {
    std::fs::write(path, value)
}
