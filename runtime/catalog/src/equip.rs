//! From a definition to an agent that can act: a scope, and a toolbox whose every tool is linked
//! in it.

use std::{sync::Arc, thread};

use palisade_agent::{DuplicateTool, Tool, Toolbox};
use palisade_sandbox::{Compiled, Compiler, Engine, Failure, LinkRefusal, Scope, Workspace, WorkspaceError};

use crate::{BuiltIn, Definition, tool::SandboxedTool};

/// An agent that can act.
pub struct Equipped {
    /// Its tools, for the loop.
    pub toolbox: Toolbox,
    /// The sandbox they run in.
    pub scope: Arc<Scope>,
    /// Tools of the definition that could not be linked, with the reason.
    pub left_out: Vec<LeftOut>,
}

/// A tool of the definition that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub tool: String,
    /// Why.
    pub reason: LinkRefusal,
}

/// Why an agent could not be equipped.
#[derive(Debug, thiserror::Error)]
pub enum EquipError {
    /// Its folders cannot be opened.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// It names a tool twice.
    #[error(transparent)]
    Duplicate(#[from] DuplicateTool),
}

/// Opens what the definition grants and links its tools to that.
pub fn equip(
    engine: &Engine,
    compiler: Option<&Compiler>,
    workspace: &Workspace,
    definition: &Definition,
) -> Result<Equipped, EquipError> {
    let scope = Scope::open(engine, workspace, definition.grants.clone(), definition.limits, None)?;
    let scope = Arc::new(scope);
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    let mut left_out = Vec::new();
    let named: Vec<&'static BuiltIn> = definition.agent.tools.iter().filter_map(|name| BuiltIn::find(name)).collect();
    for (tool, loaded) in named.iter().zip(load(&named, engine, compiler)) {
        let loaded = loaded.map_err(LinkRefusal::Unusable);
        match loaded.and_then(|compiled| scope.add(&compiled, &tool.description(), "core")) {
            Ok(()) => tools.push(Arc::new(SandboxedTool::new(&tool.description(), Arc::clone(&scope)))),
            Err(reason) => left_out.push(LeftOut { tool: tool.name.to_owned(), reason }),
        }
    }
    Ok(Equipped { toolbox: Toolbox::new(tools)?, scope, left_out })
}

/// Loads tools side by side: copying their machine code is most of what a first answer waits for.
fn load(tools: &[&'static BuiltIn], engine: &Engine, compiler: Option<&Compiler>) -> Vec<Result<Compiled, Failure>> {
    if let [tool] = tools {
        return vec![tool.load(engine, compiler)];
    }
    thread::scope(|scope| {
        let start = |tool: &'static BuiltIn| {
            (tool, thread::Builder::new().spawn_scoped(scope, move || tool.load(engine, compiler)))
        };
        let loading: Vec<_> = tools.iter().copied().map(start).collect();
        let finish = |(tool, thread): (&BuiltIn, std::io::Result<thread::ScopedJoinHandle<'_, _>>)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| tool.load(engine, compiler)),
            // No thread is to be had: this one will do.
            Err(_) => tool.load(engine, compiler),
        };
        loading.into_iter().map(finish).collect()
    })
}
