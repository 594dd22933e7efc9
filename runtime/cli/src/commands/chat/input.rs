//! Where messages come from: a person at a terminal, or the lines of a pipe.

use std::{
    cell::Cell,
    fs::DirBuilder,
    io::{self, BufRead as _, IsTerminal as _, Read as _},
    os::unix::fs::DirBuilderExt as _,
    path::PathBuf,
};

use anyhow::{Context as _, bail};
use palisade_agent::ENTRY_LIMIT;
use rustyline::{
    Config, Context, Editor, Helper, completion::Completer, error::ReadlineError, highlight::Highlighter, hint::Hinter,
    history::DefaultHistory, validate::ValidationContext, validate::ValidationResult, validate::Validator,
};

use crate::{commands::chat::slash::Slash, render::Terminal, settings::Settings};

/// Where messages come from.
pub(super) enum Input {
    Person(Box<Desk>),
    Pipe,
}

/// What comes next.
pub(super) enum Next {
    Message(String),
    /// A line that says nothing.
    Nothing,
    End,
}

/// Where a person types.
pub(super) struct Desk {
    editor: Editor<Typing, DefaultHistory>,
    /// What was typed before, also in other conversations; readable by its user alone.
    history: Option<PathBuf>,
}

/// How many lines are remembered.
const REMEMBERED: usize = 1000;

impl Input {
    /// A person, if both ends are a terminal.
    pub(super) fn of_this_process(settings: &Settings, terminal: &Terminal) -> anyhow::Result<Self> {
        if !io::stdin().is_terminal() || !terminal.shows_output() {
            return Ok(Self::Pipe);
        }
        let config = Config::builder()
            .max_history_size(REMEMBERED)?
            .history_ignore_dups(true)?
            .history_ignore_space(true)
            .build();
        let mut editor = Editor::with_config(config).context("the terminal cannot be typed into")?;
        editor.set_helper(Some(Typing::default()));
        let history = settings.data.as_ref().and_then(|folder| match kept_in(folder) {
            Ok(file) => Some(file),
            Err(error) => {
                terminal.warning(&format!("what you type is not remembered: {error}"));
                None
            }
        });
        if let Some(file) = &history
            && let Err(error) = editor.load_history(file)
            && !matches!(&error, ReadlineError::Io(error) if error.kind() == io::ErrorKind::NotFound)
        {
            terminal.warning(&format!("what you typed before is not known: {error}"));
        }
        Ok(Self::Person(Box::new(Desk { editor, history })))
    }

    pub(super) fn is_person(&self) -> bool {
        matches!(self, Self::Person(_))
    }

    /// Waits for the next message.
    pub(super) fn next(&mut self, name: &str) -> anyhow::Result<Next> {
        match self {
            Self::Person(desk) => desk.next(name),
            Self::Pipe => line(),
        }
    }
}

/// The file of what was typed, in a folder that is there.
fn kept_in(folder: &std::path::Path) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    Ok(folder.join("chat-history"))
}

fn line() -> anyhow::Result<Next> {
    let mut line = String::new();
    let mut input = io::stdin().lock().take(ENTRY_LIMIT as u64 + 1);
    let read = input.read_line(&mut line).context("standard input cannot be read as text")?;
    match read {
        0 => Ok(Next::End),
        _ if line.len() > ENTRY_LIMIT => bail!("a message may have {ENTRY_LIMIT} bytes"),
        _ if line.trim().is_empty() => Ok(Next::Nothing),
        _ => Ok(Next::Message(line.trim().to_owned())),
    }
}

impl Desk {
    fn next(&mut self, name: &str) -> anyhow::Result<Next> {
        let typed = match self.editor.readline(&format!("{name}> ")) {
            Ok(typed) => typed,
            // What was typed is thrown away; if there was nothing, the conversation is over.
            Err(ReadlineError::Interrupted) => {
                let empty = self.editor.helper().is_none_or(|typing| typing.empty.get());
                return Ok(if empty { Next::End } else { Next::Nothing });
            }
            Err(ReadlineError::Eof) => return Ok(Next::End),
            Err(error) => return Err(error).context("the terminal cannot be read"),
        };
        if typed.trim().is_empty() {
            return Ok(Next::Nothing);
        }
        self.editor.add_history_entry(typed.as_str())?;
        if let Some(file) = &self.history {
            self.editor.append_history(file).with_context(|| format!("{} cannot be written", file.display()))?;
        }
        Ok(Next::Message(joined(&typed)))
    }
}

/// A backslash at the end of a line goes on with the next one.
fn joined(typed: &str) -> String {
    typed.replace("\\\n", "\n").trim().to_owned()
}

/// Looks over the shoulder of whoever types.
#[derive(Default)]
struct Typing {
    /// The line has nothing on it. Ctrl-C means something else then, and nobody else tells.
    empty: Cell<bool>,
}

impl Helper for Typing {}
impl Highlighter for Typing {}

impl Hinter for Typing {
    type Hint = String;

    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        self.empty.set(line.is_empty());
        None
    }
}

impl Completer for Typing {
    type Candidate = String;

    fn complete(&self, line: &str, place: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = line.get(..place).unwrap_or_default();
        let names = Slash::NAMES.iter().map(|(name, _)| format!("/{}", name.split(' ').next().unwrap_or_default()));
        Ok((0, names.filter(|name| begun.starts_with('/') && name.starts_with(begun)).collect()))
    }
}

impl Validator for Typing {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match context.input().ends_with('\\') {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_joins_lines_and_stays_elsewhere() {
        assert_eq!(joined("one\\\ntwo \\n three\\\nfour "), "one\ntwo \\n three\nfour");
    }
}
