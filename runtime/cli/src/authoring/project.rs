//! A plugin's sources: a folder whose `plugin.json` says how they are built.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use palisade_catalog::definition::{Manifest, parse_manifest};
use palisade_grants::Capability;
use serde_json::Value;

use super::{Language, files};

/// A plugin's sources.
pub(crate) struct Project {
    /// The folder, with every link resolved.
    pub(crate) root: PathBuf,
    pub(crate) language: Language,
    pub(crate) manifest: Manifest,
}

/// A component that the project makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The tool that it is, as the manifest calls it.
    pub(super) tool: String,
    /// Where it lies in the plugin, such as `hello.wasm`.
    pub(super) component: String,
    /// What its source is called, such as `hello`.
    pub(super) stem: String,
    /// The powers that the manifest says it needs.
    pub(super) needs: BTreeSet<Capability>,
}

impl Project {
    /// Opens a project.
    pub(crate) fn open(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join("plugin.json");
        let text = files::read(&path)
            .with_context(|| format!("{} cannot be read; `palisade plugins new` makes a project", path.display()))?;
        let manifest = parse_manifest(&text, "plugin.json")?;
        let value: Value = serde_json::from_slice(&text).context("plugin.json is not JSON")?;
        let known = Language::ALL.map(Language::word).join(", ");
        let Some(word) = value.pointer("/build/lang") else {
            bail!("plugin.json does not say how it is built; add `\"build\": {{ \"lang\": \"rust\" }}` ({known})");
        };
        let Some(language) = word.as_str().and_then(Language::of_word) else {
            bail!("plugin.json: `build.lang` is {word}; it can be {known}");
        };
        let root = folder.canonicalize().with_context(|| format!("{} cannot be opened", folder.display()))?;
        Ok(Self { root, language, manifest })
    }

    /// The components that are made, in the order of the manifest.
    pub(super) fn parts(&self) -> anyhow::Result<Vec<Part>> {
        let parts = self.manifest.tools.iter().filter_map(|tool| {
            let component = tool.component.clone()?;
            let stem = Path::new(&component).file_stem()?.to_string_lossy().into_owned();
            let mut needs: BTreeSet<Capability> =
                tool.capabilities.iter().filter_map(|word| word.parse().ok()).collect();
            needs.extend((!tool.hosts.is_empty()).then_some(Capability::Http));
            needs.extend((!tool.secrets.is_empty()).then_some(Capability::Secrets));
            Some(Part { tool: tool.name.clone(), component, stem, needs })
        });
        let parts: Vec<Part> = parts.collect();
        if parts.is_empty() {
            bail!("plugin.json has no tool with a `component`, so there is nothing to build");
        }
        Ok(parts)
    }

    /// The plugin as it is installed.
    pub(crate) fn dist(&self) -> PathBuf {
        self.root.join("dist")
    }

    /// What is kept between builds.
    pub(super) fn kept(&self) -> PathBuf {
        self.root.join(".palisade")
    }
}
