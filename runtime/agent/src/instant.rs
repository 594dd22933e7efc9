//! Named instants between one durable step and the next. The crash tests kill the process at each of them; a
//! program that sets no hook pays one load for passing one.

use std::sync::OnceLock;

static HOOK: OnceLock<fn(&'static str)> = OnceLock::new();

/// Has `hook` called at every instant from now on. The first hook of a process stays.
pub fn at_instants(hook: fn(&'static str)) {
    // Only tests set one, and one process sets it once.
    let _first = HOOK.set(hook);
}

/// Passes an instant.
pub fn passing(instant: &'static str) {
    if let Some(hook) = HOOK.get() {
        hook(instant);
    }
}
