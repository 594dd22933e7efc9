//! `agents_list`: the agents that can be asked.

use serde::Deserialize;
use serde_json::{Value, json};

use super::read;
use crate::delegation::{Delegation, place::Place, refusal::Refusal};
use crate::{Peer, ToolResult};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Those, too, that are not listed but may be asked by name.
    #[serde(default, rename = "includeAll")]
    include_all: bool,
}

/// One call.
pub(super) fn call(hub: &Delegation, place: &Place, input: &str) -> Result<ToolResult, Refusal> {
    let Input { include_all } = read(input)?;
    let show = |peer: Peer| -> Value {
        json!({ "agentId": peer.name, "displayName": peer.display_name, "description": peer.description })
    };
    let agents: Vec<Value> = hub.crew.peers(&place.agent, include_all).into_iter().map(show).collect();
    Ok(ToolResult::done(json!({ "agents": agents }).to_string()))
}
