//! Where a tool comes from: part of this program, or a file.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use palisade_catalog::BuiltIn;
use palisade_sandbox::{Compiled, Failure};

use crate::assemble::Assembly;

/// A tool, not yet loaded.
pub(crate) enum Source {
    /// Part of this program.
    BuiltIn(&'static BuiltIn),
    /// From outside: nobody vouches for it.
    File { path: PathBuf, wasm: Vec<u8> },
}

/// No component is larger; the compiler refuses this size with a better message.
const MOST: u64 = (64 << 20) + 1;

impl Source {
    /// Finds a built-in tool by name, or reads a file.
    pub(crate) fn find(given: &str) -> anyhow::Result<Self> {
        if let Some(tool) = BuiltIn::find(given) {
            return Ok(Self::BuiltIn(tool));
        }
        let path = Path::new(given);
        let is_file_name = given.contains('/') || path.extension().is_some_and(|extension| extension == "wasm");
        if !is_file_name && !path.is_file() {
            bail!("there is no tool `{given}`; there are {}, or give a component's file", super::known());
        }
        let wasm = read(path).with_context(|| format!("{given} cannot be read"))?;
        Ok(Self::File { path: path.to_owned(), wasm })
    }

    /// What it is called by before it has said its name.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::BuiltIn(tool) => tool.name.to_owned(),
            Self::File { path, .. } => path.display().to_string(),
        }
    }

    /// The component.
    pub(crate) fn wasm(&self) -> &[u8] {
        match self {
            Self::BuiltIn(tool) => tool.wasm,
            Self::File { wasm, .. } => wasm,
        }
    }

    /// Makes it ready to be linked; a file is compiled in a process of its own, or comes from the cache.
    pub(crate) fn load(&self, assembly: &Assembly) -> Result<Compiled, Failure> {
        match self {
            Self::BuiltIn(tool) => {
                tool.load(&assembly.engine, None).or_else(|_| tool.load(&assembly.engine, Some(assembly.compiler())))
            }
            Self::File { wasm, .. } => assembly.compiler().prepare(&assembly.engine, wasm),
        }
    }
}

/// Reads a file that the user named.
#[expect(clippy::disallowed_methods, reason = "the user named the file on the command line")]
pub(super) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}
