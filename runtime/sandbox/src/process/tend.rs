//! Waits for a program and ends whatever it started: nobody is left behind.

use std::{
    os::fd::OwnedFd,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, wait},
};

use super::plan::Word;

/// Whom to wait for, and what to look at meanwhile.
pub(super) struct Tended<'a> {
    pub(super) program: Pid,
    /// Closed on the other side when the run is to end.
    pub(super) control: &'a OwnedFd,
    /// What all processes may have in memory, if `/proc` shows no others.
    pub(super) memory: Option<u64>,
    /// This process is not the first of its tree, so the others do not end with it.
    pub(super) sweeps: bool,
}

/// How often memory is looked at and orphans are let go.
const INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Waits until the program ends, is to end, or has too much memory.
pub(super) fn tend(tended: &Tended<'_>) -> Word {
    let word = wait_for(tended);
    if tended.sweeps {
        sweep();
    }
    word
}

fn wait_for(tended: &Tended<'_>) -> Word {
    let Ok(program) = pidfd_open(tended.program, PidfdFlags::empty()) else {
        return Word::Failed("the program cannot be waited for".to_owned());
    };
    loop {
        let mut polled = [PollFd::new(&program, PollFlags::IN), PollFd::new(tended.control, PollFlags::IN)];
        match poll(&mut polled, Some(&INTERVAL)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Word::Failed(format!("the program cannot be waited for: {error}")),
        }
        if !polled[1].revents().is_empty() {
            return Word::Signal(Signal::KILL.as_raw());
        }
        // Whoever lost its parent was handed to this process.
        while let Ok(Some((ended, status))) = wait(WaitOptions::NOHANG) {
            if ended == tended.program {
                return ended_by(status);
            }
        }
        if tended.memory.is_some_and(|most| resident() > most) {
            return Word::Memory;
        }
    }
}

fn ended_by(status: WaitStatus) -> Word {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Word::Code(code),
        (None, Some(signal)) => Word::Signal(signal),
        (None, None) => Word::Failed("the program ended in no known way".to_owned()),
    }
}

/// Memory of all processes in `/proc`, shared parts counted for each. This process is small.
#[expect(clippy::disallowed_methods, reason = "reads what the kernel says of the processes of this run")]
fn resident() -> u64 {
    let Ok(entries) = std::fs::read_dir("/proc") else { return 0 };
    let kibibytes = entries.flatten().filter_map(|entry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        resident.split_whitespace().next()?.parse::<u64>().ok()
    });
    kibibytes.sum::<u64>().saturating_mul(1024)
}

/// Long enough to end any number of processes; one that hides from this does nothing else.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ends every process that descends from this one. Orphans are handed to it, so when it has no
/// child there is none left.
fn sweep() {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        for child in children() {
            let _ = kill_process(child, Signal::KILL);
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(Errno::INTR) => {}
                // No child is left.
                Err(_) => return,
            }
        }
        thread::yield_now();
    }
}

#[expect(clippy::disallowed_methods, reason = "reads what the kernel says of this process")]
fn children() -> Vec<Pid> {
    let pid = |text: &str| text.parse().ok().and_then(Pid::from_raw);
    if let Ok(children) = std::fs::read_to_string("/proc/thread-self/children") {
        return children.split_whitespace().filter_map(pid).collect();
    }
    // A kernel without that file: the parent is the second field behind the name, which may hold anything.
    let own = rustix::process::getpid().as_raw_nonzero().get().to_string();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let is_ours = |stat: &str| stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)) == Some(&own);
    entries
        .flatten()
        .filter_map(|entry| {
            let number = pid(entry.file_name().to_str()?)?;
            is_ours(&std::fs::read_to_string(entry.path().join("stat")).ok()?).then_some(number)
        })
        .collect()
}
