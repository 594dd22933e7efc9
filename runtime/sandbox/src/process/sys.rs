//! The system calls that have no safe wrapper here. Each is one call with nothing around it.
#![expect(unsafe_code, reason = "these calls have no safe wrapper; the process that makes them has one thread")]

use std::{ffi::CStr, io, ptr};

use rustix::{process::Pid, thread::UnshareFlags};

/// One process becomes two; the parent is told the child. Only for a process with one thread.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the worker has one thread, so the child's memory is whole and no lock is held by others.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Leaves some of the common namespaces.
pub(super) fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: the callers' flags do not separate the table of open files, and the process has one thread.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// Ends this process at once, without running anything that was registered for the end.
pub(crate) fn end(code: i32) -> ! {
    // SAFETY: it takes a number and does not return.
    unsafe { libc::_exit(code) }
}

/// Has every descriptor but the standard ones closed when a program is executed.
pub(super) fn close_others_on_exec() -> io::Result<()> {
    // SAFETY: it takes numbers; descriptors that are marked stay open in this process.
    done(unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) })
}

/// Closes every descriptor but the standard ones.
pub(crate) fn close_others() -> io::Result<()> {
    // SAFETY: it takes numbers; it is the first thing that its process does, which has nothing open that it knows of.
    done(unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) })
}

/// Has a write beyond the largest size of a file fail, and not end the process.
pub(crate) fn outlive_large_files() -> io::Result<()> {
    // SAFETY: the signal is ignored, so nothing of ours runs when it comes.
    match unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) } {
        libc::SIG_ERR => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The newest version of Landlock's interface that the kernel has; 0 if none.
pub(crate) fn landlock_version() -> u32 {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the kernel reads no memory: there are no attributes, and their size is zero.
    let level =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<libc::c_void>(), 0_usize, VERSION) };
    u32::try_from(level).unwrap_or(0)
}

/// Mounts what is at `source`, or a new file system of a kind, at `target`.
pub(super) fn mount(source: &CStr, target: &CStr, kind: Option<&CStr>, flags: libc::c_ulong) -> io::Result<()> {
    let kind = kind.map_or(ptr::null(), CStr::as_ptr);
    // SAFETY: the texts end with zero and outlive the call; there is no data.
    done(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind, flags, ptr::null()) }.into())
}

/// Makes the mount at a path, and with `below` all mounts below it, read-only or writable.
pub(super) fn set_read_only(target: &CStr, read_only: bool, below: bool) -> io::Result<()> {
    let mut attributes = libc::mount_attr { attr_set: 0, attr_clr: 0, propagation: 0, userns_fd: 0 };
    if read_only {
        attributes.attr_set = libc::MOUNT_ATTR_RDONLY;
    } else {
        attributes.attr_clr = libc::MOUNT_ATTR_RDONLY;
    }
    let flags = if below { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path ends with zero, the attributes are whole and their size is given.
    done(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            target.as_ptr(),
            flags,
            &raw mut attributes,
            size_of::<libc::mount_attr>(),
        )
    })
}

fn done(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
