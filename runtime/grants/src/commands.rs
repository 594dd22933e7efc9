//! Which native programs may be run, by the words they begin with.

use std::{fmt, str::FromStr};

use crate::{
    Capability, Denial,
    reach::{BadSpan, Reach, Span},
};

/// The native programs that may be run.
pub type CommandsGrant = Reach<Command>;

/// A command by all of its words, or with `:*` every command that begins with them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Command {
    words: Vec<String>,
    open: bool,
}

/// A command that a grant lets be run. Only [`CommandsGrant::permit`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermittedCommand {
    program: String,
    arguments: Vec<String>,
}

/// What all the words of a command may have, in bytes; kernels have a limit of their own.
const MAX_COMMAND: usize = 1 << 20;

const SHAPE: &str = "is no command that can be granted; write `cargo test` for that command alone, \
                     `cargo test:*` for all that begin so, or `*`; no other wildcard and no shell signs";

impl Command {
    /// Whether a program called with these words is covered.
    pub fn matches(&self, words: &[&str]) -> bool {
        let begins = words.len() >= self.words.len() && self.words.iter().zip(words).all(|(own, word)| own == word);
        begins && (self.open || words.len() == self.words.len())
    }
}

impl CommandsGrant {
    /// Decides whether a program may be run with these arguments. A program that is named by a path
    /// must be named so by the grant: `*` means names that are looked up, not files somebody has made.
    pub fn permit(&self, program: &str, arguments: &[String]) -> Result<PermittedCommand, Denial> {
        let words: Vec<&str> = [program].into_iter().chain(arguments.iter().map(String::as_str)).collect();
        let refused = |rule: String, remedy: String| Denial {
            capability: Capability::Exec,
            asked: format!("running `{}`", shown(&words)),
            rule,
            remedy,
        };
        let size: usize = words.iter().map(|word| word.len() + 1).sum();
        if program.is_empty() || size > MAX_COMMAND || words.iter().any(|word| word.contains('\0')) {
            let rule = "a command has a program, no zero bytes and at most 1 MiB".to_owned();
            return Err(refused(rule, "name the program and pass large inputs on its standard input".to_owned()));
        }
        let is_path = program.contains('/');
        let covers = |command: &&Command| command.matches(&words) && (!is_path || !command.words.is_empty());
        if self.iter().any(|command| covers(&command)) {
            return Ok(PermittedCommand { program: program.to_owned(), arguments: arguments.to_vec() });
        }
        let rule = match self.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "no native program is granted".to_owned(),
            granted if is_path => format!("a program with a path is granted by that path alone; granted is {granted}"),
            granted => format!("granted is {granted}"),
        };
        let is_short = |word: &str| is_plain(word) && word.len() <= 40;
        let first: Vec<&str> = words.iter().take(2).copied().take_while(|word| is_short(word)).collect();
        let example = if first.is_empty() { "PROGRAM".to_owned() } else { first.join(" ") };
        Err(refused(
            rule,
            format!(
                "`[exec] allow = [\"{example}:*\"]` in the operator's or the user's configuration, and \
                 `grants: {{ commands: [\"{example}:*\"] }}` where a definition has grants, would allow it"
            ),
        ))
    }

    /// The programs that are granted by name, with their arguments or with some. `*` names none.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        let mut last = None;
        let names = self.iter().filter_map(|command| command.words.first());
        names.map(String::as_str).filter(move |name| last.replace(*name) != Some(*name))
    }
}

impl PermittedCommand {
    /// The program, as it was named.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// What it is called with.
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }
}

/// A command for a message: short, and without what a terminal would act on.
fn shown(words: &[&str]) -> String {
    let text: String = words.join(" ").chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What a shell would read as more than a word cannot be granted.
fn is_plain(word: &str) -> bool {
    !word.contains(['*', '?', ';', '&', '|', '<', '>', '$', '`', '(', ')', '\'', '"', '\\', '\0'])
        && !word.chars().any(char::is_whitespace)
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
        if words.is_empty() && !open || !words.iter().all(|word| is_plain(word)) || trimmed.len() > 4096 {
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

    fn permit(grant: &CommandsGrant, words: &str) -> Result<PermittedCommand, Denial> {
        let mut words = words.split(' ').map(str::to_owned);
        let program = words.next().unwrap();
        grant.permit(&program, &words.collect::<Vec<_>>())
    }

    /// X11
    #[test]
    fn a_command_is_permitted_if_it_begins_with_granted_words() {
        let grant = grant(&["cargo test:*", "make", "./gradlew:*"]);
        let permitted = permit(&grant, "cargo test --workspace").unwrap();
        assert_eq!((permitted.program(), permitted.arguments().len()), ("cargo", 2));
        assert!(permit(&grant, "make").is_ok() && permit(&grant, "./gradlew build").is_ok());
        for refused in ["cargo build", "cargo", "make install", "gradlew", "/usr/bin/make", "./make", ""] {
            assert!(permit(&grant, refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_star_means_names_and_no_files() {
        let grant = grant(&["*"]);
        assert!(permit(&grant, "ls -l").is_ok());
        assert!(permit(&grant, "./ls").is_err() && permit(&grant, "/tmp/ls").is_err());
    }

    #[test]
    fn a_denial_says_what_would_allow_it() {
        let denial = permit(&CommandsGrant::default(), "cargo test -q").unwrap_err().to_string();
        assert!(denial.contains("[exec] allow = [\"cargo test:*\"]"), "{denial}");
        let denial = permit(&grant(&["ls"]), "sh a;b").unwrap_err().to_string();
        assert!(denial.contains("allow = [\"sh:*\"]") && denial.contains("granted is ls"), "{denial}");
        let long = permit(&grant(&["ls"]), &format!("ls {}\u{1b}[2J", "x".repeat(5000))).unwrap_err().to_string();
        assert!(long.len() < 600 && !long.contains('\u{1b}'), "{long}");
    }

    #[test]
    fn programs_are_listed_once() {
        let grant = grant(&["cargo test:*", "cargo build", "ls:*", "*"]);
        // `*` covers the others.
        assert_eq!(grant.programs().count(), 0);
        let grant = super::tests::grant(&["cargo test:*", "cargo build", "ls:*"]);
        assert_eq!(grant.programs().collect::<Vec<_>>(), ["cargo", "ls"]);
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
