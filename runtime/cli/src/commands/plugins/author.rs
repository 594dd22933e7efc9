//! What the commands for authors say alike.

use palisade_sandbox::Description;
use serde_json::json;

use crate::{Exit, authoring::Mistake, render::Terminal};

/// Says what a compiler found: that is the author's text, shown as it is. Other errors are errors.
pub(super) fn mistake(error: anyhow::Error, json: bool, terminal: &Terminal) -> anyhow::Result<Exit> {
    let Mistake { what, printed } = error.downcast::<Mistake>()?;
    if json {
        terminal.json(&json!({ "error": what, "printed": printed }))?;
    } else {
        terminal.block("", printed.trim_end());
        terminal.error(&what);
    }
    Ok(Exit::Failed)
}

/// What a tool asks for, in words.
pub(super) fn capabilities(description: &Description) -> String {
    let host = description.capabilities.iter().map(|capability| capability.name());
    let all: Vec<&str> = host.chain(description.own_capabilities.iter().map(String::as_str)).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}
