//! `glob`: finds files by name.

mod pattern;

use std::cmp::Reverse;

use palisade_tool::{
    Failure,
    files::{self, FileError, Kind},
    text,
    walk::{self, Walk},
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::pattern::Pattern;

/// The input of `glob`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The glob, such as `**/*.rs`, `src/**/test_*.{py,pyi}` or `Cargo.toml`. Without a `/` it matches names at any depth; with a trailing `/` it matches directories.
    #[serde(alias = "glob", alias = "query")]
    pattern: String,
    /// The directory to search, relative to the workspace; the glob is relative to it.
    #[serde(default = "workspace", alias = "directory")]
    path: String,
    /// Whether to search names that begin with a dot; a glob that names one does so anyway.
    #[serde(default)]
    hidden: bool,
    /// Whether to search what .gitignore leaves out.
    #[serde(default, alias = "no_ignore")]
    ignored: bool,
    /// The most paths to show.
    #[serde(default = "limit", alias = "head_limit", alias = "max_results")]
    limit: u32,
}

fn workspace() -> String {
    ".".to_owned()
}

fn limit() -> u32 {
    200
}

/// More paths than this help nobody.
const MAX_PATHS: u32 = 10_000;

palisade_tool::tool! {
    /// Finds files whose path matches a glob, those changed last first. Hidden files and what
    /// .gitignore leaves out are not searched unless asked for. Use `grep` to find files by content.
    #[tool(needs = ["fs.read"], read_only = true, idempotent = true)]
    pub fn glob(input: Input) -> Result<String, Failure> {
        if input.path.is_empty() {
            return Err(Failure::InvalidInput("`path` is empty; use `.` for the workspace".to_owned()));
        }
        if input.limit == 0 {
            return Err(Failure::InvalidInput("`limit` must be at least 1".to_owned()));
        }
        let pattern = Pattern::new(&input.pattern)?;
        let matches = find(&input, &pattern)?;
        Ok(show(matches, &input))
    }
}

struct Matches {
    /// When each was changed, and its path.
    paths: Vec<(u64, String)>,
    unreadable: usize,
}

fn find(input: &Input, pattern: &Pattern) -> Result<Matches, Failure> {
    let base = walk::clean(&input.path);
    let start = walk::clean(&format!("{}/{}", input.path, pattern.directory()));
    let options = walk::Options {
        hidden: input.hidden || walk::asks_for_hidden(&input.pattern),
        ignored: input.ignored,
        max_depth: pattern.max_depth(),
    };
    let mut matches = Matches { paths: Vec::new(), unreadable: 0 };
    for found in Walk::new(&start, options) {
        match found {
            Ok(found) => {
                let relative = found.path.strip_prefix(&base).map_or(&*found.path, |path| path.trim_start_matches('/'));
                if pattern.wants(found.kind) && pattern.matches(relative) {
                    let modified = files::stat(&found.path).map_or(0, |stat| stat.modified);
                    matches.paths.push((modified, found.path + if found.kind == Kind::Directory { "/" } else { "" }));
                }
            }
            // The pattern's own directory need not exist; the one that was asked for must.
            Err((path, FileError::NotFound | FileError::NotADirectory)) if path == start && start != base => {
                files::list(&base).map_err(|error| Failure::on_path(&input.path, error))?;
            }
            Err((path, error)) if path == start => return Err(Failure::on_path(&input.path, error)),
            Err(_) => matches.unreadable += 1,
        }
    }
    matches.paths.sort_by(|(a, path_a), (b, path_b)| (Reverse(a), path_a).cmp(&(Reverse(b), path_b)));
    Ok(matches)
}

fn show(matches: Matches, input: &Input) -> String {
    let total = matches.paths.len();
    let limit = input.limit.min(MAX_PATHS) as usize;
    let mut lines: Vec<String> = matches.paths.into_iter().take(limit).map(|(_, path)| path).collect();
    lines.push(if total == 0 && (input.hidden && input.ignored) {
        "No files match.".to_owned()
    } else if total == 0 {
        "No files match (hidden or ignored files were left out; `hidden` and `ignored` include them).".to_owned()
    } else if total > limit {
        format!("… {} in total, the {limit} changed last are shown; narrow the glob or raise `limit`", count(total))
    } else {
        format!("({})", count(total))
    });
    if matches.unreadable > 0 {
        let count = text::count(matches.unreadable, "directory", "directories");
        lines.push(format!("({count} could not be listed)"));
    }
    lines.join("\n")
}

fn count(total: usize) -> String {
    text::count(total, "match", "matches")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "builds trees to search")]
mod tests {
    use std::{
        fs,
        time::{Duration, UNIX_EPOCH},
    };

    use super::*;

    fn world() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let files =
            [("a.rs", 1), ("src/b.rs", 3), ("src/c.rs", 2), ("src/x/d.py", 2), (".env", 1), ("log", 1), (".ignore", 0)];
        for (path, seconds) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, if path.ends_with(".ignore") { "log\n" } else { "" }).unwrap();
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        }
        dir
    }

    fn glob(below: &str, pattern: &str, input: &str) -> String {
        let dir = world();
        let root = dir.path().to_str().unwrap();
        let text = call(&format!(r#"{{"path":"{root}{below}","pattern":"{pattern}"{input}}}"#)).unwrap();
        text.replace(&format!("{root}/"), "")
    }

    #[test]
    fn those_changed_last_come_first() {
        assert_eq!(glob("", "*.rs", ""), "src/b.rs\nsrc/c.rs\na.rs\n(3 matches)");
        assert_eq!(glob("", "**/*.{rs,py}", ""), "src/b.rs\nsrc/c.rs\nsrc/x/d.py\na.rs\n(4 matches)");
    }

    #[test]
    fn a_slash_ties_the_glob_to_the_directory() {
        assert_eq!(glob("", "./src/*.rs", ""), "src/b.rs\nsrc/c.rs\n(2 matches)");
        assert_eq!(glob("/src", "x/*", ""), "src/x/d.py\n(1 match)");
        assert_eq!(glob("", "src/x/d.py", ""), "src/x/d.py\n(1 match)");
        assert_eq!(glob("", "**/x/", ""), "src/x/\n(1 match)");
        assert!(glob("", "nowhere/*.rs", "").starts_with("No files match"));
    }

    #[test]
    fn hidden_and_ignored_files_are_found_when_asked_for() {
        assert!(glob("", "{log,*env}", "").starts_with("No files match (hidden or ignored"));
        assert_eq!(glob("", ".env", ""), ".env\n(1 match)");
        assert_eq!(glob("", "{log,*env}", r#","ignored":true,"hidden":true"#), ".env\nlog\n(2 matches)");
    }

    #[test]
    fn a_limit_says_how_many_there_are() {
        assert_eq!(
            glob("", "*.rs", r#","limit":1"#),
            "src/b.rs\n… 3 matches in total, the 1 changed last are shown; narrow the glob or raise `limit`"
        );
    }

    #[test]
    fn input_that_makes_no_sense_is_refused() {
        for input in ["\"\"", "\"[a\"", "\"/etc/*\"", "\"../*\"", "\"/\"", "\"x\",\"path\":\"\"", "\"x\",\"limit\":0"] {
            let result = call(&format!(r#"{{"pattern":{input}}}"#));
            assert!(matches!(result, Err(Failure::InvalidInput(_))), "{input}: {result:?}");
        }
        assert!(matches!(call(r#"{"pattern":"*","path":"/nowhere"}"#), Err(Failure::Failed(_))));
        assert!(matches!(call(r#"{"pattern":"a/*","path":"/nowhere"}"#), Err(Failure::Failed(_))));
    }
}
