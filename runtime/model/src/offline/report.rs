//! The answer to a question: the places to look at, what the files there say of themselves, and the
//! shape of the repository. Nothing is in it that no tool has shown.

use super::keywords::Keyword;
use super::markdown::{answer, block, code, words};
use super::paths;
use super::plan::{Tools, is_readme};
use super::rank::{self, Place};
use super::role::{Role, TESTS_START};
use super::seen::{Seen, Window};

/// How many places are listed, and how many of them are shown.
const LISTED: usize = 8;
const SHOWN: usize = 3;

/// How many lines an excerpt has, and how many of them may be above the place.
const EXCERPT: usize = 12;
const ABOVE: usize = 5;

/// Said at the end of every answer.
pub(super) const CLOSING: &str =
    "_An answer in prose needs a language model; connecting one is not in this version yet._\n";

pub(super) fn write(keywords: &[Keyword], tools: Tools<'_>, seen: &Seen) -> String {
    let ranking = rank::by_lines(keywords, seen);
    let mut places = rank::places(keywords, &ranking, seen);
    places.truncate(LISTED);
    let sections = vec![
        opening(keywords, tools, seen, !places.is_empty() || !ranking.is_empty()),
        most_relevant(&places),
        if places.is_empty() { named_files(&ranking) } else { String::new() },
        introductions(&ranking, seen),
        excerpts(&places, seen),
        repository(seen),
        failures(seen),
    ];
    answer(sections, CLOSING)
}

fn opening(keywords: &[Keyword], tools: Tools<'_>, seen: &Seen, found: bool) -> String {
    let searched: Vec<String> = keywords.iter().map(|keyword| code(&keyword.text)).collect();
    let searched = searched.join(", ");
    let among = match (seen.files.len(), seen.files_cut) {
        (0, _) => String::new(),
        (count, false) => format!(" in {count} files"),
        (count, true) => format!(" in more than {count} files"),
    };
    let what = "This is an offline survey without a language model: places to look, not an interpretation.";
    if !tools.has("grep") && !tools.has("glob") {
        format!("I would look for {searched}, but this agent has neither `grep` nor `glob`. {what}")
    } else if found {
        format!("Looked for {searched}{among}. {what}")
    } else {
        format!(
            "Looked for {searched}{among} and found nothing. {what} Other words, or a name as it is written in the code, may do better."
        )
    }
}

fn most_relevant(places: &[Place]) -> String {
    let mut text = String::from("## Most relevant places\n\n");
    for place in places {
        let at = code(&format!("{}:{}", place.path, place.number));
        text.push_str(&format!("- {at} — {} — {}\n", code(&place.text), reason(place)));
    }
    if places.is_empty() { String::new() } else { text }
}

fn reason(place: &Place) -> String {
    let found: Vec<String> = place.keywords.iter().map(|keyword| code(keyword)).collect();
    let found = found.join(", ");
    let kind = match (place.role, paths::kind(&place.path)) {
        (_, paths::Kind::Test) => "test",
        (Role::Definition, _) => "definition",
        (Role::Heading, _) => "heading",
        (Role::Documentation, _) => "documentation",
        (Role::Import, _) => "import",
        (Role::Mention, paths::Kind::Document) => "document",
        (Role::Mention, _) => "code",
    };
    format!("{kind}: {found}")
}

/// When no line was seen, for want of a tool, names are all there is.
fn named_files(ranking: &[rank::File]) -> String {
    let mut text = String::from("## Files that may matter\n\n");
    for file in ranking.iter().take(LISTED) {
        text.push_str(&format!("- {}\n", code(&file.path)));
    }
    if ranking.is_empty() { String::new() } else { text }
}

/// What the best files say of themselves at their top.
fn introductions(ranking: &[rank::File], seen: &Seen) -> String {
    let mut text = String::new();
    for file in ranking.iter().take(6) {
        if let Some((number, says)) = introduction(&file.path, seen) {
            text.push_str(&format!("- {} — {}\n", code(&format!("{}:{number}", file.path)), words(&says)));
        }
    }
    if text.is_empty() { text } else { format!("## What these files say of themselves\n\n{text}") }
}

/// The first paragraph of the comment, or of the document, that a file begins with.
pub(super) fn introduction(path: &str, seen: &Seen) -> Option<(usize, String)> {
    let window = seen
        .windows
        .iter()
        .find(|window| window.path == path && window.lines.first().is_some_and(|line| line.0 == 1))?;
    let is_prose = paths::kind(path) == paths::Kind::Document;
    let mut start = None;
    let mut says: Vec<&str> = Vec::new();
    for (number, line) in &window.lines {
        let line = line.trim();
        let said = if is_prose {
            Some(line).filter(|line| !line.starts_with(['#', '[', '!', '<', '=', '|', '-']))
        } else {
            comment(line)
        };
        match said {
            Some(said) if !said.is_empty() => {
                start.get_or_insert(*number);
                says.push(said);
            }
            _ if !says.is_empty() => break,
            // Only blank lines, attributes and opening marks may come before a file's own comment.
            None if !is_prose && !line.is_empty() && !line.starts_with("#!") && !line.starts_with('<') => return None,
            _ => {}
        }
    }
    let says = says.join(" ");
    let licence = ["copyright", "license", "licence", "spdx"].iter().any(|word| says.to_lowercase().contains(word));
    start.filter(|_| !licence && says.len() > 8).map(|start| (start, says))
}

/// What a comment line says without its marks.
fn comment(line: &str) -> Option<&str> {
    if line.starts_with("#[") || line.starts_with("#!") || line.starts_with("#include") {
        return None;
    }
    let marks = ["//!", "///", "//", "/**", "/*", "*/", "*", "\"\"\"", "'''", "#", "--", ";;", "<!--"];
    let rest = marks.iter().find_map(|mark| line.strip_prefix(mark))?;
    Some(
        rest.trim_start_matches(['#', ' '])
            .trim_end_matches("*/")
            .trim_end_matches("\"\"\"")
            .trim_end_matches("-->")
            .trim(),
    )
}

fn excerpts(places: &[Place], seen: &Seen) -> String {
    let mut text = String::new();
    let mut shown: Vec<&str> = Vec::new();
    for place in places {
        if shown.len() == SHOWN || shown.contains(&place.path.as_str()) {
            continue;
        }
        if let Some(excerpt) = seen.windows.iter().find_map(|window| excerpt(place, window)) {
            shown.push(&place.path);
            text.push_str(&excerpt);
        }
    }
    if text.is_empty() { text } else { format!("## Excerpts\n\n{text}") }
}

/// The lines around a place, from the top of the comment above it.
fn excerpt(place: &Place, window: &Window) -> Option<String> {
    let at =
        window.lines.iter().position(|(number, _)| *number == place.number).filter(|_| window.path == place.path)?;
    let is_lead = |line: &str| {
        let line = line.trim();
        line.starts_with("#[") || line.starts_with('@') || comment(line).is_some_and(|_| !line.starts_with("# "))
    };
    let start =
        (at.saturating_sub(ABOVE)..at).rev().take_while(|above| is_lead(&window.lines[*above].1)).last().unwrap_or(at);
    let end = (start + EXCERPT).min(window.lines.len());
    // The excerpt ends with its paragraph, if that is long enough to be understood.
    let is_end = |line: &usize| {
        let text = window.lines[*line].1.trim();
        text == TESTS_START || text.is_empty() && *line >= at + 4
    };
    let blank = (at + 1..end).find(is_end);
    let lines = &window.lines[start..blank.unwrap_or(end)];
    let (first, last) = (lines.first()?.0, lines.last()?.0);
    let language = paths::extension(&place.path).unwrap_or_default();
    let code = code(&format!("{}:{first}-{last}", place.path));
    Some(format!("{code}\n\n{}\n", block(language, lines.iter().map(|(_, text)| text.as_str()))))
}

/// The repository in a few lines.
fn repository(seen: &Seen) -> String {
    let mut text = String::new();
    if let Some((readme, (number, says))) =
        seen.files.iter().filter(|path| is_readme(path)).find_map(|path| Some((path, introduction(path, seen)?)))
    {
        text.push_str(&format!("- {} ({})\n", words(&says), code(&format!("{readme}:{number}"))));
    }
    text.push_str(&shape(seen));
    if text.is_empty() { text } else { format!("## The repository\n\n{text}") }
}

/// Languages, entry points and tests, as far as the paths tell.
pub(super) fn shape(seen: &Seen) -> String {
    let mut text = String::new();
    let languages: Vec<String> = paths::languages(seen.files.iter().map(String::as_str))
        .iter()
        .take(6)
        .map(|(language, count)| format!("{language} ({count})"))
        .collect();
    if !languages.is_empty() {
        let among = if seen.files_cut { " among the files listed" } else { "" };
        text.push_str(&format!("- Languages by number of files{among}: {}\n", languages.join(", ")));
    }
    let mut entries: Vec<&str> = seen.files.iter().map(String::as_str).filter(|path| paths::is_entry(path)).collect();
    entries.sort_by_key(|path| (path.matches('/').count(), *path));
    if !entries.is_empty() {
        let shown: Vec<String> = entries.iter().take(5).map(|path| code(&start(path, seen))).collect();
        let more = if entries.len() > 5 { format!(" and {} more", entries.len() - 5) } else { String::new() };
        text.push_str(&format!("- Entry points: {}{more}\n", shown.join(", ")));
    }
    let tests: Vec<&str> =
        seen.files.iter().map(String::as_str).filter(|path| paths::kind(path) == paths::Kind::Test).collect();
    if !tests.is_empty() {
        let mut places: Vec<String> = tests.iter().map(|path| test_place(path)).collect();
        places.sort();
        places.dedup();
        let shown: Vec<String> = places.iter().take(4).map(|place| code(place)).collect();
        text.push_str(&format!("- Tests: {} files, in {}\n", tests.len(), shown.join(", ")));
    }
    text
}

/// A path with the line a program starts at, if that was seen.
fn start(path: &str, seen: &Seen) -> String {
    let starts = ["fn main(", "func main(", "int main(", "static void main", "if __name__ =="];
    let is_start = |text: &str| starts.iter().any(|start| text.contains(start)) && !text.trim_start().starts_with("//");
    let line = seen.lines.iter().find(|line| line.path == path && is_start(&line.text));
    line.map_or(path.to_owned(), |line| format!("{path}:{}", line.number))
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

/// Calls that failed, so that a gap is not taken for an absence.
pub(super) fn failures(seen: &Seen) -> String {
    match seen.failures.as_slice() {
        [] => String::new(),
        [(tool, why), ..] => {
            format!(
                "{} of the calls failed, so something may be missing; the first was {}: {}",
                seen.failures.len(),
                code(tool),
                words(why)
            )
        }
    }
}
