//! The input of a call, from the text that a model wrote to its end.

use palisade_agent::{ENTRY_LIMIT, strict_json};
use serde_json::{Map, Value};

/// The longest text that is read, in bytes. Written again, an input may be shorter.
const LONGEST: usize = 4 * ENTRY_LIMIT;

/// The JSON object that a model wrote, or the text as it is if it wrote something else: no tool accepts
/// a text, so the model is told and can correct it. An object that has one name twice is no object here,
/// because it is not clear which value is meant, and neither is one that is far too long for a transcript: read,
/// it would take many times the memory. Nothing at all is an input without members.
pub(crate) fn call_input(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    if text.len() > LONGEST {
        return Value::String(text.to_owned());
    }
    match strict_json(text.as_bytes()) {
        Ok(Value::Object(members)) => Value::Object(members),
        Ok(_) | Err(_) => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// PROV-04
    #[test]
    fn only_a_whole_object_without_doubt_is_an_input() {
        let written = r#"{"path": "a", "lines": [1, -2, 0.5], "deep": {"null": null, "yes": true}}"#;
        let expected = json!({"path": "a", "lines": [1, -2, 0.5], "deep": {"null": null, "yes": true}});
        assert_eq!(call_input(written), expected);
        for nothing in ["", " \n"] {
            assert_eq!(call_input(nothing), json!({}));
        }
        let deep = "[".repeat(1000);
        let long = format!(r#"{{"a": [{}0]}}"#, "0,".repeat(LONGEST / 2));
        for unfit in [
            r#"{"path": "a"#,
            r#"{"path": "a",}"#,
            "null",
            "[1]",
            "\"text\"",
            "7",
            r#"{"path": "a", "path": "b"}"#,
            r#"{"deep": [{"a": 1, "a": 1}]}"#,
            "{} {}",
            "{'path': 'a'}",
            "<tool>",
            &deep,
            &long,
        ] {
            assert_eq!(call_input(unfit), Value::String(unfit.to_owned()));
        }
    }
}
