//! `edit`: replaces exact pieces of text in a file, all of them or none.

mod change;
mod excerpt;
mod mismatch;
#[cfg(test)]
mod tests;

use palisade_tool::{
    Failure,
    files::{self, FileError},
    replace, text,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{change::Draft, excerpt::Excerpt};

/// The input of `edit`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The file, relative to the workspace.
    #[serde(alias = "file_path", alias = "filename", alias = "file")]
    path: String,
    /// The text to replace, exactly as it is in the file, without line numbers. It must occur once, unless `replace_all` is set. Empty to create a file that does not exist.
    #[serde(default, alias = "old_string", alias = "old_str")]
    old: Option<String>,
    /// The text to put in its place.
    #[serde(default, alias = "new_string", alias = "new_str")]
    new: Option<String>,
    /// Whether to replace all occurrences.
    #[serde(default)]
    replace_all: bool,
    /// Several edits in place of `old` and `new`; each applies to the result of the one before, and if one fails nothing is changed.
    #[serde(default)]
    edits: Vec<Edit>,
}

/// One replacement.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The text to replace, exactly as it is in the file.
    #[serde(alias = "old_string", alias = "old_str")]
    old: String,
    /// The text to put in its place.
    #[serde(alias = "new_string", alias = "new_str")]
    new: String,
    /// Whether to replace all occurrences.
    #[serde(default)]
    replace_all: bool,
}

/// A larger file is no text that somebody edits; it would have to be in memory several times.
const MAX_FILE: u64 = 16 << 20;

palisade_tool::tool! {
    /// Replaces text in a file: `old` must be found exactly, indentation included, and only once
    /// unless `replace_all` is set. Read the file first. Several `edits` are made together or not
    /// at all. The answer shows the changed lines.
    #[tool(needs = ["fs.read", "fs.write"], read_only = false, idempotent = false)]
    pub fn edit(input: Input) -> Result<String, Failure> {
        let path = input.path.clone();
        let edits = edits(input)?;
        let before = load(&path)?;
        let mut draft = Draft::new(before.as_deref());
        for (position, edit) in edits.iter().enumerate() {
            draft.apply(edit).map_err(|failure| place(failure, &path, position, edits.len()))?;
        }
        replace(&path, draft.to_file().as_bytes())?;
        let done = if before.is_some() { "Edited" } else { "Created" };
        let count = text::count(draft.replacements(), "replacement", "replacements");
        Ok(format!("{done} {path}: {count}.\n{}", Excerpt::new(&draft)))
    }
}

/// The edits of an input, however it was written.
fn edits(input: Input) -> Result<Vec<Edit>, Failure> {
    let Input { path, old, new, replace_all, edits } = input;
    if path.is_empty() {
        return Err(Failure::InvalidInput("`path` is empty; give the path of a file".to_owned()));
    }
    let edits = match (old, new) {
        (None, None) if !edits.is_empty() => edits,
        (Some(old), Some(new)) if edits.is_empty() => vec![Edit { old, new, replace_all }],
        _ => return Err(Failure::InvalidInput("give either `old` and `new`, or `edits`".to_owned())),
    };
    if edits.iter().any(|edit| edit.old == edit.new) {
        return Err(Failure::InvalidInput("`old` and `new` are the same; there is nothing to change".to_owned()));
    }
    Ok(edits)
}

/// The file's text, or nothing if there is no such file.
fn load(path: &str) -> Result<Option<String>, Failure> {
    let mut bytes = Vec::new();
    loop {
        let chunk = match files::read(path, bytes.len() as u64, files::MAX_READ) {
            Ok(chunk) => chunk,
            Err(FileError::NotFound) => return Ok(None),
            Err(error) => return Err(Failure::on_path(path, error)),
        };
        if chunk.size > MAX_FILE {
            let (size, most) = (text::size(chunk.size), text::size(MAX_FILE));
            return Err(Failure::Failed(format!("{path} has {size}; files over {most} cannot be edited")));
        }
        bytes.extend_from_slice(&chunk.bytes);
        if chunk.bytes.is_empty() || bytes.len() as u64 >= chunk.size {
            break;
        }
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::Failed(format!("{path} is not UTF-8 text (byte {at}) and cannot be edited"))
    })?;
    Ok(Some(text))
}

/// Says which of the edits failed, and where.
fn place(failure: Failure, path: &str, position: usize, count: usize) -> Failure {
    let number = if count == 1 { String::new() } else { format!("edit {} of {count}: ", position + 1) };
    let place = |text: String| format!("{path}: {number}{text}");
    match failure {
        Failure::InvalidInput(text) => Failure::InvalidInput(place(text)),
        Failure::Denied(text) => Failure::Denied(place(text)),
        Failure::Failed(text) => Failure::Failed(place(text)),
    }
}
