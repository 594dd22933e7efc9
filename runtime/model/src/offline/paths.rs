//! What a path tells about a file before it is opened.

/// What kind of file a path seems to be, by how much a reader wants to be sent there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Source,
    Document,
    /// Shows how something is used.
    Example,
    Test,
    /// What tests are made from: it names much and explains nothing.
    Fixture,
    /// Lists of changes, licences: they name everything and explain nothing.
    Record,
    /// Written by a program or brought from elsewhere.
    Generated,
}

impl Kind {
    /// How much what is found there is worth.
    pub(super) fn weight(self) -> f64 {
        match self {
            Self::Source => 1.0,
            Self::Document => 0.8,
            Self::Example => 0.5,
            Self::Test => 0.35,
            Self::Fixture => 0.2,
            Self::Record => 0.2,
            Self::Generated => 0.05,
        }
    }
}

pub(super) fn kind(path: &str) -> Kind {
    let lower = path.to_lowercase();
    let name = name(&lower);
    let directories: Vec<&str> = lower.split('/').rev().skip(1).collect();
    let is_under = |names: &[&str]| directories.iter().any(|directory| names.contains(directory));
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));

    if is_under(&[
        "target",
        "node_modules",
        "vendor",
        "third_party",
        "dist",
        ".git",
        "__pycache__",
        "generated",
        "venv",
    ]) || ends(&[
        ".lock",
        ".min.js",
        ".min.css",
        ".map",
        ".pb.go",
        "_pb2.py",
        "-lock.json",
        "-lock.yaml",
        ".sum",
        ".svg",
    ]) || name.contains(".generated.")
    {
        Kind::Generated
    } else if ["changelog", "changes", "history", "license", "licence", "copying", "notice"]
        .iter()
        .any(|s| stem(name) == *s)
        || name.starts_with("license")
    {
        Kind::Record
    } else if is_under(&["tests", "test", "__tests__", "spec", "specs", "testdata", "fixtures", "benches", "e2e"])
        || ends(&[
            "_test.go",
            "_test.py",
            "_test.rs",
            ".test.ts",
            ".test.tsx",
            ".test.js",
            ".spec.ts",
            ".spec.js",
            "_spec.rb",
            "test.java",
        ])
        || name.starts_with("test_")
        || matches!(stem(name), "tests" | "test" | "conftest")
    {
        if is_data(name) { Kind::Fixture } else { Kind::Test }
    } else if is_under(&["examples", "example", "samples", "demo", "demos"]) {
        Kind::Example
    } else if matches!(extension(name), Some("md" | "rst" | "txt" | "adoc" | "org")) || is_under(&["docs", "doc"]) {
        Kind::Document
    } else {
        Kind::Source
    }
}

/// Whether a file holds neither code nor prose.
fn is_data(name: &str) -> bool {
    !matches!(extension(name), Some("md" | "rst" | "adoc"))
        && language(name).is_none_or(|language| language == "configuration")
}

/// What a file calls itself, and the directories it is in: a file such as `mod.rs` is called by its directory.
pub(super) fn speaking_name(path: &str) -> (&str, &str) {
    let (own, above) = (stem(path), directory(path));
    if !matches!(own, "mod" | "lib" | "main" | "index" | "__init__" | "__main__") {
        return (own, above);
    }
    let above = above.strip_suffix("src").unwrap_or(above).trim_end_matches('/');
    match above.rsplit_once('/') {
        Some((rest, last)) => (last, rest),
        None if above.is_empty() => (own, ""),
        None => (above, ""),
    }
}

pub(super) fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

pub(super) fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

pub(super) fn stem(path: &str) -> &str {
    let name = name(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
}

pub(super) fn extension(path: &str) -> Option<&str> {
    name(path).rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension)
}

/// The language a file is written in, when its extension says so.
pub(super) fn language(path: &str) -> Option<&'static str> {
    Some(match extension(path)? {
        "rs" => "Rust",
        "py" | "pyi" => "Python",
        "ts" | "tsx" | "mts" => "TypeScript",
        "js" | "jsx" | "mjs" | "cjs" => "JavaScript",
        "go" => "Go",
        "java" => "Java",
        "kt" | "kts" => "Kotlin",
        "c" | "h" => "C",
        "cc" | "cpp" | "cxx" | "hpp" | "hh" => "C++",
        "cs" => "C#",
        "rb" => "Ruby",
        "php" => "PHP",
        "swift" => "Swift",
        "scala" => "Scala",
        "ex" | "exs" => "Elixir",
        "hs" => "Haskell",
        "ml" | "mli" => "OCaml",
        "zig" => "Zig",
        "lua" => "Lua",
        "sh" | "bash" => "shell",
        "sql" => "SQL",
        "wit" => "WIT",
        "wat" => "WebAssembly text",
        "proto" => "Protocol Buffers",
        "html" | "htm" => "HTML",
        "css" | "scss" => "CSS",
        "vue" => "Vue",
        "svelte" => "Svelte",
        "md" | "rst" | "adoc" => "prose",
        "json" | "yaml" | "yml" | "toml" => "configuration",
        _ => return None,
    })
}

/// Whether a program seems to start in this file.
pub(super) fn is_entry(path: &str) -> bool {
    let directories: Vec<&str> = directory(path).split('/').collect();
    let top = directories.first().copied().unwrap_or_default();
    let is_main = matches!(
        name(path),
        "main.rs"
            | "main.py"
            | "__main__.py"
            | "main.go"
            | "main.c"
            | "main.cpp"
            | "main.ts"
            | "main.js"
            | "Main.java"
            | "manage.py"
    );
    let is_index = matches!(name(path), "index.ts" | "index.js" | "app.py" | "server.js" | "server.ts" | "cli.py")
        && (top.is_empty() || top == "src")
        && directories.len() == 1;
    let is_binary =
        directories.last() == Some(&"bin") && language(path).is_some_and(|language| language != "configuration");
    (is_main || is_index || is_binary) && matches!(kind(path), Kind::Source)
}

/// The languages of some files, the commonest first; prose and configuration last.
pub(super) fn languages<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<(&'static str, usize)> {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for language in paths.filter(|path| kind(path) != Kind::Generated).filter_map(language) {
        match counts.iter_mut().find(|(other, _)| *other == language) {
            Some((_, count)) => *count += 1,
            None => counts.push((language, 1)),
        }
    }
    let is_code = |language: &str| !matches!(language, "prose" | "configuration");
    counts.sort_by(|a, b| (!is_code(a.0), b.1, a.0).cmp(&(!is_code(b.0), a.1, b.0)));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_from_paths() {
        let check = |path: &str, expected: Kind| assert_eq!(kind(path), expected, "{path}");
        check("src/sandbox.rs", Kind::Source);
        check("docs/design.html", Kind::Document);
        check("README.md", Kind::Document);
        check("examples/hello.rs", Kind::Example);
        check("src/run/tests.rs", Kind::Test);
        check("tests/cases/one.json", Kind::Fixture);
        check("pkg/a_test.go", Kind::Test);
        check("tests/suite/run.rs", Kind::Test);
        check("CHANGELOG.md", Kind::Record);
        check("LICENSE-APACHE", Kind::Record);
        check("Cargo.lock", Kind::Generated);
        check("web/node_modules/x/index.js", Kind::Generated);
        check("", Kind::Source);
    }

    #[test]
    fn programs_start_in_main_files_and_binaries() {
        let entries = [
            "src/main.rs",
            "cmd/x/main.go",
            "src/bin/tool.rs",
            "index.js",
            "tests/main.rs",
            "web/deep/index.ts",
            "a.rs",
        ];
        let found: Vec<&str> = entries.into_iter().filter(|path| is_entry(path)).collect();
        assert_eq!(found, ["src/main.rs", "cmd/x/main.go", "src/bin/tool.rs", "index.js"]);
    }

    #[test]
    fn code_is_counted_before_prose() {
        let paths = ["a.md", "b.md", "c.md", "d.rs", "e.go", "f.go", "x", "target/z.rs"];
        assert_eq!(languages(paths.into_iter()), [("Go", 2), ("Rust", 1), ("prose", 3)]);
    }
}
