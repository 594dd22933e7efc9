//! The interpreter, set up so that the sandbox's limits are what ends a call.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bashkit::{Bash, BashBuilder, BuiltinRegistry, Error, ExecutionLimits, MemoryLimits, SessionLimits};

use crate::{commands, files::Folders, host, kept::Kept, place::WORKSPACE};

/// What a script came to.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: Kept,
    pub(crate) stderr: Kept,
    /// Where it left off.
    pub(crate) directory: PathBuf,
}

/// What is kept of standard output; the loop shows the model less, the rest can be asked for.
const STDOUT: usize = 256 << 10;
const STDERR: usize = 64 << 10;

/// What `timeout` gives, and so does a script that ran out of the time it was given.
const OUT_OF_TIME: i32 = 124;

/// Runs a script that begins in a directory.
pub(crate) async fn run(script: &str, directory: &Path, time: Option<Duration>) -> Ended {
    let mut bash = shell(directory, time);
    let stdout = Arc::new(Mutex::new(Kept::new(STDOUT)));
    let stderr = Arc::new(Mutex::new(Kept::new(STDERR)));
    let keep = |kept: &Arc<Mutex<Kept>>| {
        let kept = Arc::clone(kept);
        move |bytes: Vec<u8>| {
            lock(&kept).push(&bytes);
            std::future::ready(Ok(()))
        }
    };
    let ended = bash.execute(script).stdout_fn(keep(&stdout)).stderr_fn(keep(&stderr)).await;
    let code = match ended {
        Ok(result) => result.exit_code,
        Err(error) => {
            let (code, reason) = explain(&error, script, time);
            lock(&stderr).push(reason.as_bytes());
            code
        }
    };
    let take = |kept: Arc<Mutex<Kept>>| std::mem::take(&mut *lock(&kept));
    let ended = Ended { code, stdout: take(stdout), stderr: take(stderr), directory: bash.shell_state_view().cwd };
    // All memory goes with the call; taking the shell apart piece by piece first would only cost time.
    std::mem::forget(bash);
    ended
}

fn lock(kept: &Mutex<Kept>) -> std::sync::MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shell with its own commands, and those of the host that it does not have itself.
fn shell(directory: &Path, time: Option<Duration>) -> Bash {
    let granted = BuiltinRegistry::new();
    let bash = commands::add(plain(directory)).limits(limits(time)).builtin_registry(granted.clone()).build();
    let more = host::commands();
    if !more.is_empty() {
        let own = bash.builtin_names();
        commands::add_granted(&granted, more.into_iter().filter(|name| !own.contains(name)));
    }
    bash
}

/// The interpreter with its own commands alone.
pub(crate) fn plain(directory: &Path) -> BashBuilder {
    Bash::builder()
        .fs(Arc::new(Folders))
        // Names, users and processes of a machine that is not there would only mislead.
        .rootfs(false)
        .username("agent")
        .hostname("palisade")
        .env("HOME", WORKSPACE)
        .env("PATH", "/usr/bin:/bin")
        .env("LANG", "C.UTF-8")
        .cwd(directory)
        .limits(limits(None))
        .session_limits(SessionLimits::unlimited())
        .memory_limits(MemoryLimits::unlimited())
        .builtin_filter(|name| !commands::LEFT_OUT.contains(&name))
}

/// Time, memory, output and written bytes are the sandbox's business. What is left here keeps
/// recursion off the end of the stack.
fn limits(time: Option<Duration>) -> ExecutionLimits {
    const FOREVER: Duration = Duration::from_secs(24 * 60 * 60);
    ExecutionLimits::new()
        .max_work_units(u64::MAX)
        .max_aggregate_input_bytes(u64::MAX)
        .max_live_intermediate_bytes(u64::MAX)
        .max_commands(usize::MAX)
        .max_loop_iterations(usize::MAX)
        .max_total_loop_iterations(usize::MAX)
        .timeout(time.unwrap_or(FOREVER))
        .parser_timeout(FOREVER)
        .max_parser_operations(usize::MAX)
        .max_stdout_bytes(usize::MAX / 4)
        .max_stderr_bytes(usize::MAX / 4)
        .max_word_split_fields(usize::MAX)
        .max_word_split_bytes(usize::MAX)
}

/// Why a script ended early, and the exit code for it.
fn explain(error: &Error, script: &str, time: Option<Duration>) -> (i32, String) {
    if let Some(report) = error.syntax_report("bash", script) {
        return (2, report);
    }
    match (error, time) {
        (Error::ResourceLimit(bashkit::LimitExceeded::Timeout(_)), Some(time)) => {
            (OUT_OF_TIME, format!("bash: out of time after {} s, as `timeout` says\n", time.as_secs()))
        }
        _ => (1, format!("bash: {error}\n")),
    }
}
