//! From a typed input to what the model is told, and from JSON back to the type.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;

use crate::Failure;

/// What the host and the model are told about a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The name the model calls the tool by.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON Schema of the input object.
    pub input_schema: String,
    /// The capabilities the tool needs.
    pub capabilities: Vec<String>,
    /// It changes nothing outside itself.
    pub read_only: bool,
    /// Calling it twice has the effect of calling it once.
    pub idempotent: bool,
}

/// Describes a tool whose input is `Input`; used by [`tool!`](crate::tool).
pub fn describe<Input: JsonSchema>(
    name: &str,
    doc: &[&str],
    needs: &[&str],
    read_only: bool,
    idempotent: bool,
) -> Description {
    let doc: Vec<&str> = doc.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    Description {
        name: name.to_owned(),
        description: doc.join("\n").trim().to_owned(),
        input_schema: schema::<Input>(),
        capabilities: needs.iter().map(|&need| need.to_owned()).collect(),
        read_only,
        idempotent,
    }
}

/// Parses a call's input; the error names what is wrong so that the model can correct it. Models
/// write `null` for what they leave out, so that means the same.
pub fn parse<Input: DeserializeOwned>(input: &str) -> Result<Input, Failure> {
    let invalid = |error| Failure::InvalidInput(format!("the input does not fit the schema: {error}"));
    let mut value: serde_json::Value = serde_json::from_str(input).map_err(invalid)?;
    if let Some(object) = value.as_object_mut() {
        object.retain(|_, field| !field.is_null());
    }
    serde_json::from_value(value).map_err(invalid)
}

/// The schema without what costs tokens and says nothing: the dialect, the type's own name, and
/// references to sub-schemas, which are written out in place.
fn schema<Input: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<Input>();
    schema.remove("title");
    schema.to_value().to_string()
}
