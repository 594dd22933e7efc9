//! The shape of a repository, as far as paths, sizes and imports tell: languages, entry points, tests,
//! the largest files, and those that others import most.

use std::collections::{BTreeMap, BTreeSet};

use super::markdown::code;
use super::paths;
use super::seen::{Line, Seen};

/// Lines that name other files.
pub(super) const IMPORTS: &str =
    r#"^\s*(?:(?:pub(?:\([a-z]+\))? )?use|import|from|#include|(?:const|let|var) .*require\()[ \t(]"#;

/// How many files are named of each kind.
const NAMED: usize = 5;

/// Languages, entry points and tests, as far as the paths tell.
pub(super) fn shape(seen: &Seen) -> String {
    [size(seen), languages(seen), entry_points(seen), tests(seen)].concat()
}

fn size(seen: &Seen) -> String {
    let lines: u64 = seen.sizes.iter().filter(|(path, _)| is_written(path)).map(|(_, lines)| lines).sum();
    let among = if seen.files_cut { " in those that were counted" } else { "" };
    if lines == 0 {
        String::new()
    } else {
        format!("- Size: {}, {lines} lines of text{among}\n", seen.files_in_words())
    }
}

fn languages(seen: &Seen) -> String {
    let lines_of = |language: &str| -> u64 {
        let is_of = |path: &str| is_written(path) && paths::language(path) == Some(language);
        seen.sizes.iter().filter(|(path, _)| is_of(path)).map(|(_, lines)| lines).sum()
    };
    let shown = |(language, files): &(&'static str, usize)| match lines_of(language) {
        0 => format!("{language} ({files})"),
        lines => format!("{language} ({files}; {lines} lines)"),
    };
    let languages = paths::languages(seen.files.iter().map(String::as_str));
    let languages: Vec<String> = languages.iter().take(6).map(shown).collect();
    let among = if seen.files_cut { " among the files listed" } else { "" };
    match languages.as_slice() {
        [] => String::new(),
        languages => format!("- Languages by number of files{among}: {}\n", languages.join(", ")),
    }
}

fn entry_points(seen: &Seen) -> String {
    let mut entries: Vec<&str> = seen.files.iter().map(String::as_str).filter(|path| paths::is_entry(path)).collect();
    entries.sort_by_key(|path| (path.matches('/').count(), *path));
    let shown: Vec<String> = entries.iter().take(NAMED).map(|path| code(&start(path, seen))).collect();
    let more = if entries.len() > NAMED { format!(" and {} more", entries.len() - NAMED) } else { String::new() };
    if entries.is_empty() { String::new() } else { format!("- Entry points: {}{more}\n", shown.join(", ")) }
}

/// A path with the line a program starts at, if that was seen.
fn start(path: &str, seen: &Seen) -> String {
    let starts = ["fn main(", "func main(", "int main(", "static void main", "if __name__ =="];
    let is_start = |text: &str| starts.iter().any(|start| text.contains(start)) && !text.trim_start().starts_with("//");
    let line = seen.lines.iter().find(|line| line.path == path && is_start(&line.text));
    line.map_or(path.to_owned(), |line| format!("{path}:{}", line.number))
}

fn tests(seen: &Seen) -> String {
    let tests: Vec<&String> = seen.files.iter().filter(|path| paths::kind(path) == paths::Kind::Test).collect();
    let mut places: Vec<String> = tests.iter().map(|path| test_place(path)).collect();
    places.sort();
    places.dedup();
    let shown: Vec<String> = places.iter().take(4).map(|place| code(place)).collect();
    let noun = if tests.len() == 1 { "file" } else { "files" };
    if tests.is_empty() { String::new() } else { format!("- Tests: {} {noun}, in {}\n", tests.len(), shown.join(", ")) }
}

/// The directory that holds tests, not the one inside it.
fn test_place(path: &str) -> String {
    let mut place = Vec::new();
    for part in paths::directory(path).split('/') {
        place.push(part);
        if matches!(part, "tests" | "test" | "__tests__" | "spec" | "specs" | "benches" | "e2e") {
            break;
        }
    }
    let place = place.join("/");
    if place.is_empty() { path.to_owned() } else { format!("{place}/") }
}

/// Where most of the code is, and what most of it leans on.
pub(super) fn hot_spots(seen: &Seen) -> String {
    let mut largest: Vec<(u64, &str)> =
        seen.sizes.iter().filter(|(path, _)| is_code(path)).map(|(path, lines)| (*lines, path.as_str())).collect();
    largest.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let largest: Vec<String> =
        largest.iter().take(NAMED).map(|(lines, path)| format!("{} ({lines} lines)", code(path))).collect();
    let mut text = String::new();
    if !largest.is_empty() {
        text.push_str(&format!("- Largest: {}\n", largest.join(", ")));
    }
    let imported = imported(seen);
    if !imported.is_empty() {
        text.push_str(&format!("- Imported most, by the lines looked at: {}\n", imported.join(", ")));
    }
    if text.is_empty() { text } else { format!("## Hot spots\n\n{text}") }
}

/// Files whose name is in the imports of most others. Files that share a name share the count.
fn imported(seen: &Seen) -> Vec<String> {
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in seen.files.iter().filter(|path| is_code(path)) {
        let (name, _) = paths::speaking_name(path);
        if name.len() > 2 && !matches!(name, "main" | "lib" | "index" | "mod" | "src") {
            files.entry(name).or_default().push(path);
        }
    }
    let mut importers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in seen.lines.iter().filter(|line| is_import(line)) {
        let names = line.text.split(|c: char| !c.is_alphanumeric() && c != '_');
        for name in names.filter(|name| files.get(name).is_some_and(|paths| !paths.contains(&line.path.as_str()))) {
            importers.entry(name).or_default().insert(&line.path);
        }
    }
    let mut ranked: Vec<(usize, &str)> = importers.iter().map(|(name, by)| (by.len(), *name)).collect();
    ranked.retain(|(count, _)| *count > 2);
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let shown = |(count, name): &(usize, &str)| {
        let paths: Vec<String> = files[name].iter().take(2).map(|path| code(path)).collect();
        let more = if files[name].len() > 2 { " and others" } else { "" };
        format!("{}{more} (by {count} files)", paths.join(" or "))
    };
    ranked.iter().take(NAMED).map(shown).collect()
}

/// Whether a line imports something that may be of this repository.
fn is_import(line: &Line) -> bool {
    let text = line.text.trim_start().trim_start_matches("pub ");
    let foreign = ["use std", "use core::", "use alloc::", "#include <"];
    ["use ", "import ", "from ", "#include", "const ", "let ", "var "].iter().any(|start| text.starts_with(start))
        && !foreign.iter().any(|start| text.starts_with(start))
}

fn is_written(path: &str) -> bool {
    paths::kind(path) != paths::Kind::Generated
}

fn is_code(path: &str) -> bool {
    paths::kind(path) == paths::Kind::Source
        && paths::language(path).is_some_and(|language| !matches!(language, "configuration" | "prose"))
}
