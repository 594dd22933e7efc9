//! `write`: creates a file or replaces its whole content.

use palisade_tool::{Failure, Replaced, replace, text};
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `write`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The file, relative to the workspace; directories that are missing are made.
    #[serde(alias = "file_path", alias = "filename", alias = "file")]
    path: String,
    /// The whole content of the file.
    #[serde(alias = "contents", alias = "text", alias = "file_text")]
    content: String,
}

palisade_tool::tool! {
    /// Creates a file, or replaces the whole content of one that exists, in one step: other programs
    /// see the old content or the new one, never a part. Use `edit` to change a part of a file.
    #[tool(needs = ["fs.read", "fs.write"], read_only = false, idempotent = true)]
    pub fn write(input: Input) -> Result<String, Failure> {
        let Input { path, content } = input;
        if path.is_empty() {
            return Err(Failure::InvalidInput("`path` is empty; give the path of a file".to_owned()));
        }
        let done = match replace(&path, content.as_bytes())? {
            Replaced::Created => "Created",
            Replaced::Replaced => "Replaced",
        };
        let lines = text::count(content.lines().count(), "line", "lines");
        Ok(format!("{done} {path}: {lines}, {}.", text::count(content.len(), "byte", "bytes")))
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "looks at what was written")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_created_and_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_str().unwrap();
        let write = |content: &str| {
            let text = call(&format!(r#"{{"file_path":"{root}/a/b","content":"{content}"}}"#)).unwrap();
            text.replace(root, "")
        };
        assert_eq!(write("one\\ntwo"), "Created /a/b: 2 lines, 7 bytes.");
        assert_eq!(write("ü"), "Replaced /a/b: 1 line, 2 bytes.");
        assert_eq!(fs::read_to_string(dir.path().join("a/b")).unwrap(), "ü");
        assert_eq!(write(""), "Replaced /a/b: 0 lines, 0 bytes.");
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_str().unwrap();
        let result = call(&format!(r#"{{"path":"{root}","content":""}}"#));
        assert!(matches!(result, Err(Failure::Failed(text)) if text.contains("is a directory")));
        for path in ["", ".", "..", "a/"] {
            let result = call(&format!(r#"{{"path":"{path}","content":""}}"#));
            assert!(matches!(result, Err(Failure::InvalidInput(_))), "{path}");
        }
    }
}
