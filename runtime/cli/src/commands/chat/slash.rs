//! What is said to the program instead of the agent: `/help` and the like.

use std::{fs::OpenOptions, io::Write as _, os::unix::fs::OpenOptionsExt as _};

use anyhow::{Context as _, bail};
use palisade_agent::{Transcript, Usage};
use palisade_catalog::{Explanation, skills_of};
use thiserror::Error;

use super::Chat;
use crate::{
    commands::{explain, sessions::list},
    render::{Line, Style, Terminal, words},
    sessions::is_route,
};

/// A command of a chat.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Slash {
    Help,
    Tools,
    Explain,
    Model,
    Usage,
    Sessions,
    Rename(String),
    Clear,
    Save(String),
    Quit,
}

/// A command that there is not.
#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum UnknownSlash {
    #[error("there is no command `/{0}`; /help lists them")]
    Name(String),
    #[error("`/save` needs the name of a file, such as `/save talk.json`")]
    NoFile,
    #[error("`/rename` needs a name, such as `/rename login page`")]
    NoName,
}

impl Slash {
    /// Every command with what it does.
    pub(super) const NAMES: [(&str, &str); 10] = [
        ("help", "list the commands"),
        ("tools", "list the agent's tools"),
        ("explain", "show what the agent may do, and why"),
        ("model", "show which model answers"),
        ("usage", "show what the conversation has cost"),
        ("sessions", "list the sessions with this agent in this folder"),
        ("rename NAME", "give this session a name"),
        ("clear", "forget what was said"),
        ("save FILE", "write what was said and done as JSON into a new file"),
        ("quit", "end the conversation"),
    ];

    /// Reads a command; a message that is none is for the agent. A path is none.
    pub(super) fn parse(message: &str) -> Option<Result<Self, UnknownSlash>> {
        let command = message.strip_prefix('/')?;
        let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        if name.contains('/') {
            return None;
        }
        Some(match (name, rest.trim()) {
            ("help" | "", _) => Ok(Self::Help),
            ("tools", _) => Ok(Self::Tools),
            ("explain", _) => Ok(Self::Explain),
            ("model", _) => Ok(Self::Model),
            ("usage", _) => Ok(Self::Usage),
            ("sessions", _) => Ok(Self::Sessions),
            ("rename", "") => Err(UnknownSlash::NoName),
            ("rename", name) => Ok(Self::Rename(name.to_owned())),
            ("clear", _) => Ok(Self::Clear),
            ("save", "") => Err(UnknownSlash::NoFile),
            ("save", file) => Ok(Self::Save(file.to_owned())),
            ("quit" | "exit", _) => Ok(Self::Quit),
            (name, _) => Err(UnknownSlash::Name(name.to_owned())),
        })
    }

    /// Does what it says.
    pub(super) fn obey(&self, chat: &mut Chat<'_>) -> anyhow::Result<()> {
        let terminal = chat.terminal;
        match self {
            Self::Help => {
                for (name, what) in Self::NAMES {
                    terminal.line(&row(&format!("/{name}"), what))?;
                }
            }
            Self::Tools => tools(chat)?,
            Self::Explain => {
                let found = chat.registry.look_up(chat.name)?;
                let (effective, warnings) = (&chat.conversation.effective, found.warnings());
                let skills = skills_of(effective, &chat.registry.skills());
                explain::print(&Explanation::new(effective, &skills, found.shadows, warnings, &[]), terminal)?;
            }
            Self::Model => terminal.line(&Line::new().add(Style::Plain, &chat.conversation.model()))?,
            Self::Usage => usage(chat.conversation.usage, terminal)?,
            Self::Sessions => sessions(chat)?,
            Self::Rename(name) => {
                if is_route(name) {
                    bail!("`{name}` says which session is meant and is no name of one");
                }
                chat.conversation.rename(name)?;
                terminal.note(&Line::new().add(Style::Dim, &format!("this session is called {name}")));
            }
            Self::Clear => {
                chat.conversation.clear()?;
                terminal.note(&Line::new().add(Style::Dim, "what was said is forgotten"));
            }
            Self::Save(file) => {
                save(&chat.conversation.transcript, file).with_context(|| format!("`{file}` cannot be written"))?;
                terminal.note(&Line::new().add(Style::Dim, &format!("saved as {file}")));
            }
            // The chat itself ends.
            Self::Quit => {}
        }
        Ok(())
    }
}

fn tools(chat: &Chat<'_>) -> anyhow::Result<()> {
    for spec in chat.conversation.toolbox.specs() {
        let effect = if spec.read_only { "read-only" } else { "writes" };
        let what = spec.description.split_whitespace().collect::<Vec<_>>().join(" ");
        chat.terminal.line(
            &Line::new().column(Style::Bold, &spec.name, 12).column(Style::Dim, effect, 9).add(Style::Plain, &what),
        )?;
    }
    Ok(())
}

fn sessions(chat: &mut Chat<'_>) -> anyhow::Result<()> {
    let (all, own) = chat.conversation.sessions()?;
    for session in &all {
        chat.terminal.line(&list::row(session, own.as_deref() == Some(session.id.as_str())))?;
    }
    Ok(())
}

fn usage(usage: Usage, terminal: &Terminal) -> anyhow::Result<()> {
    let Usage { input_tokens, output_tokens, cached_tokens, cache_written_tokens, cost_micros } = usage;
    let tokens = |number| format!("{} tokens", words::thousands(number));
    terminal.line(&row("read", &tokens(input_tokens)))?;
    terminal.line(&row(
        "  cached",
        &format!("{}, {} written", tokens(cached_tokens), words::thousands(cache_written_tokens)),
    ))?;
    terminal.line(&row("written", &tokens(output_tokens)))?;
    let cost = if cost_micros == 0 { "not known, or nothing".to_owned() } else { words::dollars(cost_micros) };
    terminal.line(&row("cost", &cost))?;
    Ok(())
}

fn row(name: &str, text: &str) -> Line {
    Line::new().column(Style::Bold, name, 12).add(Style::Plain, text)
}

/// Writes what was said and done into a file of its own, which nobody else may read.
#[expect(clippy::disallowed_methods, reason = "the user names the file")]
fn save(transcript: &Transcript, file: &str) -> anyhow::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    serde_json::to_writer_pretty(&mut file, transcript)?;
    writeln!(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_messages() {
        let check = |message: &str, expected| assert_eq!(Slash::parse(message), expected);
        check("what is this?", None);
        check("/etc/passwd says what?", None);
        check("/help", Some(Ok(Slash::Help)));
        check("/save  my talk.json ", Some(Ok(Slash::Save("my talk.json".to_owned()))));
        check("/save", Some(Err(UnknownSlash::NoFile)));
        check("/rename login page", Some(Ok(Slash::Rename("login page".to_owned()))));
        check("/rename", Some(Err(UnknownSlash::NoName)));
        check("/hlep me", Some(Err(UnknownSlash::Name("hlep".to_owned()))));
    }

    #[test]
    fn every_command_of_the_list_is_one() {
        for (name, _) in Slash::NAMES {
            assert!(matches!(Slash::parse(&format!("/{name}")), Some(Ok(_))), "{name}");
        }
    }
}
