//! What end-to-end tests and benchmarks share.

pub mod foreign;
pub mod guests;
pub mod handmade;
pub mod memory_storage;
pub mod shell;
pub mod web;
pub mod world;
