//! What a `Bash(…)` rule says about one command.

use crate::{
    pattern::fits,
    shell::{BOUNDARY, Concern, Need, Segment, UNKNOWN},
};

/// A pattern for shell commands.
///
/// | written | means |
/// |---|---|
/// | `npm run build` | these words and no more |
/// | `npm run:*`, `npm run *` | these words, then nothing or more words |
/// | `npm*` | any command that begins so, `npmx` too |
/// | `git * main` | `*` stands for any text, in any number of words |
/// | `*`, `:*` | every command |
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommandPattern {
    text: String,
    /// Words joined by [`BOUNDARY`]; each alternative may hold `*`.
    alternatives: Vec<String>,
}

impl CommandPattern {
    /// Every text is some pattern: what is no wildcard means itself.
    pub(crate) fn new(text: &str) -> Self {
        let text = text.trim();
        let prefix = text.strip_suffix(":*").or_else(|| text.strip_suffix(" *")).map(str::trim_end);
        let alternatives = match prefix {
            Some(prefix) => {
                let words = bounded(prefix);
                if words.is_empty() { vec!["*".to_owned()] } else { vec![format!("{words}{BOUNDARY}*"), words] }
            }
            None => vec![bounded(text)],
        };
        Self { text: text.to_owned(), alternatives }
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether every command fits, the unreadable ones among them.
    pub fn is_universal(&self) -> bool {
        self.alternatives.iter().any(|pattern| !pattern.is_empty() && pattern.bytes().all(|byte| byte == b'*'))
    }

    /// Whether this allows a segment: its words as written fit, and nothing about it needs more.
    pub(crate) fn allows(&self, segment: &Segment) -> bool {
        if self.is_universal() || segment.need == Need::DenyOnly {
            return true;
        }
        match &segment.concern {
            Some(Concern::Always(_)) => return false,
            Some(Concern::Argument(argument)) if !self.names(argument) => return false,
            _ => {}
        }
        // What the shell does by itself, such as setting an ordinary variable, runs nothing.
        segment.words.is_empty() || self.fits(&segment.text())
    }

    /// Whether this denies a segment: it fits, with or without the command's folder, or would if
    /// what is unknown about its arguments were chosen for it.
    pub(crate) fn denies(&self, segment: &Segment) -> bool {
        if segment.words.is_empty() {
            return self.is_universal();
        }
        [segment.text(), segment.text_without_folder()].iter().any(|text| self.fits(text) || self.could_fit(text))
    }

    fn fits(&self, text: &str) -> bool {
        self.alternatives.iter().any(|pattern| fits(pattern, text))
    }

    fn could_fit(&self, text: &str) -> bool {
        let Some((known, _)) = text.split_once(UNKNOWN) else { return false };
        // A command whose very name is unknown is not denied here; no rule allows it either.
        known.contains(BOUNDARY)
            && self.alternatives.iter().any(|pattern| match pattern.split_once('*') {
                Some((start, _)) => known.starts_with(start) || start.starts_with(known),
                None => pattern.starts_with(known),
            })
    }

    /// Whether the pattern names an argument before its first wildcard.
    fn names(&self, argument: &str) -> bool {
        self.alternatives.iter().any(|pattern| {
            let plain = pattern.split('*').next().unwrap_or_default();
            plain.split(BOUNDARY).any(|word| word == argument)
        })
    }
}

/// The words of a rule with a boundary between them and without quotes around them.
fn bounded(text: &str) -> String {
    let mut words = String::new();
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => words.push(c),
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c.is_whitespace() => {
                if !words.is_empty() && !words.ends_with(BOUNDARY) {
                    words.push(BOUNDARY);
                }
            }
            None => words.push(c),
        }
    }
    words
}
