//! The plugin as it is installed: the manifest, the components, and the files that belong to its agents and skills.

use std::{collections::BTreeMap, path::Path};

use anyhow::Context as _;

use super::{files, project::Project};

/// Folders whose files are part of a plugin.
const FOLDERS: [&str; 2] = ["agents", "skills"];
/// Files that are, where there are any.
const FILES: [&str; 4] = ["README.md", "LICENSE", "LICENSE.md", "LICENSE.txt"];

/// Makes `dist` anew: what is in it was all put there now.
pub(super) fn assemble(project: &Project, components: BTreeMap<String, Vec<u8>>) -> anyhow::Result<()> {
    let mut content: BTreeMap<String, Vec<u8>> = components;
    let read = |name: &str| files::read(&project.root.join(name)).with_context(|| format!("{name} cannot be read"));
    content.insert("plugin.json".to_owned(), read("plugin.json")?);
    for agent in &project.manifest.agents {
        content.insert(agent.system_prompt_file.clone(), read(&agent.system_prompt_file)?);
    }
    for name in FILES {
        if let Ok(text) = read(name) {
            content.insert(name.to_owned(), text);
        }
    }
    for folder in FOLDERS.map(|folder| project.root.join(folder)).into_iter().filter(|folder| folder.is_dir()) {
        for path in files::sources(&folder)? {
            let name = path.strip_prefix(&project.root).unwrap_or(Path::new("")).to_string_lossy().into_owned();
            content.insert(name.clone(), read(&name)?);
        }
    }
    let dist = project.dist();
    files::clear(&dist).with_context(|| format!("{} cannot be made anew", dist.display()))?;
    for (name, bytes) in content {
        let path = dist.join(name);
        files::write(&path, &bytes).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}
