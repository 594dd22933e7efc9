//! What strangers send.

mod archives;
mod folders;
mod registries;
mod signatures;
mod stores;
