//! What strangers send.
#![expect(clippy::disallowed_methods, reason = "tests make files, and a registry on this machine")]

mod archives;
mod folders;
mod registries;
mod signatures;
mod stores;
