//! Values to JSON. A guest decides how large its result is, so nothing is written beyond what may be kept.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use wasmtime::component::{Type, Val, types::ComponentFunc};

use super::is_byte;

/// What a function gave is longer than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the result is too long")]
pub(crate) struct TooLong;

/// A function's result as text; an inner error is one that it answered. A result that is a text is that text.
pub(super) fn result(ty: &ComponentFunc, values: &[Val], most: usize) -> Result<Result<String, String>, TooLong> {
    let Some((value, ty)) = values.first().zip(ty.results().next()) else { return Ok(Ok("null".to_owned())) };
    match (value, &ty) {
        (Val::Result(answer), Type::Result(parts)) => match answer {
            Ok(value) => lone(value.as_deref(), parts.ok().as_ref(), most).map(Ok),
            Err(value) => match (value.as_deref(), parts.err()) {
                (None, _) => Ok(Err("it failed and did not say why".to_owned())),
                (value, ty) => lone(value, ty.as_ref(), most).map(Err),
            },
        },
        (value, ty) => lone(Some(value), Some(ty), most).map(Ok),
    }
}

fn lone(value: Option<&Val>, ty: Option<&Type>, most: usize) -> Result<String, TooLong> {
    let mut out = Bounded { text: String::new(), most };
    match (value, ty) {
        (Some(Val::String(text)), _) => out.put(text)?,
        (Some(Val::List(items) | Val::FixedLengthList(items)), Some(Type::List(_) | Type::FixedLengthList(_)))
            if items.iter().all(|item| matches!(item, Val::U8(_))) && is_bytes(ty) =>
        {
            out.bytes(items)?;
        }
        (Some(value), Some(ty)) => out.write(value, ty)?,
        _ => out.put("null")?,
    }
    Ok(out.text)
}

/// A value as it is inside of others.
#[cfg(test)]
pub(super) fn json(value: &Val, ty: &Type, most: usize) -> Result<String, TooLong> {
    let mut out = Bounded { text: String::new(), most };
    out.write(value, ty)?;
    Ok(out.text)
}

fn is_bytes(ty: Option<&Type>) -> bool {
    match ty {
        Some(Type::List(list)) => is_byte(&list.ty()),
        Some(Type::FixedLengthList(list)) => is_byte(&list.ty()),
        _ => false,
    }
}

struct Bounded {
    text: String,
    most: usize,
}

impl Bounded {
    fn put(&mut self, text: &str) -> Result<(), TooLong> {
        if self.text.len().saturating_add(text.len()) > self.most {
            return Err(TooLong);
        }
        self.text.push_str(text);
        Ok(())
    }

    /// A text in quotes.
    fn quote(&mut self, text: &str) -> Result<(), TooLong> {
        // Escapes only make it longer.
        if text.len() > self.most {
            return Err(TooLong);
        }
        let quoted = serde_json::to_string(text).map_err(|_| TooLong)?;
        self.put(&quoted)
    }

    fn bytes(&mut self, items: &[Val]) -> Result<(), TooLong> {
        if items.len() > self.most {
            return Err(TooLong);
        }
        let bytes: Vec<u8> =
            items.iter().filter_map(|item| if let Val::U8(byte) = item { Some(*byte) } else { None }).collect();
        let text = STANDARD.encode(bytes);
        self.put(&text)
    }

    fn float(&mut self, number: f64, shortest: &str) -> Result<(), TooLong> {
        if number.is_nan() {
            self.put("\"NaN\"")
        } else if number.is_infinite() {
            self.put(if number > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" })
        } else {
            self.put(shortest)
        }
    }

    fn list<'v>(&mut self, parts: impl Iterator<Item = (&'v Val, Type)>) -> Result<(), TooLong> {
        self.put("[")?;
        for (index, (value, ty)) in parts.enumerate() {
            if index > 0 {
                self.put(",")?;
            }
            self.write(value, &ty)?;
        }
        self.put("]")
    }

    /// `{"name":value}`, or null inside where there is none.
    fn only(&mut self, name: &str, value: Option<&Val>, ty: Option<Type>) -> Result<(), TooLong> {
        self.put("{")?;
        self.quote(name)?;
        self.put(":")?;
        match value.zip(ty) {
            Some((value, ty)) => self.write(value, &ty)?,
            None => self.put("null")?,
        }
        self.put("}")
    }

    fn write(&mut self, value: &Val, ty: &Type) -> Result<(), TooLong> {
        match (value, ty) {
            (Val::Bool(value), _) => self.put(if *value { "true" } else { "false" }),
            (Val::S8(number), _) => self.put(&number.to_string()),
            (Val::U8(number), _) => self.put(&number.to_string()),
            (Val::S16(number), _) => self.put(&number.to_string()),
            (Val::U16(number), _) => self.put(&number.to_string()),
            (Val::S32(number), _) => self.put(&number.to_string()),
            (Val::U32(number), _) => self.put(&number.to_string()),
            (Val::S64(number), _) => self.put(&number.to_string()),
            (Val::U64(number), _) => self.put(&number.to_string()),
            (Val::Float32(number), _) => self.float(f64::from(*number), &format!("{number:?}")),
            (Val::Float64(number), _) => self.float(*number, &format!("{number:?}")),
            (Val::Char(letter), _) => self.quote(letter.encode_utf8(&mut [0; 4])),
            (Val::String(text) | Val::Enum(text), _) => self.quote(text),
            (Val::List(items) | Val::FixedLengthList(items), ty) if is_bytes(Some(ty)) => {
                self.put("\"")?;
                self.bytes(items)?;
                self.put("\"")
            }
            (Val::List(items), Type::List(list)) => self.list(items.iter().map(|item| (item, list.ty()))),
            (Val::FixedLengthList(items), Type::FixedLengthList(list)) => {
                self.list(items.iter().map(|item| (item, list.ty())))
            }
            (Val::Tuple(items), Type::Tuple(tuple)) => self.list(items.iter().zip(tuple.types())),
            (Val::Record(fields), Type::Record(record)) => {
                self.put("{")?;
                for (index, ((name, value), field)) in fields.iter().zip(record.fields()).enumerate() {
                    if index > 0 {
                        self.put(",")?;
                    }
                    self.quote(name)?;
                    self.put(":")?;
                    self.write(value, &field.ty)?;
                }
                self.put("}")
            }
            (Val::Variant(name, payload), Type::Variant(variant)) => {
                self.put("{\"tag\":")?;
                self.quote(name)?;
                let ty = variant.cases().find(|case| case.name == name).and_then(|case| case.ty);
                if let Some((value, ty)) = payload.as_deref().zip(ty) {
                    self.put(",\"value\":")?;
                    self.write(value, &ty)?;
                }
                self.put("}")
            }
            (Val::Flags(names), _) => {
                self.put("[")?;
                for (index, name) in names.iter().enumerate() {
                    if index > 0 {
                        self.put(",")?;
                    }
                    self.quote(name)?;
                }
                self.put("]")
            }
            (Val::Option(None), _) => self.put("null"),
            (Val::Option(Some(value)), Type::Option(option)) => match option.ty() {
                inner @ Type::Option(_) => self.only("some", Some(value), Some(inner)),
                inner => self.write(value, &inner),
            },
            (Val::Result(Ok(value)), Type::Result(parts)) => self.only("ok", value.as_deref(), parts.ok()),
            (Val::Result(Err(value)), Type::Result(parts)) => self.only("err", value.as_deref(), parts.err()),
            // No function that gives these is offered, and a value has its function's type.
            _ => self.put("null"),
        }
    }
}
