//! Quoting what files say, so that it can neither break the report's form nor reach the terminal.

use crate::visible::misleads;

/// The longest answer, in bytes.
const ANSWER: usize = 8 * 1024;

/// A text as inline code.
pub(super) fn code(text: &str) -> String {
    let text = shorten(text.trim(), 140);
    let fence = "`".repeat(longest_run(&text) + 1);
    if text.contains('`') { format!("{fence} {text} {fence}") } else { format!("`{text}`") }
}

/// A text as plain words in a sentence.
pub(super) fn words(text: &str) -> String {
    shorten(text.trim(), 300)
}

/// Some lines as a block of code.
pub(super) fn block<'a>(language: &str, lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<String> = lines.map(|line| shorten(line.trim_end(), 140)).collect();
    let inside = lines.iter().map(|line| longest_run(line)).max().unwrap_or(0);
    let fence = "`".repeat(inside.max(2) + 1);
    let language: String = language.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{fence}{language}\n{}\n{fence}\n", lines.join("\n"))
}

/// Joins sections into an answer that is not too long: a section that no longer fits is left out.
pub(super) fn answer(sections: Vec<String>, closing: &str) -> String {
    let mut text = String::new();
    for section in sections.iter().filter(|section| !section.trim().is_empty()) {
        if text.len() + section.len() + closing.len() + 2 > ANSWER {
            continue;
        }
        text.push_str(section.trim_end());
        text.push_str("\n\n");
    }
    text.push_str(closing);
    text
}

fn longest_run(line: &str) -> usize {
    line.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Without what misleads (a file may try to steer the terminal), tabs as blanks, cut at `limit`.
fn shorten(text: &str, limit: usize) -> String {
    let text = text.replace('\t', "    ");
    let mut characters = text.chars().filter(|c| !misleads(*c));
    let mut short: String = characters.by_ref().take(limit).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_stays_in_its_quotes() {
        assert_eq!(code(" let a = 1; "), "`let a = 1;`");
        assert_eq!(code("a `b` c"), "`` a `b` c ``");
        assert_eq!(code("\u{1b}[2Jred\u{202e}"), "`[2Jred`");
        assert_eq!(block("rs", ["a", "  ```", "b"].into_iter()), "````rs\na\n  ```\nb\n````\n");
    }

    #[test]
    fn an_answer_is_bounded_and_keeps_its_closing() {
        let sections = vec!["first".to_owned(), "x".repeat(ANSWER), "last".to_owned()];
        assert_eq!(answer(sections, "closing"), "first\n\nlast\n\nclosing");
    }
}
