//! JavaScript, by componentize-qjs: QuickJS with the tool loaded, as it stands when the import is done.

use std::{collections::BTreeMap, ffi::OsStr};

use anyhow::Context as _;

use crate::authoring::{
    build::{Made, Workshop},
    files,
    program::Program,
    project::{Part, Project},
    toolchain::{NODE, Package, Registry},
    world,
};

pub(in crate::authoring) const COMPILER: Package =
    Package { name: "componentize-qjs", version: "0.4.5", registry: Registry::Npm };

pub(in crate::authoring) fn build(project: &Project, workshop: &Workshop<'_>) -> anyhow::Result<Vec<Made>> {
    let compiler = COMPILER.folder(workshop.settings, workshop.terminal)?;
    let kept = project.kept();
    // Modules are looked for below the project, so what starts them lies there, too.
    let sources = kept.join("javascript/sources.js");
    files::write(&sources, sources_of(project)?.as_bytes())?;
    let mut made = Vec::new();
    for part in project.parts()? {
        let source = format!("tools/{}.js", part.stem);
        files::read(&project.root.join(&source))
            .with_context(|| format!("{source}, which {} is made of", part.component))?;
        let entry = kept.join("javascript").join(format!("{}.js", part.stem));
        let wit = kept.join("javascript").join(&part.stem);
        files::clear(&wit)?;
        world::write(&wit, &part.needs)?;
        let lent = kept.join("javascript").join(format!("{}.host.js", part.stem));
        files::write(&lent, lent_to(&part)?.as_bytes())?;
        let text = format!(
            "import \"./sources.js\";\nimport \"./{}.host.js\";\nimport made from \"../../{source}\";\nexport const tool = made;\n",
            part.stem
        );
        files::write(&entry, text.as_bytes())?;
        let output = entry.with_extension("wasm");
        Program::new("node", NODE)
            .in_folder(&project.root)
            .arguments([compiler.join("node_modules/componentize-qjs/cli.mjs")])
            .arguments(["--sync", "--stub-wasi", "--world", world::WORLD, "--wit"])
            .arguments([&wit])
            .arguments([OsStr::new("--module-root"), project.root.as_os_str(), OsStr::new("--js"), entry.as_os_str()])
            .arguments([OsStr::new("--output"), output.as_os_str()])
            .run(&format!("{source} does not become a component"))?;
        made.push(Made { component: files::read(&output)?, part });
    }
    Ok(made)
}

/// What the host lends a tool, as a module: one can only import what its world has.
fn lent_to(part: &Part) -> anyhow::Result<String> {
    let names = world::interfaces(&part.needs);
    let imports = names.iter().map(|name| format!("import * as {name} from \"{}\";\n", world::import(name)));
    let powers: Vec<&str> = part.needs.iter().map(|power| power.name()).collect();
    Ok(format!(
        "{}globalThis.palisadeHost = {{ {} }};\nglobalThis.palisadePowers = {};\n",
        imports.collect::<String>(),
        names.join(", "),
        serde_json::to_string(&powers)?
    ))
}

/// The sources as a module, for the lines of a stack: where the tool runs there is no file to read them from.
fn sources_of(project: &Project) -> anyhow::Result<String> {
    let mut sources = BTreeMap::new();
    for path in files::sources(&project.root)? {
        let is_source = path.extension().is_some_and(|ending| ending == "js" || ending == "mjs");
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if is_source && name != "palisade.js" {
            sources.insert(name, files::read_text(&path)?);
        }
    }
    Ok(format!("globalThis.palisadeSources = {};\n", serde_json::to_string(&sources)?))
}
