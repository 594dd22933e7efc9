//! The answer to a question: the places to look at, what the files there say of themselves, and the
//! shape of the repository. Nothing is in it that no tool has shown.

use super::keywords::Keyword;
use super::markdown::{answer, block, code, words};
use super::paths;
use super::places::{Place, places};
use super::plan::{Tools, is_readme};
use super::rank::{self, Question};
use super::role::{Role, TESTS_START};
use super::seen::{Seen, Window};
use super::shape::shape;

/// How many places are listed, and how many of them are shown.
const LISTED: usize = 8;
const SHOWN: usize = 3;

/// How many lines an excerpt has, and how many of them may be above the place.
const EXCERPT: usize = 12;
const ABOVE: usize = 5;

/// Said at the end of every answer.
pub(super) const CLOSING: &str = "_This was `offline`: a fixed plan of searches, no language model. It searched and read; it \
judged, ran and changed nothing. To have a model answer, set `model = \"provider:model\"` in `config.toml`: `palisade \
doctor` shows where that file is, `palisade models` what can be set._\n";

/// What tasks begin with that ask for more than a place to look.
const DEEDS: &[&str] = &[
    "add",
    "build",
    "change",
    "check",
    "clean",
    "convert",
    "create",
    "debug",
    "delete",
    "design",
    "extend",
    "fix",
    "implement",
    "improve",
    "install",
    "make",
    "migrate",
    "move",
    "optimise",
    "optimize",
    "plan",
    "port",
    "refactor",
    "remove",
    "rename",
    "replace",
    "review",
    "rewrite",
    "run",
    "simplify",
    "split",
    "test",
    "update",
    "upgrade",
    "verify",
    "write",
];

pub(super) fn write(keywords: &[Keyword], tools: Tools<'_>, seen: &Seen) -> String {
    let question = Question::new(keywords, seen);
    let ranking = rank::files(&question, seen);
    let mut places = places(&question, &ranking, seen);
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
    let searched: Vec<String> = keywords.iter().map(|keyword| code(&keyword.said)).collect();
    let searched = searched.join(", ");
    let among = if seen.files.is_empty() { String::new() } else { format!(" in {}", seen.files_in_words()) };
    let what = match asks_for_deeds(&seen.task) {
        true => {
            "The task asks for work that takes a language model; none of it was done. This is an offline survey: places to look, not an interpretation."
        }
        false => "This is an offline survey without a language model: places to look, not an interpretation.",
    };
    if !tools.can_look() {
        format!(
            "I would look for {searched}, but this agent has no tool to search or list files with (`grep`, `glob`, `tree` or `ls`). {what}"
        )
    } else if found {
        format!("Looked for {searched}{among}. {what}")
    } else {
        format!(
            "Looked for {searched}{among} and found nothing. {what} Other words, or a name as it is written in the code, may do better."
        )
    }
}

/// Whether a task asks for something to be done, not to be found.
fn asks_for_deeds(task: &str) -> bool {
    let words = task.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    let polite = ["please", "can", "could", "you", "would", "now", "let", "us", "me"];
    words.take(6).find(|word| !polite.contains(&word.as_str())).is_some_and(|word| DEEDS.contains(&word.as_str()))
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
    let list = |words: &[String]| words.iter().map(|word| code(word)).collect::<Vec<_>>().join(", ");
    let found = list(&place.keywords);
    let kind = match (place.role, paths::kind(&place.path)) {
        _ if place.is_test => "test",
        (Role::Definition, _) => "definition",
        (Role::Subject | Role::Introduction, _) => "what the file is",
        (Role::Heading, _) => "heading",
        (Role::Documentation, _) => "documentation",
        (Role::Import, _) => "import",
        (Role::Mention, paths::Kind::Document) => "document",
        (Role::Mention, _) => "code",
    };
    let also = |what: &str, words: &[String]| match words {
        [] => String::new(),
        words => format!("; {what} {}", list(words)),
    };
    format!("{kind}: {found}{}{}", also("nearby", &place.near), also("file named after", &place.named))
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
        // What a file says of itself is quoted already.
        let is_quoted = place.role == Role::Introduction;
        if shown.len() == SHOWN || shown.contains(&place.path.as_str()) || is_quoted {
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
