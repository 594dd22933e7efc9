//! The tools of a plugin, as its manifest declares them.

use palisade_grants::{Candidate, ToolSource};

use crate::{Available, registry::Plugin};

/// The tools that a plugin brings and that were not refused.
pub(crate) fn available(plugin: &Plugin) -> Vec<Available> {
    let source = || ToolSource::Plugin(plugin.name.clone());
    let tools = plugin.tools.iter().filter(|tool| tool.refused.is_none());
    tools
        .map(|tool| {
            let manifest = &tool.manifest;
            let mut capabilities = manifest.capabilities.clone();
            let unavailable = match (&manifest.component, &manifest.command) {
                (Some(_), _) => Some("plugins are not run yet; its component is not loaded".to_owned()),
                (None, Some(_)) => {
                    if !capabilities.iter().any(|capability| capability == "exec") {
                        capabilities.push("exec".to_owned());
                    }
                    Some("it is a native command, and no operator allowed `exec`".to_owned())
                }
                (None, None) => Some("its manifest names neither a component nor a command".to_owned()),
            };
            let candidate = Candidate::new(manifest.name.as_str(), capabilities, source()).bound(tool.binding.clone());
            Available { candidate, unavailable }
        })
        .collect()
}
