//! The cases in `tests/*.json`: calls of a project's tools, and what should come of them.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::files;

/// One call of one tool, and what should come of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// What it shows; without it, its tool and input.
    #[serde(default)]
    pub(crate) name: String,
    pub(crate) tool: String,
    #[serde(default)]
    pub(crate) input: Map<String, Value>,
    /// The files of the workspace when the call begins.
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
    /// What is granted; nothing, unless it is named.
    #[serde(default)]
    pub(super) grant: Vec<String>,
    pub(super) expect: Expected,
    /// Files as they should be afterwards; `null` is one that should not be there.
    #[serde(default)]
    pub(super) leaves: BTreeMap<String, Option<String>>,
    /// The file it stands in.
    #[serde(skip)]
    pub(crate) file: String,
}

/// What should come of a call.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum Expected {
    /// This output.
    Text(String),
    Some(Parts),
}

/// What is known of an output or a failure.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parts {
    /// It fails, and this is how.
    pub(super) failure: Option<Kind>,
    /// The text has this somewhere.
    pub(super) contains: Option<String>,
    /// The output is this JSON, however it is written.
    pub(super) json: Option<Value>,
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// The tool says that its input is wrong.
    InvalidInput,
    /// Something was not granted.
    Denied,
    /// The tool says that it did not work.
    Failed,
    /// The tool crashed, or was ended because it used up too much.
    Crashed,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    Many(Vec<Value>),
    One(Value),
}

/// Reads the cases of a project, file by file.
pub(crate) fn read(root: &Path) -> anyhow::Result<Vec<Case>> {
    let folder = root.join("tests");
    let paths = if folder.is_dir() { files::sources(&folder)? } else { Vec::new() };
    let mut cases = Vec::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "json")) {
        let file = path.strip_prefix(root).unwrap_or(path).display().to_string();
        let text = files::read_text(path).with_context(|| format!("{file} cannot be read"))?;
        let values = serde_json::from_str(&text).with_context(|| format!("{file} is not JSON"))?;
        let values = match values {
            OneOrMany::Many(values) => values,
            OneOrMany::One(value) => vec![value],
        };
        for (number, value) in values.into_iter().enumerate() {
            let case: Case = serde_json::from_value(value).with_context(|| {
                format!(
                    "case {} of {file} cannot be read (it has a `tool`, an `input` and what to `expect`)",
                    number + 1
                )
            })?;
            cases.push(named(Case { file: file.clone(), ..case }));
        }
    }
    if cases.is_empty() {
        bail!("there are no cases in tests/*.json, so nothing was shown");
    }
    Ok(cases)
}

fn named(case: Case) -> Case {
    if !case.name.is_empty() {
        return case;
    }
    let input = Value::Object(case.input.clone()).to_string();
    Case { name: format!("{} {input}", case.tool), ..case }
}
