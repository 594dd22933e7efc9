//! What end-to-end tests and benchmarks share.

pub mod guests;
