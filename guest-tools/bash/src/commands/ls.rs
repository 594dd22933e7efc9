//! `ls`.

mod row;

use std::{
    cmp::Ordering,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, DirEntry, Error, FileType, Metadata, Result};

use self::row::{long, name_only};
use super::{
    input::absolute,
    options::{Given, Known},
    output::{Output, complain, refuse},
};
use crate::files;

pub(super) struct Ls;

/// Letters that have no short form of their own: `q` for `--color`, `y` for `--time-style`, `z` for
/// `--group-directories-first`.
const KNOWN: Known = Known {
    short: "1aAcCdfFgGhHklLmnNopQrRsStuUvxXq:y:z",
    long: &[
        ("all", 'a'),
        ("almost-all", 'A'),
        ("classify", 'F'),
        ("color", 'q'),
        ("directory", 'd'),
        ("full-time", 'l'),
        ("group-directories-first", 'z'),
        ("human-readable", 'h'),
        ("recursive", 'R'),
        ("reverse", 'r'),
        ("time-style", 'y'),
    ],
};

/// What could not be looked at makes the command fail like this.
const TROUBLE: i32 = 2;

/// Something to be shown.
struct Entry {
    name: String,
    path: PathBuf,
    metadata: Metadata,
    /// What a link says.
    target: Option<String>,
    /// A directory, or a link to one.
    leads_in: bool,
}

#[async_trait]
impl Command for Ls {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        // Whoever says `--color` alone means that terminals get colours; there is none.
        let arguments: Vec<String> = context.args.iter().filter(|argument| *argument != "--color").cloned().collect();
        let given = match KNOWN.read(&arguments) {
            Ok(given) => given,
            Err(words) => return refuse(&context, &words, TROUBLE).await,
        };
        let mut shown = Shown { given, context, output: None, code: 0, is_first: true };
        shown.output = Some(Output::new(&shown.context));
        shown.all().await?;
        Ok(CommandStatus::with_code(shown.code))
    }
}

struct Shown<'a> {
    given: Given,
    context: CommandContext<'a>,
    output: Option<Output>,
    code: i32,
    is_first: bool,
}

impl Shown<'_> {
    async fn all(&mut self) -> Result<()> {
        let operands = if self.given.operands.is_empty() { vec![".".to_owned()] } else { self.given.operands.clone() };
        let (mut alone, mut directories) = (Vec::new(), Vec::new());
        for operand in &operands {
            let path = absolute(self.context.cwd, operand);
            let link = match self.context.fs.lstat(&path).await {
                Ok(metadata) => metadata,
                Err(error) => {
                    self.trouble(operand, &error).await?;
                    continue;
                }
            };
            let keeps_links = self.is_long() || self.given.has('d') || self.given.has('F');
            let follows = !keeps_links || self.given.has('H') || self.given.has('L') || operand.ends_with('/');
            let metadata = match follows && link.file_type.is_symlink() {
                true => self.context.fs.stat(&path).await.unwrap_or(link),
                false => link,
            };
            let entry = self.entry(operand.clone(), path, metadata).await;
            if entry.metadata.file_type.is_dir() && !self.given.has('d') {
                directories.push(entry);
            } else {
                alone.push(entry);
            }
        }
        let titled = operands.len() > 1 || self.given.has('R');
        self.sort(&mut alone);
        self.sort(&mut directories);
        if !alone.is_empty() {
            self.rows(&alone, false).await?;
            self.is_first = false;
        }
        let mut waiting: Vec<(String, PathBuf)> =
            directories.into_iter().rev().map(|entry| (entry.name, entry.path)).collect();
        while let Some((name, path)) = waiting.pop() {
            let inner = self.directory(&name, &path, titled).await?;
            waiting.extend(inner.into_iter().rev());
        }
        self.put("").await?;
        match &mut self.output {
            Some(output) => output.flush().await,
            None => Ok(()),
        }
    }

    /// Shows what is in a directory, and says which directories are in it if those are wanted too.
    async fn directory(&mut self, name: &str, path: &Path, titled: bool) -> Result<Vec<(String, PathBuf)>> {
        let all = self.given.has('a') || self.given.has('f');
        let hidden = all || self.given.has('A');
        let listed = match self.listed(path).await {
            Ok(listed) => listed,
            Err(error) => {
                self.trouble_opening(name, &error).await?;
                return Ok(Vec::new());
            }
        };
        if titled {
            let gap = if self.is_first { "" } else { "\n" };
            self.put(&format!("{gap}{name}:\n")).await?;
        }
        self.is_first = false;
        let mut entries = Vec::new();
        if all {
            for name in [".", ".."] {
                let path = absolute(path, name);
                let metadata =
                    self.context.fs.stat(&path).await.or_else(|_| files::look(path.as_path()).map_err(Error::Io))?;
                entries.push(self.entry(name.to_owned(), path, metadata).await);
            }
        }
        for found in listed.into_iter().filter(|found| hidden || !found.name.starts_with('.')) {
            let path = path.join(&found.name);
            entries.push(self.entry(found.name, path, found.metadata).await);
        }
        self.sort(&mut entries);
        self.rows(&entries, true).await?;
        if !self.given.has('R') {
            return Ok(Vec::new());
        }
        let inner = entries
            .into_iter()
            .filter(|entry| entry.metadata.file_type.is_dir() && ![".", ".."].contains(&entry.name.as_str()));
        Ok(inner.map(|entry| (format!("{}/{}", name.trim_end_matches('/'), entry.name), entry.path)).collect())
    }

    /// What is in a directory. Names and kinds come in one piece; the rest costs a look at each.
    async fn listed(&self, path: &Path) -> Result<Vec<DirEntry>> {
        let by_kind = |(name, kind)| DirEntry { name, metadata: files::made_up(kind, 0) };
        let listed = if self.shows_more_than_kinds() {
            files::list(path)
        } else {
            files::kinds(path).map(|kinds| kinds.into_iter().map(by_kind).collect())
        };
        match listed {
            Ok(listed) => Ok(listed),
            Err(_) => self.context.fs.read_dir(path).await,
        }
    }

    /// Whether sizes, times or modes are shown or sorted by.
    fn shows_more_than_kinds(&self) -> bool {
        self.is_long() || ['F', 's', 'S', 't'].into_iter().any(|option| self.given.has(option))
    }

    async fn entry(&self, name: String, path: PathBuf, mut metadata: Metadata) -> Entry {
        let mut target = None;
        let mut leads_in = metadata.file_type.is_dir();
        if self.given.has('z') && metadata.file_type.is_symlink() {
            leads_in = self.context.fs.stat(&path).await.is_ok_and(|there| there.file_type.is_dir());
        }
        if metadata.file_type == FileType::Symlink {
            if self.given.has('L') {
                metadata = self.context.fs.stat(&path).await.unwrap_or(metadata);
            } else if self.is_long() {
                target = self.context.fs.read_link(&path).await.ok().map(|link| link.display().to_string());
            }
        }
        Entry { name, path, metadata, target, leads_in }
    }

    fn is_long(&self) -> bool {
        matches!(self.given.last_of("lgnoCmx"), Some('l' | 'g' | 'n' | 'o'))
    }

    fn sort(&self, entries: &mut [Entry]) {
        let by_name = |a: &Entry, b: &Entry| a.name.cmp(&b.name);
        let newest = |a: &Entry, b: &Entry| b.metadata.modified.cmp(&a.metadata.modified).then_with(|| by_name(a, b));
        let largest = |a: &Entry, b: &Entry| b.metadata.size.cmp(&a.metadata.size).then_with(|| by_name(a, b));
        let ending =
            |entry: &Entry| entry.name.rsplit_once('.').map(|(_, ending)| ending.to_owned()).unwrap_or_default();
        match self.given.last_of("ftSUvX") {
            Some('f' | 'U') => return,
            Some('t') => entries.sort_by(newest),
            Some('S') => entries.sort_by(largest),
            Some('X') => entries.sort_by(|a, b| ending(a).cmp(&ending(b)).then_with(|| by_name(a, b))),
            Some('v') => entries.sort_by(|a, b| versions(&a.name, &b.name)),
            _ => entries.sort_by(by_name),
        }
        if self.given.has('r') {
            entries.reverse();
        }
        if self.given.has('z') {
            entries.sort_by_key(|entry| !entry.leads_in);
        }
    }

    async fn rows(&mut self, entries: &[Entry], with_total: bool) -> Result<()> {
        let classify = if self.given.has('F') { Some(true) } else { self.given.has('p').then_some(false) };
        let text = if self.is_long() {
            long(entries, with_total, classify, &self.given)
        } else if self.given.last_of("1Cmx") == Some('m') {
            let names: Vec<String> = entries.iter().map(|entry| name_only(entry, classify, &self.given)).collect();
            format!("{}\n", names.join(", "))
        } else {
            entries.iter().map(|entry| format!("{}\n", name_only(entry, classify, &self.given))).collect()
        };
        self.put(&text).await
    }

    async fn put(&mut self, text: &str) -> Result<()> {
        match &mut self.output {
            Some(output) => output.put(text.as_bytes()).await,
            None => Ok(()),
        }
    }

    async fn trouble(&mut self, operand: &str, error: &Error) -> Result<()> {
        self.code = TROUBLE;
        complain(&self.context, &format!("cannot access '{operand}': {}", reason(error))).await
    }

    async fn trouble_opening(&mut self, operand: &str, error: &Error) -> Result<()> {
        self.code = TROUBLE;
        complain(&self.context, &format!("cannot open directory '{operand}': {}", reason(error))).await
    }
}

fn reason(error: &Error) -> String {
    match error {
        Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// Orders names so that numbers in them count as numbers.
fn versions(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).count();
        match (digits(a), digits(b)) {
            (0, 0) => match (a.chars().next(), b.chars().next()) {
                (Some(x), Some(y)) if x == y => (a, b) = (&a[x.len_utf8()..], &b[y.len_utf8()..]),
                (x, y) => return x.cmp(&y),
            },
            (m, n) if m > 0 && n > 0 => {
                let (x, y) = (a[..m].trim_start_matches('0'), b[..n].trim_start_matches('0'));
                match x.len().cmp(&y.len()).then_with(|| x.cmp(y)) {
                    Ordering::Equal => (a, b) = (&a[m..], &b[n..]),
                    other => return other,
                }
            }
            _ => return a.cmp(b),
        }
    }
}
