//! Registries: where packages are published and fetched from.
//!
//! The layout is that of OCI artifacts: one component as the CNCF's WebAssembly layout has it, so that other
//! programs can use it, and a whole package as one layer of its own type. A registry is a stranger, too: sizes
//! are bounded while something comes in, digests are checked, and where a registry sends us is looked at
//! before we go there.

mod auth;
mod guard;
mod layout;
mod pull;
mod push;
mod reference;
mod signed;
mod transport;

pub use auth::Credentials;
pub use pull::{Found, Pulled};
pub use reference::{BadReference, Reference};

use crate::{PackageError, Sha256, oci::transport::Transport, signature::BadSignature};

/// A registry, and one package in it.
pub struct Registry {
    transport: Transport,
    reference: Reference,
}

/// Why something was not fetched or published.
#[derive(Debug, thiserror::Error)]
pub enum OciError {
    /// It cannot be reached.
    #[error("{registry} cannot be reached: {reason}")]
    Unreachable {
        /// The registry.
        registry: String,
        /// Why not.
        reason: String,
    },
    /// It took too long.
    #[error("{0} took too long; it was given up")]
    TooSlow(String),
    /// It says no.
    #[error("{registry} says {status}{}", if detail.is_empty() { String::new() } else { format!(": {detail}") })]
    Refused {
        /// The registry.
        registry: String,
        /// Its answer.
        status: u16,
        /// What it says about it.
        detail: String,
    },
    /// What is to be published is none.
    #[error("this cannot be published: {0}")]
    Unfit(String),
    /// It sends us where we do not go.
    #[error("{registry} sends us elsewhere, and we do not go there: {reason}")]
    Astray {
        /// The registry.
        registry: String,
        /// Where and why not.
        reason: String,
    },
    /// It says something that makes no sense.
    #[error("{registry} gives no sensible answer: {reason}")]
    Nonsense {
        /// The registry.
        registry: String,
        /// What is wrong.
        reason: String,
    },
    /// More than a package may hold.
    #[error("{what} has more than {most} bytes")]
    TooLarge {
        /// What.
        what: String,
        /// How many it may have.
        most: u64,
    },
    /// What came is not what was named.
    #[error("what came is not what was named: {expected} was asked for, {found} came")]
    OtherDigest {
        /// What was asked for.
        expected: Sha256,
        /// What came.
        found: Sha256,
    },
    /// What came is no package.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// A signature that is none.
    #[error(transparent)]
    Signature(#[from] BadSignature),
    /// There is no client.
    #[error("no encrypted connection can be made: {0}")]
    NoClient(String),
}

impl Registry {
    /// Prepares to speak to the registry that a reference names. Nothing is sent yet.
    pub fn of(reference: &Reference, credentials: Option<Credentials>) -> Result<Self, OciError> {
        let transport = Transport::new(reference, credentials)?;
        Ok(Self { transport, reference: reference.clone() })
    }
}
