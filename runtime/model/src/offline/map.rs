//! Which calls map a repository: its files, then its README, its manifests, and where things say what
//! they are.

use serde_json::json;

use super::paths;
use super::plan::{self, Tools, Wanted, glob, is_readme, read};
use super::seen::Seen;
use super::shape::IMPORTS;

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
const SPEAKERS: &[&str] =
    &["lib.rs", "main.rs", "mod.rs", "__init__.py", "doc.go", "README.md", "readme.md", "index.ts", "index.js"];

/// How many of them are opened; each costs a call, so that this takes two steps at most.
const OPENED: usize = 24;

/// Where a manifest says what its package is.
const DESCRIPTIONS: &str = r#"^\s*"?description"?\s*[=:]"#;

/// Where a program starts.
const STARTS: &str = r"^\s*(pub )?(async )?(fn main\(|func main\(|int main\(|public static void main)|^if __name__ ==";

/// Lines that are tests.
const TESTS: &str = r"#\[(tokio::)?test\]|^\s*(async )?def test_|^func Test|^\s*(it|test)\(|@Test\b";

/// The calls to make next for a map; none when it is time to answer.
pub(super) fn calls(tools: Tools<'_>, seen: &Seen) -> Vec<Wanted> {
    let stages = [list, look, listen];
    stages
        .iter()
        .map(|stage| tools.possible(stage(tools, seen), seen))
        .find(|calls| !calls.is_empty())
        .unwrap_or_default()
}

fn list(tools: Tools<'_>, _: &Seen) -> Vec<Wanted> {
    let mut calls = plan::list(tools);
    // The second list is short, so it is whole even where the first was cut.
    calls.push(glob(&format!("**/{{README*,readme*,{}}}", MANIFESTS.join(",")), 300));
    calls.push(plan::sizes());
    calls
}

fn look(_: Tools<'_>, seen: &Seen) -> Vec<Wanted> {
    if seen.files.is_empty() {
        return Vec::new();
    }
    let grep = |pattern: &str, mode: &str, glob: &str| {
        let input = json!({"pattern": pattern, "output_mode": mode, "glob": glob, "limit": 800});
        Wanted { tool: "grep", input }
    };
    let mut calls = vec![
        grep(DESCRIPTIONS, "content", "**/{Cargo.toml,package.json,pyproject.toml}"),
        grep(STARTS, "content", "**/*.{rs,go,py,c,cc,cpp,java}"),
        grep(TESTS, "count", "**/*.{rs,go,py,ts,tsx,js,java,kt}"),
        grep(IMPORTS, "content", "**/*.{rs,py,ts,tsx,js,c,cc,cpp,h,hpp,java,kt,swift}"),
    ];
    calls.extend(seen.files.iter().find(|path| is_readme(path)).map(|path| read(path, 1, 40)));
    calls.extend(manifests(seen).iter().take(5).map(|path| read(path, 1, 200)));
    calls
}

/// The top of the files that speak for their directories, the outermost first.
fn listen(_: Tools<'_>, seen: &Seen) -> Vec<Wanted> {
    let described = |directory: &str| {
        seen.lines.iter().any(|line| paths::directory(&line.path) == directory && line.text.contains("description"))
    };
    let mut speakers: Vec<(usize, usize, &str)> = seen
        .files
        .iter()
        .filter(|path| matches!(paths::kind(path), paths::Kind::Source | paths::Kind::Document))
        .filter(|path| !place(path).is_empty() && !described(place(path)))
        .filter_map(|path| {
            let rank = SPEAKERS.iter().position(|name| *name == paths::name(path))?;
            Some((place(path).matches('/').count(), rank, path.as_str()))
        })
        .collect();
    speakers.sort_unstable();
    let mut places: Vec<&str> = Vec::new();
    speakers.retain(|(.., path)| {
        !places.contains(&place(path)) && {
            places.push(place(path));
            true
        }
    });
    speakers.iter().take(OPENED).map(|(.., path)| read(path, 1, 12)).collect()
}

/// Whether a file speaks for its directory.
pub(super) fn is_speaker(path: &str) -> bool {
    SPEAKERS.contains(&paths::name(path))
}

/// The directory a file speaks for.
pub(super) fn place(path: &str) -> &str {
    let directory = paths::directory(path);
    let place = directory.strip_suffix("/src").unwrap_or(directory);
    if place == "src" { "" } else { place }
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
