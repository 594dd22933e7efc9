//! Holding JSON against a schema: the input of a call before a sandbox is made for it, and an answer
//! that has to have a form.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use thiserror::Error;

use crate::clip;

/// A schema that was read.
#[derive(Clone, Debug)]
pub struct Schema {
    validator: Validator,
}

/// A schema that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not a usable JSON Schema: {0}")]
pub struct SchemaError(String);

/// How many faults of one value are told.
const FAULTS: usize = 5;

/// The longest description of one fault, in bytes: a fault quotes the value, and the model chose that.
const FAULT_LIMIT: usize = 300;

impl Schema {
    /// Reads a schema. It may come from an untrusted tool: nothing is fetched for it, and its patterns
    /// are matched in linear time.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
        let validator = options.build(schema).map_err(|error| SchemaError(clip(&error.to_string(), FAULT_LIMIT)))?;
        Ok(Self { validator })
    }

    /// Says what is wrong with a value, each fault with its place, or nothing.
    pub fn faults(&self, value: &Value) -> Vec<String> {
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let fault = |error: jsonschema::ValidationError<'_>| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "the whole".to_owned() } else { format!("`{place}`") };
            clip(&format!("{place}: {}", error.masked_with("the value")), FAULT_LIMIT)
        };
        self.validator.iter_errors(value).take(FAULTS).map(fault).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        Schema::new(&json!({
            "type": "object",
            "properties": {"path": {"type": "string", "pattern": "^(a+)+$"}, "limit": {"type": "integer", "minimum": 1}},
            "required": ["path"],
            "additionalProperties": false
        }))
        .unwrap()
    }

    /// TOOL-13
    #[test]
    fn faults_name_their_place() {
        let check = |value: Value, expected: &[&str]| {
            let faults = schema().faults(&value);
            assert_eq!(faults.len(), expected.len(), "{faults:?}");
            for (fault, expected) in faults.iter().zip(expected) {
                assert!(fault.contains(expected), "{fault} does not say {expected}");
            }
        };
        check(json!({"path": "aa"}), &[]);
        check(json!({"limit": 1}), &["\"path\" is a required property"]);
        check(json!({"path": "a", "limit": 0}), &["`/limit`: the value is less than the minimum of 1"]);
        check(json!({"path": "a", "pth": 1}), &["'pth' was unexpected"]);
        check(json!({"path": 7, "limit": "x"}), &["`/path`", "`/limit`"]);
    }

    #[test]
    fn a_pattern_cannot_take_for_ever() {
        let started = std::time::Instant::now();
        let faults = schema().faults(&json!({ "path": format!("{}b", "a".repeat(50_000)) }));
        assert_eq!(faults.len(), 1);
        assert!(faults[0].len() <= FAULT_LIMIT + 64, "{}", faults[0].len());
        assert!(started.elapsed() < std::time::Duration::from_secs(5));
    }

    #[test]
    fn a_schema_that_would_have_to_be_fetched_is_refused() {
        for schema in
            [json!({"$ref": "http://127.0.0.1:1/x"}), json!({"$ref": "file:///etc/passwd"}), json!({"type": 7})]
        {
            assert!(Schema::new(&schema).is_err(), "{schema}");
        }
    }
}
