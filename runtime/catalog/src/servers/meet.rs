//! Meeting a server: it is started with no more than the workspace to look at, and asked for its tools.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use palisade_grants::{Access, Grants};
use palisade_sandbox::{Engine, Limits, Scope, Workspace};

use super::{
    ServerTool, is_name,
    link::{connect, pinned_as},
};
use crate::{PinnedServer, PinnedTool, Registry, Server, definition::Connection};

/// How long a server may take to begin and to name its tools, if nobody says.
const TIME: Duration = Duration::from_secs(60);

/// What a server says of its tools, and what of that is of no use.
#[derive(Clone, Debug, PartialEq)]
pub struct Met {
    /// What can be kept.
    pub pinned: PinnedServer,
    /// Names that no tool can have, or that two have, shown.
    pub left_out: Vec<String>,
}

/// Starts a server, or speaks to it, and asks for its tools. It may read the workspace as far as the operator's ceiling
/// lets anybody and this one does, and change nothing.
pub fn meet(
    engine: &Engine,
    workspace: &Workspace,
    server: &Server,
    registry: &Registry,
    ceiling: &Grants,
) -> Result<Met, String> {
    if let Some(why) = &server.refused {
        return Err(why.clone());
    }
    let grants = may_touch(server, registry).narrow(ceiling);
    let scope =
        Scope::open(engine, workspace, grants.clone(), Limits::STANDARD, None).map_err(|error| error.to_string())?;
    let (scope, own) = (Arc::new(scope), server.clone());
    let patience = server.time.unwrap_or(TIME);
    let held = Arc::clone(&scope);
    let told = scope.wait_for(async move {
        let live = connect(&own, &held, &grants, patience).await.map_err(|error| error.to_string())?;
        live.tools(patience).await.map_err(|error| error.to_string())
    })?;
    let (mut tools, mut left_out) = (BTreeMap::<String, PinnedTool>::new(), Vec::new());
    for told in &told {
        let is_taken = tools.keys().any(|name| name.eq_ignore_ascii_case(&told.name));
        if !is_name(&told.name) || is_taken {
            left_out.push(told.name.escape_debug().take(80).collect());
            continue;
        }
        tools.insert(told.name.clone(), pinned_as(told));
    }
    let at = server.connection.as_ref().map(Connection::shown).unwrap_or_default();
    Ok(Met { pinned: PinnedServer { name: server.name.clone(), at, tools }, left_out })
}

fn may_touch(server: &Server, registry: &Registry) -> Grants {
    let files = registry.workspace_ceiling().narrow(&Grants::workspace(Access::Read).files);
    let Grants { commands, http, secrets, .. } = ServerTool::unknown_of(server).brings();
    Grants { files, commands, http, secrets, ..Grants::default() }
}
