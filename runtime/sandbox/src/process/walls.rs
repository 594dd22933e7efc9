//! The walls around one program that the kernel keeps whatever the program does: Landlock for files,
//! sockets and signals, limits, no privileges.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::{
    fs::{Mode, OFlags},
    process::{Resource, Rlimit, setrlimit},
    thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets},
};

use super::carve::{Carved, open_real};

/// Every right there is; the kernel takes those that it knows.
const ALL: ABI = ABI::V9;

/// Below this version of Landlock files could be truncated that may only be read.
pub(crate) const NEEDED: u32 = 3;
/// Without processes of its own a program could send signals to others; from this version on it cannot.
pub(super) const NEEDED_ALONE: u32 = 6;

/// Where programs and what they load lie. Not all of `/usr`, where people also keep their work.
const SYSTEM: [&str; 28] = [
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/libexec",
    "/usr/share",
    "/usr/include",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/local/libexec",
    "/usr/local/share",
    "/usr/local/include",
    "/nix/store",
    "/etc/alternatives",
    "/etc/ld.so.conf.d",
    "/etc/ssl/certs",
    "/etc/pki/tls/certs",
    "/sys/devices/system/cpu",
];

/// Settings of the machine that programs read and that are nobody's secret.
const SETTINGS: [&str; 19] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/resolv.conf",
    "/etc/gai.conf",
    "/etc/protocols",
    "/etc/services",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/os-release",
    "/etc/mime.types",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates.conf",
    "/dev/random",
    "/dev/urandom",
];

/// Devices that hold nothing.
const EMPTY: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];

/// What is told of the machine where `/proc` shows other processes, too.
const MACHINE: [&str; 8] = [
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/loadavg",
    "/proc/uptime",
    "/proc/filesystems",
    "/proc/sys/vm/overcommit_memory",
];

/// What is opened for a program.
pub(super) struct Opened<'a> {
    pub(super) workspace: Option<(&'a OwnedFd, &'a Carved)>,
    pub(super) scratch: &'a Path,
    /// Folders of the operator's choice.
    pub(super) read: &'a [PathBuf],
    pub(super) network: bool,
    /// `/proc` shows the program's own processes alone.
    pub(super) own_proc: bool,
}

/// The folder, of those that every program may read, in which a path lies.
pub(super) fn readable_around(path: &Path, more: &[PathBuf]) -> Option<PathBuf> {
    let folders = SYSTEM.iter().map(PathBuf::from).chain(more.iter().cloned());
    folders.map(|folder| std::path::absolute(&folder).unwrap_or(folder)).find(|folder| path.starts_with(folder))
}

/// Closes everything but this to the process and whatever it starts.
pub(super) fn raise(opened: &Opened<'_>) -> Result<(), String> {
    let failed = |error: landlock::RulesetError| format!("Landlock refuses: {error}");
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let mut ruleset = ruleset.handle_access(AccessFs::from_all(ALL)).map_err(failed)?;
    if !opened.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(ALL)).map_err(failed)?;
    }
    let mut rules = ruleset.scope(Scope::from_all(ALL)).map_err(failed)?.create().map_err(failed)?;
    let look = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    let change = AccessFs::WriteFile | AccessFs::Truncate;
    for folder in SYSTEM.iter().map(Path::new).chain(opened.read.iter().map(PathBuf::as_path)) {
        rules = open(rules, folder, look)?;
    }
    for file in SETTINGS {
        rules = open(rules, Path::new(file), AccessFs::ReadFile.into())?;
    }
    for device in EMPTY {
        rules = open(rules, Path::new(device), AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    let proc: &[&str] = if opened.own_proc { &["/proc"] } else { &MACHINE };
    for place in proc {
        rules = open(rules, Path::new(place), AccessFs::ReadFile | AccessFs::ReadDir)?;
    }
    if let Some((root, carved)) = opened.workspace {
        let places = carved.read.iter().map(|path| (path, look)).chain(carved.write.iter().map(|path| (path, change)));
        for (path, rights) in places {
            // What was removed in the meantime needs no right.
            let Ok(place) = open_real(root.as_fd(), path, OFlags::PATH) else { continue };
            rules = add(rules, place, rights)?;
        }
    }
    rules = open(rules, opened.scratch, AccessFs::from_all(ALL))?;
    let status = rules.restrict_self().map_err(failed)?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err("Landlock is not enforced".to_owned());
    }
    Ok(())
}

/// Opens a place, if there is one.
pub(crate) fn open(rules: RulesetCreated, path: &Path, rights: BitFlags<AccessFs>) -> Result<RulesetCreated, String> {
    match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(place) => add(rules, place, rights),
        Err(_) => Ok(rules),
    }
}

/// Rights about entries of a folder mean nothing for a file and are left out there.
pub(crate) fn add(rules: RulesetCreated, place: OwnedFd, rights: BitFlags<AccessFs>) -> Result<RulesetCreated, String> {
    let is_folder = rustix::fs::fstat(&place)
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory);
    let rights = if is_folder { rights } else { rights & AccessFs::from_file(ALL) };
    let failed = |error: landlock::RulesetError| format!("Landlock refuses: {error}");
    rules.add_rule(PathBeneath::new(place, rights)).map_err(failed)
}

/// The most processes and threads a run has.
pub(super) const PROCESSES: u64 = 256;
/// The largest file it writes.
const FILE_SIZE: u64 = 1 << 30;
const OPEN_FILES: u64 = 1024;

/// Limits each process; what all have together is watched by whoever waits for them.
pub(super) fn limit(seconds: u64, memory: u64, processes: u64) -> rustix::io::Result<()> {
    let limits = [
        (Resource::Core, 0),
        (Resource::Cpu, seconds),
        (Resource::Data, memory),
        (Resource::Fsize, FILE_SIZE),
        (Resource::Nofile, OPEN_FILES),
        (Resource::Nproc, processes),
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

/// Gives up every privilege, for good.
pub(crate) fn drop_privileges() -> rustix::io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    // Only with privileges is there a set to be emptied; without, the last step says whether all are gone.
    let _ = rustix::thread::clear_ambient_capability_set();
    for bit in 0..64 {
        let _ = rustix::thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit));
    }
    let no_root = CapabilitiesSecureBits::NO_ROOT | CapabilitiesSecureBits::NO_ROOT_LOCKED;
    let _ = rustix::thread::set_capabilities_secure_bits(no_root);
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}
