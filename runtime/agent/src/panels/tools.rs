//! The tools with which an agent looks at what the user has open. They read what is kept with its own session at the
//! time of the call, and nothing else.

use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;

use super::{Panel, Panels};
use crate::{FailureKind, Progress, SessionKey, Store, Tool, ToolResult, ToolSpec};

const LIST: &str = "panels_list";
const SELECTED: &str = "panels_selected";

/// What these tools are called.
pub const PANEL_TOOLS: [&str; 2] = [LIST, SELECTED];

/// The tools for an agent in a session whose client has said what is open.
pub fn panel_tools(store: &Arc<dyn Store>, session: &SessionKey) -> Vec<Arc<dyn Tool>> {
    let tool = |name: &str| -> Arc<dyn Tool> {
        Arc::new(Look { spec: spec(name), store: Arc::clone(store), session: session.clone() })
    };
    PANEL_TOOLS.into_iter().map(tool).collect()
}

fn spec(name: &str) -> ToolSpec {
    let description = match name {
        SELECTED => {
            "Gives the panel that the user is in, as JSON. With `includeContext`, also the line that describes it."
        }
        _ => {
            "Lists the panels that the user has open, as JSON. With `includeContext`, also the line that describes each."
        }
    };
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": { "includeContext": { "type": "boolean" } },
            "additionalProperties": false,
        }),
        capabilities: Vec::new(),
        read_only: true,
        idempotent: true,
    }
}

struct Look {
    spec: ToolSpec,
    store: Arc<dyn Store>,
    session: SessionKey,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    #[serde(default)]
    include_context: bool,
}

#[async_trait]
impl Tool for Look {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, input: &str, _: &Progress) -> ToolResult {
        let since = Instant::now();
        let input: Input = match serde_json::from_str(input) {
            Ok(input) => input,
            Err(error) => return ToolResult::failed(FailureKind::InvalidInput, error.to_string()),
        };
        let mut result = match Panels::now(self.store.as_ref(), &self.session).await {
            Ok(panels) => ToolResult::done(self.told(&panels, &input)),
            Err(error) => ToolResult::failed(FailureKind::Failed, error.to_string()),
        };
        result.cost.duration = since.elapsed();
        result
    }
}

impl Look {
    fn told(&self, panels: &Panels, input: &Input) -> String {
        let wanted = panels.iter().filter(|panel| panel.selected || self.spec.name != SELECTED);
        let panel =
            |panel: &Panel| Panel { context: panel.context.clone().filter(|_| input.include_context), ..panel.clone() };
        json!(wanted.map(panel).collect::<Vec<_>>()).to_string()
    }
}
