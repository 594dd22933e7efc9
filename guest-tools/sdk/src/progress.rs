//! Telling a watcher how far the work is.

/// Reports progress; it reaches a screen and a log, never the model.
pub fn report(message: &str) {
    #[cfg(target_family = "wasm")]
    crate::bindings::host::progress::report(message);
    #[cfg(not(target_family = "wasm"))]
    let _: &str = message;
}
