//! What a shell command would run, found without running it.
//!
//! The text is parsed as a shell would parse it and every simple command in it becomes a
//! [`Segment`], wherever it hides: behind `;` or `|`, in a loop, a function, a substitution, a
//! here-document, behind `sudo` or in the text given to `sh -c`. What cannot be read with certainty
//! is [`Unreadable`], and no rule about some commands allows it.
//!
//! Rules about commands say what people mean; they are not the wall. The wall is the sandbox that
//! the command runs in, which holds whatever a program turns out to do with its arguments.

mod arguments;
mod legible;
mod walk;
mod words;
mod wrappers;

#[cfg(test)]
mod tests;

/// Stands between words in [`Segment::text`]; no command can hold it.
pub(crate) const BOUNDARY: char = '\0';
/// Stands in [`Segment::text`] for what is known only when the command runs.
pub(crate) const UNKNOWN: char = '\u{1}';

/// Why a command cannot be read with certainty: the rest of a sentence that begins "the command".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable(pub(crate) String);

/// Everything that a command line would run, and the files that the shell itself would open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) segments: Vec<Segment>,
    pub(crate) redirects: Vec<Redirect>,
}

/// One simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Its words; none if the shell does it by itself and runs nothing, such as setting a variable.
    pub(crate) words: Vec<Word>,
    /// Whether it needs permission of its own, or only runs another segment that does.
    pub(crate) need: Need,
    /// Why a rule about this command does not speak for it.
    pub(crate) concern: Option<Concern>,
}

/// Whether a segment needs permission of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Some allow rule must cover it.
    Allow,
    /// It does nothing but run another segment, as `time` does; deny rules still see it.
    DenyOnly,
}

/// Why a rule about a command does not speak for one use of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Concern {
    /// The rest of a sentence that begins "it".
    Always(String),
    /// This argument makes a program that reads write or run something. A rule that names the
    /// argument was meant for it.
    Argument(String),
}

/// A word of a command after quote removal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word, or the beginning of it up to where it stops being known.
    pub(crate) text: String,
    /// Whether anything in it is known only when the command runs.
    pub(crate) opaque: bool,
    /// Whether the shell would replace it by the names of files or by several words.
    pub(crate) expands: bool,
}

/// A file that the shell opens for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub(crate) writes: bool,
    /// `None` if the name is known only when the command runs.
    pub(crate) target: Option<String>,
}

impl Script {
    /// Reads a command line.
    pub(crate) fn read(text: &str) -> Result<Self, Unreadable> {
        walk::read(text)
    }

    /// Whether the command changes its folder, after which relative names mean other files.
    pub(crate) fn moves(&self) -> bool {
        self.segments.iter().any(|segment| matches!(segment.name(), "cd" | "pushd" | "popd" | "chroot"))
    }
}

impl Segment {
    /// The last part of the command word: `rm` for `/bin/rm`.
    pub(crate) fn name(&self) -> &str {
        self.words.first().map_or("", Word::base_name)
    }

    /// The words with a [`BOUNDARY`] between them, for patterns.
    pub(crate) fn text(&self) -> String {
        joined(self.words.iter().map(Word::marked))
    }

    /// The same with the command word's folder removed, so that `/bin/rm` is `rm`.
    pub(crate) fn text_without_folder(&self) -> String {
        let first = self.words.iter().take(1).map(|word| word.marked().rsplit('/').next().unwrap_or("").to_owned());
        joined(first.chain(self.words.iter().skip(1).map(Word::marked)))
    }

    /// A short form for messages: the command word, cut.
    pub(crate) fn shown(&self) -> String {
        let word = self.words.first().map_or("", |word| word.text.as_str());
        let mut shown: String = word.chars().take(40).collect();
        if shown.len() < word.len() || self.words.first().is_some_and(|word| word.opaque) {
            shown.push('…');
        }
        shown
    }
}

impl Word {
    /// A word that is known only when the command runs.
    pub(crate) fn unknown() -> Self {
        Self { opaque: true, ..Self::default() }
    }

    /// The word if all of it is known and the shell leaves it as it is.
    pub(crate) fn literal(&self) -> Option<&str> {
        (!self.opaque && !self.expands).then_some(self.text.as_str())
    }

    pub(crate) fn base_name(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or("")
    }

    fn marked(&self) -> String {
        if self.opaque { format!("{}{UNKNOWN}", self.text) } else { self.text.clone() }
    }
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join("\0")
}
