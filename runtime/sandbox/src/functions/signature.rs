//! Types as WIT writes them, and those that cannot cross as JSON.

use wasmtime::component::{Type, types::ComponentFunc};

/// Types that nest deeper are nobody's idea of a parameter.
const DEEPEST: usize = 32;
/// Types that a function's parameters and result have together. Types that share parts can grow without end.
const MOST: usize = 2_000;
/// Bytes of a signature that are shown.
const LONGEST: usize = 1_000;

/// Why a function cannot be a tool, if it cannot.
pub(super) fn check(ty: &ComponentFunc) -> Result<(), &'static str> {
    if ty.async_() {
        return Err("it is asynchronous");
    }
    let mut left = MOST;
    let params = ty.params().map(|(_, ty)| ty);
    params.chain(ty.results()).try_for_each(|ty| visit(&ty, DEEPEST, &mut left))
}

fn visit(ty: &Type, depth: usize, left: &mut usize) -> Result<(), &'static str> {
    *left = left.checked_sub(1).ok_or("its types are too large to be written as a schema")?;
    let depth = depth.checked_sub(1).ok_or("its types nest too deep")?;
    let mut inner = |ty: Type| visit(&ty, depth, left);
    match ty {
        Type::Own(_) | Type::Borrow(_) => Err("it takes or gives a resource"),
        Type::Future(_) => Err("it takes or gives a future"),
        Type::Stream(_) => Err("it takes or gives a stream"),
        Type::ErrorContext => Err("it takes or gives an error context"),
        Type::Map(_) => Err("it takes or gives a map"),
        Type::List(list) => inner(list.ty()),
        Type::FixedLengthList(list) => inner(list.ty()),
        Type::Option(option) => inner(option.ty()),
        Type::Record(record) => record.fields().try_for_each(|field| inner(field.ty)),
        Type::Tuple(tuple) => tuple.types().try_for_each(inner),
        Type::Variant(variant) => variant.cases().try_for_each(|case| case.ty.map_or(Ok(()), &mut inner)),
        Type::Result(result) => [result.ok(), result.err()].into_iter().flatten().try_for_each(inner),
        Type::Enum(names) => spend(left, names.names().len()),
        Type::Flags(names) => spend(left, names.names().len()),
        _ => Ok(()),
    }
}

fn spend(left: &mut usize, names: usize) -> Result<(), &'static str> {
    *left = left.checked_sub(names).ok_or("its types are too large to be written as a schema")?;
    Ok(())
}

/// Whether a value of the type has bytes somewhere. The type was checked.
pub(super) fn has_bytes(ty: &Type) -> bool {
    match ty {
        Type::List(list) => super::is_byte(&list.ty()) || has_bytes(&list.ty()),
        Type::FixedLengthList(list) => super::is_byte(&list.ty()) || has_bytes(&list.ty()),
        Type::Option(option) => has_bytes(&option.ty()),
        Type::Record(record) => record.fields().any(|field| has_bytes(&field.ty)),
        Type::Tuple(tuple) => tuple.types().any(|ty| has_bytes(&ty)),
        Type::Variant(variant) => variant.cases().any(|case| case.ty.is_some_and(|ty| has_bytes(&ty))),
        Type::Result(result) => [result.ok(), result.err()].into_iter().flatten().any(|ty| has_bytes(&ty)),
        _ => false,
    }
}

/// A function as WIT writes it. The function was checked.
pub(super) fn of(name: &str, ty: &ComponentFunc) -> String {
    let params: Vec<String> = ty.params().map(|(name, ty)| format!("{name}: {}", word(&ty))).collect();
    let mut text = format!("{name}: func({})", params.join(", "));
    if let Some(result) = ty.results().next() {
        text.push_str(" -> ");
        text.push_str(&word(&result));
    }
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}

/// A type as WIT writes it; those with a name are written out.
pub(super) fn word(ty: &Type) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    let or_none = |ty: Option<Type>| ty.map_or_else(|| "_".to_owned(), |ty| word(&ty));
    match ty {
        Type::Bool => "bool".to_owned(),
        Type::S8 => "s8".to_owned(),
        Type::U8 => "u8".to_owned(),
        Type::S16 => "s16".to_owned(),
        Type::U16 => "u16".to_owned(),
        Type::S32 => "s32".to_owned(),
        Type::U32 => "u32".to_owned(),
        Type::S64 => "s64".to_owned(),
        Type::U64 => "u64".to_owned(),
        Type::Float32 => "f32".to_owned(),
        Type::Float64 => "f64".to_owned(),
        Type::Char => "char".to_owned(),
        Type::String => "string".to_owned(),
        Type::List(items) => format!("list<{}>", word(&items.ty())),
        Type::FixedLengthList(items) => format!("list<{}, {}>", word(&items.ty()), items.len()),
        Type::Option(option) => format!("option<{}>", word(&option.ty())),
        Type::Record(record) => {
            format!("record {{ {} }}", list(record.fields().map(|f| format!("{}: {}", f.name, word(&f.ty))).collect()))
        }
        Type::Tuple(tuple) => format!("tuple<{}>", list(tuple.types().map(|ty| word(&ty)).collect())),
        Type::Variant(variant) => {
            let cases = variant.cases().map(|case| match case.ty {
                Some(ty) => format!("{}({})", case.name, word(&ty)),
                None => case.name.to_owned(),
            });
            format!("variant {{ {} }}", list(cases.collect()))
        }
        Type::Enum(names) => format!("enum {{ {} }}", list(names.names().map(str::to_owned).collect())),
        Type::Flags(names) => format!("flags {{ {} }}", list(names.names().map(str::to_owned).collect())),
        Type::Result(result) => match (result.ok(), result.err()) {
            (None, None) => "result".to_owned(),
            (Some(ok), None) => format!("result<{}>", word(&ok)),
            (ok, err) => format!("result<{}, {}>", or_none(ok), or_none(err)),
        },
        Type::Map(_) => "map".to_owned(),
        Type::Own(_) | Type::Borrow(_) => "resource".to_owned(),
        Type::Future(_) => "future".to_owned(),
        Type::Stream(_) => "stream".to_owned(),
        Type::ErrorContext => "error-context".to_owned(),
    }
}
