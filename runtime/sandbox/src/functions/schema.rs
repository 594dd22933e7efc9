//! The JSON Schema of a function's parameters.

use serde_json::{Map, Value, json};
use wasmtime::component::{Type, types::ComponentFunc};

use super::is_byte;

/// The schema of an object with all parameters. The function was checked.
pub(super) fn parameters(ty: &ComponentFunc) -> Value {
    object(ty.params())
}

/// Fields that may be absent are those that are options.
fn object<'a>(fields: impl Iterator<Item = (&'a str, Type)>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, ty) in fields {
        if !matches!(ty, Type::Option(_)) {
            required.push(name.to_owned());
        }
        properties.insert(name.to_owned(), schema(&ty));
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn schema(ty: &Type) -> Value {
    match ty {
        Type::Bool => json!({ "type": "boolean" }),
        Type::S8 => integer(i8::MIN, i8::MAX),
        Type::U8 => integer(u8::MIN, u8::MAX),
        Type::S16 => integer(i16::MIN, i16::MAX),
        Type::U16 => integer(u16::MIN, u16::MAX),
        Type::S32 => integer(i32::MIN, i32::MAX),
        Type::U32 => integer(u32::MIN, u32::MAX),
        // Programs that keep numbers as floats lose digits beyond 2^53, so these may be texts too.
        Type::S64 => long(i64::MIN, i64::MAX, "^-?[0-9]{1,19}$"),
        Type::U64 => long(u64::MIN, u64::MAX, "^[0-9]{1,20}$"),
        Type::Float32 | Type::Float64 => json!({ "type": ["number", "string"], "pattern": "^(NaN|-?Infinity)$" }),
        Type::Char => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
        Type::String => json!({ "type": "string" }),
        Type::List(list) if is_byte(&list.ty()) => bytes(None),
        Type::List(list) => json!({ "type": "array", "items": schema(&list.ty()) }),
        Type::FixedLengthList(list) if is_byte(&list.ty()) => bytes(Some(list.len())),
        Type::FixedLengthList(list) => {
            json!({ "type": "array", "items": schema(&list.ty()), "minItems": list.len(), "maxItems": list.len() })
        }
        Type::Record(record) => object(record.fields().map(|field| (field.name, field.ty))),
        Type::Tuple(tuple) => {
            let items: Vec<Value> = tuple.types().map(|ty| schema(&ty)).collect();
            json!({ "type": "array", "minItems": items.len(), "maxItems": items.len(), "prefixItems": items })
        }
        Type::Variant(variant) => {
            let cases = variant.cases().map(|case| match case.ty {
                Some(ty) => json!({
                    "type": "object",
                    "properties": { "tag": { "const": case.name }, "value": schema(&ty) },
                    "required": ["tag", "value"],
                    "additionalProperties": false,
                }),
                None => json!({
                    "type": "object",
                    "properties": { "tag": { "const": case.name } },
                    "required": ["tag"],
                    "additionalProperties": false,
                }),
            });
            json!({ "oneOf": cases.collect::<Vec<_>>() })
        }
        Type::Enum(names) => json!({ "type": "string", "enum": names.names().collect::<Vec<_>>() }),
        Type::Flags(names) => json!({
            "type": "array",
            "items": { "type": "string", "enum": names.names().collect::<Vec<_>>() },
            "uniqueItems": true,
        }),
        Type::Option(option) => match option.ty() {
            // Something that is nothing would otherwise be the same as nothing.
            inner @ Type::Option(_) => json!({ "anyOf": [only("some", schema(&inner)), { "type": "null" }] }),
            inner => json!({ "anyOf": [schema(&inner), { "type": "null" }] }),
        },
        Type::Result(result) => {
            let part = |ty: Option<Type>| ty.map_or_else(|| json!({ "type": "null" }), |ty| schema(&ty));
            json!({ "oneOf": [only("ok", part(result.ok())), only("err", part(result.err()))] })
        }
        // No function with these is offered.
        Type::Map(_) | Type::Own(_) | Type::Borrow(_) | Type::Future(_) | Type::Stream(_) | Type::ErrorContext => {
            json!(false)
        }
    }
}

fn integer(least: impl Into<i64>, most: impl Into<i64>) -> Value {
    let (least, most): (i64, i64) = (least.into(), most.into());
    json!({ "type": "integer", "minimum": least, "maximum": most })
}

fn long(least: impl Into<Value>, most: impl Into<Value>, pattern: &str) -> Value {
    let (least, most): (Value, Value) = (least.into(), most.into());
    json!({ "type": ["integer", "string"], "minimum": least, "maximum": most, "pattern": pattern })
}

fn bytes(count: Option<u32>) -> Value {
    let mut array = json!({ "type": "array", "items": integer(u8::MIN, u8::MAX) });
    if let Some(count) = count {
        array["minItems"] = count.into();
        array["maxItems"] = count.into();
    }
    json!({
        "description": "Bytes: base64 (RFC 4648, padded), or an array of numbers.",
        "anyOf": [{ "type": "string", "contentEncoding": "base64" }, array],
    })
}

fn only(name: &str, inner: Value) -> Value {
    json!({ "type": "object", "properties": { name: inner }, "required": [name], "additionalProperties": false })
}
