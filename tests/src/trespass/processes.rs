//! Attempts on other processes, and on the machine by making many.
#![expect(unsafe_code, clippy::disallowed_methods, reason = "a program that tries everything, some of it by raw calls")]

use std::{fs, io, thread, time::Duration};

use crate::{Came, Told, kernel};

pub(crate) fn attempt(name: &str, told: &Told) -> Option<Came> {
    Some(match name {
        "environment-of-another" => told.number("victim").and_then(|pid| lossy(&format!("/proc/{pid}/environ"))),
        "arguments-of-another" => told.number("victim").and_then(|pid| lossy(&format!("/proc/{pid}/cmdline"))),
        "environment-of-the-first" => lossy("/proc/1/environ"),
        "file-of-another" => told.text("held").and_then(lossy),
        "memory-of-another" => told.number("victim").and_then(|pid| did(fs::File::open(format!("/proc/{pid}/mem")))),
        "read-memory" => told.number("victim").and_then(read_memory),
        // SAFETY: numbers and null pointers that the request does not use.
        "trace" => {
            told.number("victim").and_then(|pid| unsafe { answer(libc::ptrace(libc::PTRACE_ATTACH, pid, 0, 0)) })
        }
        // SAFETY: numbers alone.
        "signal" => told.number("victim").and_then(|pid| unsafe { answer(libc::kill(pid, libc::SIGCONT).into()) }),
        "end" => told.number("victim").and_then(|pid| unsafe { answer(libc::kill(pid, libc::SIGKILL).into()) }),
        "signal-through-handle" => told.number("victim").and_then(through_handle),
        "take-descriptor" => told.number("victim").and_then(take_descriptor),
        "lower-limits" => told.number("victim").and_then(lower_limits),
        // SAFETY: numbers alone.
        "slow-down" => told
            .number("victim")
            .and_then(|pid| unsafe { answer(libc::setpriority(libc::PRIO_PROCESS, pid as u32, 19).into()) }),
        "pin" => told.number("victim").and_then(pin),
        "become-root" => become_root(),
        "stay" => stay(told),
        "fork-bomb" => fork_bomb(),
        "memory-bomb" => memory_bomb(),
        "memory-bomb-of-many" => memory_bomb_of_many(),
        "comets" => comets(),
        "spin" => loop {
            std::hint::spin_loop()
        },
        "sleep" => {
            thread::sleep(Duration::from_secs(600));
            Ok("slept".to_owned())
        }
        "flood" => loop {
            if io::Write::write_all(&mut io::stdout(), &[b'x'; 1 << 16]).is_err() {
                return Some(Ok(String::new()));
            }
        },
        _ => return None,
    })
}

fn lossy(path: &str) -> Came {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

fn did<T>(result: io::Result<T>) -> Came {
    result.map(|_| "opened".to_owned())
}

fn answer(result: libc::c_long) -> Came {
    kernel(result).map(|_| "did it".to_owned())
}

fn read_memory(pid: i32) -> Came {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let start = maps.split('-').next().and_then(|start| usize::from_str_radix(start, 16).ok()).unwrap_or(0x1000);
    let mut buffer = [0_u8; 16];
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: 16 };
    let remote = libc::iovec { iov_base: start as *mut _, iov_len: 16 };
    // SAFETY: the local buffer is 16 bytes; the other address is of another process.
    answer(unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) } as libc::c_long)
}

fn through_handle(pid: i32) -> Came {
    // SAFETY: numbers, and no further information.
    unsafe {
        let handle = kernel(libc::syscall(libc::SYS_pidfd_open, pid, 0))?;
        answer(libc::syscall(libc::SYS_pidfd_send_signal, handle, libc::SIGCONT, 0, 0))
    }
}

fn take_descriptor(pid: i32) -> Came {
    // SAFETY: numbers alone.
    unsafe {
        let handle = kernel(libc::syscall(libc::SYS_pidfd_open, pid, 0))?;
        answer(libc::syscall(libc::SYS_pidfd_getfd, handle, 1, 0))
    }
}

fn lower_limits(pid: i32) -> Came {
    let limit = libc::rlimit { rlim_cur: 1024, rlim_max: 1024 };
    // SAFETY: the limit is whole; nothing is asked back.
    answer(unsafe { libc::prlimit(pid, libc::RLIMIT_MSGQUEUE, &raw const limit, std::ptr::null_mut()) }.into())
}

fn pin(pid: i32) -> Came {
    let set = [1_u64; 16];
    // SAFETY: the set has 128 bytes.
    answer(unsafe { libc::sched_setaffinity(pid, 128, set.as_ptr().cast()) }.into())
}

/// Done if it has a privilege afterwards: binding a low port or changing the owner of a file needs one.
fn become_root() -> Came {
    // SAFETY: numbers alone.
    unsafe { libc::setresuid(0, 0, 0) };
    let status = fs::read_to_string("/proc/self/status")?;
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or_default().trim().to_owned();
    if effective.bytes().all(|byte| byte == b'0') {
        Err(io::Error::from_raw_os_error(libc::EPERM))
    } else {
        Ok(effective)
    }
}

/// Leaves a process behind that has cut every tie, named after a word.
fn stay(told: &Told) -> Came {
    let mark = told.text("mark")?.to_owned();
    let program = std::env::current_exe().or_else(|_| told.text("self").map(Into::into))?;
    // SAFETY: one thread; each child goes on alone.
    unsafe {
        if libc::fork() == 0 {
            libc::setsid();
            if libc::fork() == 0 {
                libc::setsid();
                for fd in 0..3 {
                    libc::close(fd);
                }
                let error = std::os::unix::process::CommandExt::exec(
                    std::process::Command::new(program).arg("sleep").arg(format!("mark={mark}")),
                );
                libc::_exit(error.raw_os_error().unwrap_or(1));
            }
            libc::_exit(0);
        }
    }
    thread::sleep(Duration::from_millis(100));
    Ok("stays".to_owned())
}

/// Counts the processes that can be made; each waits.
fn fork_bomb() -> Came {
    let mut made = 0;
    while made < 2000 {
        // SAFETY: one thread; the child waits and ends.
        match unsafe { libc::fork() } {
            -1 => return Err(io::Error::other(format!("{made} made"))),
            0 => {
                thread::sleep(Duration::from_secs(20));
                // SAFETY: ends the child.
                unsafe { libc::_exit(0) }
            }
            _ => made += 1,
        }
    }
    Ok(made.to_string())
}

fn fill(bytes: usize) -> Result<Vec<u8>, io::Error> {
    let mut memory: Vec<u8> = Vec::new();
    memory.try_reserve_exact(bytes).map_err(io::Error::other)?;
    memory.resize(bytes, 1);
    Ok(memory)
}

fn memory_bomb() -> Came {
    Ok(fill(1 << 30)?.len().to_string())
}

/// Each has less than one may have; together they have more.
fn memory_bomb_of_many() -> Came {
    for _ in 0..8 {
        // SAFETY: one thread; the child fills its memory, waits and ends.
        if unsafe { libc::fork() } == 0 {
            let memory = fill(100 << 20);
            thread::sleep(Duration::from_secs(20));
            drop(memory);
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) }
        }
    }
    thread::sleep(Duration::from_secs(20));
    Ok("filled".to_owned())
}

/// Processes that end as soon as they have started the next: there is never one to be caught for long.
fn comets() -> Came {
    loop {
        // SAFETY: one thread; the parent ends.
        match unsafe { libc::fork() } {
            -1 => thread::sleep(Duration::from_millis(1)),
            0 => {}
            // SAFETY: ends the parent.
            _ => unsafe { libc::_exit(0) },
        }
    }
}
