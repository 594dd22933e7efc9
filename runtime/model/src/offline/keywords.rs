//! What to look for: the words of a question that are worth a search.

use std::collections::HashMap;

use super::forms::{alternatives, stem};
use super::matching;
use super::paths;
use super::stop_words::{is_soft, is_stop};

/// How many keywords are searched for; each costs a call.
const MOST: usize = 8;

/// The longest keyword; more than this is no name and no phrase.
const LONGEST: usize = 80;

/// Something to look for, without regard to case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keyword {
    /// Lower case; a word without its ending.
    pub(super) text: String,
    /// The same as it was said, for people.
    pub(super) said: String,
    pub(super) kind: Kind,
    /// Other ways to say it, each worth less than the word itself.
    pub(super) also: Vec<String>,
    /// Which word of the question it is: neighbours there are neighbours in what answers it.
    pub(super) at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A quoted phrase, an identifier or a path: looked for as it was written, and worth more.
    Exact,
    /// Two words with a hyphen: `read-only` is also `read_only`, `read only` and `readonly`.
    Joined,
    /// A word of the question or a part of an identifier.
    Word,
}

/// What to give to `grep`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pattern {
    /// Found as it is, whatever its case.
    Text(String),
    Expression(String),
}

impl Pattern {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Text(text) | Self::Expression(text) => text,
        }
    }
}

impl Keyword {
    fn new(text: String, said: &str, kind: Kind, at: usize) -> Self {
        let also = match kind {
            Kind::Exact => Vec::new(),
            Kind::Joined => ["_", " ", ""].map(|joint| text.replace('-', joint)).to_vec(),
            Kind::Word => alternatives(&text),
        };
        Self { text, said: said.to_owned(), kind, also, at }
    }

    /// How well a text says this: 1 by the keyword itself, less by another word for it, 0 not at all.
    pub(super) fn strength(&self, text: &str) -> f64 {
        if self.is_in(text) {
            1.0
        } else if self.also.iter().any(|other| matching::contains(text, other)) {
            self.alternative_strength()
        } else {
            0.0
        }
    }

    /// Whether a text says this in just these words.
    pub(super) fn is_in(&self, text: &str) -> bool {
        match self.kind {
            Kind::Exact | Kind::Joined => matching::contains_as_written(text, &self.text),
            Kind::Word => matching::contains(text, &self.text),
        }
    }

    /// What `grep` finds it with: as plain text, or as a regular expression.
    pub(super) fn pattern(&self) -> Pattern {
        match self.kind {
            Kind::Exact | Kind::Joined => Pattern::Text(self.text.clone()),
            Kind::Word if matching::is_long(&self.text) => Pattern::Text(self.text.clone()),
            Kind::Word => Pattern::Expression(matching::pattern(&self.text)),
        }
    }

    /// What `grep` finds the other ways to say it with.
    pub(super) fn alternatives(&self) -> Option<Pattern> {
        let also: Vec<String> = self.also.iter().map(|word| matching::pattern(word)).collect();
        (!also.is_empty()).then(|| Pattern::Expression(also.join("|")))
    }

    /// What another way to say it is worth.
    pub(super) fn alternative_strength(&self) -> f64 {
        if self.kind == Kind::Joined { 1.0 } else { 0.5 }
    }
}

/// Finds the keywords of a question: exact ones first, then words in the order they were written. Of a
/// text with too many, those that are said most often.
pub(super) fn keywords(question: &str) -> Vec<Keyword> {
    let (quoted, rest) = split_quoted(question);
    let mut found = Found::default();
    let mut before_was_kept = false;
    for (at, token) in rest.split_whitespace().map(trim).enumerate() {
        if is_code(token) {
            let name = token.trim_end_matches("()");
            // Where it is defined, `Type::method` is just `method`.
            if let Some((_, last)) = name.rsplit_once("::").filter(|(_, last)| last.len() > 2) {
                found.exact(last, at);
            }
            found.exact(name, at);
        } else if is_joined(token) {
            found.take(Keyword::new(token.to_lowercase(), token, Kind::Joined, at));
        }
        // Of a path, the name says what it is about; directories and extensions are everywhere.
        let is_path = token.contains('/') || paths::language(token).is_some();
        for word in parts(if is_path { paths::stem(token) } else { token }) {
            before_was_kept = found.word(&word, before_was_kept, at);
        }
    }
    for phrase in &quoted {
        found.exact(phrase, usize::MAX / 2);
        for (at, word) in parts(phrase).iter().enumerate() {
            found.word(word, true, usize::MAX / 2 + at);
        }
    }
    found.best()
}

/// Candidates and how often each was said.
#[derive(Default)]
struct Found {
    keywords: Vec<(Keyword, usize)>,
    /// Where a text is among the keywords.
    places: HashMap<String, usize>,
}

impl Found {
    fn exact(&mut self, text: &str, at: usize) {
        self.take(Keyword::new(text.to_lowercase(), text, Kind::Exact, at));
    }

    /// Takes a word unless it says nothing; tells whether it was taken.
    fn word(&mut self, word: &str, before_was_kept: bool, at: usize) -> bool {
        let text = stem(word);
        // `exit code` is about codes, `the code that …` is not.
        let is_stop = is_stop(word) || is_stop(&text) || is_soft(word) && !before_was_kept;
        if !is_stop {
            self.take(Keyword::new(text, word, Kind::Word, at));
        }
        !is_stop
    }

    fn take(&mut self, keyword: Keyword) {
        if keyword.text.is_empty() || keyword.text.len() > LONGEST {
            return;
        }
        if let Some(place) = self.places.get(&keyword.text) {
            self.keywords[*place].1 += 1;
        } else {
            self.places.insert(keyword.text.clone(), self.keywords.len());
            self.keywords.push((keyword, 1));
        }
    }

    fn best(mut self) -> Vec<Keyword> {
        if self.keywords.len() > MOST {
            // Stable: among those said equally often, the first ones stay.
            self.keywords.sort_by_key(|(keyword, count)| (keyword.kind == Kind::Word, usize::MAX - count));
            self.keywords.truncate(MOST);
        }
        self.keywords.sort_by_key(|(keyword, _)| (keyword.kind == Kind::Word, keyword.at));
        self.keywords.into_iter().map(|(keyword, _)| keyword).collect()
    }
}

/// Takes the quoted phrases out of a question. A quote that is never closed is not one.
fn split_quoted(question: &str) -> (Vec<String>, String) {
    let (mut quoted, mut rest, mut text) = (Vec::new(), String::new(), question);
    while let Some(open) = text.find(['"', '`', '“']) {
        let mark = text[open..].chars().next().unwrap_or('"');
        let inside = &text[open + mark.len_utf8()..];
        let close = if mark == '“' { '”' } else { mark };
        let Some(end) = inside.find(close) else { break };
        let phrase = inside[..end].trim();
        if (2..=LONGEST).contains(&phrase.chars().count()) && !phrase.contains('\n') {
            quoted.push(phrase.to_owned());
        }
        rest.push_str(&text[..open]);
        rest.push(' ');
        text = &inside[end + close.len_utf8()..];
    }
    rest.push_str(text);
    (quoted, rest)
}

fn trim(token: &str) -> &str {
    let token = token.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.' | '/'));
    let token = token.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ')' | '('));
    // `call()` is code; `(call)` is not.
    if token.ends_with("()") { token } else { token.trim_end_matches(['(', ')', '.', ',', '?', '!', ';', ':']) }
}

/// Whether a token looks like an identifier, a path or a file name rather than a word.
fn is_code(token: &str) -> bool {
    let characters: Vec<char> = token.chars().collect();
    let humps = characters.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    let joints = characters.windows(3).any(|three| {
        matches!(three[1], '.' | '/' | '_') && three[2].is_alphanumeric()
            || three[0].is_alphanumeric() && three[1] == ':' && three[2] == ':'
    });
    token.len() >= 3 && (humps || joints || token.ends_with("()") || token.starts_with('.'))
}

fn is_joined(token: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphabetic());
    token.split_once('-').is_some_and(|(first, second)| is_part(first) && is_part(second))
}

/// The words inside a token: `ToolCall`, `tool_call` and `tool-call` are `tool` and `call`.
fn parts(token: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for character in token.chars() {
        let hump = before.is_lowercase() && character.is_uppercase();
        if hump || !character.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
        before = character;
    }
    words.retain(|word| word.chars().count() >= 2);
    words
}

#[cfg(test)]
mod tests;
