//! The tools of a plugin: components, and native programs where an operator lets them run.

mod choosing;
mod component;
mod linking;
mod native;
mod told;

use std::sync::Arc;

use palisade_grants::{Candidate, Capability, ToolSource};

use crate::{
    Available,
    registry::{Plugin, PluginTool},
};

pub use choosing::choose_offer;
pub use component::PluginComponent;
pub(crate) use linking::{ComponentTool, Linkable, Linking};
pub use native::NativeCommand;
pub(crate) use native::NativeTool;
pub use told::{pin_told, words as told_words};
pub(crate) use told::{schema as told_schema, text as told_text};

/// The tools that a plugin brings and that were not refused.
pub(crate) fn available(plugin: &Plugin) -> Vec<Available> {
    let tools = plugin.tools.iter().filter(|tool| tool.refused.is_none());
    tools.map(|tool| one(plugin, tool)).collect()
}

fn one(plugin: &Plugin, tool: &PluginTool) -> Available {
    let manifest = &tool.manifest;
    let mut capabilities = manifest.capabilities.clone();
    let mut add = |capability: Capability| {
        if !capabilities.iter().any(|own| own == capability.name()) {
            capabilities.push(capability.name().to_owned());
        }
    };
    let (mut unavailable, mut command, mut component) = (plugin.held_back.clone(), None, None);
    match (&manifest.component, &manifest.command) {
        (Some(path), _) => {
            let own = PluginComponent::new(plugin, tool, path);
            own.capabilities().into_iter().for_each(&mut add);
            component = Some(Arc::new(own));
        }
        (None, Some(program)) => {
            // Manifests from before there were capabilities name none, and read what they are asked about.
            [Capability::Exec, Capability::FsRead].into_iter().for_each(&mut add);
            command = Some(NativeCommand::new(plugin, tool, program));
        }
        (None, None) => {
            unavailable = unavailable.or(Some("its manifest names neither a component nor a command".to_owned()));
        }
    }
    let source = ToolSource::Plugin(plugin.name.clone());
    let candidate = Candidate::new(manifest.name.as_str(), capabilities, source).bound(tool.binding.clone());
    Available { unavailable, command, component, ..Available::new(candidate) }
}
