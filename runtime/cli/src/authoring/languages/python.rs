//! Python, by componentize-py: the interpreter with the tool loaded, as it stands when the import is done.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

use crate::authoring::{
    build::{Made, Workshop},
    files,
    program::Program,
    project::Project,
    toolchain::{PYTHON, Package, Registry},
    world,
};

pub(in crate::authoring) const COMPILER: Package =
    Package { name: "componentize-py", version: "0.25.1", registry: Registry::Pypi };

pub(in crate::authoring) fn build(project: &Project, workshop: &Workshop<'_>) -> anyhow::Result<Vec<Made>> {
    let compiler = COMPILER.folder(workshop.settings, workshop.terminal)?;
    let kept = project.kept();
    let packages = packages(project, &compiler)?;
    let mut made = Vec::new();
    for part in project.parts()? {
        let source = format!("tools/{}.py", part.stem);
        files::read(&project.root.join(&source))
            .with_context(|| format!("{source}, which {} is made of", part.component))?;
        let entry = kept.join("python").join(&part.stem);
        let wit = entry.join("wit");
        files::clear(&wit)?;
        world::write(&wit, &part.needs)?;
        let powers: Vec<&str> = part.needs.iter().map(|power| power.name()).collect();
        let text = format!(
            "import palisade\n\npalisade.powers = {}\n\nimport tools.{}\nfrom palisade import Tool\n",
            serde_json::to_string(&powers)?,
            part.stem
        );
        files::write(&entry.join("palisade_entry.py"), text.as_bytes())?;
        let output = entry.join("tool.wasm");
        let mut program = Program::new(compiler.join("bin/componentize-py"), PYTHON)
            .in_folder(&project.root)
            .without("VIRTUAL_ENV")
            // The author's traceback says enough; the compiler's own does not help.
            .with("RUST_BACKTRACE", "0")
            .arguments(["--quiet", "--wit-path"])
            .arguments([&wit])
            .arguments(["--world", world::WORLD, "componentize", "--stub-wasi", "--python-path"])
            .arguments([&project.root])
            .arguments([OsStr::new("--python-path"), entry.as_os_str()]);
        if let Some(packages) = &packages {
            program = program.arguments([OsStr::new("--python-path"), packages.as_os_str()]);
        }
        program
            .arguments(["palisade_entry", "--output"])
            .arguments([&output])
            .run(&format!("{source} does not become a component"))?;
        made.push(Made { component: files::read(&output)?, part });
    }
    Ok(made)
}

/// What the tools import beside the standard library: pure Python, since nothing else runs in the sandbox.
fn packages(project: &Project, compiler: &Path) -> anyhow::Result<Option<PathBuf>> {
    let Ok(wanted) = files::read(&project.root.join("requirements.txt")) else { return Ok(None) };
    let folder = project.kept().join("packages");
    let done = folder.join("requirements.txt");
    if files::read(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(Some(folder));
    }
    files::clear(&folder)?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-compile"];
    Program::new(compiler.join("bin/python"), PYTHON)
        .in_folder(&project.root)
        .arguments(pip)
        .arguments(["--requirement", "requirements.txt", "--target"])
        .arguments([&folder])
        .run("the packages in requirements.txt cannot be installed")?;
    files::write(&done, &wanted)?;
    Ok(Some(folder))
}
