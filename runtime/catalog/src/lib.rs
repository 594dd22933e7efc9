//! What is loaded from files and becomes an agent that can act.
//!
//! The only crate that knows both agents and sandboxes: a definition gets its tools here, each a
//! component linked to what the definition's grants hold.

mod builtin;
mod definition;
mod equip;
pub mod prove;
mod registry;
mod tool;

pub use builtin::BuiltIn;
pub use definition::{Definition, DefinitionError};
pub use equip::{EquipError, Equipped, LeftOut, equip};
pub use registry::{Registry, UnknownAgent};
