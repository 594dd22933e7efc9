//! What a single line does for its reader: it defines, documents, heads, imports or only mentions.

use super::keywords::Keyword;
use super::paths;
use super::seen::Line;

/// Words that begin a definition in some language.
pub(super) const DEFINERS: &[&str] = &[
    "fn",
    "func",
    "function",
    "def",
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "type",
    "const",
    "module",
    "mod",
    "record",
    "resource",
    "world",
    "macro_rules!",
];

/// What comes before the tests inside a source file in Rust.
pub(super) const TESTS_START: &str = "#[cfg(test)]";

/// What a line does for its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Definition,
    /// What a file says of itself at its top, with a keyword for its subject.
    Subject,
    /// What a file says of itself at its top.
    Introduction,
    Heading,
    Documentation,
    Mention,
    Import,
}

impl Role {
    pub(super) fn weight(self) -> f64 {
        match self {
            Self::Subject => 2.2,
            Self::Definition => 1.7,
            Self::Introduction => 1.6,
            Self::Heading => 1.4,
            Self::Documentation => 1.3,
            Self::Mention => 1.0,
            Self::Import => 0.3,
        }
    }
}

pub(super) fn role(keywords: &[Keyword], line: &Line) -> Role {
    let text = line.text.trim_start();
    let is_prose = matches!(paths::extension(&line.path), Some("md" | "rst" | "adoc" | "txt"));
    if is_prose {
        return if text.starts_with('#') { Role::Heading } else { Role::Mention };
    }
    if let Some(said) = ["///", "//!", "/**", "* ", "\"\"\"", "'''"].iter().find_map(|mark| text.strip_prefix(mark)) {
        // An example inside a comment explains less than a sentence.
        let is_example = said.starts_with("    ")
            || said.trim_end().ends_with([';', '{', '(', '}'])
            || ["let ", "assert", "//"].iter().any(|start| said.trim_start().starts_with(start));
        match (is_example, text.starts_with("//!") && line.number <= 3) {
            (true, _) => Role::Mention,
            (false, true) if is_subject(keywords, said) => Role::Subject,
            (false, true) => Role::Introduction,
            (false, false) => Role::Documentation,
        }
    } else if ["use ", "pub use ", "import ", "from ", "#include", "require", "mod "]
        .iter()
        .any(|word| text.starts_with(word))
        || is_name_list(text)
    {
        Role::Import
    } else if !text.starts_with("//") && !text.starts_with('#') && defined(keywords, text).is_some() {
        Role::Definition
    } else {
        Role::Mention
    }
}

/// Whether a sentence begins with a keyword, as in `The loop: …`.
fn is_subject(keywords: &[Keyword], said: &str) -> bool {
    let mut words = said.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    let _article = words.next_if(|word| ["the", "a", "an"].contains(&word.to_lowercase().as_str()));
    words.next().is_some_and(|word| keywords.iter().any(|keyword| keyword.strength(word) > 0.0))
}

/// Whether a line holds nothing but names: the middle of an import, or of an argument list.
fn is_name_list(text: &str) -> bool {
    let text = text.trim_end();
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '{' | '}' | '*' | ',' | ' ');
    text.ends_with([',', '{']) && text.contains(',') && text.chars().all(is_plain) && !text.contains(": ")
}

/// What a line defines, if that is named after a keyword; lower case.
pub(super) fn defined(keywords: &[Keyword], text: &str) -> Option<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '!';
    let starts = text.match_indices(is_word).map(|(at, _)| at).filter(|at| !text[..*at].ends_with(is_word));
    starts.take(6).find_map(|at| {
        // Only modifiers may stand before the word; `.expect("struct …")` defines nothing.
        let (before, rest) = text.split_at(at);
        let (definer, rest) = rest.split_once(' ')?;
        let is_definer = DEFINERS.contains(&definer) && !before.contains(['.', '=', ';', '{', ',', '|']);
        let mut words = rest.split(|c| !is_word(c)).filter(|word| !word.is_empty());
        // A method in Go has its receiver between the word and the name.
        let name = if rest.starts_with('(') { words.nth(2)? } else { words.next()? };
        Some(name.to_lowercase())
            .filter(|name| is_definer && keywords.iter().any(|keyword| keyword.strength(name) > 0.0))
    })
}

#[cfg(test)]
mod tests {
    use super::super::keywords::keywords;
    use super::*;

    #[test]
    fn a_line_is_told_by_what_it_does() {
        let check = |path: &str, text: &str, expected: Role| {
            let line = Line { path: path.into(), number: 1, text: text.into() };
            assert_eq!(role(&keywords("sandbox"), &line), expected, "{text}");
        };
        check("a.rs", "    pub(crate) struct SandboxPool {", Role::Definition);
        check("a.rs", "pub async fn in_sandbox() {", Role::Definition);
        check("a.py", "class Sandbox(Base):", Role::Definition);
        check("a.go", "func (s *Store) OpenSandbox() error {", Role::Definition);
        check("a.rs", "fn other() { sandbox() }", Role::Mention);
        check("a.rs", ".expect(\"struct sandbox\")", Role::Mention);
        check("a.rs", "///     let sandbox = new();", Role::Mention);
        check("a.rs", "//! Where a sandbox is made.", Role::Introduction);
        check("a.rs", "//! The sandbox: one call.", Role::Subject);
        check("a.rs", "/// Makes a sandbox.", Role::Documentation);
        check("a.rs", "    Sandbox, SandboxError, SandboxPool,", Role::Import);
        check("a.rs", "use crate::Sandbox;", Role::Import);
        check("a.md", "## The sandbox", Role::Heading);
        check("a.py", "# the class Sandbox", Role::Mention);
        check("a.rs", "", Role::Mention);
    }
}
