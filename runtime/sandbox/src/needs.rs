//! What a component needs, read from its imports without running it.

use std::collections::BTreeSet;

use palisade_grants::Capability;
use wasmtime::component::{Component, types::ComponentItem};

use crate::offers;

/// What a component needs: an upper bound, derived from its imports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Every import that carries authority or plain WASI functions.
    pub imports: Vec<Import>,
    /// The agent's tools that it calls, by name.
    pub toolbox: BTreeSet<String>,
    /// It was not written for Palisade: its functions are tools, and no code of it knows what is granted here.
    pub is_foreign: bool,
    /// Imports of such a component that no tool may have. It runs without them; calling one ends the call.
    pub absent: Vec<String>,
    /// Imports of such a component that read settings, of which there are none.
    pub settings: Vec<String>,
}

/// One imported interface and what it takes to have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Its full name, such as `wasi:filesystem/types@0.2.6`.
    pub name: String,
    /// Any of these capabilities lets it be linked; none means that it carries no authority.
    pub capabilities: &'static [Capability],
}

/// An import that no grant can allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NeedsError {
    /// No tool may have it.
    #[error("it imports `{import}`; {reason}")]
    NeverLinked {
        /// The import.
        import: String,
        /// Why no tool may have it.
        reason: &'static str,
    },
    /// It imports more than its description declares.
    #[error("it imports `{import}` but does not declare {}", or(.capabilities))]
    Undeclared {
        /// The import.
        import: String,
        /// What it would have to declare one of.
        capabilities: &'static [Capability],
    },
}

/// Interfaces that carry no authority: the clock, randomness, bounded standard streams, an empty
/// environment, where a shell is. They are linked for every guest.
const PLAIN: [&str; 6] =
    ["wasi:cli/", "wasi:clocks/", "wasi:io/", "wasi:random/", "palisade:host/progress@", "palisade:host/shell@"];

/// Linked for nobody.
const SOCKETS: &str = "wasi:sockets/";
/// Settings of a component, by name.
const SETTINGS: &str = "wasi:config/store@";

/// Interfaces that carry no authority where nothing is behind them: no folder, no host. A component that was not
/// written for Palisade has them whenever it imports them, because its compiler imports them unasked.
const HOLLOW: [&str; 2] = ["wasi:filesystem/", "wasi:http/"];

/// Interfaces that carry authority, by the beginning of their name.
const POWERS: [(&str, &[Capability]); 8] = [
    ("wasi:filesystem/", &[Capability::FsRead, Capability::FsWrite]),
    ("palisade:host/files@", &[Capability::FsRead, Capability::FsWrite]),
    ("palisade:host/storage@", &[Capability::Storage]),
    ("palisade:host/process@", &[Capability::Exec]),
    ("palisade:host/agents@", &[Capability::Agents]),
    ("palisade:toolbox/", &[Capability::Tools]),
    ("wasi:http/", &[Capability::Http]),
    ("palisade:host/http@", &[Capability::Http]),
];

impl Needs {
    /// Whether it is a shell: one that asks the host where it is.
    pub(crate) fn has_shell(&self) -> bool {
        self.imports.iter().any(|import| import.name.starts_with("palisade:host/shell@"))
    }

    /// Reads the imports of a component.
    pub(crate) fn of(component: &Component) -> Result<Self, NeedsError> {
        let mut needs = Self { is_foreign: !offers::is_tool(component), ..Self::default() };
        for (name, item) in component.component_type().imports(component.engine()) {
            if !carries_functions(&item.ty, component.engine()) {
                continue;
            }
            if needs.is_foreign && name.starts_with(SOCKETS) {
                needs.absent.push(name.to_owned());
                continue;
            }
            if needs.is_foreign && name.starts_with(SETTINGS) {
                needs.settings.push(name.to_owned());
                continue;
            }
            let import = Import::parse(name)?;
            needs.toolbox.extend(import.toolbox().map(str::to_owned));
            needs.imports.push(import);
        }
        Ok(needs)
    }

    /// Checks that a description declares all that is imported.
    pub fn check_declared(&self, declared: &BTreeSet<Capability>) -> Result<(), NeedsError> {
        match self.imports.iter().find(|import| !import.is_plain() && !import.is_met_by(declared)) {
            None => Ok(()),
            Some(import) => {
                Err(NeedsError::Undeclared { import: import.name.clone(), capabilities: import.capabilities })
            }
        }
    }

    /// Whether any import is met by a capability of this kind.
    pub fn asks(&self, capability: Capability) -> bool {
        self.imports.iter().any(|import| import.capabilities.contains(&capability))
    }
}

impl Import {
    fn parse(name: &str) -> Result<Self, NeedsError> {
        if PLAIN.iter().any(|prefix| name.starts_with(prefix)) {
            return Ok(Self { name: name.to_owned(), capabilities: &[] });
        }
        if let Some((_, capabilities)) = POWERS.iter().find(|(prefix, _)| name.starts_with(prefix)) {
            return Ok(Self { name: name.to_owned(), capabilities });
        }
        let reason = if name.starts_with(SOCKETS) {
            "raw sockets are never linked; use wasi:http with a granted host"
        } else {
            "the host has no such interface"
        };
        Err(NeedsError::NeverLinked { import: name.to_owned(), reason })
    }

    /// Whether it carries no authority.
    pub fn is_plain(&self) -> bool {
        self.capabilities.is_empty()
    }

    /// Whether one of the given capabilities lets it be linked.
    pub fn is_met_by(&self, held: &BTreeSet<Capability>) -> bool {
        self.is_plain() || self.capabilities.iter().any(|capability| held.contains(capability))
    }

    /// Whether it is nothing where nothing is granted.
    pub fn can_be_hollow(&self) -> bool {
        HOLLOW.iter().any(|prefix| self.name.starts_with(prefix))
    }

    /// The tool's name, if this is an interface of the agent's toolbox.
    pub fn toolbox(&self) -> Option<&str> {
        let rest = self.name.strip_prefix("palisade:toolbox/")?;
        Some(rest.split_once('@').map_or(rest, |(name, _)| name))
    }
}

/// An instance of types alone carries no authority and needs no implementation.
fn carries_functions(item: &ComponentItem, engine: &wasmtime::Engine) -> bool {
    match item {
        ComponentItem::ComponentInstance(instance) => instance
            .exports(engine)
            .any(|(_, export)| matches!(export.ty, ComponentItem::ComponentFunc(_) | ComponentItem::Resource(_))),
        ComponentItem::Type(_) => false,
        _ => true,
    }
}

fn or(capabilities: &[Capability]) -> String {
    capabilities.iter().map(|capability| format!("`{capability}`")).collect::<Vec<_>>().join(" or ")
}
