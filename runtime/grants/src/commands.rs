//! Which native programs may be run, by the words they begin with.

use std::{fmt, str::FromStr};

use crate::reach::{BadSpan, Reach, Span};

/// The native programs that may be run.
pub type CommandsGrant = Reach<Command>;

/// A command by all of its words, or with `:*` every command that begins with them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Command {
    words: Vec<String>,
    open: bool,
}

const SHAPE: &str = "is no command that can be granted; write `cargo test` for that command alone, \
                     `cargo test:*` for all that begin so, or `*`; no other wildcard and no shell signs";

impl Command {
    /// Whether a program called with these words is covered.
    pub fn matches(&self, words: &[&str]) -> bool {
        let begins = words.len() >= self.words.len() && self.words.iter().zip(words).all(|(own, word)| own == word);
        begins && (self.open || words.len() == self.words.len())
    }
}

impl Span for Command {
    fn meet(&self, other: &Self) -> Option<Self> {
        let (longer, shorter) = if self.words.len() >= other.words.len() { (self, other) } else { (other, self) };
        if longer.words.len() == shorter.words.len() {
            return (longer.words == shorter.words)
                .then(|| Self { words: longer.words.clone(), open: longer.open && shorter.open });
        }
        (shorter.open && longer.words.starts_with(&shorter.words)).then(|| longer.clone())
    }
}

impl FromStr for Command {
    type Err = BadSpan;

    fn from_str(text: &str) -> Result<Self, BadSpan> {
        let bad = || BadSpan { text: text.to_owned(), problem: SHAPE };
        let trimmed = text.trim();
        let (words, open) = match trimmed.strip_suffix(":*").or_else(|| trimmed.strip_suffix(" *")) {
            Some(words) => (words, true),
            None if trimmed == "*" => ("", true),
            None => (trimmed, false),
        };
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        // What a shell would read as more than a word cannot be what was meant.
        let plain = |word: &String| {
            !word.contains(['*', '?', ';', '&', '|', '<', '>', '$', '`', '(', ')', '\'', '"', '\\', '\0'])
        };
        if words.is_empty() && !open || !words.iter().all(plain) || trimmed.len() > 4096 {
            return Err(bad());
        }
        Ok(Self { words, open })
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.words.join(" "), self.open) {
            (words, true) if words.is_empty() => f.write_str("*"),
            (words, true) => write!(f, "{words}:*"),
            (words, false) => f.write_str(&words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(commands: &[&str]) -> CommandsGrant {
        Reach::new(commands.iter().map(|command| command.parse().unwrap()))
    }

    #[test]
    fn an_open_command_covers_what_begins_with_its_words_and_not_with_its_letters() {
        let command: Command = "cargo test:*".parse().unwrap();
        assert!(command.matches(&["cargo", "test"]) && command.matches(&["cargo", "test", "--workspace"]));
        assert!(!command.matches(&["cargo", "tests"]) && !command.matches(&["cargo"]));
    }

    #[test]
    fn a_closed_command_covers_itself() {
        let command: Command = "make".parse().unwrap();
        assert!(command.matches(&["make"]) && !command.matches(&["make", "install"]));
    }

    #[test]
    fn two_grants_meet_in_the_longer_commands() {
        let own = grant(&["cargo:*", "make", "ls:*"]);
        assert_eq!(own.narrow(&grant(&["cargo test:*", "make:*"])), grant(&["cargo test:*", "make"]));
        assert_eq!(own.narrow(&grant(&["*"])), own);
    }

    #[test]
    fn shell_signs_cannot_be_granted() {
        for text in ["", "ls; rm", "a|b", "$(x)", "git * main", "npm*"] {
            assert!(text.parse::<Command>().is_err(), "{text}");
        }
    }
}
