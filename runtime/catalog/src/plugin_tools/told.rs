//! What a plugin says of its tools, as far as a model is told it.
//!
//! Nobody vouches for these texts. They are bounded, what cannot be seen in them is spelt out, and a schema that is
//! none keeps its tool out: a model's server refuses all tools for the sake of one.

use palisade_agent::Schema;
use palisade_sandbox::{Description, Failure};
use serde_json::{Value, json};

use crate::{
    definition::{ManifestTool, visible_lines},
    registry::tool_pin,
};

/// The longest description that a model is told, in characters.
const DESCRIPTION: usize = 4096;

/// The longest schema that a model is told, in bytes.
const SCHEMA: usize = 64 << 10;

/// What a tool is pinned to: what its manifest says of it and, where that says nothing, its component.
pub fn pin_told(manifest: &ManifestTool, own: Option<&Description>) -> String {
    let (description, schema) = words(manifest, own);
    tool_pin(&manifest.name, &description, &schema)
}

/// The description and the schema of a tool, as they were written.
pub fn words(manifest: &ManifestTool, own: Option<&Description>) -> (String, Value) {
    let description = match (manifest.description.trim().is_empty(), own) {
        (true, Some(own)) => own.description.clone(),
        _ => manifest.description.clone(),
    };
    let own = || own.and_then(|own| serde_json::from_str(&own.input_schema).ok());
    let schema = manifest.schema.clone().or_else(own).unwrap_or_else(|| json!({ "type": "object" }));
    (description, schema)
}

/// A description that a model can be told.
pub(crate) fn text(description: &str) -> String {
    visible_lines(description.trim(), DESCRIPTION)
}

/// A schema that a model can be told: of an object, not too long, and one that inputs can be held against.
pub(crate) fn schema(text: &str) -> Result<Value, Failure> {
    let refused = |why: String| Failure::BadComponent { reason: format!("the schema of its input {why}") };
    if text.len() > SCHEMA {
        return Err(refused(format!("has {} bytes; at most {SCHEMA} are told to a model", text.len())));
    }
    let schema: Value = serde_json::from_str(text).map_err(|error| refused(format!("is no JSON: {error}")))?;
    let is_of_object = schema.is_object() && schema.get("type").is_none_or(|of| of == "object");
    if !is_of_object {
        return Err(refused("is not that of an object; write `\"type\": \"object\"`".to_owned()));
    }
    Schema::new(&schema).map_err(|error| refused(format!("is {error}")))?;
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DF-22
    #[test]
    fn a_description_is_bounded_and_hides_nothing() {
        assert_eq!(text(" Adds\ttwo\nnumbers. \n"), "Adds\ttwo\nnumbers.");
        assert_eq!(text("a\u{202e}b\u{1b}[2Jc\u{200b}\r\nd"), "a\\u{202e}b\\u{1b}[2Jc\\u{200b}\nd");
        assert_eq!(text(&"é".repeat(10_000)).chars().count(), DESCRIPTION + 1);
    }

    #[test]
    fn a_schema_that_is_none_is_refused_with_the_reason() {
        assert!(schema(r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#).is_ok());
        assert!(schema("{}").is_ok());
        let why = |text: &str| schema(text).unwrap_err().to_string();
        assert!(why("").contains("is no JSON"), "{}", why(""));
        assert!(why("[]").contains("not that of an object"));
        assert!(why(r#"{"type": "string"}"#).contains("not that of an object"));
        assert!(why(r#"{"type": "object", "properties": {"a": {"type": 7}}}"#).contains("not a usable JSON Schema"));
        assert!(why(&format!("{{\"title\": \"{}\"}}", "x".repeat(SCHEMA))).contains("at most"));
    }
}
