//! C, by the clang and the C library that come with zig; the module becomes a component here.

use anyhow::Context as _;

use crate::authoring::{
    build::{Made, Workshop},
    files,
    program::{Mistake, Program},
    project::Project,
    toolchain::{PYTHON, Package, Registry},
    world,
};

pub(in crate::authoring) const COMPILER: Package =
    Package { name: "ziglang", version: "0.17.0", registry: Registry::Pypi };

pub(in crate::authoring) fn build(project: &Project, workshop: &Workshop<'_>) -> anyhow::Result<Vec<Made>> {
    let compiler = COMPILER.folder(workshop.settings, workshop.terminal)?;
    let kept = project.kept().join("c");
    files::make_folder(&kept)?;
    let mut made = Vec::new();
    for part in project.parts()? {
        let source = format!("tools/{}.c", part.stem);
        let output = kept.join(format!("{}.wasm", part.stem));
        let what = format!("{source} does not build");
        Program::new(compiler.join("bin/python"), PYTHON)
            .in_folder(&project.root)
            // The C library is built once, for all projects.
            .with("ZIG_GLOBAL_CACHE_DIR", compiler.join("cache"))
            .with("ZIG_LOCAL_CACHE_DIR", kept.join("cache"))
            .arguments([
                "-m",
                "ziglang",
                "cc",
                "-target",
                "wasm32-wasi",
                "-mexec-model=reactor",
                "-std=gnu17",
                "-Os",
                "-UNDEBUG",
            ])
            .arguments(["-Wall", "-Wextra", &source, "palisade.c", "wasi.c", "-o"])
            .arguments([&output])
            .run(&what)?;
        let module = files::read(&output).with_context(|| format!("{} was not made", output.display()))?;
        // What the C library asks for and the sandbox does not have is found here, by its name.
        let component = world::componentise(module).map_err(|error| Mistake { what, printed: format!("{error:#}") })?;
        made.push(Made { component, part });
    }
    Ok(made)
}
