//! What went wrong with a program, in words that mislead no terminal.

use palisade_agent::ProviderFailure;

use crate::{dialect::Fault, visible::misleads};

/// The longest piece of a program's own words in a message of ours, in characters.
const QUOTE: usize = 400;

pub(super) fn fault(kind: ProviderFailure, message: impl Into<String>) -> Fault {
    Fault { kind, message: message.into() }
}

pub(super) fn malformed(message: impl Into<String>) -> Fault {
    fault(ProviderFailure::Malformed, message)
}

/// A failure that the program tells of, with the status its own provider answered with, if it says that.
pub(super) fn told(message: &str, status: Option<u64>) -> Fault {
    let kind = status.map_or_else(|| kind_of_words(message), kind_of_status);
    fault(kind, format!("it failed: {}", tail(message)))
}

fn kind_of_status(status: u64) -> ProviderFailure {
    match status {
        401 | 403 => ProviderFailure::Unauthorized,
        413 => ProviderFailure::TooLong,
        429 => ProviderFailure::RateLimited,
        408 | 504 => ProviderFailure::TimedOut,
        400..500 => ProviderFailure::Rejected,
        _ => ProviderFailure::Broken,
    }
}

/// Programs pass on what their provider said, and some say nothing else about the kind of failure.
fn kind_of_words(message: &str) -> ProviderFailure {
    let message = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if says(&["rate_limit", "rate limit", "429", "usage limit", "overloaded"]) {
        ProviderFailure::RateLimited
    } else if says(&["unauthorized", "401", "403", "authentication", "api key", "api_key", "log in", "login"]) {
        ProviderFailure::Unauthorized
    } else if says(&["context_length", "context length", "context window", "too long"]) {
        ProviderFailure::TooLong
    } else {
        ProviderFailure::Broken
    }
}

/// The beginning of a text, on one line.
pub(super) fn head(text: &str) -> String {
    let mut line: String = neutral(text.trim()).chars().take(QUOTE + 1).collect();
    if line.chars().count() > QUOTE {
        line.pop();
        line.push('…');
    }
    line
}

/// The end of a text, on one line: what a program says last is why it ended.
pub(super) fn tail(text: &str) -> String {
    let line = neutral(text.trim());
    match line.char_indices().nth_back(QUOTE) {
        Some((at, _)) => format!("…{}", line[at..].chars().skip(1).collect::<String>()),
        None => line,
    }
}

/// A text on one line, with all that misleads shown.
fn neutral(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => line.push_str(" | "),
            '\t' | '\r' => line.push(' '),
            _ if misleads(character) => line.extend(character.escape_unicode()),
            _ => line.push(character),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_short_and_harmless() {
        assert_eq!(head(" a\u{1b}[2Jb\nc\u{202e} "), "a\\u{1b}[2Jb | c\\u{202e}");
        let long: String = (0..2000).map(|number| format!("{number} ")).collect();
        assert!(head(&long).starts_with("0 1 2 ") && head(&long).ends_with('…'));
        assert!(tail(&long).ends_with(" 1999") && tail(&long).starts_with('…'));
        assert_eq!((head(&long).chars().count(), tail(&long).chars().count()), (QUOTE + 1, QUOTE + 1));
        assert_eq!((head("short"), tail("short")), ("short".to_owned(), "short".to_owned()));
    }

    #[test]
    fn failures_are_told_apart() {
        let kind = |message: &str, status| told(message, status).kind;
        assert_eq!(kind("x", Some(429)), ProviderFailure::RateLimited);
        assert_eq!(kind("x", Some(400)), ProviderFailure::Rejected);
        assert_eq!(kind("x", Some(529)), ProviderFailure::Broken);
        assert_eq!(kind("400: {\"type\":\"rate_limit_error\"}", None), ProviderFailure::RateLimited);
        assert_eq!(kind("401 Unauthorized", None), ProviderFailure::Unauthorized);
        assert_eq!(kind("input exceeds the context window", None), ProviderFailure::TooLong);
        assert_eq!(kind("fire", None), ProviderFailure::Broken);
    }
}
