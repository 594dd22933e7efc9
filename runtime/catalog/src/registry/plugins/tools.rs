//! The tools of plugins: whom they work for, and which of them nobody gets.

use std::collections::{BTreeMap, BTreeSet};

use palisade_agent::PANEL_TOOLS;
use palisade_grants::{Binding, DELEGATION, Identity, canonical_tool};

use super::Plugin;
use crate::{definition::ManifestTool, skills::TOOL};

/// A tool of a plugin, as its manifest declares it.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginTool {
    /// What the manifest says.
    pub manifest: ManifestTool,
    /// Whom it works for: names in the manifest mean agents of the same plugin, and nobody else who
    /// happens to be called so.
    pub binding: Binding,
    /// Why nobody gets it.
    pub refused: Option<String>,
}

/// Names that belong to the host whether or not it uses them yet, as [`alike`] writes them.
const RESERVED: &str = "system-";

/// Resolves whom the tools of a plugin work for.
pub(super) fn bind(plugin: &str, tools: Vec<ManifestTool>) -> Vec<PluginTool> {
    let own = |name: &String| Identity::of_plugin(plugin, name.as_str());
    tools
        .into_iter()
        .map(|manifest| {
            let visible_to = manifest.visible_to.as_deref().filter(|names| !names.is_empty());
            let mut refused = None;
            let binding = match (&manifest.required_agent, visible_to) {
                (None, None) => Binding::Anyone,
                (None, Some(names)) => Binding::VisibleTo(names.iter().map(own).collect()),
                (Some(name), visible_to) => {
                    if visible_to.is_some_and(|names| !names.contains(name)) {
                        refused =
                            Some(format!("it requires the agent `{name}`, to whom `visible_to` does not show it"));
                    }
                    Binding::Requires(own(name))
                }
            };
            PluginTool { manifest, binding, refused }
        })
        .collect()
}

/// Refuses tools that would take the place of others. A name that two plugins use is refused to both:
/// whichever won, calls meant for one would reach the other.
pub(super) fn refuse(plugins: &mut [Plugin], core: &[&str]) {
    // What asks agents, reads skills and looks at panels is part of the host, not of its list of tools.
    let core = core.iter().copied().chain(DELEGATION).chain(PANEL_TOOLS).chain([TOOL]);
    let core: BTreeMap<String, &str> = core.map(|name| (alike(name), name)).collect();
    let mut owners: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for plugin in plugins.iter() {
        for tool in &plugin.tools {
            owners.entry(alike(&tool.manifest.name)).or_default().insert(plugin.name.clone());
        }
    }
    for plugin in plugins {
        let mut own = BTreeSet::new();
        for tool in &mut plugin.tools {
            let name = alike(&tool.manifest.name);
            let other = owners.get(&name).and_then(|owners| owners.iter().find(|owner| **owner != plugin.name));
            let reason = if name.starts_with(RESERVED) {
                Some("names that begin with `system_` are the host's".to_owned())
            } else if let Some(core) = core.get(&name) {
                Some(format!("`{core}` is a tool of this program"))
            } else if let Some(other) = other {
                Some(format!("the plugin `{other}` has a tool of that name, too; one of them must go or be disabled"))
            } else if own.contains(&name) {
                Some("the plugin has a tool of that name already".to_owned())
            } else {
                None
            };
            own.insert(name);
            tool.refused = tool.refused.take().or(reason);
        }
    }
}

/// What names are compared by. Imports cannot tell `_` from `-`, so that a tool `web-fetch` would be called by a
/// component that means `web_fetch`.
fn alike(name: &str) -> String {
    canonical_tool(name).replace('_', "-")
}
