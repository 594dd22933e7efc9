//! What a component offers as tools: one of its own making, or each of the functions that it exports.

use std::{collections::BTreeMap, fmt, str::FromStr};

use palisade_grants::Capability;
use serde::{Deserialize, Serialize};
use wasmtime::component::{
    Component,
    types::{ComponentFunc, ComponentItem},
};

use crate::{
    Description, Needs,
    functions::{self, Docs, short},
};

/// One tool that a component offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// What it is.
    pub description: Description,
    /// Where in the component it begins.
    pub entry: Entry,
}

/// Where in a component a tool begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Entry {
    /// The component exports `palisade:tool/tool` and is one tool.
    #[default]
    Tool,
    /// A function of a component that was not written for Palisade.
    Function {
        /// The exported interface that it is part of, with package and version.
        interface: Option<String>,
        /// Its name.
        name: String,
    },
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool => f.write_str("palisade:tool/tool"),
            Self::Function { interface: Some(interface), name } => write!(f, "{interface}#{name}"),
            Self::Function { interface: None, name } => f.write_str(name),
        }
    }
}

/// A function as it is written: `name`, or `namespace:package/interface@version#name`.
impl FromStr for Entry {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (interface, name) = match text.rsplit_once('#') {
            Some((interface, name)) => (Some(interface.to_owned()), name),
            None => (None, text),
        };
        Ok(Self::Function { interface, name: name.to_owned() })
    }
}

/// A function that a component exports and that cannot be a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotOffered {
    /// The function, as [`Entry`] writes it.
    pub function: String,
    /// Why not.
    pub reason: String,
}

/// The beginning of what every component written for Palisade exports.
const TOOL: &str = "palisade:tool/tool@";
/// Tools that one component can be.
const MOST: usize = 128;
/// The longest name that all models take.
const LONGEST_NAME: usize = 64;

/// Whether it was written for Palisade.
pub(crate) fn is_tool(component: &Component) -> bool {
    component.component_type().exports(component.engine()).any(|(name, _)| name.starts_with(TOOL))
}

/// What a component that was not written for Palisade offers, and what it does not.
pub(crate) fn find(component: &Component, docs: &Docs, needs: &Needs) -> (Vec<Offer>, Vec<NotOffered>) {
    let mut offered: Vec<(Entry, Description)> = Vec::new();
    let mut not_offered = Vec::new();
    for (entry, ty) in exported(component) {
        let Entry::Function { interface, name } = &entry else { continue };
        // `[constructor]`, `[method]` or `[static]` is before the name of what a resource has.
        let described = if name.starts_with('[') {
            Err("it belongs to a resource")
        } else if is_start(interface.as_deref(), name) {
            Err("its compiler called it while it made the component")
        } else if offered.len() >= MOST {
            Err("the component has too many functions")
        } else {
            functions::describe(name, &ty)
        };
        match described {
            Ok(described) => {
                let said = docs.of(interface.as_deref(), name);
                offered.push((entry, description(described, said, needs)));
            }
            Err(reason) => not_offered.push(NotOffered { function: entry.to_string(), reason: reason.to_owned() }),
        }
    }
    let names = names(&offered.iter().map(|(entry, _)| entry).collect::<Vec<_>>());
    let named = offered.into_iter().zip(names);
    let offers =
        named.map(|((entry, description), name)| Offer { description: Description { name, ..description }, entry });
    (offers.collect(), not_offered)
}

/// Whether it is what componentize-py starts the interpreter with, which older versions leave exported.
fn is_start(interface: Option<&str>, name: &str) -> bool {
    interface == Some("exports") && name == "init"
}

fn exported(component: &Component) -> Vec<(Entry, ComponentFunc)> {
    let engine = component.engine();
    let mut found = Vec::new();
    for (name, item) in component.component_type().exports(engine) {
        match item.ty {
            ComponentItem::ComponentFunc(ty) => {
                found.push((Entry::Function { interface: None, name: name.to_owned() }, ty));
            }
            ComponentItem::ComponentInstance(instance) => {
                for (function, item) in instance.exports(engine) {
                    if let ComponentItem::ComponentFunc(ty) = item.ty {
                        let (interface, name) = (Some(name.to_owned()), function.to_owned());
                        found.push((Entry::Function { interface, name }, ty));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

fn description(described: functions::Described, said: Option<String>, needs: &Needs) -> Description {
    let mut text = said.unwrap_or_else(|| described.signature.clone());
    if described.gives_bytes {
        text.push_str("\nBytes in the result are base64.");
    }
    let capabilities = needs.imports.iter().flat_map(|import| import.capabilities.iter().copied());
    Description {
        name: String::new(),
        description: text,
        input_schema: described.schema,
        capabilities: capabilities.filter(|capability| *capability != Capability::Progress).collect(),
        own_capabilities: std::collections::BTreeSet::new(),
        read_only: false,
        idempotent: false,
    }
}

/// The name of each function as a tool: its own, and where two are the same, more and more of where they are.
fn names(entries: &[&Entry]) -> Vec<String> {
    let mut levels = vec![0; entries.len()];
    loop {
        let names: Vec<String> = entries.iter().zip(&levels).map(|(entry, level)| name(entry, *level)).collect();
        let mut holders: BTreeMap<&str, usize> = BTreeMap::new();
        for name in &names {
            *holders.entry(name).or_default() += 1;
        }
        let mut is_changed = false;
        for (name, level) in names.iter().zip(&mut levels) {
            if holders.get(name.as_str()).is_some_and(|holders| *holders > 1) && *level < LAST_LEVEL {
                *level += 1;
                is_changed = true;
            }
        }
        if !is_changed {
            return names;
        }
    }
}

/// At this level a name has a digest of all that a function is called, which is its alone.
const LAST_LEVEL: u8 = 3;

fn name(entry: &Entry, level: u8) -> String {
    let Entry::Function { interface, name } = entry else { return String::new() };
    let long = match (interface, level) {
        (None, 0..LAST_LEVEL) | (Some(_), 0) => name.clone(),
        (Some(interface), 1) => format!("{}_{name}", short(interface)),
        (Some(interface), 2) => format!("{}_{name}", interface.split_once('@').map_or(&**interface, |(name, _)| name)),
        _ => return digested(&snake(name), entry),
    };
    let name = snake(&long);
    if name.len() > LONGEST_NAME { digested(&name, entry) } else { name }
}

fn snake(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

fn digested(name: &str, entry: &Entry) -> String {
    const DIGITS: usize = 8;
    let digest = blake3::hash(entry.to_string().as_bytes()).to_hex();
    // All of it is ASCII.
    let name = name.get(..name.len().min(LONGEST_NAME - DIGITS - 1)).unwrap_or_default();
    format!("{name}_{}", digest.get(..DIGITS).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Entry {
        text.parse().unwrap()
    }

    fn named(texts: &[&str]) -> Vec<String> {
        let entries: Vec<Entry> = texts.iter().map(|text| entry(text)).collect();
        names(&entries.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_function_is_called_by_its_own_name() {
        assert_eq!(named(&["get-time", "a:b/files@1.0.0#read-URL"]), ["get_time", "read_url"]);
    }

    #[test]
    fn functions_of_one_name_are_told_apart_by_where_they_are() {
        assert_eq!(named(&["a:b/one@1.0.0#get", "a:b/two@1.0.0#get"]), ["one_get", "two_get"]);
        assert_eq!(named(&["a:b/one#get", "c:d/one#get"]), ["a_b_one_get", "c_d_one_get"]);
        let names = named(&["a:b/one@1.0.0#get", "a:b/one@2.0.0#get", "get"]);
        assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), 3, "{names:?}");
    }

    #[test]
    fn a_long_name_is_cut_and_stays_its_own() {
        let (one, two) = ("a".repeat(90) + "-one", "a".repeat(90) + "-two");
        let names = named(&[&one, &two]);
        assert!(names.iter().all(|name| name.len() <= LONGEST_NAME));
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn an_entry_is_the_same_after_it_was_written_and_read() {
        for text in ["get-time", "a:b/c@0.1.0#get-time"] {
            assert_eq!(entry(text).to_string(), text);
        }
    }
}
