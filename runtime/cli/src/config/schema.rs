//! The JSON Schema of a configuration file, made from the list of settings.

use serde_json::{Map, Value as Json, json};

use super::setting::{Kind, SETTINGS, Setting, Who};

/// The schema, for editors and for the documentation.
pub(crate) fn schema() -> Json {
    let mut root = table();
    for setting in SETTINGS {
        let parts: Vec<&str> = setting.path.split('.').collect();
        put(&mut root, &parts, of(setting));
    }
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".to_owned(), "A configuration file of Palisade (config.toml)".into());
    schema.extend(root);
    schema.into()
}

fn table() -> Map<String, Json> {
    let table = json!({ "type": "object", "additionalProperties": false });
    table.as_object().cloned().unwrap_or_default()
}

/// Puts the schema of one setting where its path leads.
fn put(table_schema: &mut Map<String, Json>, parts: &[&str], schema: Json) {
    let Some((first, rest)) = parts.split_first() else { return };
    let slot = match *first {
        "*" => table_schema.entry("additionalProperties"),
        name => {
            let properties = table_schema.entry("properties").or_insert_with(|| json!({}));
            let Json::Object(properties) = properties else { return };
            properties.entry(name)
        }
    };
    let slot = slot.or_insert(Json::Bool(false));
    if rest.is_empty() {
        *slot = schema;
        return;
    }
    if !slot.is_object() {
        *slot = table().into();
    }
    if let Json::Object(below) = slot {
        put(below, rest, schema);
    }
}

fn of(setting: &Setting) -> Json {
    let mut schema = match setting.kind {
        Kind::Text | Kind::Header => json!({ "type": "string", "minLength": 1 }),
        Kind::Address => json!({ "type": "string", "pattern": "^https?://[^@?#\\s]+$" }),
        Kind::Variable => json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }),
        Kind::Command => json!({
            "type": "array",
            "items": { "type": "string" },
            "prefixItems": [{ "type": "string", "pattern": "^(/.*|[^/]+)$" }],
            "minItems": 1,
        }),
        Kind::Commands => json!({ "type": "array", "items": { "type": "string", "minLength": 1 } }),
        Kind::Folders => json!({ "type": "array", "items": { "type": "string", "pattern": "^(/|~/)" } }),
        Kind::Variables => {
            json!({ "type": "array", "items": { "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*(=.*)?$" } })
        }
        Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Some(words) => json!({ "type": "array", "items": { "enum": words } }),
        Kind::One(words) => json!({ "enum": words }),
        Kind::Count(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Dollars => json!({ "type": "number", "minimum": 0, "exclusiveMaximum": 1_000_000_000 }),
        Kind::Time => json!({ "type": ["string", "integer"], "pattern": "^[0-9.]+ *(ns|us|ms|s|m|h)?$", "minimum": 1 }),
        Kind::Size => {
            json!({ "type": ["string", "integer"], "pattern": "^[0-9.]+ *([KMGkmg]i?)?[Bb]?$", "minimum": 1 })
        }
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Database => json!({ "type": "string", "pattern": "^(memory:$|sqlite:/|postgres(ql)?://)" }),
    };
    let who = match setting.who {
        Who::Everybody => "",
        Who::ProjectLowers => "; a project can only lower it",
        Who::Owner => "; not in a project's file",
        Who::Operator => "; in the operator's file alone",
    };
    schema["description"] = format!("{}{who}", setting.meaning).into();
    schema
}
