//! `grep`: finds lines in files, with the crates ripgrep is made of.

mod filter;
mod query;
mod reject;
mod report;
mod search;
#[cfg(test)]
mod tests;

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

pub use query::Query;
pub use report::Report;
pub use search::search;

/// The input of `grep`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The regular expression to look for, in Rust's syntax; lines are searched one by one.
    #[serde(alias = "regex", alias = "query")]
    pub pattern: String,
    /// The directory or file to search, relative to the workspace.
    #[serde(default = "workspace", alias = "file_path", alias = "directory")]
    pub path: String,
    /// Only files whose path matches, such as `*.rs` or `src/**/*.ts`; `!` in front leaves files out.
    #[serde(default)]
    pub glob: OneOrMany,
    /// Only files of these types, named as in ripgrep: `rust`, `py`, `js`, `ts`, `go`, `md` and so on.
    #[serde(default, rename = "type", alias = "file_type")]
    pub file_type: OneOrMany,
    /// What to show: the lines, the paths of files that match, or the number of matching lines of each file.
    #[serde(default)]
    pub output_mode: OutputMode,
    /// Lines to show before each match.
    #[serde(default, alias = "-B", alias = "before_context")]
    pub before: u32,
    /// Lines to show after each match.
    #[serde(default, alias = "-A", alias = "after_context")]
    pub after: u32,
    /// Lines to show around each match.
    #[serde(default, alias = "-C")]
    pub context: u32,
    /// Whether upper and lower case are the same.
    #[serde(default, alias = "-i", alias = "case_insensitive")]
    pub ignore_case: bool,
    /// Whether only whole words match.
    #[serde(default, alias = "-w")]
    pub word: bool,
    /// Whether the pattern is plain text, not a regular expression.
    #[serde(default, alias = "-F", alias = "literal")]
    pub fixed_strings: bool,
    /// Whether a match may span lines; `.` then matches a line's end too.
    #[serde(default, alias = "-U")]
    pub multiline: bool,
    /// Whether to find the lines that do not match.
    #[serde(default, alias = "-v", alias = "invert_match")]
    pub invert: bool,
    /// Whether to search files and directories whose name begins with a dot.
    #[serde(default)]
    pub hidden: bool,
    /// Whether to search what .gitignore leaves out.
    #[serde(default, alias = "no_ignore")]
    pub ignored: bool,
    /// The most lines to show, context included.
    #[serde(default = "limit", alias = "head_limit", alias = "max_results")]
    pub limit: u32,
    /// Lines are always numbered; models that ask for it all the same are not refused.
    #[serde(default, rename = "-n", alias = "line_numbers")]
    #[schemars(skip)]
    pub line_numbers: bool,
}

/// One text or a list of them.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Any number.
    Many(Vec<String>),
}

impl OneOrMany {
    /// The texts.
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}

impl Default for OneOrMany {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

/// What a search shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputMode {
    /// The matching lines and their context.
    #[default]
    Content,
    /// The paths of the files that match.
    FilesWithMatches,
    /// How many lines match, for each file that matches.
    Count,
}

fn workspace() -> String {
    ".".to_owned()
}

fn limit() -> u32 {
    250
}

palisade_tool::tool! {
    /// Searches the contents of files with a regular expression and shows the matching lines as
    /// `path:line:text` (context as `path-line-text`). A directory is searched as a whole, without
    /// hidden files, binary files and what .gitignore leaves out. Use it to find where something is
    /// defined or used; narrow with `glob`, `type` or `path`.
    #[tool(needs = ["fs.read"], read_only = true, idempotent = true)]
    pub fn grep(input: Input) -> Result<String, Failure> {
        Ok(search(&Query::new(&input)?)?.into_text())
    }
}
