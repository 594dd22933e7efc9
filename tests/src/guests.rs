//! The guests in `guests/`, as components and as machine code.

use palisade_sandbox::{Artifact, Compiled, Engine, Failure};

/// One guest.
pub struct Guest {
    /// The name of its file.
    pub name: &'static str,
    digest: [u8; 32],
    /// The component.
    pub wasm: &'static [u8],
    code: &'static [u8],
}

/// Every guest there is.
pub const GUESTS: &[Guest] = include!(concat!(env!("OUT_DIR"), "/guests.rs"));

impl Guest {
    /// Loads it.
    pub fn load(&self, engine: &Engine) -> Result<Compiled, Failure> {
        Compiled::load(engine, &Artifact::built_in(self.digest, self.code))
    }
}

/// The machine code of every guest, by the digest of its component.
pub fn machine_code() -> impl Iterator<Item = ([u8; 32], &'static [u8])> {
    GUESTS.iter().map(|guest| (guest.digest, guest.code))
}

/// Finds a guest by the name of its file.
pub fn guest(name: &str) -> Option<&'static Guest> {
    GUESTS.iter().find(|guest| guest.name == name)
}
