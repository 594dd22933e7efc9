//! Which system calls a confined program has.
//!
//! A list of those that ordinary programs make. What is not on it does not exist, so a call that a
//! later kernel brings is not there either. A second filter refuses some uses of calls that are:
//! sockets, namespaces, typing into a terminal, and, where the mounts do not forbid it, changing
//! modes, owners, times and attributes, which Landlock does not look at.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// What depends on the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    /// Sockets of the internet.
    pub(super) network: bool,
    /// Modes, owners, times and attributes of files, because the mounts say which.
    pub(super) metadata: bool,
    /// Naming other processes in calls about limits and scheduling, because there are none but its own.
    pub(super) others: bool,
}

/// The filters, to be applied in this order.
pub(super) fn filters(allowed: Allowed) -> Result<Vec<BpfProgram>, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)
        .map_err(|_| format!("there is no list of system calls for {}", std::env::consts::ARCH))?;
    let failed = |error: seccompiler::BackendError| format!("the list of system calls cannot be made: {error}");
    let errno = |number: i32| SeccompAction::Errno(number.unsigned_abs());
    let refused = SeccompFilter::new(refused(allowed).map_err(failed)?, SeccompAction::Allow, errno(libc::EPERM), arch);
    let known: BTreeMap<c_long, Vec<SeccompRule>> = known().map(|call| (call, Vec::new())).collect();
    let known = SeccompFilter::new(known, errno(libc::ENOSYS), SeccompAction::Allow, arch);
    [known, refused].into_iter().map(|filter| filter?.try_into()).collect::<Result<_, _>>().map_err(failed)
}

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

fn refused(allowed: Allowed) -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    let mut refuse = |call: c_long, conditions: &[(u8, SeccompCmpOp, u64)]| {
        let condition = |(index, op, value): &(u8, SeccompCmpOp, u64)| {
            SeccompCondition::new(*index, SeccompCmpArgLen::Dword, op.clone(), *value)
        };
        let conditions = conditions.iter().map(condition).collect::<Result<Vec<_>, _>>()?;
        let rules = rules.entry(call).or_default();
        if !conditions.is_empty() {
            rules.push(SeccompRule::new(conditions)?);
        }
        Ok::<(), seccompiler::BackendError>(())
    };
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    for flag in NAMESPACES {
        refuse(libc::SYS_clone, &[(0, MaskedEq(flag), flag)])?;
    }
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        refuse(libc::SYS_ioctl, &[(1, Eq, request & 0xffff_ffff)])?;
    }
    let family = |family: i32| u64::from(family.unsigned_abs());
    // A pair of datagram sockets could send to any socket that has a name, the system's log among them.
    refuse(libc::SYS_socketpair, &[(0, Ne, family(libc::AF_UNIX))])?;
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_RDM] {
        refuse(libc::SYS_socketpair, &[(1, MaskedEq(0xf), family(kind))])?;
    }
    if allowed.network {
        // Sockets with a name in the file system are doors to other programs, and Landlock does not watch them.
        let internet = [(0, Ne, family(libc::AF_INET)), (0, Ne, family(libc::AF_INET6))];
        refuse(libc::SYS_socket, &internet)?;
    } else {
        for call in SOCKETS {
            refuse(call, &[])?;
        }
    }
    if !allowed.metadata {
        for call in metadata() {
            refuse(call, &[])?;
        }
    }
    if !allowed.others {
        for (call, process) in OTHERS {
            refuse(call, &[(process, Ne, 0)])?;
        }
    }
    Ok(rules)
}

const NAMESPACES: [u64; 7] = [
    libc::CLONE_NEWNS.unsigned_abs() as u64,
    libc::CLONE_NEWUTS.unsigned_abs() as u64,
    libc::CLONE_NEWIPC.unsigned_abs() as u64,
    libc::CLONE_NEWUSER.unsigned_abs() as u64,
    libc::CLONE_NEWPID.unsigned_abs() as u64,
    libc::CLONE_NEWNET.unsigned_abs() as u64,
    libc::CLONE_NEWCGROUP.unsigned_abs() as u64,
];

const SOCKETS: [c_long; 6] =
    [libc::SYS_socket, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4];

/// Calls about a process, with the place of its number among the arguments; 0 is oneself.
const OTHERS: [(c_long, u8); 7] = [
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
];

/// `libc` does not name it for every processor; newer calls have one number on all of them.
const FCHMODAT2: c_long = 452;

fn metadata() -> impl Iterator<Item = c_long> {
    #[cfg(target_arch = "x86_64")]
    const OLD: &[c_long] =
        &[libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat];
    #[cfg(not(target_arch = "x86_64"))]
    const OLD: &[c_long] = &[];
    const ALL: &[c_long] = &[
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        FCHMODAT2,
        libc::SYS_fchown,
        libc::SYS_fchownat,
        libc::SYS_utimensat,
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
    ];
    OLD.iter().chain(ALL).copied()
}

fn known() -> impl Iterator<Item = c_long> {
    KNOWN.iter().chain(OLDER).copied().chain(metadata())
}

/// Calls that only older architectures have beside their newer forms.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    libc::SYS_access,
    libc::SYS_alarm,
    libc::SYS_arch_prctl,
    libc::SYS_creat,
    libc::SYS_dup2,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
    libc::SYS_fork,
    libc::SYS_getdents,
    libc::SYS_getpgrp,
    libc::SYS_link,
    libc::SYS_lstat,
    libc::SYS_mkdir,
    libc::SYS_mknod,
    libc::SYS_open,
    libc::SYS_pause,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_rename,
    libc::SYS_rmdir,
    libc::SYS_select,
    libc::SYS_signalfd,
    libc::SYS_stat,
    libc::SYS_symlink,
    libc::SYS_time,
    libc::SYS_unlink,
    libc::SYS_vfork,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

const KNOWN: &[c_long] = &[
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_brk,
    libc::SYS_capget,
    libc::SYS_capset,
    libc::SYS_chdir,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_clone,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_connect,
    libc::SYS_copy_file_range,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fadvise64,
    libc::SYS_fallocate,
    libc::SYS_fchdir,
    libc::SYS_fcntl,
    libc::SYS_fdatasync,
    libc::SYS_fgetxattr,
    libc::SYS_flistxattr,
    libc::SYS_flock,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    libc::SYS_get_mempolicy,
    libc::SYS_get_robust_list,
    libc::SYS_getcpu,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getgroups,
    libc::SYS_getitimer,
    libc::SYS_getpeername,
    libc::SYS_getpgid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getpriority,
    libc::SYS_getrandom,
    libc::SYS_getresgid,
    libc::SYS_getresuid,
    libc::SYS_getrlimit,
    libc::SYS_getrusage,
    libc::SYS_getsid,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_getuid,
    libc::SYS_getxattr,
    libc::SYS_ioctl,
    libc::SYS_ioprio_get,
    libc::SYS_ioprio_set,
    libc::SYS_kill,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_restrict_self,
    libc::SYS_lgetxattr,
    libc::SYS_linkat,
    libc::SYS_listen,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_mbind,
    libc::SYS_membarrier,
    libc::SYS_mincore,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_mlock,
    libc::SYS_mlock2,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_msync,
    libc::SYS_munlock,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_pipe2,
    libc::SYS_pkey_alloc,
    libc::SYS_pkey_free,
    libc::SYS_pkey_mprotect,
    libc::SYS_ppoll,
    libc::SYS_prctl,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_prlimit64,
    libc::SYS_pselect6,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_read,
    libc::SYS_readahead,
    libc::SYS_readlinkat,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmmsg,
    libc::SYS_recvmsg,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getattr,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_rr_get_interval,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_yield,
    libc::SYS_seccomp,
    libc::SYS_sendfile,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_set_mempolicy,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_setfsgid,
    libc::SYS_setfsuid,
    libc::SYS_setgid,
    libc::SYS_setitimer,
    libc::SYS_setpgid,
    libc::SYS_setpriority,
    libc::SYS_setregid,
    libc::SYS_setresgid,
    libc::SYS_setresuid,
    libc::SYS_setreuid,
    libc::SYS_setrlimit,
    libc::SYS_setsid,
    libc::SYS_setsockopt,
    libc::SYS_setuid,
    libc::SYS_shutdown,
    libc::SYS_sigaltstack,
    libc::SYS_signalfd4,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_splice,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_symlinkat,
    libc::SYS_sync_file_range,
    libc::SYS_sysinfo,
    libc::SYS_tee,
    libc::SYS_tgkill,
    libc::SYS_timer_create,
    libc::SYS_timer_delete,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_gettime,
    libc::SYS_timer_settime,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_gettime,
    libc::SYS_timerfd_settime,
    libc::SYS_times,
    libc::SYS_tkill,
    libc::SYS_truncate,
    libc::SYS_umask,
    libc::SYS_uname,
    libc::SYS_unlinkat,
    libc::SYS_vmsplice,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_write,
    libc::SYS_writev,
];

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: [c_long; 24] = [
        libc::SYS_ptrace,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_bpf,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_clone3,
        libc::SYS_io_uring_setup,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_open_by_handle_at,
        libc::SYS_memfd_create,
        libc::SYS_inotify_add_watch,
        libc::SYS_reboot,
    ];

    #[test]
    fn what_reaches_into_the_kernel_or_other_processes_is_not_known() {
        for call in NEVER {
            assert!(known().all(|known| known != call), "{call}");
        }
    }

    #[test]
    fn the_filters_can_be_made_for_every_kind_of_run() {
        for bits in 0..8 {
            let allowed = Allowed { network: bits & 1 > 0, metadata: bits & 2 > 0, others: bits & 4 > 0 };
            assert_eq!(filters(allowed).unwrap().len(), 2);
        }
    }
}
