//! The walls around the process that guests run in: the workspace, a scratch folder, and nothing else.

use std::{os::fd::OwnedFd, path::Path};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, setrlimit};

use super::system_calls;
use crate::{
    Limits, Settings,
    process::{sys, walls, worker},
};

/// Every right there is; the kernel takes those that it knows.
const ALL: ABI = ABI::V9;

/// What is in the room.
pub(super) struct Inside<'a> {
    pub(super) workspace: Option<&'a OwnedFd>,
    /// Folders of plugins, to be looked at.
    pub(super) packages: &'a [OwnedFd],
    pub(super) writes: bool,
    pub(super) scratch: Option<&'a Path>,
    pub(super) settings: Settings,
}

/// Puts up the walls around this process, which has one thread. The error is shown.
pub(super) fn raise(inside: &Inside<'_>) -> Result<(), String> {
    check()?;
    sys::outlive_large_files().map_err(|error| format!("it would not outlive a large file: {error}"))?;
    limit(inside.settings).map_err(|error| format!("it cannot be limited: {error}"))?;
    walls::drop_privileges().map_err(|error| format!("its privileges cannot be given up: {error}"))?;
    close(inside)?;
    for filter in system_calls::filters()? {
        seccompiler::apply_filter(&filter).map_err(|error| format!("its system calls cannot be limited: {error}"))?;
    }
    Ok(())
}

/// Whether the kernel has what is needed.
pub(crate) fn check() -> Result<(), String> {
    let version = sys::landlock_version();
    if version >= walls::NEEDED {
        return Ok(());
    }
    let found = match version {
        0 => "it has no Landlock".to_owned(),
        version => format!("its Landlock has version {version}"),
    };
    Err(format!(
        "this kernel cannot confine them: {found}. Linux 6.2 with Landlock (version {}) is needed",
        walls::NEEDED
    ))
}

/// Files and sockets.
fn close(inside: &Inside<'_>) -> Result<(), String> {
    let failed = |error: landlock::RulesetError| format!("Landlock refuses: {error}");
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let ruleset = ruleset.handle_access(AccessFs::from_all(ALL)).map_err(failed)?;
    let ruleset = ruleset.handle_access(AccessNet::from_all(ALL)).map_err(failed)?;
    let mut rules = ruleset.scope(Scope::from_all(ALL)).map_err(failed)?.create().map_err(failed)?;
    if let Some(workspace) = inside.workspace {
        let rights = if inside.writes { look() | change() } else { look() };
        let workspace = workspace.try_clone().map_err(|error| error.to_string())?;
        rules = walls::add(rules, workspace, rights)?;
    }
    for package in inside.packages {
        rules = walls::add(rules, package.try_clone().map_err(|error| error.to_string())?, look())?;
    }
    if let Some(scratch) = inside.scratch {
        rules = walls::open(rules, scratch, look() | change())?;
    }
    // Which of its own pages were touched: what is wiped after each call.
    rules = walls::open(rules, Path::new("/proc/self/pagemap"), AccessFs::ReadFile.into())?;
    let status = rules.restrict_self().map_err(failed)?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err("Landlock is not enforced".to_owned());
    }
    Ok(())
}

fn look() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir
}

/// What guests can do to files. No device, pipe or socket is made, and nothing is executed.
fn change() -> BitFlags<AccessFs> {
    AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::MakeSym
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer
}

/// What the process itself needs beside its guests.
const OWN_MEMORY: u64 = 1 << 30;
/// Threads beside those of guests. The kernel counts all of the user's, and other programs start some later.
const OWN_THREADS: u64 = 1024;
/// The largest file that is written.
const FILE_SIZE: u64 = 1 << 30;
const OWN_FILES: u64 = 256;

/// Address space is reserved in great amounts and cannot be limited; what can be written to is, to what all guests
/// together may have.
fn limit(settings: Settings) -> rustix::io::Result<()> {
    let slots = u64::from(settings.slots);
    let memory = OWN_MEMORY.saturating_add(slots.saturating_mul(Limits::STANDARD.memory as u64));
    let files = OWN_FILES.saturating_add(slots.saturating_mul(Limits::STANDARD.open_files as u64));
    let limits = [
        (Resource::Core, 0),
        (Resource::Data, memory),
        (Resource::Fsize, FILE_SIZE),
        (Resource::Nofile, files),
        (Resource::Nproc, worker::own_tasks().saturating_add(2 * slots + OWN_THREADS)),
        (Resource::Memlock, 64 << 10),
        (Resource::Msgqueue, 0),
        (Resource::Sigpending, 1024),
    ];
    for (resource, most) in limits {
        // A limit that is lower already stays.
        let most = rustix::process::getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}
