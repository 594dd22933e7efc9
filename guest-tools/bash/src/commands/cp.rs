//! `cp`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, Result};

use super::{
    destinations::destinations,
    input::absolute,
    options::{Given, Known},
    output::{complain, refuse},
};
use crate::{
    files::{changeable, keep_mode, usual},
    links,
};

pub(super) struct Cp;

const KNOWN: Known = Known {
    short: "aAdfHiLnpPrRt:Tuv",
    long: &[
        ("archive", 'a'),
        ("dereference", 'L'),
        ("force", 'f'),
        ("interactive", 'i'),
        ("no-clobber", 'n'),
        ("no-dereference", 'P'),
        ("no-target-directory", 'T'),
        ("preserve", 'A'),
        ("recursive", 'r'),
        ("target-directory", 't'),
        ("update", 'u'),
        ("verbose", 'v'),
    ],
};

#[async_trait]
impl Command for Cp {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        let (given, pairs) = match destinations(&context, &KNOWN) {
            Ok(read) => read,
            Err(words) => return refuse(&context, &words, 1).await,
        };
        let real = |operand: &str| changeable(&absolute(context.cwd, operand));
        let mut work = Work { given, said: Vec::new(), wrong: Vec::new() };
        for (source, to) in &pairs {
            match (real(source), real(to)) {
                (Ok(from), Ok(real_to)) => work.top((&from, source), (&real_to, to)),
                (Err(error), _) => work.wrong.push(format!("cannot stat '{source}': {error}")),
                (_, Err(error)) => work.wrong.push(format!("cannot create regular file '{to}': {error}")),
            }
        }
        context.stdout.write_all(work.said.concat().as_bytes()).await?;
        for words in &work.wrong {
            complain(&context, words).await?;
        }
        Ok(CommandStatus::with_code(i32::from(!work.wrong.is_empty())))
    }
}

/// A real path, and what it is called in the script.
type Named<'a> = (&'a Path, &'a str);

struct Work {
    given: Given,
    said: Vec<String>,
    wrong: Vec<String>,
}

impl Work {
    fn is_recursive(&self) -> bool {
        self.given.last_of("arR").is_some()
    }

    /// Whether links are copied as links, unless one was named.
    fn keeps_links(&self) -> bool {
        match self.given.last_of("adHLP") {
            Some('L') => false,
            Some('a' | 'd' | 'P') => true,
            _ => self.is_recursive(),
        }
    }

    /// Copies something that was named.
    fn top(&mut self, from: Named<'_>, to: Named<'_>) {
        let follows = !self.keeps_links() || self.given.last_of("adHLP").is_none() && !self.is_recursive();
        let there = if follows { fs::metadata(from.0) } else { fs::symlink_metadata(from.0) };
        let there = match there {
            Ok(there) => there,
            Err(error) => return self.wrong.push(format!("cannot stat '{}': {}", from.1, usual(error))),
        };
        if there.is_dir() && !self.is_recursive() {
            return self.wrong.push(format!("-r not specified; omitting directory '{}'", from.1));
        }
        if there.is_dir() && to.0.starts_with(from.0) {
            return self.wrong.push(format!("cannot copy a directory, '{}', into itself, '{}'", from.1, to.1));
        }
        if from.0 == to.0 {
            return self.wrong.push(format!("'{}' and '{}' are the same file", from.1, to.1));
        }
        self.copy(from, to, &there);
    }

    fn copy(&mut self, from: Named<'_>, to: Named<'_>, there: &fs::Metadata) {
        let present = fs::symlink_metadata(to.0).ok();
        let newer = present.as_ref().is_some_and(|present| present.modified().ok() >= there.modified().ok());
        let keep = self.given.last_of("fin") == Some('n') || self.given.has('u') && newer;
        if present.is_some() && keep && !there.is_dir() {
            return;
        }
        if there.is_dir() {
            return self.directory(from, to, present.is_some_and(|present| present.is_dir()));
        }
        if present.as_ref().is_some_and(fs::Metadata::is_dir) {
            return self.wrong.push(format!("cannot overwrite directory '{}' with non-directory", to.1));
        }
        let done = if there.is_symlink() {
            let gone = if present.is_some() { fs::remove_file(to.0) } else { Ok(()) };
            gone.and_then(|()| links::symlink(&fs::read_link(from.0)?, to.0))
        } else {
            self.file(from.0, to.0, there, present.is_some())
        };
        match done {
            Ok(()) => self.say(from, to),
            Err(error) => self.wrong.push(format!("cannot create regular file '{}': {}", to.1, usual(error))),
        }
    }

    fn file(&self, from: &Path, to: &Path, there: &fs::Metadata, was_there: bool) -> io::Result<()> {
        let mut source = fs::File::open(from)?;
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).open(to)?;
        io::copy(&mut source, &mut file)?;
        if self.given.last_of("aAp").is_some() {
            file.set_modified(there.modified()?)?;
        }
        if was_there { Ok(()) } else { keep_mode(from, to) }
    }

    fn directory(&mut self, from: Named<'_>, to: Named<'_>, is_there: bool) {
        if !is_there && let Err(error) = fs::create_dir(to.0) {
            return self.wrong.push(format!("cannot create directory '{}': {}", to.1, usual(error)));
        }
        if !is_there {
            self.say(from, to);
        }
        let entries = fs::read_dir(from.0).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => return self.wrong.push(format!("cannot access '{}': {}", from.1, usual(error))),
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            let inner: (PathBuf, PathBuf) = (from.0.join(&name), to.0.join(&name));
            let names = (format!("{}/{shown}", from.1), format!("{}/{shown}", to.1));
            let there = if self.keeps_links() { fs::symlink_metadata(&inner.0) } else { fs::metadata(&inner.0) };
            match there {
                Ok(there) => self.copy((&inner.0, &names.0), (&inner.1, &names.1), &there),
                Err(error) => self.wrong.push(format!("cannot stat '{}': {}", names.0, usual(error))),
            }
        }
    }

    fn say(&mut self, from: Named<'_>, to: Named<'_>) {
        if self.given.has('v') {
            self.said.push(format!("'{}' -> '{}'\n", from.1, to.1));
        }
    }
}
