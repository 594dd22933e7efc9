//! `diff`.

mod changes;
mod show;

use std::path::PathBuf;

use async_trait::async_trait;
use bashkit::{Command, CommandContext, CommandStatus, Metadata, Result};

use self::{
    changes::{Change, changes},
    show::{normal, unified},
};
use super::{
    input::{Input, absolute, lines},
    options::{Given, Known},
    output::{Output, complain, refuse},
};
use crate::civil;

pub(super) struct Diff;

/// Letters without a short form of their own: `l` for `--color`, `z` for `--strip-trailing-cr`.
const KNOWN: Known = Known {
    short: "aBbdEiL:l:NqrsuU:wz",
    long: &[
        ("brief", 'q'),
        ("color", 'l'),
        ("ignore-all-space", 'w'),
        ("ignore-blank-lines", 'B'),
        ("ignore-case", 'i'),
        ("ignore-space-change", 'b'),
        ("ignore-trailing-space", 'E'),
        ("label", 'L'),
        ("minimal", 'd'),
        ("new-file", 'N'),
        ("recursive", 'r'),
        ("report-identical-files", 's'),
        ("strip-trailing-cr", 'z'),
        ("text", 'a'),
        ("unified", 'u'),
    ],
};

/// Something could not be compared.
const TROUBLE: i32 = 2;
/// Lines around a change in the unified form.
const AROUND: usize = 3;

/// One side of a comparison.
struct Side {
    name: String,
    path: PathBuf,
    /// Nothing if it is not there, or is what is piped in.
    metadata: Option<Metadata>,
}

#[async_trait]
impl Command for Diff {
    async fn execute(&self, context: CommandContext<'_>) -> Result<CommandStatus> {
        // `--color` and `--unified` may come without a value.
        let plain = |argument: &String| argument != "--color";
        let arguments: Vec<String> = context.args.iter().filter(|argument| plain(argument)).cloned().collect();
        let given = match KNOWN.read(&arguments) {
            Ok(given) => given,
            Err(words) => return refuse(&context, &words, TROUBLE).await,
        };
        let [left, right] = given.operands.as_slice() else {
            let words = match given.operands.last() {
                Some(last) if given.operands.len() > 2 => format!("extra operand '{last}'"),
                last => format!("missing operand after '{}'", last.map_or("diff", String::as_str)),
            };
            return refuse(&context, &words, TROUBLE).await;
        };
        let mut left = side(&context, left.clone()).await;
        let mut right = side(&context, right.clone()).await;
        // A file and a directory: the file of that name in it.
        if is_directory(&left) && !is_directory(&right) && right.metadata.is_some() {
            left = within(&context, &left, base(&right.name)).await;
        } else if is_directory(&right) && !is_directory(&left) && left.metadata.is_some() {
            right = within(&context, &right, base(&left.name)).await;
        }
        let mut work = Work { output: Output::new(&context), context, given, code: 0 };
        work.compare(left, right).await?;
        work.output.flush().await?;
        Ok(CommandStatus::with_code(work.code))
    }
}

/// Something that is left to do.
enum Task {
    /// Two things to compare, and whether they were found in directories.
    Pair(Side, Side, bool),
    /// A directory, and a name that only it has.
    Only(String, String),
}

struct Work<'a> {
    context: CommandContext<'a>,
    given: Given,
    output: Output,
    code: i32,
}

impl Work<'_> {
    /// Compares two files or two directories, and what is in those.
    async fn compare(&mut self, left: Side, right: Side) -> Result<()> {
        let mut waiting = vec![Task::Pair(left, right, false)];
        while let Some(task) = waiting.pop() {
            let (left, right, is_inner) = match task {
                Task::Pair(left, right, is_inner) => (left, right, is_inner),
                Task::Only(directory, name) => {
                    self.code = self.code.max(1);
                    self.say(&format!("Only in {directory}: {name}\n")).await?;
                    continue;
                }
            };
            match (is_directory(&left), is_directory(&right)) {
                (true, true) if is_inner && !self.given.has('r') => {
                    self.say(&format!("Common subdirectories: {} and {}\n", left.name, right.name)).await?;
                }
                (true, true) => {
                    let pairs = self.pairs(&left, &right).await?;
                    waiting.extend(pairs.into_iter().rev());
                }
                (is_left, is_right)
                    if is_inner && is_left != is_right && left.metadata.is_some() && right.metadata.is_some() =>
                {
                    let kind = |directory: bool| if directory { "a directory" } else { "a regular file" };
                    let (a, b) = (kind(is_left), kind(is_right));
                    self.say(&format!("File {} is {a} while file {} is {b}\n", left.name, right.name)).await?;
                    self.code = self.code.max(1);
                }
                _ => self.files(&left, &right, is_inner).await?,
            }
        }
        Ok(())
    }

    /// What is in two directories, by name.
    async fn pairs(&mut self, left: &Side, right: &Side) -> Result<Vec<Task>> {
        let mut names = std::collections::BTreeMap::<String, (bool, bool)>::new();
        for (side, is_left) in [(left, true), (right, false)] {
            for entry in self.context.fs.read_dir(&side.path).await? {
                let seen = names.entry(entry.name).or_default();
                *(if is_left { &mut seen.0 } else { &mut seen.1 }) = true;
            }
        }
        let mut tasks = Vec::new();
        for (name, (is_left, is_right)) in names {
            if is_left && is_right || self.given.has('N') {
                let (a, b) = (within(&self.context, left, &name).await, within(&self.context, right, &name).await);
                tasks.push(Task::Pair(a, b, true));
            } else {
                tasks.push(Task::Only(if is_left { &left.name } else { &right.name }.clone(), name));
            }
        }
        Ok(tasks)
    }

    async fn files(&mut self, left: &Side, right: &Side, is_inner: bool) -> Result<()> {
        let (Some(a), Some(b)) = (self.read(left).await?, self.read(right).await?) else {
            self.code = TROUBLE;
            return Ok(());
        };
        let names = format!("{} and {}", left.name, right.name);
        let is_binary = |bytes: &[u8]| memchr::memchr(0, &bytes[..bytes.len().min(4096)]).is_some();
        if !self.given.has('a') && a != b && (is_binary(&a) || is_binary(&b)) {
            self.code = TROUBLE;
            return self.say(&format!("Binary files {names} differ\n")).await;
        }
        let (a, b): (Vec<&[u8]>, Vec<&[u8]>) = (lines(&a, b'\n').collect(), lines(&b, b'\n').collect());
        let key = |line: &&[u8]| self.key(line);
        let keys: (Vec<Vec<u8>>, Vec<Vec<u8>>) = (a.iter().map(key).collect(), b.iter().map(key).collect());
        let mut found = changes(&keys.0, &keys.1);
        if self.given.has('B') {
            let is_blank = |line: &&[u8]| line.iter().all(u8::is_ascii_whitespace);
            found.retain(|change: &Change| {
                !(a[change.left.clone()].iter().all(is_blank) && b[change.right.clone()].iter().all(is_blank))
            });
        }
        if found.is_empty() {
            if self.given.has('s') {
                self.say(&format!("Files {names} are identical\n")).await?;
            }
            return Ok(());
        }
        self.code = self.code.max(1);
        if self.given.has('q') {
            return self.say(&format!("Files {names} differ\n")).await;
        }
        if is_inner {
            let options: Vec<&str> =
                self.context.args.iter().map(String::as_str).filter(|argument| argument.starts_with('-')).collect();
            self.say(&format!("diff {} {} {}\n", options.join(" "), left.name, right.name)).await?;
        }
        let around = match (self.given.value('U').map(str::parse), self.given.has('u')) {
            (Some(Ok(around)), _) => Some(around),
            (_, true) => Some(AROUND),
            _ => None,
        };
        let text = match around {
            None => normal(&a, &b, &found),
            Some(around) => {
                let titles = (self.title(left), self.title(right));
                unified(&a, &b, &found, around, &titles)
            }
        };
        self.output.put(&text).await
    }

    /// The bytes of a file; `None` after saying why there are none.
    async fn read(&mut self, side: &Side) -> Result<Option<Vec<u8>>> {
        if self.given.has('N') && side.metadata.is_none() && side.name != "-" {
            return Ok(Some(Vec::new()));
        }
        let mut bytes = Vec::new();
        let operand = side.path.to_str().filter(|_| side.name != "-").unwrap_or("-");
        let mut input = match Input::open(&self.context, operand).await {
            Ok(input) => input,
            Err(error) => {
                complain(&self.context, &format!("{}: {error}", side.name)).await?;
                return Ok(None);
            }
        };
        while let Some(piece) = input.next().await? {
            bytes.extend_from_slice(&piece);
        }
        Ok(Some(bytes))
    }

    /// A line as far as it counts.
    fn key(&self, line: &[u8]) -> Vec<u8> {
        let has = |option| self.given.has(option);
        let mut key = line.to_vec();
        if has('w') {
            key.retain(|byte| !byte.is_ascii_whitespace() || *byte == b'\n');
        } else if has('b') || has('E') {
            let end = key.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |last| last + 1);
            let ends_line = key.ends_with(b"\n");
            key.truncate(end);
            if has('b') {
                let space = |byte: u8| if byte.is_ascii_whitespace() { b' ' } else { byte };
                key.iter_mut().for_each(|byte| *byte = space(*byte));
                key.dedup_by(|a, b| *a == b' ' && *b == b' ');
            }
            key.extend(ends_line.then_some(b'\n'));
        } else if has('z') && key.ends_with(b"\r\n") {
            key.truncate(key.len() - 2);
            key.push(b'\n');
        }
        if has('i') {
            key.make_ascii_lowercase();
        }
        key
    }

    /// A file's name and when it was changed.
    fn title(&self, side: &Side) -> String {
        let when = side
            .metadata
            .as_ref()
            .map_or_else(|| civil::long(std::time::UNIX_EPOCH), |metadata| civil::long(metadata.modified));
        format!("{}\t{when}", side.name)
    }

    async fn say(&mut self, text: &str) -> Result<()> {
        self.output.put(text.as_bytes()).await
    }
}

async fn side(context: &CommandContext<'_>, name: String) -> Side {
    let path = absolute(context.cwd, &name);
    let metadata = if name == "-" { None } else { context.fs.stat(&path).await.ok() };
    Side { name, path, metadata }
}

async fn within(context: &CommandContext<'_>, directory: &Side, name: &str) -> Side {
    side(context, format!("{}/{name}", directory.name.trim_end_matches('/'))).await
}

fn base(name: &str) -> &str {
    name.trim_end_matches('/').rsplit('/').next().unwrap_or(name)
}

fn is_directory(side: &Side) -> bool {
    side.metadata.as_ref().is_some_and(|metadata| metadata.file_type.is_dir())
}
