//! From sources to a plugin that can be installed: build, look at what came out, put it together.

use std::{collections::BTreeMap, path::PathBuf, time::Instant};

use anyhow::{Context as _, bail};
use palisade_grants::Capability;
use palisade_sandbox::{Compiled, Description, digest};

use super::{
    Language, files,
    languages::{c, javascript, python, rust},
    package,
    project::{Part, Project},
};
use crate::{
    assemble::Assembly,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// What projects are built with.
pub(crate) struct Workshop<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) terminal: &'a Terminal,
    pub(crate) assembly: &'a Assembly,
}

/// A component that a compiler made.
pub(super) struct Made {
    pub(super) part: Part,
    pub(super) component: Vec<u8>,
}

/// A tool that was built and looked at.
pub(crate) struct BuiltTool {
    /// What the manifest calls it.
    pub(crate) name: String,
    /// Its component in `dist`.
    pub(crate) path: PathBuf,
    /// The component's size.
    pub(crate) size: usize,
    pub(crate) compiled: Compiled,
    /// What it says of itself, under the name that the manifest gives it.
    pub(crate) description: Description,
    /// Whether it is another component than after the last build.
    pub(crate) changed: bool,
}

impl Workshop<'_> {
    /// Builds a project into its `dist`. Each component is asked what it is, with nothing lent to it.
    pub(crate) fn build(&self, project: &Project) -> anyhow::Result<Vec<BuiltTool>> {
        for notice in &project.manifest.warnings {
            self.terminal.warning(&notice.to_string());
        }
        let made = self.make(project)?;
        let dist = project.dist();
        let mut built = Vec::new();
        for Made { part, component } in &made {
            let unusable = || format!("{} was built but cannot be used", part.component);
            let compiled = self.assembly.compiler().prepare(&self.assembly.engine, component).with_context(unusable)?;
            let mut description = compiled.describe(&self.assembly.engine).with_context(unusable)?;
            if description.name != part.tool {
                self.terminal.warning(&format!(
                    "the component {} calls itself `{}`; plugin.json calls it `{}`, and that is its name",
                    part.component, description.name, part.tool
                ));
                description.name.clone_from(&part.tool);
            }
            let path = dist.join(&part.component);
            let changed = files::read(&path).ok().is_none_or(|present| present != *component);
            let (name, size) = (part.tool.clone(), component.len());
            built.push(BuiltTool { name, path, size, compiled, description, changed });
        }
        let components = made.into_iter().map(|made| (made.part.component, made.component)).collect();
        package::assemble(project, components)?;
        Ok(built)
    }

    fn make(&self, project: &Project) -> anyhow::Result<Vec<Made>> {
        // Before a compiler is fetched for nothing.
        if let Some(powers) = project.language.powers() {
            for part in project.parts()? {
                if let Some(need) = part.needs.iter().find(|need| !powers.contains(need)) {
                    bail!("{}", out_of_reach(&part.tool, *need, project.language, powers));
                }
            }
        }
        let build = match project.language {
            // Cargo knows what has to be built again.
            Language::Rust => return self.timed(project, rust::build),
            Language::Python => python::build,
            Language::Javascript => javascript::build,
            Language::C => c::build,
        };
        let inputs = inputs(project)?;
        if let Some(made) = unchanged(project, &inputs) {
            return Ok(made);
        }
        let made = self.timed(project, build)?;
        let outputs: BTreeMap<&str, String> =
            made.iter().map(|made| (made.part.component.as_str(), hexadecimal(&made.component))).collect();
        let note = serde_json::json!({ "inputs": inputs, "outputs": outputs });
        files::write(&project.kept().join("built.json"), note.to_string().as_bytes())?;
        Ok(made)
    }

    fn timed(
        &self,
        project: &Project,
        build: impl Fn(&Project, &Workshop<'_>) -> anyhow::Result<Vec<Made>>,
    ) -> anyhow::Result<Vec<Made>> {
        let started = Instant::now();
        let made = build(project, self)?;
        let time = crate::render::words::time(started.elapsed());
        let note = format!("{} ({}): compiled in {time}", project.manifest.name, project.language);
        self.terminal.note(&Line::new().add(Style::Dim, &note));
        Ok(made)
    }
}

fn out_of_reach(tool: &str, need: Capability, language: Language, powers: &[Capability]) -> String {
    let powers: Vec<&str> = powers.iter().map(|power| power.name()).collect();
    let powers = if powers.is_empty() { "no powers".to_owned() } else { powers.join(", ") };
    format!("`{tool}` cannot have `{need}`: tools in {language} can have {powers}; those in Rust can have it")
}

/// What the components of a project depend on: its files but for tests and documents, and this program.
fn inputs(project: &Project) -> anyhow::Result<String> {
    let mut all = env!("CARGO_PKG_VERSION").as_bytes().to_vec();
    for path in files::sources(&project.root)? {
        let name = path.strip_prefix(&project.root).unwrap_or(&path);
        let is_document = path.extension().is_some_and(|ending| ending == "md");
        if is_document || name.starts_with("tests") || name.starts_with("agents") || name.starts_with("skills") {
            continue;
        }
        let content = files::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        all.extend_from_slice(format!("\n{}\n{}", name.display(), hexadecimal(&content)).as_bytes());
    }
    Ok(hexadecimal(&all))
}

/// What was built before, if nothing that it depends on has changed and nobody touched it.
fn unchanged(project: &Project, inputs: &str) -> Option<Vec<Made>> {
    let note: serde_json::Value =
        serde_json::from_slice(&files::read(&project.kept().join("built.json")).ok()?).ok()?;
    if note["inputs"] != inputs {
        return None;
    }
    let parts = project.parts().ok()?.into_iter();
    parts
        .map(|part| {
            let component = files::read(&project.dist().join(&part.component)).ok()?;
            (note["outputs"][&part.component] == hexadecimal(&component)).then_some(Made { part, component })
        })
        .collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
