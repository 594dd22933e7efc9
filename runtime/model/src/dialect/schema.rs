//! JSON Schemas as the OpenAI dialects want them.

use palisade_agent::ReplySettings;
use serde_json::{Map, Value, json};

use crate::Connection;

/// The provider that has rules of its own where compatible servers are lenient.
pub(super) fn is_openai(connection: &Connection) -> bool {
    matches!(connection.provider.as_str(), "openai" | "openai-responses")
}

/// The input schema of a tool. Servers want an object with `properties` at the root; OpenAI wants no
/// choice there, and the toolbox checks the input against the whole schema anyway.
pub(super) fn parameters(schema: &Value, connection: &Connection) -> Value {
    let mut root = schema.as_object().cloned().unwrap_or_default();
    root.remove("$schema");
    root.insert("type".to_owned(), "object".into());
    root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    if is_openai(connection) {
        root.retain(|name, _| !matches!(name.as_str(), "anyOf" | "oneOf" | "allOf" | "not" | "enum"));
    }
    Value::Object(root)
}

/// What an answer is held to, if a schema is wanted and the server takes one: OpenAI does with tools and
/// without, others may refuse a schema beside tools. Whoever wants the schema checks the answer anyway.
pub(super) fn answer_format(
    settings: &ReplySettings,
    tools: usize,
    connection: &Connection,
) -> Option<Map<String, Value>> {
    let schema = settings.answer_schema.as_ref()?;
    (tools == 0 || is_openai(connection)).then(|| named("answer", schema))
}

/// A schema with its name, and whether the server is to hold to it to the letter.
pub(super) fn named(name: &str, schema: &Value) -> Map<String, Value> {
    let strict = schema["type"] == "object" && is_exact(schema);
    Map::from_iter([
        ("name".to_owned(), name.into()),
        ("schema".to_owned(), schema.clone()),
        ("strict".to_owned(), json!(strict)),
    ])
}

/// Whether every object in a schema requires all its members and allows no others: a server that is
/// asked to be strict refuses the request otherwise.
fn is_exact(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => is_exact_object(members) && members.values().all(is_exact),
        Value::Array(items) => items.iter().all(is_exact),
        _ => true,
    }
}

fn is_exact_object(schema: &Map<String, Value>) -> bool {
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return !is_object };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &String| required.is_some_and(|required| required.iter().any(|other| other == name));
    schema.get("additionalProperties") == Some(&Value::Bool(false)) && properties.keys().all(is_required)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::chat::tests::connection;

    #[test]
    fn parameters_are_an_object_whatever_the_tool_says() {
        let check = |provider: &str, schema: Value, expected: Value| {
            let connection = Connection { provider: provider.to_owned(), ..connection() };
            assert_eq!(parameters(&schema, &connection), expected);
        };
        check("ollama", json!(true), json!({"type": "object", "properties": {}}));
        let choice = json!({"$schema": "s", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}]});
        let kept = json!({"properties": {"a": {}}, "anyOf": [{"required": ["a"]}], "type": "object"});
        check("ollama", choice.clone(), kept);
        check("openai", choice.clone(), json!({"properties": {"a": {}}, "type": "object"}));
        check("openai-responses", choice, json!({"properties": {"a": {}}, "type": "object"}));
    }

    #[test]
    fn a_server_is_strict_only_about_schemas_that_it_would_accept_then() {
        let check = |schema: Value, strict: bool| assert_eq!(named("x", &schema)["strict"], strict, "{schema}");
        let exact = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
            "additionalProperties": false});
        check(exact.clone(), true);
        check(json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}), false);
        check(json!({"type": "object"}), false);
        check(json!({"type": "string"}), false);
        check(
            json!({"type": "object", "properties": {"list": {"type": "array", "items": {"type": "object"}}},
            "required": ["list"], "additionalProperties": false}),
            false,
        );
        check(
            json!({"type": "object", "properties": {"deep": exact}, "required": ["deep"],
            "additionalProperties": false}),
            true,
        );
    }
}
