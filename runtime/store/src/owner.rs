//! Who holds a run: a process that can be told from every other, so that one that is gone is known to be gone
//! at once and nobody waits for its lease to lapse.

use std::{fs, sync::OnceLock};

/// This process, in words: `host/boot/pid/start`. The boot and the start make sure that a number which is used
/// again is not taken for the same process; the namespace of the numbers is part of the boot.
pub fn this_process() -> &'static str {
    static SELF: OnceLock<String> = OnceLock::new();
    SELF.get_or_init(|| {
        let pid = std::process::id();
        let host = read("/proc/sys/kernel/hostname").unwrap_or_else(|| "unknown".to_owned()).replace('/', "-");
        let boot = this_boot().unwrap_or_else(|| "unknown".to_owned());
        let start = stat(&pid.to_string()).map_or_else(|| "unknown".to_owned(), |stat| stat.start);
        format!("{host}/{boot}/{pid}/{start}")
    })
}

/// Whether an owner is certainly gone: a process of this boot that does not run any more. Of anybody else
/// nothing is known; their lease has to lapse.
pub(crate) fn is_gone(owner: &str) -> bool {
    let parts: Vec<&str> = owner.split('/').collect();
    let [_, boot, pid, start] = parts.as_slice() else { return false };
    let is_pid = !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
    if !is_pid || this_boot().as_deref() != Some(*boot) || *start == "unknown" {
        return false;
    }
    match stat(pid) {
        Some(stat) => !stat.is_running || stat.start != *start,
        // There is none, or it is one that this process may not look at; the latter is alive.
        None => is_nobody(pid),
    }
}

/// Whether no process has this number, whoever it might belong to.
fn is_nobody(pid: &str) -> bool {
    let pid = pid.parse().ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

/// The boot of this machine and the namespace in which processes are counted.
fn this_boot() -> Option<String> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    BOOT.get_or_init(|| {
        let boot = read("/proc/sys/kernel/random/boot_id")?;
        let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
        let namespace: String = namespace.to_str()?.chars().filter(char::is_ascii_digit).collect();
        Some(format!("{boot}.{namespace}"))
    })
    .clone()
}

/// What the system says of a process.
struct Stat {
    /// More is left of it than that it ended.
    is_running: bool,
    /// When it started, in ticks since the boot.
    start: String,
}

/// What the system says of a process; nothing if there is none, or none that this process may look at.
fn stat(pid: &str) -> Option<Stat> {
    let stat = read(&format!("/proc/{pid}/stat"))?;
    // The name of the program is in parentheses and may hold anything, also parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let is_running = !["Z", "X"].contains(fields.first()?);
    Some(Stat { is_running, start: (*fields.get(19)?).to_owned() })
}

#[expect(clippy::disallowed_methods, reason = "what the system says of its processes")]
fn read(path: &str) -> Option<String> {
    // The name of a program need not be text.
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_not_gone() {
        assert_eq!(this_process().split('/').count(), 4);
        assert!(!is_gone(this_process()));
    }

    /// STO-12
    #[test]
    fn a_process_that_ended_is_gone_and_so_is_one_whose_number_is_used_again() {
        #[expect(clippy::disallowed_methods, reason = "a process to end")]
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let [host, boot, ..] = this_process().split('/').collect::<Vec<_>>()[..] else { unreachable!() };
        let pid = child.id().to_string();
        let owner = format!("{host}/{boot}/{pid}/{}", stat(&pid).unwrap().start);
        assert!(!is_gone(&owner));
        assert!(is_gone(&format!("{host}/{boot}/{pid}/1")), "the number is the same, the process another");
        child.kill().unwrap();
        // Until somebody asks how it ended, something of it is left; that one does not write any more.
        while !is_gone(&owner) {
            std::thread::yield_now();
        }
        assert!(!is_nobody(&pid), "what is left has its number");
        child.wait().unwrap();
        assert!(is_gone(&owner) && is_nobody(&pid));
        assert!(!is_nobody("1") && !is_nobody(&std::process::id().to_string()), "also somebody else's are somebody");
    }

    #[test]
    fn nothing_is_known_of_processes_elsewhere() {
        for owner in ["", "somebody", "host/another-boot/1/1", "a/b/c", "a/b/c/d/e", "host//../1"] {
            assert!(!is_gone(owner), "{owner}");
        }
    }
}
