//! Which system calls the process that guests run in has: those that WebAssembly, threads and files of the workspace
//! need. No program is started or looked at, no socket made, no mode or time of a file changed by its name, which
//! Landlock does not look at.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// The filters, to be applied in this order: uses that are refused, and calls that are not there, that for further
/// filters among them.
pub(super) fn filters() -> Result<Vec<BpfProgram>, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)
        .map_err(|_| format!("there is no list of system calls for {}", std::env::consts::ARCH))?;
    let failed = |error: seccompiler::BackendError| format!("the list of system calls cannot be made: {error}");
    let errno = |number: i32| SeccompAction::Errno(number.unsigned_abs());
    let refused = SeccompFilter::new(refused().map_err(failed)?, SeccompAction::Allow, errno(libc::EPERM), arch);
    let known: BTreeMap<c_long, Vec<SeccompRule>> = KNOWN.iter().chain(OLDER).map(|call| (*call, Vec::new())).collect();
    let known = SeccompFilter::new(known, errno(libc::ENOSYS), SeccompAction::Allow, arch);
    [refused, known].into_iter().map(|filter| filter?.try_into()).collect::<Result<_, _>>().map_err(failed)
}

/// Looks at which pages were touched (`PAGEMAP_SCAN`).
const PAGEMAP_SCAN: u64 = 0xc060_6610;

/// Whose priority is meant (`PRIO_PROCESS`): that of the thread with a number, 0 for the one that asks.
const BY_NUMBER: u64 = 0;

/// Uses of known calls that are refused.
fn refused() -> Result<BTreeMap<c_long, Vec<SeccompRule>>, seccompiler::BackendError> {
    use SeccompCmpArgLen::{Dword, Qword};
    use SeccompCmpOp::{MaskedEq, Ne};
    let number = |number: i32| u64::from(number.unsigned_abs());
    let own = u64::from(std::process::id());
    let is_process = (0, Dword, MaskedEq(number(libc::CLONE_THREAD)), 0);
    // Names of threads; and the list that follows this one says once more that there are no new privileges.
    let is_no_name = (0, Dword, Ne, number(libc::PR_SET_NAME));
    let is_no_promise = (0, Dword, Ne, number(libc::PR_SET_NO_NEW_PRIVS));
    let rules = [
        (libc::SYS_clone, vec![is_process]),
        (libc::SYS_prctl, vec![is_no_name, is_no_promise]),
        (libc::SYS_tgkill, vec![(0, Dword, Ne, own)]),
        (libc::SYS_ioctl, vec![(1, Dword, Ne, PAGEMAP_SCAN)]),
        // The times of an open file, and of none that is named.
        (libc::SYS_utimensat, vec![(1, Qword, Ne, 0)]),
        // Limits are read, and are those of this process.
        (libc::SYS_prlimit64, vec![(0, Dword, Ne, 0)]),
        (libc::SYS_prlimit64, vec![(2, Qword, Ne, 0)]),
        // Priorities are those of the thread that asks, and there is one to step back to.
        (libc::SYS_getpriority, vec![(0, Dword, Ne, BY_NUMBER)]),
        (libc::SYS_getpriority, vec![(1, Dword, Ne, 0)]),
        (libc::SYS_setpriority, vec![(0, Dword, Ne, BY_NUMBER)]),
        (libc::SYS_setpriority, vec![(1, Dword, Ne, 0)]),
        (libc::SYS_setpriority, vec![(2, Dword, Ne, number(crate::give_way::NICE))]),
    ];
    let mut refused: BTreeMap<c_long, Vec<SeccompRule>> = BTreeMap::new();
    for (call, conditions) in rules {
        let condition = |(index, width, op, value)| SeccompCondition::new(index, width, op, value);
        let conditions = conditions.into_iter().map(condition).collect::<Result<_, _>>()?;
        refused.entry(call).or_default().push(SeccompRule::new(conditions)?);
    }
    Ok(refused)
}

/// Calls that only older architectures have beside their newer forms.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    libc::SYS_epoll_wait,
    libc::SYS_lstat,
    libc::SYS_mkdir,
    libc::SYS_open,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_rmdir,
    libc::SYS_stat,
    libc::SYS_unlink,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

const KNOWN: &[c_long] = &[
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_clone,
    libc::SYS_close,
    libc::SYS_copy_file_range,
    libc::SYS_dup,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fadvise64,
    libc::SYS_fallocate,
    libc::SYS_fchmod,
    libc::SYS_fcntl,
    libc::SYS_fdatasync,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_futex,
    libc::SYS_getcpu,
    libc::SYS_getdents64,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpid,
    libc::SYS_getpriority,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_getuid,
    libc::SYS_ioctl,
    libc::SYS_linkat,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_memfd_create,
    libc::SYS_mkdirat,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_ppoll,
    libc::SYS_prctl,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_prlimit64,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_read,
    libc::SYS_readlinkat,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sendto,
    libc::SYS_setpriority,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_statx,
    libc::SYS_symlinkat,
    libc::SYS_tgkill,
    libc::SYS_unlinkat,
    libc::SYS_utimensat,
    libc::SYS_write,
    libc::SYS_writev,
];

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: [c_long; 34] = [
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_clone3,
        libc::SYS_kill,
        libc::SYS_tkill,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_getfd,
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_accept4,
        libc::SYS_sendmsg,
        libc::SYS_recvmsg,
        libc::SYS_mount,
        libc::SYS_chroot,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_bpf,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_io_uring_setup,
        libc::SYS_open_by_handle_at,
        libc::SYS_fchmodat,
        libc::SYS_fchownat,
        libc::SYS_setxattr,
        libc::SYS_mknodat,
        libc::SYS_setrlimit,
    ];

    #[test]
    fn what_reaches_out_of_the_room_is_not_known() {
        for call in NEVER {
            assert!(KNOWN.iter().chain(OLDER).all(|known| *known != call), "{call}");
        }
        assert_eq!(filters().unwrap().len(), 2);
    }
}
