//! What the fuzz targets need of crates that they do not depend on.

/// The readers of definitions, by links to their files: they are pure, and the crate around them
/// would bring wasmtime.
pub mod definition;
