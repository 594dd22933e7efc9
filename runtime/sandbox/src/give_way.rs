//! Guests that compute for long give way: to guests that need only a moment, of other tenants too, and to the host.
//!
//! How long somebody waits for a processor is decided by the system for each thread. A guest that has computed for a
//! while goes on in a thread of its own with a lower priority, which ends with the call: no thread can have its
//! priority raised again without a privilege, and the usual threads are for the calls that come next.

use std::{future::poll_fn, panic::resume_unwind, pin::pin, task::Poll, thread, time::Duration};

use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::Handle;

/// How long a guest computes before it gives way. Most calls take less.
const TURN: Duration = Duration::from_millis(50);
/// How nice it is then, of 19. A thread that is not nice at all gets nine times as much of a processor, and gets it at
/// once; beside many of them a long call still goes on.
pub(crate) const NICE: i32 = 10;
/// What the thread is called.
const NAME: &str = "palisade-slow";

/// Does the work on this thread, and on another one if it takes long.
pub(crate) fn block_on<T: Send>(runtime: &Handle, work: impl Future<Output = T> + Send) -> T {
    let (mut work, began) = (pin!(work), computed());
    // A guest that computes comes back here every time the clock ticks.
    let ended = runtime.block_on(poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(ended) => Poll::Ready(Some(ended)),
        Poll::Pending if computed().saturating_sub(began) >= TURN => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    }));
    if let Some(ended) = ended {
        return ended;
    }
    let elsewhere = thread::scope(|scope| {
        let slow = thread::Builder::new().name(NAME.to_owned()).spawn_scoped(scope, || {
            step_back();
            runtime.block_on(work.as_mut())
        });
        slow.ok().map(|slow| slow.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    // Without another thread it goes on here.
    elsewhere.unwrap_or_else(|| runtime.block_on(work))
}

/// How long this thread has computed.
fn computed() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Lowers the priority of this thread. Where that cannot be done it stays as it is.
#[cfg(target_os = "linux")]
fn step_back() {
    // Here the system means the thread by it, and not the process.
    if rustix::process::getpriority_process(None).is_ok_and(|nice| nice < NICE) {
        let _ = rustix::process::setpriority_process(None, NICE);
    }
}

/// Elsewhere priorities are those of processes.
#[cfg(not(target_os = "linux"))]
fn step_back() {
    let _ = NICE;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    }

    /// Computes until somebody has seen enough, and lets others look every now and then.
    async fn compute(mut enough: impl FnMut() -> bool) -> Option<String> {
        while !enough() {
            tokio::task::yield_now().await;
        }
        thread::current().name().map(str::to_owned)
    }

    #[test]
    fn what_takes_a_moment_is_done_here() {
        let here = thread::current().name().map(str::to_owned);
        assert_eq!(block_on(runtime().handle(), compute(|| true)), here);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_takes_long_is_done_elsewhere_and_this_thread_stays_as_it_was() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let before = nice();
        let work = async {
            compute(|| thread::current().name() == Some(NAME)).await;
            nice()
        };
        assert_eq!(block_on(runtime().handle(), work), NICE.max(before));
        assert_eq!(nice(), before);
    }

    #[test]
    fn a_panic_elsewhere_is_one_here() {
        let work = async {
            compute(|| thread::current().name() == Some(NAME)).await;
            panic!("on purpose");
        };
        let runtime = runtime();
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| block_on::<()>(runtime.handle(), work)));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"));
    }
}
