//! A component ready to be linked: machine code, and what it needs.

use std::collections::BTreeSet;

use palisade_grants::Capability;
use serde::{Deserialize, Serialize};
use wasmtime::component::Component;

use crate::{
    Artifact, Engine, Entry, Failure, Limits, Needs, NotOffered, Offer, Scope, functions::Docs, offers, sandbox::Call,
};

/// The digest of a component's bytes; it stands for the component in every cache.
pub(crate) type Digest = [u8; 32];

/// A component ready to be linked. Cheap to clone.
#[derive(Clone)]
pub struct Compiled {
    pub(crate) component: Component,
    digest: Digest,
    needs: std::sync::Arc<Needs>,
    /// What its author wrote about its functions.
    docs: std::sync::Arc<Docs>,
}

/// What a tool says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The name the model calls it by.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its input.
    pub input_schema: String,
    /// The host capabilities it declares.
    pub capabilities: BTreeSet<Capability>,
    /// Dotted capabilities of a plugin's own, which mean something only to scope lists.
    pub own_capabilities: BTreeSet<String>,
    /// It changes nothing outside itself.
    pub read_only: bool,
    /// Calling it twice has the effect of calling it once.
    pub idempotent: bool,
}

/// Describing is answering a question about oneself; it needs next to nothing.
const DESCRIBING: Limits = Limits {
    memory: 64 << 20,
    call_time: std::time::Duration::from_secs(2),
    output: 256 << 10,
    host_call: 1 << 20,
    written: 0,
    created: 0,
    requests: 0,
    ..Limits::STANDARD
};

impl Compiled {
    /// Loads machine code that this project made itself. What is part of this program is loaded once: every agent has
    /// most of it.
    pub fn load(engine: &Engine, artifact: &Artifact) -> Result<Self, Failure> {
        match artifact.is_built_in() {
            true => engine.loaded(artifact.digest()).get_or_init(|| Self::load_now(engine, artifact)).clone(),
            false => Self::load_now(engine, artifact),
        }
    }

    /// Whether loading it would take no time.
    pub fn is_loaded(engine: &Engine, digest: [u8; 32]) -> bool {
        engine.loaded(digest).get().is_some()
    }

    fn load_now(engine: &Engine, artifact: &Artifact) -> Result<Self, Failure> {
        let component =
            artifact.load(engine.wasm()).map_err(|error| Failure::BadComponent { reason: error.to_string() })?;
        let needs = Needs::of(&component).map_err(|error| Failure::BadComponent { reason: error.to_string() })?;
        let docs = std::sync::Arc::default();
        Ok(Self { component, digest: artifact.digest(), needs: std::sync::Arc::new(needs), docs })
    }

    /// The same with what is written about its functions in the component that it was compiled from; machine code
    /// does not have it.
    #[must_use]
    pub fn documented_by(self, wasm: &[u8]) -> Self {
        Self { docs: std::sync::Arc::new(Docs::read(wasm)), ..self }
    }

    /// Whether it can be linked with this engine.
    pub(crate) fn is_of(&self, engine: &Engine) -> bool {
        wasmtime::Engine::same(self.component.engine(), engine.wasm())
    }

    /// The digest of the component's bytes.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Its machine code, for another process of this program that does not have it.
    pub(crate) fn code(&self) -> wasmtime::Result<Vec<u8>> {
        self.component.serialize()
    }

    /// What it needs.
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Whether it was written for Palisade and is one tool. Any other offers its functions.
    pub fn is_tool(&self) -> bool {
        !self.needs.is_foreign
    }

    /// The tools that it offers. One that was written for Palisade is asked what it is, as [`Self::describe`] does;
    /// of any other no code runs.
    pub fn offers(&self, engine: &Engine) -> Result<Vec<Offer>, Failure> {
        match self.is_tool() {
            true => Ok(vec![Offer { description: self.describe(engine)?, entry: Entry::Tool }]),
            false => Ok(offers::find(&self.component, &self.docs, &self.needs).0),
        }
    }

    /// The functions that it exports and that cannot be tools.
    pub fn not_offered(&self) -> Vec<NotOffered> {
        match self.is_tool() {
            true => Vec::new(),
            false => offers::find(&self.component, &self.docs, &self.needs).1,
        }
    }

    /// Asks the tool what it is, without lending it anything: its interfaces are linked, but
    /// there is no folder, no space and no other tool behind them. Refuses a component that
    /// imports more than it declares.
    pub fn describe(&self, engine: &Engine) -> Result<Description, Failure> {
        if !self.is_tool() {
            let reason = "it does not export `palisade:tool/tool`; only its functions can be tools".to_owned();
            return Err(Failure::BadComponent { reason });
        }
        let scope = Scope::for_describing(engine, DESCRIBING);
        let described = scope.describe(self, &Call::default())?;
        let mut description = Description {
            name: described.name,
            description: described.description,
            input_schema: described.input_schema,
            capabilities: BTreeSet::new(),
            own_capabilities: BTreeSet::new(),
            read_only: described.read_only,
            idempotent: described.idempotent,
        };
        for capability in described.capabilities {
            match capability.parse::<Capability>() {
                Ok(capability) => drop(description.capabilities.insert(capability)),
                Err(_) => drop(description.own_capabilities.insert(capability)),
            }
        }
        let declared = self.needs.check_declared(&description.capabilities);
        declared.map_err(|error| Failure::BadComponent { reason: error.to_string() })?;
        Ok(description)
    }
}
