//! Ends a process with all that it started.
//!
//! Its process group is not enough: some programs start the commands they run in sessions of their own,
//! which would live on. So every descendant is looked for, held still while the others are looked for,
//! and then killed. A process whose parents are gone already cannot be found; nobody holds it to be ours.
#![expect(clippy::disallowed_methods, reason = "this file owns looking for the processes to end")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Looking again ends here: a process that makes others faster than that is not worth waiting for.
const ROUNDS: usize = 16;

/// Ends a process that was not waited for yet, its group and its descendants.
pub(super) fn end(leader: Pid) {
    let mut family = BTreeSet::from([number(leader)]);
    hold(leader);
    for _ in 0..ROUNDS {
        let found: Vec<i32> = descendants(&family).difference(&family).copied().collect();
        if found.is_empty() {
            break;
        }
        found.iter().copied().filter_map(Pid::from_raw).for_each(hold);
        family.extend(found);
    }
    end_group(leader);
    for process in family.into_iter().filter_map(Pid::from_raw) {
        send(process, Signal::KILL);
    }
}

/// Ends what a process left behind in its group.
pub(super) fn end_group(leader: Pid) {
    kill_process_group(leader, Signal::KILL).unwrap_or_default();
}

/// A process that is stopped starts no others.
fn hold(process: Pid) {
    send(process, Signal::STOP);
}

/// It may be gone already, which is what is wanted.
fn send(process: Pid, signal: Signal) {
    kill_process(process, signal).unwrap_or_default();
}

fn number(process: Pid) -> i32 {
    process.as_raw_nonzero().get()
}

/// All processes that descend from these, as far as the system shows them.
fn descendants(family: &BTreeSet<i32>) -> BTreeSet<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(process) = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if let Some(parent) = parent(process) {
            children.entry(parent).or_default().push(process);
        }
    }
    let (mut found, mut waiting) = (BTreeSet::new(), family.iter().copied().collect::<Vec<_>>());
    while let Some(process) = waiting.pop() {
        for child in children.get(&process).into_iter().flatten() {
            if found.insert(*child) {
                waiting.push(*child);
            }
        }
    }
    found
}

/// `17 (name) S 5 …`: the fourth field. The name may hold any bytes, so the last `)` ends it.
fn parent(process: i32) -> Option<i32> {
    let status = fs::read(format!("/proc/{process}/stat")).ok()?;
    let after = status.iter().rposition(|byte| *byte == b')')? + 1;
    str::from_utf8(status.get(after..)?).ok()?.split_whitespace().nth(1)?.parse().ok()
}
