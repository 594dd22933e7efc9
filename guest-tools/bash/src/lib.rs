//! `bash`: a shell and its commands, as one component.
//!
//! The interpreter and most commands are `bashkit`; this crate gives them the agent's folders, the
//! commands that it lacks or does differently, and the form in which the model reads what came of a
//! script. Nothing here decides what may be done: every file is opened through the preopens.
//!
//! Only the component is ever run, so the interpreter is built for WebAssembly alone.
#![cfg_attr(
    target_family = "wasm",
    expect(clippy::disallowed_methods, reason = "on WebAssembly `std::fs` is the preopens and nothing else")
)]
#![cfg_attr(
    all(test, not(target_family = "wasm")),
    expect(dead_code, reason = "tests run natively, without the interpreter that uses the rest")
)]

pub mod kept;
#[cfg(any(target_family = "wasm", test))]
mod place;

#[cfg(any(target_family = "wasm", test))]
mod civil;
#[cfg(target_family = "wasm")]
mod commands;
#[cfg(target_family = "wasm")]
mod files;
#[cfg(target_family = "wasm")]
mod host;
#[cfg(target_family = "wasm")]
mod interpreter;
#[cfg(target_family = "wasm")]
mod links;
#[cfg(target_family = "wasm")]
mod tool;
