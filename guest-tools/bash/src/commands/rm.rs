//! `rm`.

use std::{fs, io, path::Path};

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, Result};

use super::{
    input::absolute,
    options::{Given, Known},
    output::{complain, refuse},
};
use crate::{
    files::{changeable, usual},
    place::Place,
};

pub(super) struct Rm;

/// Nobody can be asked, so `-i` and `-I` change nothing.
const KNOWN: Known = Known {
    short: "dfiIrRvop",
    long: &[
        ("dir", 'd'),
        ("force", 'f'),
        ("interactive", 'i'),
        ("no-preserve-root", 'p'),
        ("one-file-system", 'o'),
        ("preserve-root", 'p'),
        ("recursive", 'r'),
        ("verbose", 'v'),
    ],
};

#[async_trait]
impl Command for Rm {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let given = match KNOWN.read(context.args) {
            Ok(given) => given,
            Err(words) => return refuse(&context, &words, 1).await,
        };
        if given.operands.is_empty() && !given.has('f') {
            return refuse(&context, "missing operand", 1).await;
        }
        let mut work = Work { given, said: String::new(), wrong: Vec::new() };
        for operand in work.given.operands.clone() {
            work.top(&absolute(context.cwd, &operand), &operand);
        }
        context.stdout.write_all(work.said.as_bytes()).await?;
        for words in &work.wrong {
            complain(&context, words).await?;
        }
        Ok(CommandStatus::with_code(i32::from(!work.wrong.is_empty())))
    }
}

struct Work {
    given: Given,
    said: String,
    wrong: Vec<String>,
}

impl Work {
    /// Removes something that was named.
    fn top(&mut self, path: &Path, operand: &str) {
        let is_recursive = self.given.last_of("rR").is_some();
        let name = operand.trim_end_matches('/');
        if is_recursive && matches!(name.rsplit('/').next(), Some("." | "..")) {
            let words = format!("refusing to remove '.' or '..' directory: skipping '{operand}'");
            return self.wrong.push(words);
        }
        if is_recursive && Place::of(path) == Place::of(Path::new("/")) {
            return self.wrong.push(format!("it is dangerous to operate recursively on '{operand}'"));
        }
        let there = changeable(path).and_then(|real| Ok((fs::symlink_metadata(&real).map_err(usual)?, real)));
        let (there, real) = match there {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.given.has('f') => return,
            Err(error) => {
                self.cannot(operand, &error);
                return;
            }
        };
        if !there.is_dir() && operand.ends_with('/') {
            self.wrong.push(format!("cannot remove '{operand}': Not a directory"));
        } else if !there.is_dir() {
            self.file(&real, operand);
        } else if is_recursive {
            self.directory(&real, if name.is_empty() { operand } else { name });
        } else if self.given.has('d') {
            self.empty(&real, operand);
        } else {
            self.wrong.push(format!("cannot remove '{operand}': Is a directory"));
        }
    }

    fn file(&mut self, real: &Path, name: &str) -> bool {
        match fs::remove_file(real) {
            Ok(()) => self.say(&format!("removed '{name}'")),
            Err(error) => self.cannot(name, &usual(error)),
        }
    }

    /// Removes a directory with all that is in it. What cannot be removed is said, and the rest goes.
    fn directory(&mut self, real: &Path, name: &str) -> bool {
        let entries = match fs::read_dir(real).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
            Ok(entries) => entries,
            Err(error) => return self.cannot(name, &usual(error)),
        };
        let mut is_empty = true;
        for entry in entries {
            let inner = format!("{name}/{}", entry.file_name().to_string_lossy());
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let path = entry.path();
            is_empty &= if is_directory { self.directory(&path, &inner) } else { self.file(&path, &inner) };
        }
        is_empty && self.empty(real, name)
    }

    fn empty(&mut self, real: &Path, name: &str) -> bool {
        match fs::remove_dir(real) {
            Ok(()) => self.say(&format!("removed directory '{name}'")),
            Err(error) => self.cannot(name, &usual(error)),
        }
    }

    fn say(&mut self, words: &str) -> bool {
        if self.given.has('v') {
            self.said += &format!("{words}\n");
        }
        true
    }

    fn cannot(&mut self, name: &str, error: &io::Error) -> bool {
        self.wrong.push(format!("cannot remove '{name}': {error}"));
        false
    }
}
