//! `tree`: several levels of directories at a glance.

mod outline;

use palisade_tool::{
    Failure,
    walk::{self, Walk},
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::outline::Outline;

/// The input of `tree`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The directory, relative to the workspace.
    #[serde(default = "workspace", alias = "directory")]
    path: String,
    /// How many levels to show.
    #[serde(default = "depth", alias = "max_depth", alias = "level")]
    depth: u32,
    /// Whether to show names that begin with a dot.
    #[serde(default, alias = "all")]
    hidden: bool,
    /// Whether to show what .gitignore leaves out.
    #[serde(default, alias = "no_ignore")]
    ignored: bool,
    /// The most entries to show; large directories are cut before whole ones are left out.
    #[serde(default = "limit")]
    limit: u32,
}

fn workspace() -> String {
    ".".to_owned()
}

fn depth() -> u32 {
    3
}

fn limit() -> u32 {
    400
}

/// More entries than this help nobody.
const MAX_ENTRIES: u32 = 10_000;
/// Entries that are looked at before the walk stops; what lies beyond is not counted.
const MAX_VISITED: usize = 200_000;

palisade_tool::tool! {
    /// Shows the directories and files below a directory as a tree, without hidden files and what
    /// .gitignore leaves out. Use it to get to know a project; `ls` shows sizes and dates.
    #[tool(needs = ["fs.read"], read_only = true, idempotent = true)]
    pub fn tree(input: Input) -> Result<String, Failure> {
        if input.path.is_empty() {
            return Err(Failure::InvalidInput("`path` is empty; use `.` for the workspace".to_owned()));
        }
        if input.depth == 0 || input.limit == 0 {
            return Err(Failure::InvalidInput("`depth` and `limit` must be at least 1".to_owned()));
        }
        let start = walk::clean(&input.path);
        let depth = input.depth as usize;
        let options = walk::Options { hidden: input.hidden, ignored: input.ignored, max_depth: Some(depth) };
        let mut outline = Outline::new(&start, depth);
        for (visited, found) in Walk::new(&start, options).enumerate() {
            if visited == MAX_VISITED {
                outline.stop();
                break;
            }
            match found {
                Ok(found) => outline.add(&found.path, found.kind),
                Err((path, error)) if path == start => return Err(Failure::on_path(&input.path, error)),
                Err((path, _)) => outline.add_unreadable(&path),
            }
        }
        Ok(outline.show(input.limit.min(MAX_ENTRIES) as usize))
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "builds trees to show")]
mod tests {
    use std::fs;

    use super::*;

    fn tree(paths: &[&str], input: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        for path in paths {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "*.log\n").unwrap();
        }
        let root = dir.path().to_str().unwrap();
        call(&format!(r#"{{"path":"{root}"{input}}}"#)).unwrap().replace(root, ".")
    }

    fn check(paths: &[&str], input: &str, expected: &[&str]) {
        assert_eq!(tree(paths, input).lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn directories_come_first_and_ignored_files_are_left_out() {
        check(
            &["b.txt", "a/x/y/z", "a/w", "c.log", ".gitignore"],
            "",
            &[
                ".",
                "|-- a/",
                "|   |-- x/",
                "|   |   `-- y/",
                "|   `-- w",
                "`-- b.txt",
                "(3 directories, 2 files; deeper levels need a larger `depth`)",
            ],
        );
        check(&["a"], r#","depth":1"#, &[".", "`-- a", "(0 directories, 1 file)"]);
    }

    #[test]
    fn a_large_directory_does_not_crowd_out_the_others() {
        let many: Vec<String> = (0..30).map(|number| format!("big/{number:02}")).collect();
        let mut paths: Vec<&str> = many.iter().map(String::as_str).collect();
        paths.extend(["small/a", "small/b", "top"]);
        check(
            &paths,
            r#","limit":8"#,
            &[
                ".",
                "|-- big/",
                "|   |-- 00",
                "|   |-- 01",
                "|   |-- 02",
                "|   `-- … 27 more (0 directories, 27 files)",
                "|-- small/",
                "|   |-- a",
                "|   `-- b",
                "`-- top",
                "(2 directories, 33 files; 8 entries are shown, raise `limit` or give a `path` to see more)",
            ],
        );
        check(
            &paths,
            r#","limit":3"#,
            &[
                ".",
                "|-- big/ … (0 directories, 30 files)",
                "|-- small/ … (0 directories, 2 files)",
                "`-- top",
                "(2 directories, 33 files; 3 entries are shown, raise `limit` or give a `path` to see more)",
            ],
        );
    }

    #[test]
    fn input_that_makes_no_sense_is_refused() {
        for input in [r#"{"path":""}"#, r#"{"depth":0}"#, r#"{"limit":0}"#] {
            assert!(matches!(call(input), Err(Failure::InvalidInput(_))), "{input}");
        }
        assert!(matches!(call(r#"{"path":"/nowhere/at/all"}"#), Err(Failure::Failed(_))));
    }
}
