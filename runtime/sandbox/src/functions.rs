//! Functions of components that were not written for Palisade: what each is as a tool, and how it is called.
//!
//! A function's parameters become one JSON object, and its result JSON text. Types that cannot cross as JSON
//! (handles, streams, futures) are found here, before anything is offered.
//!
//! | file | what |
//! |---|---|
//! | `schema.rs` | the JSON Schema of a function's parameters |
//! | `signature.rs` | types as WIT writes them, and which cannot cross |
//! | `input.rs` | JSON to values |
//! | `output.rs` | values to JSON, no longer than it may be |
//! | `docs.rs` | what a component's author wrote about its functions |

mod docs;
mod input;
mod output;
mod schema;
mod signature;

#[cfg(test)]
mod tests;

use wasmtime::component::{
    Component, ComponentExportIndex, InstancePre, Type, Val,
    types::{ComponentFunc, ComponentItem},
};

pub(crate) use docs::{Docs, short};
pub(crate) use output::TooLong;

use crate::{Entry, Failure, host::Host};

/// A function that can be called: where it is, and its types.
#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) pre: InstancePre<Host>,
    pub(crate) index: ComponentExportIndex,
    pub(crate) ty: ComponentFunc,
}

impl Function {
    /// Finds a function among what a component exports.
    pub(crate) fn find(pre: InstancePre<Host>, entry: &Entry) -> Result<Self, Failure> {
        let Entry::Function { interface, name } = entry else {
            return Err(Failure::Host { reason: "a tool of its own is no function".to_owned() });
        };
        let absent = || Failure::BadComponent { reason: format!("it exports no function `{entry}`") };
        let (index, ty) = export(pre.component(), interface.as_deref(), name).ok_or_else(absent)?;
        if let Err(reason) = signature::check(&ty) {
            return Err(Failure::BadComponent { reason: format!("`{entry}` cannot be called: {reason}") });
        }
        Ok(Self { pre, index, ty })
    }

    /// The values of its parameters. The error says where in the input something is wrong, and is shown.
    pub(crate) fn parameters(&self, input: &str) -> Result<Vec<Val>, String> {
        input::parameters(&self.ty, input)
    }

    /// What it gave, as text no longer than `most` bytes. An inner error is one that the function answered.
    pub(crate) fn result(&self, values: &[Val], most: usize) -> Result<Result<String, String>, TooLong> {
        output::result(&self.ty, values, most)
    }

    /// Places for what it gives.
    pub(crate) fn places(&self) -> Vec<Val> {
        vec![Val::Bool(false); self.ty.results().len()]
    }
}

fn export(component: &Component, interface: Option<&str>, name: &str) -> Option<(ComponentExportIndex, ComponentFunc)> {
    let instance = match interface {
        Some(interface) => Some(component.get_export_index(None, interface)?),
        None => None,
    };
    match component.get_export(instance.as_ref(), name)? {
        (ComponentItem::ComponentFunc(ty), index) => Some((index, ty)),
        _ => None,
    }
}

/// What a function is as a tool: its JSON Schema, and what is said about it where its author said nothing.
pub(crate) struct Described {
    pub(crate) schema: String,
    pub(crate) signature: String,
    /// It gives bytes, which come as base64.
    pub(crate) gives_bytes: bool,
}

/// Describes a function, or says why it cannot be a tool.
pub(crate) fn describe(name: &str, ty: &ComponentFunc) -> Result<Described, &'static str> {
    signature::check(ty)?;
    Ok(Described {
        schema: schema::parameters(ty).to_string(),
        signature: signature::of(name, ty),
        gives_bytes: ty.results().any(|ty| signature::has_bytes(&ty)),
    })
}

/// Whether a list of this is a list of bytes.
fn is_byte(ty: &Type) -> bool {
    matches!(ty, Type::U8)
}
