//! The built-in tools as WebAssembly components, each by its name with the file that the build left it in.
//!
//! For build scripts, which make machine code of them.

/// The components: name and file.
pub const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/components.rs"));
