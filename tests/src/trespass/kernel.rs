//! Attempts on the kernel: calls that a program behind walls does not have.
#![expect(unsafe_code, reason = "raw system calls, each with plain numbers and buffers of its own")]

use std::{fs, io};

use crate::{Came, Told, kernel};

pub(crate) fn attempt(name: &str, told: &Told) -> Option<Came> {
    let buffer = [0_u8; 256];
    let zero = || buffer.as_ptr();
    // SAFETY: every pointer is to a buffer of its own that is large enough, or to a text that ends with zero.
    let answer = unsafe {
        match name {
            "mount" => libc::syscall(libc::SYS_mount, c"none".as_ptr(), c"/mnt".as_ptr(), c"tmpfs".as_ptr(), 0, 0),
            "new-user" => libc::syscall(libc::SYS_unshare, libc::CLONE_NEWUSER),
            "new-mounts" => libc::syscall(libc::SYS_unshare, libc::CLONE_NEWNS),
            "child-with-new-user" => child(libc::CLONE_NEWUSER),
            "chroot" => libc::syscall(libc::SYS_chroot, c"/".as_ptr()),
            "bpf" => libc::syscall(libc::SYS_bpf, 0, array_map().as_ptr(), 72),
            "perf" => libc::syscall(libc::SYS_perf_event_open, perf().as_ptr(), 0, -1, -1, 0),
            "keyring" => libc::syscall(libc::SYS_keyctl, 0, -3, 1),
            "add-key" => libc::syscall(libc::SYS_add_key, c"user".as_ptr(), c"trespass".as_ptr(), c"x".as_ptr(), 1, -2),
            "userfaultfd" => libc::syscall(libc::SYS_userfaultfd, 1),
            "io-uring" => libc::syscall(libc::SYS_io_uring_setup, 1, zero()),
            "memory-file" => libc::syscall(libc::SYS_memfd_create, c"x".as_ptr(), 0),
            "watch" => return Some(watch(told)),
            "fanotify" => libc::syscall(libc::SYS_fanotify_init, 0x200, 0),
            "shared-memory" => {
                let segment = libc::syscall(libc::SYS_shmget, 0, 4096, 0o600 | libc::IPC_CREAT);
                if segment >= 0 {
                    libc::syscall(libc::SYS_shmctl, segment, libc::IPC_RMID, 0);
                }
                segment
            }
            "hostname" => return Some(hostname()),
            "large-file" => return Some(large_file()),
            "descriptors" => return Some(descriptors()),
            "status" => return Some(status()),
            "environment" => return Some(environment()),
            "terminal" => return Some(terminal()),
            "type" => return Some(typing()),
            "many-files" => return Some(many_files()),
            _ => return None,
        }
    };
    Some(kernel(answer).map(|number| number.to_string()))
}

/// A process in a namespace of its own.
fn child(flag: libc::c_int) -> libc::c_long {
    // SAFETY: like a fork: the child shares nothing and ends at once.
    unsafe {
        let pid = libc::syscall(libc::SYS_clone, flag | libc::SIGCHLD, 0, 0, 0, 0);
        if pid == 0 {
            libc::_exit(0);
        }
        pid
    }
}

/// A map of four-byte keys and values with one entry.
fn array_map() -> [u32; 18] {
    let mut attributes = [0; 18];
    attributes[..4].copy_from_slice(&[2, 4, 4, 1]);
    attributes
}

/// Counts this process's own time in user mode.
fn perf() -> [u64; 16] {
    let mut attributes = [0; 16];
    attributes[0] = 1 | (128 << 32);
    attributes[1] = 1;
    attributes[5] = 1 << 5 | 1 << 6;
    attributes
}

fn watch(told: &Told) -> Came {
    let folder = std::ffi::CString::new(told.outside("folder")?)?;
    // SAFETY: the path ends with zero.
    unsafe {
        let watcher = kernel(libc::syscall(libc::SYS_inotify_init1, 0))?;
        kernel(libc::syscall(libc::SYS_inotify_add_watch, watcher, folder.as_ptr(), libc::IN_ALL_EVENTS))?;
    }
    Ok("watching".to_owned())
}

fn hostname() -> Came {
    // SAFETY: three bytes are there.
    kernel(unsafe { libc::syscall(libc::SYS_sethostname, c"abc".as_ptr(), 3) }).map(|_| "renamed".to_owned())
}

#[expect(clippy::disallowed_methods, reason = "a program that tries everything")]
fn large_file() -> Came {
    let folder = std::env::var("TMPDIR").map_err(io::Error::other)?;
    fs::File::create(format!("{folder}/large"))?.set_len(2 << 30)?;
    Ok("large".to_owned())
}

/// Descriptors beside the standard ones.
fn descriptors() -> Came {
    let open: Vec<i32> = (3..1024)
        // SAFETY: it asks about a number.
        .filter(|fd| unsafe { libc::fcntl(*fd, libc::F_GETFD) } >= 0)
        .collect();
    if open.is_empty() { Err(io::Error::from_raw_os_error(libc::EBADF)) } else { Ok(format!("{open:?}")) }
}

#[expect(clippy::disallowed_methods, reason = "a program that looks at itself")]
fn status() -> Came {
    fs::read_to_string("/proc/self/status")
}

#[expect(clippy::disallowed_methods, reason = "a program that looks at itself")]
fn environment() -> Came {
    Ok(std::env::vars().map(|(name, value)| format!("{name}={value}\n")).collect())
}

/// Opens a terminal.
#[expect(clippy::disallowed_methods, reason = "a program that tries everything")]
fn terminal() -> Came {
    fs::OpenOptions::new().read(true).write(true).open("/dev/ptmx").map(|_| "a terminal".to_owned())
}

/// Types into whatever standard input is. That it is no terminal is for the kernel to say, not for a wall.
fn typing() -> Came {
    // SAFETY: one byte is there.
    match kernel(unsafe { libc::ioctl(0, libc::TIOCSTI, c"x".as_ptr()) }) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(error),
        came => Ok(format!("{came:?}")),
    }
}

#[expect(clippy::disallowed_methods, reason = "a program that tries everything")]
fn many_files() -> Came {
    let mut open = Vec::new();
    while open.len() < 1500 {
        open.push(fs::File::open("/dev/null")?);
    }
    Ok(open.len().to_string())
}
