//! Values between JSON and SQL.

use palisade_tool::text::clip;
use rusqlite::{
    Statement,
    types::{Value as Sql, ValueRef},
};
use serde_json::{Map, Number, Value, json};

use crate::fault::Fault;

/// How much of one text is shown, in characters, and of one blob, in bytes.
const TEXT: usize = 4_000;
const BLOB: usize = 256;

/// Gives a statement its parameters: as many as it has.
pub(crate) fn bind(statement: &mut Statement<'_>, parameters: &[Value]) -> Result<(), Fault> {
    let expected = statement.parameter_count();
    if expected != parameters.len() {
        let given = parameters.len();
        return Err(Fault::Input(format!(
            "the statement has {expected} parameters and `parameters` {given}; give one value for each `?`"
        )));
    }
    for (at, value) in parameters.iter().enumerate() {
        statement.raw_bind_parameter(at + 1, to_sql(value)?)?;
    }
    Ok(())
}

fn to_sql(value: &Value) -> Result<Sql, Fault> {
    Ok(match value {
        Value::Null => Sql::Null,
        Value::Bool(value) => Sql::Integer((*value).into()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Sql::Integer(integer),
            (None, Some(real)) => Sql::Real(real),
            (None, None) => return Err(Fault::Input(format!("{number} is too large for a number"))),
        },
        Value::String(text) => Sql::Text(text.clone()),
        Value::Object(map) => Sql::Blob(blob(map)?),
        Value::Array(_) => {
            return Err(Fault::Input("a list cannot be a parameter; give each value as one of its own".to_owned()));
        }
    })
}

fn blob(map: &Map<String, Value>) -> Result<Vec<u8>, Fault> {
    let hex = map.get("hex").and_then(Value::as_str).filter(|_| map.len() == 1);
    let digits: Option<Vec<u8>> =
        hex.and_then(|hex| hex.chars().map(|digit| Some(u8::try_from(digit.to_digit(16)?).unwrap_or(0))).collect());
    match digits {
        Some(digits) if digits.len() % 2 == 0 => Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()),
        _ => Err(Fault::Input("a map as a parameter is a blob, written {\"hex\": \"00ff\"}".to_owned())),
    }
}

/// A value as it is shown, and whether it is shown whole.
pub(crate) fn shown(value: ValueRef<'_>) -> (Value, bool) {
    match value {
        ValueRef::Null => (Value::Null, true),
        ValueRef::Integer(integer) => (integer.into(), true),
        ValueRef::Real(real) => {
            (Number::from_f64(real).map_or_else(|| json!({ "real": real.to_string() }), Value::Number), true)
        }
        ValueRef::Text(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            match clip(&text, TEXT) {
                (text, 0) => (text.into(), true),
                (start, more) => (format!("{start}… ({more} more characters)").into(), false),
            }
        }
        ValueRef::Blob(bytes) => {
            let hex: String = bytes.iter().take(BLOB).map(|byte| format!("{byte:02x}")).collect();
            match bytes.len().checked_sub(BLOB) {
                None | Some(0) => (json!({ "hex": hex }), true),
                Some(more) => (json!({ "hex": hex, "more_bytes": more }), false),
            }
        }
    }
}
