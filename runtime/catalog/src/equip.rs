//! From a definition to an agent that can act: a scope, and a toolbox whose every tool is linked
//! in it.

use std::sync::Arc;

use palisade_agent::{DuplicateTool, Tool, Toolbox};
use palisade_sandbox::{Compiler, Engine, LinkRefusal, Scope, Workspace, WorkspaceError};

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
    for tool in definition.agent.tools.iter().filter_map(|name| BuiltIn::find(name)) {
        let linked = tool.load(engine, compiler).map_err(LinkRefusal::Unusable);
        match linked.and_then(|compiled| scope.add(&compiled, &tool.description(), "core")) {
            Ok(()) => tools.push(Arc::new(SandboxedTool::new(&tool.description(), Arc::clone(&scope)))),
            Err(reason) => left_out.push(LeftOut { tool: tool.name.to_owned(), reason }),
        }
    }
    Ok(Equipped { toolbox: Toolbox::new(tools)?, scope, left_out })
}
