//! The input of a call, from the text that a model wrote to its end.

use std::fmt;

use palisade_agent::ENTRY_LIMIT;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
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
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = Strict.deserialize(&mut deserializer);
    match read.and_then(|value| deserializer.end().map(|()| value)) {
        Ok(Value::Object(members)) => Value::Object(members),
        Ok(_) | Err(_) => Value::String(text.to_owned()),
    }
}

/// Reads a value in which no object has one name twice.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Self)?;
            if members.contains_key(&name) {
                return Err(A::Error::custom("a name is there twice"));
            }
            members.insert(name, value);
        }
        Ok(Value::Object(members))
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
