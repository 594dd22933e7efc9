//! JSON to values. Whatever is wrong is said with the place where it is.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};
use wasmtime::component::{Type, Val, types::ComponentFunc};

use super::{is_byte, signature::word};

/// The parameters of a function from a JSON object. The function was checked, so it is not deep.
pub(super) fn parameters(ty: &ComponentFunc, input: &str) -> Result<Vec<Val>, String> {
    let value: Value = serde_json::from_str(input).map_err(|error| format!("the input is not JSON: {error}"))?;
    let Value::Object(object) = value else {
        return Err(format!("the input must be an object, and is {}", kind(&value)));
    };
    let fields: Vec<(&str, Type)> = ty.params().collect();
    let place = Place::Input;
    known_only(&object, &fields, place)?;
    fields.iter().map(|(name, ty)| field(&object, name, ty, place)).collect()
}

/// Where in the input something is.
#[derive(Clone, Copy)]
enum Place<'a> {
    Input,
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input => f.write_str("input"),
            Self::Field(within, name) => write!(f, "{within}.{name}"),
            Self::Item(within, index) => write!(f, "{within}[{index}]"),
        }
    }
}

type Converted = Result<Val, String>;

fn convert(value: &Value, ty: &Type, place: Place<'_>) -> Converted {
    let wrong = || format!("{place} must be {}, and is {}", wanted(ty), kind(value));
    Ok(match ty {
        Type::Bool => Val::Bool(value.as_bool().ok_or_else(wrong)?),
        Type::S8 => Val::S8(integer(value, ty, place)?),
        Type::U8 => Val::U8(integer(value, ty, place)?),
        Type::S16 => Val::S16(integer(value, ty, place)?),
        Type::U16 => Val::U16(integer(value, ty, place)?),
        Type::S32 => Val::S32(integer(value, ty, place)?),
        Type::U32 => Val::U32(integer(value, ty, place)?),
        Type::S64 => Val::S64(integer(value, ty, place)?),
        Type::U64 => Val::U64(integer(value, ty, place)?),
        Type::Float32 => {
            let wide = float(value).ok_or_else(wrong)?;
            let short = wide as f32;
            if short.is_infinite() && wide.is_finite() {
                return Err(format!("{place} is too large for an f32"));
            }
            Val::Float32(short)
        }
        Type::Float64 => Val::Float64(float(value).ok_or_else(wrong)?),
        Type::Char => {
            let mut letters = value.as_str().ok_or_else(wrong)?.chars();
            match (letters.next(), letters.next()) {
                (Some(letter), None) => Val::Char(letter),
                _ => return Err(format!("{place} must be exactly one character")),
            }
        }
        Type::String => Val::String(value.as_str().ok_or_else(wrong)?.to_owned()),
        Type::List(list) => Val::List(items(value, &list.ty(), ty, place)?),
        Type::FixedLengthList(list) => {
            let items = items(value, &list.ty(), ty, place)?;
            if u32::try_from(items.len()) != Ok(list.len()) {
                return Err(format!("{place} must have {} items, and has {}", list.len(), items.len()));
            }
            Val::FixedLengthList(items)
        }
        Type::Record(record) => {
            let object = value.as_object().ok_or_else(wrong)?;
            let fields: Vec<(&str, Type)> = record.fields().map(|field| (field.name, field.ty)).collect();
            known_only(object, &fields, place)?;
            let converted = fields.iter().map(|(name, ty)| {
                let value = field(object, name, ty, place)?;
                Ok::<_, String>(((*name).to_owned(), value))
            });
            Val::Record(converted.collect::<Result<_, _>>()?)
        }
        Type::Tuple(tuple) => {
            let given = value.as_array().ok_or_else(wrong)?;
            let types = tuple.types();
            if given.len() != types.len() {
                return Err(format!("{place} must have {} items, and has {}", types.len(), given.len()));
            }
            let numbered = given.iter().zip(types).enumerate();
            let converted = numbered.map(|(index, (value, ty))| convert(value, &ty, Place::Item(&place, index)));
            Val::Tuple(converted.collect::<Result<_, _>>()?)
        }
        Type::Variant(variant) => {
            let object = value.as_object().ok_or_else(wrong)?;
            let tag = object.get("tag").and_then(Value::as_str);
            let tag = tag.ok_or_else(|| format!("{place} must have a `tag`, a text that names the case"))?;
            let names = || variant.cases().map(|case| case.name.to_owned());
            let case = variant.cases().find(|case| case.name == tag);
            let case = case.ok_or_else(|| one_of(Place::Field(&place, "tag"), tag, names()))?;
            let fields = if case.ty.is_some() { &["tag", "value"][..] } else { &["tag"] };
            if let Some(other) = object.keys().find(|key| !fields.contains(&key.as_str())) {
                return Err(format!("{} is not part of the case `{tag}`", Place::Field(&place, &shown(other))));
            }
            let payload = match (&case.ty, object.get("value")) {
                (None, _) => None,
                (Some(ty), Some(value)) => Some(Box::new(convert(value, ty, Place::Field(&place, "value"))?)),
                (Some(ty), None) => {
                    return Err(format!("{} is missing; it must be {}", Place::Field(&place, "value"), wanted(ty)));
                }
            };
            Val::Variant(case.name.to_owned(), payload)
        }
        Type::Enum(names) => {
            let text = value.as_str().ok_or_else(wrong)?;
            let found = names.names().find(|name| *name == text);
            Val::Enum(found.ok_or_else(|| one_of(place, text, names.names().map(str::to_owned)))?.to_owned())
        }
        Type::Flags(names) => {
            let given = value.as_array().ok_or_else(wrong)?;
            let mut chosen = Vec::new();
            for (index, value) in given.iter().enumerate() {
                let place = Place::Item(&place, index);
                let text = value.as_str().ok_or_else(|| format!("{place} must be a text, and is {}", kind(value)))?;
                let found = names.names().find(|name| *name == text);
                let name = found.ok_or_else(|| one_of(place, text, names.names().map(str::to_owned)))?.to_owned();
                if !chosen.contains(&name) {
                    chosen.push(name);
                }
            }
            Val::Flags(chosen)
        }
        Type::Option(option) => match (option.ty(), value) {
            (_, Value::Null) => Val::Option(None),
            (inner @ Type::Option(_), value) => {
                let some = one_field(value, &["some"], place)?.1;
                Val::Option(Some(Box::new(convert(some, &inner, Place::Field(&place, "some"))?)))
            }
            (inner, value) => Val::Option(Some(Box::new(convert(value, &inner, place)?))),
        },
        Type::Result(result) => {
            let (name, inner) = one_field(value, &["ok", "err"], place)?;
            let part = |ty: Option<Type>| match ty {
                Some(ty) => convert(inner, &ty, Place::Field(&place, name)).map(|value| Some(Box::new(value))),
                None if inner.is_null() => Ok(None),
                None => Err(format!("{} must be null", Place::Field(&place, name))),
            };
            Val::Result(if name == "ok" { Ok(part(result.ok())?) } else { Err(part(result.err())?) })
        }
        Type::Map(_) | Type::Own(_) | Type::Borrow(_) | Type::Future(_) | Type::Stream(_) | Type::ErrorContext => {
            return Err(format!("{place} cannot be given as JSON"));
        }
    })
}

fn field(object: &Map<String, Value>, name: &str, ty: &Type, place: Place<'_>) -> Converted {
    match (object.get(name), ty) {
        (Some(value), _) => convert(value, ty, Place::Field(&place, name)),
        (None, Type::Option(_)) => Ok(Val::Option(None)),
        (None, _) => Err(format!("{} is missing; it must be {}", Place::Field(&place, name), wanted(ty))),
    }
}

fn known_only(object: &Map<String, Value>, fields: &[(&str, Type)], place: Place<'_>) -> Result<(), String> {
    match object.keys().find(|key| !fields.iter().any(|(name, _)| name == key)) {
        None => Ok(()),
        Some(other) => {
            let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
            let there = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
            Err(format!("{} is unknown; there is {there}", Place::Field(&place, &shown(other))))
        }
    }
}

fn one_field<'v>(
    value: &'v Value,
    names: &[&'static str],
    place: Place<'_>,
) -> Result<(&'static str, &'v Value), String> {
    let found = value.as_object().filter(|object| object.len() == 1).and_then(|object| {
        let name = names.iter().find(|name| object.contains_key(**name))?;
        Some((*name, object.get(*name)?))
    });
    let shapes: Vec<String> = names.iter().map(|name| format!("{{\"{name}\": …}}")).collect();
    found.ok_or_else(|| format!("{place} must be {}, and is {}", shapes.join(" or "), kind(value)))
}

fn items(value: &Value, item: &Type, list: &Type, place: Place<'_>) -> Result<Vec<Val>, String> {
    match value {
        Value::Array(given) => {
            let numbered = given.iter().enumerate();
            numbered.map(|(index, value)| convert(value, item, Place::Item(&place, index))).collect()
        }
        Value::String(text) if is_byte(item) => {
            let bytes = STANDARD.decode(text).map_err(|error| format!("{place} is not base64: {error}"))?;
            Ok(bytes.into_iter().map(Val::U8).collect())
        }
        _ => Err(format!("{place} must be {}, and is {}", wanted(list), kind(value))),
    }
}

/// Whole numbers up to here are exact as floats.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// An integer, written as a number with or without a zero fraction, or, where it is long, as a text.
fn integer<I: TryFrom<i128>>(value: &Value, ty: &Type, place: Place<'_>) -> Result<I, String> {
    let number = match value {
        Value::Number(number) => number
            .as_i64()
            .map(i128::from)
            .or_else(|| number.as_u64().map(i128::from))
            .or_else(|| number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() <= EXACT).map(|n| n as i128)),
        Value::String(text) if matches!(ty, Type::S64 | Type::U64) && text.len() <= 20 => text.parse().ok(),
        _ => None,
    };
    let number = number.ok_or_else(|| format!("{place} must be {}, and is {}", wanted(ty), kind(value)))?;
    I::try_from(number).map_err(|_| format!("{place} is {number}, which is no {}", word(ty)))
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// What a place should have, in a few words.
fn wanted(ty: &Type) -> String {
    match ty {
        Type::Bool => "true or false".to_owned(),
        Type::S64 | Type::U64 => format!("a whole number or a text of digits ({})", word(ty)),
        Type::S8 | Type::U8 | Type::S16 | Type::U16 | Type::S32 | Type::U32 => format!("a whole number ({})", word(ty)),
        Type::Float32 | Type::Float64 => "a number, \"NaN\", \"Infinity\" or \"-Infinity\"".to_owned(),
        Type::Char => "a text of one character".to_owned(),
        Type::String | Type::Enum(_) => "a text".to_owned(),
        Type::List(list) if is_byte(&list.ty()) => "base64 or an array of bytes".to_owned(),
        Type::FixedLengthList(list) if is_byte(&list.ty()) => "base64 or an array of bytes".to_owned(),
        Type::List(_) | Type::FixedLengthList(_) | Type::Tuple(_) => "an array".to_owned(),
        Type::Flags(_) => "an array of names".to_owned(),
        Type::Record(_) => "an object".to_owned(),
        Type::Variant(_) => "an object with a `tag`".to_owned(),
        Type::Option(option) => format!("{} or null", wanted(&option.ty())),
        Type::Result(_) => "an object with `ok` or `err`".to_owned(),
        _ => "something else".to_owned(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn one_of(place: Place<'_>, given: &str, names: impl Iterator<Item = String>) -> String {
    const SHOWN: usize = 32;
    let names: Vec<String> = names.take(SHOWN).map(|name| format!("`{name}`")).collect();
    format!("{place} is `{}`; it must be one of {}", shown(given), names.join(", "))
}

/// As much of a text as an error needs.
fn shown(text: &str) -> String {
    const SHOWN: usize = 64;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
