//! Machine code that is proven ours.
//!
//! Loading machine code runs it with the host's rights, so this is the one module that does it. An
//! [`Artifact`] is made from bytes that are part of this program, from the output of our own
//! compile worker, or from a cache entry whose seal was checked; never from a file or a network.

use std::{
    borrow::Cow,
    hash::{Hash as _, Hasher},
};

use wasmtime::component::Component;

use crate::{component::Digest, engine};

/// Machine code of one component, proven ours.
pub struct Artifact {
    digest: Digest,
    code: Cow<'static, [u8]>,
}

/// Why bytes could not be made into machine code, or machine code not loaded.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// Not WebAssembly at all; machine code from elsewhere lands here too.
    #[error("it is {0}, not a WebAssembly component; only `.wasm` components are accepted")]
    NotAComponent(&'static str),
    /// It does not compile.
    #[error("it does not compile: {0:#}")]
    Invalid(wasmtime::Error),
    /// It was compiled for another machine or with other settings.
    #[error("its machine code does not fit this machine: {0:#}")]
    Incompatible(wasmtime::Error),
}

impl Artifact {
    /// Machine code that the build of this program made and put into it.
    pub fn built_in(digest: [u8; 32], code: &'static [u8]) -> Self {
        Self { digest, code: Cow::Borrowed(code) }
    }

    /// Compiles a component of this program whose machine code does not fit this machine.
    pub fn compiled_here(wasm: &'static [u8]) -> Result<Self, ArtifactError> {
        Ok(Self { digest: digest(wasm), code: Cow::Owned(precompile(wasm)?) })
    }

    /// Machine code whose origin the cache or the compile worker vouches for.
    pub(crate) fn trusted(digest: Digest, code: Vec<u8>) -> Self {
        Self { digest, code: Cow::Owned(code) }
    }

    /// The digest of the component that this was compiled from.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether it is part of this program.
    pub(crate) fn is_built_in(&self) -> bool {
        matches!(self.code, Cow::Borrowed(_))
    }

    pub(crate) fn code(&self) -> &[u8] {
        &self.code
    }

    #[expect(unsafe_code, reason = "loading machine code; every constructor above proves where it comes from")]
    pub(crate) fn load(&self, engine: &wasmtime::Engine) -> Result<Component, ArtifactError> {
        // SAFETY: the bytes were produced by `precompile` of this project, unchanged since: they are
        // part of the program, come over a pipe from our own worker, or carry a valid seal.
        unsafe { Component::deserialize(engine, &self.code) }.map_err(ArtifactError::Incompatible)
    }
}

/// The digest that stands for a component's bytes.
pub fn digest(wasm: &[u8]) -> [u8; 32] {
    *blake3::hash(wasm).as_bytes()
}

/// Compiles a component for this machine, with the settings that every process of this project uses.
/// It can take long and much memory on hostile input: call it in a build or in a worker.
pub fn precompile(wasm: &[u8]) -> Result<Vec<u8>, ArtifactError> {
    compile(wasm, &engine::config())
}

/// Compiles a component for any usual machine of a target such as `aarch64-unknown-linux-gnu`, for packages: what the
/// processor of the machine that builds them has beyond that is not used.
pub fn precompile_for(target: &str, wasm: &[u8]) -> Result<Vec<u8>, ArtifactError> {
    let config = engine::config_for(target).map_err(ArtifactError::Invalid)?;
    compile(wasm, &config)
}

fn compile(wasm: &[u8], config: &wasmtime::Config) -> Result<Vec<u8>, ArtifactError> {
    check_header(wasm)?;
    let engine = wasmtime::Engine::new(config).map_err(ArtifactError::Invalid)?;
    engine.precompile_component(wasm).map_err(ArtifactError::Invalid)
}

/// Refuses everything that is not a component, machine code above all.
pub(crate) fn check_header(bytes: &[u8]) -> Result<(), ArtifactError> {
    match bytes {
        [0x00, b'a', b's', b'm', 0x0d, 0x00, 0x01, 0x00, ..] => Ok(()),
        [0x00, b'a', b's', b'm', ..] => Err(ArtifactError::NotAComponent("a core module")),
        [0x7f, b'E', b'L', b'F', ..] => Err(ArtifactError::NotAComponent("machine code")),
        _ => Err(ArtifactError::NotAComponent("something else")),
    }
}

/// Stands for the compiler's version and settings: machine code made under another fingerprint is
/// not looked at.
pub(crate) fn fingerprint(engine: &wasmtime::Engine) -> Digest {
    struct Blake(blake3::Hasher);
    impl Hasher for Blake {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut hasher = Blake(blake3::Hasher::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    *hasher.0.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_components_are_compiled() {
        for (bytes, what) in [
            (&b"\x7fELF\x02\x01\x01\0rest"[..], "machine code"),
            (b"\0asm\x01\0\0\0", "a core module"),
            (b"", "something else"),
            (b"#!/bin/sh", "something else"),
        ] {
            assert_eq!(
                precompile(bytes).unwrap_err().to_string(),
                format!("it is {what}, not a WebAssembly component; only `.wasm` components are accepted")
            );
        }
    }

    #[test]
    fn compiled_output_is_not_accepted_as_input() {
        let code = precompile(&wat::parse_str("(component)").unwrap()).unwrap();
        assert!(matches!(precompile(&code), Err(ArtifactError::NotAComponent("machine code"))));
    }
}
