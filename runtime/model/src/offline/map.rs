//! Which calls map a repository: its files, then its README, its manifests, and where things say what
//! they are.

use serde_json::json;

use super::paths;
use super::plan::{Tools, Wanted, glob, is_readme, read};
use super::seen::Seen;

/// Files that say how a project is built.
pub(super) const MANIFESTS: &[&str] = &[
    "justfile",
    "Justfile",
    "Makefile",
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "go.mod",
    "CMakeLists.txt",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Gemfile",
    "composer.json",
    "mix.exs",
    "setup.py",
    "Package.swift",
    "build.zig",
];

/// Files in which a directory says what it is.
const SPEAKERS: &str =
    "**/{Cargo.toml,package.json,pyproject.toml,lib.rs,main.rs,__init__.py,doc.go,README.md,readme.md}";

/// How such a file begins to say it: a doc comment, a docstring, a description, a heading.
const SAYINGS: &str = r#"^(//!|"""|// Package |\s*"?description"?\s*[=:]|# )"#;

/// Where a program starts.
const STARTS: &str = r"^\s*(pub )?(async )?(fn main\(|func main\(|int main\(|public static void main)|^if __name__ ==";

/// Lines that are tests.
const TESTS: &str = r"#\[(tokio::)?test\]|^\s*(async )?def test_|^func Test|^\s*(it|test)\(|@Test\b";

/// The calls to make next for a map; none when it is time to answer.
pub(super) fn calls(tools: Tools<'_>, seen: &Seen) -> Vec<Wanted> {
    let stages = [list, look];
    stages
        .iter()
        .map(|stage| tools.possible(stage(tools, seen), seen))
        .find(|calls| !calls.is_empty())
        .unwrap_or_default()
}

fn list(tools: Tools<'_>, _: &Seen) -> Vec<Wanted> {
    if !tools.has("glob") {
        let tree = Wanted { tool: "tree", input: json!({"depth": 2}) };
        let ls = Wanted { tool: "ls", input: json!({}) };
        return vec![if tools.has("tree") { tree } else { ls }];
    }
    // The second list is short, so it is whole even where the first was cut.
    vec![glob("**/*", 5000), glob(&format!("**/{{README*,readme*,{}}}", MANIFESTS.join(",")), 300)]
}

fn look(_: Tools<'_>, seen: &Seen) -> Vec<Wanted> {
    if seen.files.is_empty() {
        // Without a list, the usual names are worth a try.
        return if seen.drawing.contains("README.md") { vec![read("README.md", 1, 40)] } else { Vec::new() };
    }
    let grep = |pattern: &str, mode: &str, glob: &str| {
        let input = json!({"pattern": pattern, "output_mode": mode, "glob": glob, "limit": 400});
        Wanted { tool: "grep", input }
    };
    let mut calls = vec![
        grep(SAYINGS, "content", SPEAKERS),
        grep(STARTS, "content", "**/*.{rs,go,py,c,cc,cpp,java}"),
        grep(TESTS, "count", "**/*.{rs,go,py,ts,tsx,js,java,kt}"),
    ];
    calls.extend(seen.files.iter().find(|path| is_readme(path)).map(|path| read(path, 1, 40)));
    calls.extend(manifests(seen).iter().take(5).map(|path| read(path, 1, 200)));
    calls
}

/// The manifests of the repository as a whole; where there are none at the top, those nearest to it.
pub(super) fn manifests(seen: &Seen) -> Vec<&str> {
    let mut found: Vec<(usize, usize, &str)> = seen
        .files
        .iter()
        .filter(|path| !matches!(paths::kind(path), paths::Kind::Generated | paths::Kind::Test))
        .filter_map(|path| {
            let rank = MANIFESTS.iter().position(|name| *name == paths::name(path))?;
            Some((path.matches('/').count(), rank, path.as_str()))
        })
        .collect();
    found.sort_unstable();
    let top = found.first().map_or(0, |(depth, ..)| *depth);
    found.iter().filter(|(depth, ..)| *depth == top).map(|(.., path)| *path).collect()
}
