//! The generated bindings of `wit/`: the only place in the guests where they are made.

use crate::{Description, Failure};

wit_bindgen::generate!({
    path: "../../wit",
    world: "palisade:tool/tool-world",
    pub_export_macro: true,
    export_macro_name: "export",
    default_bindings_module: "palisade_tool::bindings",
});

/// The host's interfaces, in a module of their own so that a guest which uses none imports none.
pub mod host {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "palisade:tool/host-world",
        generate_all,
    });
    pub use palisade::host::{files, http, process, progress, shell, storage};
}

/// The tools of every agent that has them, each dropped from a guest that calls it nowhere.
pub mod toolbox {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "palisade:tool/toolbox-world",
        generate_all,
    });
    pub use palisade::toolbox::*;
}

pub use exports::palisade::tool::tool;

impl From<Description> for tool::Description {
    fn from(description: Description) -> Self {
        Self {
            name: description.name,
            description: description.description,
            input_schema: description.input_schema,
            capabilities: description.capabilities,
            read_only: description.read_only,
            idempotent: description.idempotent,
        }
    }
}

impl From<Failure> for tool::Failure {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::InvalidInput(text) => Self::InvalidInput(text),
            Failure::Denied(text) => Self::Denied(text),
            Failure::Failed(text) => Self::Failed(text),
        }
    }
}
