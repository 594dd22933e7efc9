//! What may be done.
//!
//! This crate decides and does nothing else: no I/O, no async, no clock. A [`Grants`] value says
//! what one agent may touch; [`Grants::narrow`] is the only way to combine two of them and can only
//! shrink; a `permit` method turns a request into a `Permitted*` value that the code which acts
//! demands, or into a [`Denial`] that says what would allow it.

mod capability;
mod denial;
mod files;
mod grants;
mod path;
mod storage;

pub use capability::{Capability, UnknownCapability};
pub use denial::Denial;
pub use files::{Access, FilesGrant, PermittedWrite};
pub use grants::Grants;
pub use path::{BadPath, WorkspacePath};
pub use storage::{PermittedKey, StorageGrant};
