//! The languages that a plugin can be written in.

use std::fmt;

use palisade_grants::Capability;

/// A language that a plugin can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Language {
    /// Built by cargo.
    Rust,
    /// Built by componentize-py.
    #[value(alias = "py")]
    Python,
    /// Built by componentize-qjs.
    #[value(alias = "js")]
    Javascript,
    /// Built by zig's clang.
    C,
}

impl Language {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Rust, Self::Python, Self::Javascript, Self::C];

    /// Its name in `plugin.json` and on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::Javascript => "javascript",
            Self::C => "c",
        }
    }

    /// The language of a word in `plugin.json`.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.word() == word)
    }

    /// What its tools can have of the host; none said means all there is. The others are as far as their compilers
    /// go: what these import of WASI is stubbed, and the interfaces of the host that do without WASI are here.
    pub(crate) fn powers(self) -> Option<&'static [Capability]> {
        match self {
            Self::Rust => None,
            Self::Python | Self::Javascript => {
                Some(&[Capability::FsRead, Capability::Storage, Capability::Http, Capability::Secrets])
            }
            Self::C => Some(&[]),
        }
    }

    /// Words that cannot be the name of a function or a file in it.
    pub(crate) fn reserves(self, name: &str) -> bool {
        let words: &[&str] = match self {
            Self::Rust => &[
                "abstract", "as", "async", "await", "become", "box", "break", "call", "const", "continue", "crate",
                "describe", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
                "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
                "return", "self", "static", "struct", "super", "test", "trait", "true", "try", "type", "typeof",
                "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
            ],
            Self::Python => &[
                "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
                "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not",
                "or", "pass", "raise", "return", "tool", "try", "while", "with", "yield",
            ],
            Self::Javascript | Self::C => &[],
        };
        words.contains(&name)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Rust => "Rust",
            Self::Python => "Python",
            Self::Javascript => "JavaScript",
            Self::C => "C",
        })
    }
}
