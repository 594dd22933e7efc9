//! The map of a repository: what it says it is, what is where, how it is built and tested.

use std::collections::BTreeMap;

use super::map::{is_speaker, manifests, place};
use super::markdown::{answer, code, words};
use super::paths;
use super::plan::{Tools, is_readme};
use super::report::{CLOSING, failures, introduction};
use super::seen::{Seen, Window};
use super::shape::{hot_spots, shape};

pub(super) fn write(tools: Tools<'_>, seen: &Seen) -> String {
    let sections = vec![
        opening(tools, seen),
        about(seen),
        layout(seen),
        commands(seen),
        shape_section(seen),
        hot_spots(seen),
        recent(seen),
        failures(seen),
    ];
    answer(sections, CLOSING)
}

fn opening(tools: Tools<'_>, seen: &Seen) -> String {
    let what = "This is an offline survey without a language model: what is where, not what it means.";
    if !["glob", "tree", "ls"].iter().any(|tool| tools.has(tool)) {
        return format!(
            "This agent has no tool to list files with (`glob`, `tree` or `ls`), so there is no map. {what}"
        );
    }
    let count = match (seen.files.len(), seen.files_cut) {
        (0, _) if seen.directories.is_empty() => "There are no files here".to_owned(),
        (0, _) => "A map of this directory".to_owned(),
        _ => format!("A map of this repository of {}", seen.files_in_words()),
    };
    format!("{count}. {what}")
}

/// What the README says: its title and first paragraph.
fn about(seen: &Seen) -> String {
    let Some(window) = seen.windows.iter().find(|window| is_readme(&window.path)) else {
        return String::new();
    };
    let title = window.lines.iter().find(|(_, line)| line.starts_with("# "));
    let mut text = String::new();
    if let Some((number, title)) = title {
        let at = code(&format!("{}:{number}", window.path));
        text.push_str(&format!("## {} ({at})\n\n", words(title.trim_start_matches("# "))));
    }
    if let Some((number, says)) = introduction(&window.path, seen) {
        text.push_str(&format!("{} ({})\n", words(&says), code(&format!("{}:{number}", window.path))));
    }
    text
}

/// The directories at the top, and the parts inside them that say what they are.
fn layout(seen: &Seen) -> String {
    let sayings = sayings(seen);
    let mut tops: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in seen.files.iter().filter(|path| paths::kind(path) != paths::Kind::Generated) {
        if let Some((top, _)) = path.split_once('/') {
            tops.entry(top).or_default().push(path);
        }
    }
    let mut text = String::new();
    for (top, files) in tops.iter().take(14) {
        let language = paths::languages(files.iter().copied())
            .first()
            .map_or(String::new(), |(name, _)| format!(", mostly {name}"));
        let noun = if files.len() == 1 { "file" } else { "files" };
        let inside: Vec<_> = sayings.range(format!("{top}/")..format!("{top}0")).take(12).collect();
        let says = match sayings.get(*top) {
            Some(saying) => format!(": {saying}"),
            None if inside.is_empty() => format!(": {}", inner_names(top, files)),
            None => String::new(),
        };
        text.push_str(&format!("- {} — {} {noun}{language}{says}\n", code(&format!("{top}/")), files.len()));
        for (directory, saying) in inside {
            text.push_str(&format!("  - {} — {saying}\n", code(directory)));
        }
    }
    for directory in seen.directories.iter().take(40) {
        text.push_str(&format!("- {}\n", code(&format!("{directory}/"))));
    }
    if text.is_empty() { text } else { format!("## Layout\n\n{text}") }
}

/// What is directly inside a directory, for one that does not say what it is.
fn inner_names(top: &str, files: &[&str]) -> String {
    let inner = |path: &&str| {
        let rest = path.get(top.len() + 1..)?;
        Some(rest.split_once('/').map_or(rest.to_owned(), |(directory, _)| format!("{directory}/")))
    };
    let mut names: Vec<String> = files.iter().filter_map(inner).collect();
    names.sort();
    names.dedup();
    let shown: Vec<String> = names.iter().take(6).map(|name| code(name)).collect();
    let more = if names.len() > 6 { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// What each directory says it is, with the place where it says so. A description in a manifest is
/// better than the comment at the top of a file.
fn sayings(seen: &Seen) -> BTreeMap<String, String> {
    let mut sayings = BTreeMap::new();
    let mut take = |path: &str, number: usize, says: &str| {
        if !place(path).is_empty() && says.len() > 2 && paths::kind(path) != paths::Kind::Generated {
            let said = format!("{} ({})", words(first_sentence(says)), code(&format!("{path}:{number}")));
            sayings.entry(place(path).to_owned()).or_insert(said);
        }
    };
    for line in &seen.lines {
        if let Some(says) = description(&line.text) {
            take(&line.path, line.number, says);
        }
    }
    for window in seen.windows.iter().filter(|window| is_speaker(&window.path)) {
        if let Some((number, says)) = introduction(&window.path, seen) {
            take(&window.path, number, &says);
        }
    }
    sayings
}

/// The value of `description = "…"` or `"description": "…"`.
fn description(text: &str) -> Option<&str> {
    let value = text.trim().trim_start_matches('"').strip_prefix("description")?.trim_start_matches('"').trim_start();
    Some(value.strip_prefix(['=', ':'])?.trim().trim_end_matches(',').trim_matches('"'))
}

fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

/// How the project is built and tested, as its manifests say.
fn commands(seen: &Seen) -> String {
    let mut text = String::new();
    for path in manifests(seen) {
        let Some(window) = seen.windows.iter().find(|window| window.path == path) else { continue };
        let (how, found) = match paths::name(path) {
            "justfile" | "Justfile" => ("just ", targets(window)),
            "Makefile" => ("make ", targets(window)),
            "package.json" => ("npm run ", scripts(window)),
            _ => ("", Vec::new()),
        };
        if found.is_empty() {
            text.push_str(&convention(window));
        } else {
            let shown: Vec<String> = found
                .iter()
                .take(14)
                .map(|(number, name)| format!("{} (:{number})", code(&format!("{how}{name}"))))
                .collect();
            text.push_str(&format!("- {}: {}\n", code(path), shown.join(", ")));
        }
    }
    if text.is_empty() { text } else { format!("## Build and test\n\n{text}") }
}

/// The recipes of a justfile or the targets of a Makefile.
fn targets(window: &Window) -> Vec<(usize, String)> {
    let target = |(number, line): &(usize, String)| {
        let (head, rest) = line.split_once(':')?;
        let name = head.split_whitespace().next()?.trim_start_matches('@');
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        let is_target =
            !line.starts_with([' ', '\t', '#', '.']) && !rest.starts_with('=') && !head.contains(['=', '"', '\'']);
        (is_name && is_target && !matches!(name, "set" | "export" | "alias")).then(|| (*number, name.to_owned()))
    };
    let mut found: Vec<(usize, String)> = window.lines.iter().filter_map(target).collect();
    found.dedup_by(|a, b| a.1 == b.1);
    found
}

/// The scripts of a package.json, found line by line so that each has its place.
fn scripts(window: &Window) -> Vec<(usize, String)> {
    let inside = window.lines.iter().skip_while(|(_, line)| !line.contains("\"scripts\"")).skip(1);
    inside
        .take_while(|(_, line)| !line.contains('}'))
        .filter_map(|(number, line)| Some((*number, line.trim().strip_prefix('"')?.split_once('"')?.0.to_owned())))
        .collect()
}

/// What is usual for a manifest that names no commands of its own.
fn convention(window: &Window) -> String {
    let (build, test) = match paths::name(&window.path) {
        "Cargo.toml" => ("cargo build", "cargo test"),
        "go.mod" => ("go build ./...", "go test ./..."),
        "pyproject.toml" | "setup.py" => ("pip install -e .", "python -m pytest"),
        "pom.xml" => ("mvn package", "mvn test"),
        "build.gradle" | "build.gradle.kts" => ("gradle build", "gradle test"),
        "mix.exs" => ("mix compile", "mix test"),
        "CMakeLists.txt" => ("cmake -B build", "ctest --test-dir build"),
        "Package.swift" => ("swift build", "swift test"),
        "build.zig" => ("zig build", "zig build test"),
        _ => return format!("- {}\n", code(&window.path)),
    };
    let members = window.lines.iter().find(|(_, line)| line.trim_start().starts_with("members"));
    let members = members.map_or(String::new(), |(number, line)| {
        format!("; {} ({})", code(line), code(&format!("{}:{number}", window.path)))
    });
    format!("- {}: by convention {} and {}{members}\n", code(&window.path), code(build), code(test))
}

/// Languages, where programs start, where tests are.
fn shape_section(seen: &Seen) -> String {
    let mut text = shape(seen);
    let mut tests: Vec<(u64, &str)> = seen.counts.iter().map(|count| (count.count, count.path.as_str())).collect();
    tests.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    if let Some((most, path)) = tests.first() {
        let all: u64 = tests.iter().map(|(count, _)| count).sum();
        text.push_str(&format!(
            "- About {all} test functions in {} files, most in {} ({most})\n",
            tests.len(),
            code(path)
        ));
    }
    if text.is_empty() { text } else { format!("## Shape\n\n{text}") }
}

/// The files that changed last: `glob` lists the newest first.
fn recent(seen: &Seen) -> String {
    let written = |path: &&String| {
        !path.starts_with('.') && !matches!(paths::kind(path), paths::Kind::Generated | paths::Kind::Record)
    };
    let recent: Vec<String> = seen.files.iter().filter(written).take(6).map(|path| code(path)).collect();
    if recent.len() < 2 { String::new() } else { format!("## Changed last\n\n{}\n", recent.join(", ")) }
}
