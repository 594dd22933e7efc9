//! The core tools, compiled when this program was built.

use std::collections::BTreeSet;

use palisade_grants::Capability;
use palisade_sandbox::{Artifact, Compiled, Compiler, Description, Engine, Failure};

/// A core tool: component, machine code and description, all made by the build.
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    digest: [u8; 32],
    /// The component.
    pub wasm: &'static [u8],
    code: &'static [u8],
    description: StaticDescription,
}

struct StaticDescription {
    name: &'static str,
    description: &'static str,
    input_schema: &'static str,
    capabilities: &'static [&'static str],
    read_only: bool,
    idempotent: bool,
}

/// A component that wants one thing and does nothing.
pub(crate) struct LinkProbe {
    pub(crate) name: &'static str,
    digest: [u8; 32],
    wasm: &'static [u8],
    code: &'static [u8],
}

static TOOLS: &[BuiltIn] = include!(concat!(env!("OUT_DIR"), "/tools.rs"));
static PROBES: &[LinkProbe] = include!(concat!(env!("OUT_DIR"), "/probes.rs"));

/// The hostile guests of `palisade prove`; they are in no agent's scope. The second has the first do it, the third
/// makes requests.
const PROBE: &str = "probe";
const RELAY: &str = "relay";
const DIAL: &str = "dial";

impl BuiltIn {
    /// Every core tool, by name.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        TOOLS.iter().filter(|tool| ![PROBE, RELAY, DIAL].contains(&tool.name))
    }

    /// Finds a core tool.
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::all().find(|tool| tool.name == name)
    }

    pub(crate) fn probe() -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == PROBE)
    }

    pub(crate) fn relay() -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == RELAY)
    }

    pub(crate) fn dial() -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == DIAL)
    }

    /// Loads its machine code, or makes it where the processor lacks what the program was built for; with a compiler
    /// at hand it is kept for the next time.
    pub fn load(&self, engine: &Engine, compiler: Option<&Compiler>) -> Result<Compiled, Failure> {
        match (Compiled::load(engine, &Artifact::built_in(self.digest, self.code)), compiler) {
            (Ok(loaded), _) => Ok(loaded),
            (Err(_), Some(compiler)) => compiler.prepare(engine, self.wasm),
            (Err(_), None) => compile_here(engine, self.wasm),
        }
    }

    /// Whether loading it would take no time.
    pub(crate) fn is_loaded(&self, engine: &Engine) -> bool {
        Compiled::is_loaded(engine, self.digest)
    }

    /// The machine code of every core tool and of the guests of `palisade prove`, by the digests of their components.
    pub fn machine_code() -> impl Iterator<Item = ([u8; 32], &'static [u8])> {
        let tools = TOOLS.iter().map(|tool| (tool.digest, tool.code));
        tools.chain(PROBES.iter().map(|probe| (probe.digest, probe.code)))
    }

    /// How large its machine code is, in bytes.
    pub fn code_size(&self) -> usize {
        self.code.len()
    }

    /// What it says of itself.
    pub fn description(&self) -> Description {
        let StaticDescription { name, description, input_schema, capabilities, read_only, idempotent } =
            self.description;
        Description {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: input_schema.to_owned(),
            capabilities: capabilities.iter().filter_map(|capability| capability.parse().ok()).collect(),
            own_capabilities: std::collections::BTreeSet::new(),
            read_only,
            idempotent,
        }
    }
}

impl LinkProbe {
    /// As if it were a tool that may need anything.
    pub(crate) fn description(&self) -> Description {
        Description {
            name: self.name.to_owned(),
            description: String::new(),
            input_schema: "{}".to_owned(),
            capabilities: Capability::ALL.into(),
            own_capabilities: BTreeSet::new(),
            read_only: false,
            idempotent: false,
        }
    }

    pub(crate) fn all() -> &'static [Self] {
        PROBES
    }

    pub(crate) fn load(&self, engine: &Engine) -> Result<Compiled, Failure> {
        let loaded = Compiled::load(engine, &Artifact::built_in(self.digest, self.code));
        loaded.or_else(|_| compile_here(engine, self.wasm))
    }
}

fn compile_here(engine: &Engine, wasm: &'static [u8]) -> Result<Compiled, Failure> {
    let artifact = Artifact::compiled_here(wasm);
    let artifact = artifact.map_err(|error| Failure::BadComponent { reason: error.to_string() })?;
    Compiled::load(engine, &artifact)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// X1
    #[test]
    fn every_core_tool_declares_only_capabilities_of_the_host() {
        for tool in BuiltIn::all() {
            assert_eq!(tool.description().capabilities.len(), tool.description.capabilities.len(), "{}", tool.name);
            assert_eq!(tool.description().name, tool.name);
        }
    }
}
