//! From a component and a shape to code that can be called.

use palisade_grants::Capability;
use wasmtime::component::Linker;

use super::Shape;
use crate::{
    Compiled, Engine, Entry, Failure, Needs,
    bindings::ToolPre,
    capabilities::{absent, base, files, http, process, progress, settings, shell, storage, toolbox, wasi_files},
    functions::Function,
    host::Host,
};

/// What is called of a component.
pub(crate) enum Code {
    /// The one tool that it is.
    Tool(ToolPre<Host>),
    /// One of its functions.
    Function(Box<Function>),
}

/// Links a component to what a shape holds, and finds in it what is called.
pub(super) fn link(engine: &Engine, tool: &Compiled, entry: &Entry, shape: Shape) -> Result<Code, Failure> {
    let unusable = |error: wasmtime::Error| Failure::BadComponent { reason: format!("it cannot be linked: {error:#}") };
    let pre = engine.linked((tool.digest(), shape), |shape| {
        let linker = engine.linker(shape, || linker(engine, shape));
        let linker = linker.map_err(|error| Failure::Host { reason: format!("{error:#}") })?;
        let Needs { absent, settings, .. } = tool.needs();
        if absent.is_empty() && settings.is_empty() {
            return linker.instantiate_pre(&tool.component).map_err(unusable);
        }
        let mut linker = Linker::clone(&linker);
        settings::link(&mut linker, settings).map_err(unusable)?;
        absent::link(&mut linker, &tool.component, absent).map_err(unusable)?;
        linker.instantiate_pre(&tool.component).map_err(unusable)
    })?;
    match entry {
        Entry::Tool => ToolPre::new(pre).map(Code::Tool).map_err(unusable),
        entry => Ok(Code::Function(Box::new(Function::find(pre, entry)?))),
    }
}

/// Whether a component that was not written for Palisade imports an interface of a capability: it is there, whatever
/// is granted, with nothing behind it that is not.
pub(super) fn hollow(tool: &Compiled, capability: Capability) -> bool {
    let needs = tool.needs();
    needs.is_foreign
        && needs.imports.iter().any(|import| import.can_be_hollow() && import.capabilities.contains(&capability))
}

fn linker(engine: &Engine, shape: &Shape) -> wasmtime::Result<Linker<Host>> {
    let mut linker = Linker::new(engine.wasm());
    base::link(&mut linker)?;
    progress::link(&mut linker)?;
    shell::link(&mut linker)?;
    if shape.files {
        wasi_files::link(&mut linker)?;
        files::link(&mut linker)?;
    }
    if shape.storage {
        storage::link(&mut linker)?;
    }
    if shape.process {
        process::link(&mut linker)?;
    }
    if shape.http {
        http::link(&mut linker)?;
    }
    for tool in &shape.toolbox {
        toolbox::link(&mut linker, tool)?;
    }
    Ok(linker)
}
