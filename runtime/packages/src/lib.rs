//! Packages of plugins: what is read from outside before anybody runs it.
//!
//! The only crate that unpacks archives, checks signatures and speaks to registries. A [`Package`] is a
//! bounded set of plain files with one digest, whether it came as a folder, an archive or from a
//! registry; nothing in it is run, and nothing of it is a link, a device or machine code. [`Store`]
//! puts it where plugins are, whole or not at all.

mod archive;
mod content;
mod digest;
mod folder;
mod limits;
pub mod oci;
mod package;
mod path;
pub mod signature;
mod store;

pub use archive::{pack, unpack};
pub use content::Unwanted;
pub use digest::Sha256;
pub use limits::Limits;
pub use package::{MANIFEST, Package, PackageError};
pub use path::{BadPath, PackagePath};
pub use store::{Staged, Store, StoreError};

#[cfg(test)]
mod tests;
