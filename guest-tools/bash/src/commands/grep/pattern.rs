//! What `grep` looks for: a text, or an expression of those that mean the same here as there.

use std::ops::Range;

use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};

use crate::commands::{input::lines, options::Given};

/// Something to be found in a line.
pub(super) enum Pattern {
    Text(Box<Finder<'static>>),
    Expression(Regex),
}

impl Pattern {
    /// Reads a pattern; nothing if it means more than can be said here.
    pub(super) fn new(text: &str, given: &Given) -> Option<Self> {
        if text.contains('\n') {
            return None;
        }
        let kind = given.last_of("EFG").unwrap_or('G');
        let is_text = |letter: char| letter.is_alphanumeric() || " _:/,;=@%&\"'<>~#!-".contains(letter);
        let plain = !text.is_empty() && (kind == 'F' || text.chars().all(is_text));
        if plain && given.last_of("iwx").is_none() {
            return Some(Self::Text(Box::new(Finder::new(text.as_bytes()).into_owned())));
        }
        let expression = match kind {
            'F' => regex::escape(text),
            kind => Translation::new(text, kind == 'E').run()?,
        };
        let expression = match given.last_of("wx") {
            Some('x') => format!("^(?:{expression})$"),
            // A word may begin or end elsewhere if it does not at first: that takes more than one look.
            Some(_) if !plain => return None,
            Some(_) => format!(r"\b{{start-half}}(?:{expression})\b{{end-half}}"),
            None => expression,
        };
        let mut builder = RegexBuilder::new(&expression);
        builder.case_insensitive(given.has('i')).size_limit(1 << 20).dfa_size_limit(1 << 20);
        builder.build().ok().map(Self::Expression)
    }

    /// The regions of whole lines that are chosen, in order.
    pub(super) fn regions(&self, some: &[u8], inverted: bool) -> Vec<Range<usize>> {
        let mut matching = Vec::new();
        let mut at = 0;
        match self {
            Self::Text(finder) => {
                while let Some(place) = finder.find(&some[at..]).map(|place| at + place) {
                    let start = memchr::memrchr(b'\n', &some[at..place]).map_or(at, |end| at + end + 1);
                    at = memchr::memchr(b'\n', &some[place..]).map_or(some.len(), |end| place + end + 1);
                    matching.push(start..at);
                }
            }
            Self::Expression(expression) => {
                for line in lines(some, b'\n') {
                    let start = at;
                    at += line.len();
                    if expression.is_match(line.strip_suffix(b"\n").unwrap_or(line)) {
                        matching.push(start..at);
                    }
                }
            }
        }
        if !inverted {
            return matching;
        }
        let ends = std::iter::once(0).chain(matching.iter().map(|region| region.end));
        let starts = matching.iter().map(|region| region.start).chain([some.len()]);
        ends.zip(starts).filter(|(from, to)| from < to).map(|(from, to)| from..to).collect()
    }
}

/// An expression as it is written for `grep`, on its way to one that is written for Rust.
struct Translation<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    extended: bool,
    rust: String,
    /// Nothing that could be repeated comes before.
    at_start: bool,
    /// The last sign repeats already.
    repeats: bool,
    open: u32,
}

impl<'a> Translation<'a> {
    fn new(text: &'a str, extended: bool) -> Self {
        let rest = text.chars().peekable();
        Self { rest, extended, rust: String::new(), at_start: true, repeats: false, open: 0 }
    }

    fn run(mut self) -> Option<String> {
        while let Some(sign) = self.rest.next() {
            match sign {
                '\\' => self.escaped()?,
                '[' => self.bracket()?,
                '.' => self.atom("."),
                '*' if self.at_start && !self.extended => self.literal('*'),
                '*' => self.repeat("*")?,
                '^' if self.at_start || self.extended => self.anchor("^")?,
                '$' if self.extended || self.is_last() => self.anchor("$")?,
                '+' | '?' | '|' | '(' | ')' | '{' if self.extended => self.operator(sign)?,
                sign => self.literal(sign),
            }
        }
        (self.open == 0).then_some(self.rust)
    }

    fn escaped(&mut self) -> Option<()> {
        match self.rest.next()? {
            sign @ ('+' | '?' | '|' | '(' | ')' | '{') if !self.extended => self.operator(sign)?,
            sign @ ('w' | 'W' | 's' | 'S') => self.atom(&format!("\\{sign}")),
            'b' => self.anchor(r"\b")?,
            '<' => self.anchor(r"\b{start}")?,
            '>' => self.anchor(r"\b{end}")?,
            sign if sign.is_ascii_punctuation() => self.literal(sign),
            _ => return None,
        }
        Some(())
    }

    fn operator(&mut self, sign: char) -> Option<()> {
        match sign {
            '+' => self.repeat("+")?,
            '?' => self.repeat("?")?,
            '{' => {
                let interval = self.interval()?;
                self.repeat(&interval)?;
            }
            '|' => {
                self.rust.push('|');
                (self.at_start, self.repeats) = (true, false);
            }
            '(' => {
                self.rust += "(?:";
                self.open += 1;
                (self.at_start, self.repeats) = (true, false);
            }
            _ => {
                self.open = self.open.checked_sub(1)?;
                self.atom(")");
            }
        }
        Some(())
    }

    /// `{2,5}`, after its first sign; the other kind ends with `\}`.
    fn interval(&mut self) -> Option<String> {
        let mut inner = String::new();
        loop {
            match self.rest.next()? {
                sign @ ('0'..='9' | ',') if inner.len() < 8 => inner.push(sign),
                '}' if self.extended => break,
                '\\' if !self.extended && self.rest.next()? == '}' => break,
                _ => return None,
            }
        }
        let valid = inner.starts_with(|first: char| first.is_ascii_digit()) && inner.matches(',').count() < 2;
        valid.then(|| format!("{{{inner}}}"))
    }

    /// `[…]`, after its first sign.
    fn bracket(&mut self) -> Option<()> {
        let mut class = "[".to_owned();
        if self.rest.next_if_eq(&'^').is_some() {
            class.push('^');
        }
        let mut first = true;
        loop {
            match self.rest.next()? {
                ']' if !first => break,
                '[' if matches!(self.rest.peek(), Some('.' | '=')) => return None,
                '[' if self.rest.peek() == Some(&':') => class += named(&self.name()?)?,
                // A range, or itself where it is first or last.
                '-' if !first && self.rest.peek() != Some(&']') => class.push('-'),
                sign if sign.is_alphanumeric() || sign == ' ' => class.push(sign),
                sign if sign.is_ascii_punctuation() => class.extend(['\\', sign]),
                sign => class.push(sign),
            }
            first = false;
        }
        self.atom(&format!("{class}]"));
        Some(())
    }

    /// `:name:]`, after its `[`.
    fn name(&mut self) -> Option<String> {
        self.rest.next();
        let mut name = String::new();
        while let Some(letter) = self.rest.next_if(char::is_ascii_lowercase) {
            name.push(letter);
        }
        (self.rest.next()? == ':' && self.rest.next()? == ']').then_some(name)
    }

    fn is_last(&mut self) -> bool {
        let mut after = self.rest.clone();
        matches!((after.next(), after.next()), (None, _) | (Some('\\'), Some(')' | '|')))
    }

    fn literal(&mut self, sign: char) {
        self.atom(&regex::escape(sign.encode_utf8(&mut [0; 4])));
    }

    fn atom(&mut self, rust: &str) {
        self.rust += rust;
        (self.at_start, self.repeats) = (false, false);
    }

    /// After an anchor a sign that repeats would mean something else.
    fn anchor(&mut self, rust: &str) -> Option<()> {
        self.rust += rust;
        let next = self.rest.peek().copied();
        let repeated = matches!(next, Some('*')) || self.extended && matches!(next, Some('+' | '?' | '{'));
        (!repeated).then_some(())
    }

    fn repeat(&mut self, rust: &str) -> Option<()> {
        if self.at_start || std::mem::replace(&mut self.repeats, true) {
            return None;
        }
        self.rust += rust;
        Some(())
    }
}

/// A class by its name, as it is in a UTF-8 locale.
fn named(name: &str) -> Option<&'static str> {
    Some(match name {
        "alpha" => r"\p{Alphabetic}",
        "alnum" => r"\p{Alphabetic}\p{Decimal_Number}",
        "blank" => r" \t",
        "digit" => "0-9",
        "lower" => r"\p{Lowercase}",
        "space" => r"\s",
        "upper" => r"\p{Uppercase}",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}
