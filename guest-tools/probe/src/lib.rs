//! `probe`: a hostile guest that `palisade prove` runs inside an agent's real sandbox. It tries one
//! thing and says what happened; whether it got through is judged by the host, from outside.
#![expect(clippy::disallowed_methods, reason = "trying to reach files is its purpose")]

use std::{fs, hint::black_box, io, thread, time::Duration};

use palisade_tool::{Failure, files};
use schemars::JsonSchema;
use serde::Deserialize;

mod link;

/// The input of `probe`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What to try.
    attempt: Attempt,
    /// The path to try it on, where one is needed.
    #[serde(default)]
    path: String,
    /// A second path: where to rename or link to, or what a link says.
    #[serde(default)]
    to: String,
}

/// The things a probe can try.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Attempt {
    /// Create or replace a file.
    Write,
    /// Empty a file.
    Truncate,
    /// Add to a file.
    Append,
    /// Remove a file.
    Delete,
    /// Make a directory.
    MakeDirectory,
    /// Rename a file.
    Rename,
    /// Make a hard link.
    HardLink,
    /// Make a symbolic link.
    Symlink,
    /// Read a file through WASI.
    Read,
    /// Read a file through the host's own interface.
    ReadChunk,
    /// List a directory through WASI.
    List,
    /// List a directory through the host's own interface.
    ListEntries,
    /// Read the environment and the arguments.
    Environment,
    /// Start a program.
    StartProgram,
    /// Start a thread.
    StartThread,
    /// Compute for ever.
    Loop,
    /// Sleep for an hour.
    Sleep,
    /// Take memory for ever.
    Memory,
    /// Print for a gigabyte.
    Print,
    /// Return a very large result.
    Result,
    /// Recurse for ever.
    Recurse,
    /// Open files for ever.
    Handles,
}

palisade_tool::tool! {
    /// Tries something that a sandbox should refuse.
    #[tool(needs = ["fs.read", "fs.write"], read_only = false, idempotent = false)]
    pub fn probe(input: Input) -> Result<String, Failure> {
        let Input { attempt, path, to } = input;
        match attempt {
            Attempt::Write => done(fs::write(&path, "probe")),
            Attempt::Truncate => done(fs::OpenOptions::new().write(true).truncate(true).open(&path)),
            Attempt::Append => done(fs::OpenOptions::new().append(true).open(&path).and_then(|mut file| {
                io::Write::write_all(&mut file, b"probe")
            })),
            Attempt::Delete => done(fs::remove_file(&path)),
            Attempt::MakeDirectory => done(fs::create_dir(&path)),
            Attempt::Rename => done(fs::rename(&path, &to)),
            Attempt::HardLink => done(fs::hard_link(&path, &to)),
            Attempt::Symlink => done(link::symlink(&to, &path)),
            Attempt::Read => seen(fs::read_to_string(&path)),
            Attempt::ReadChunk => match files::read(&path, 0, 4096) {
                Ok(chunk) => Ok(String::from_utf8_lossy(&chunk.bytes).into_owned()),
                Err(error) => Err(Failure::on_path("the path", error)),
            },
            Attempt::List => seen(fs::read_dir(&path).map(|entries| {
                entries.flatten().map(|entry| format!("{:?}", entry.file_name())).collect::<Vec<_>>().join(" ")
            })),
            Attempt::ListEntries => match files::list(&path) {
                Ok(listing) => Ok(format!("{:?}", listing.entries)),
                Err(error) => Err(Failure::on_path("the path", error)),
            },
            Attempt::Environment => environment(),
            Attempt::StartProgram => done(std::process::Command::new("/bin/true").status()),
            Attempt::StartThread => done(thread::Builder::new().spawn(|| {}).map(drop)),
            Attempt::Loop => spin(),
            Attempt::Sleep => {
                thread::sleep(Duration::from_secs(3600));
                Ok("slept for an hour".to_owned())
            }
            Attempt::Memory => take_memory(),
            Attempt::Print => print_a_gigabyte(),
            Attempt::Result => Ok("x".repeat(64 << 20)),
            Attempt::Recurse => Ok(recurse(1).to_string()),
            Attempt::Handles => open_for_ever(&path),
        }
    }
}

fn done<T>(result: io::Result<T>) -> Result<String, Failure> {
    result.map(|_| "it worked".to_owned()).map_err(refused)
}

fn seen(result: io::Result<String>) -> Result<String, Failure> {
    result.map_err(refused)
}

#[expect(clippy::needless_pass_by_value, reason = "shape of map_err")]
fn refused(error: io::Error) -> Failure {
    Failure::Failed(error.to_string())
}

fn environment() -> Result<String, Failure> {
    let found: Vec<String> = std::env::vars().map(|(name, _)| name).chain(std::env::args()).collect();
    if found.is_empty() { Err(Failure::Failed("empty".to_owned())) } else { Ok(found.join(" ")) }
}

fn spin() -> Result<String, Failure> {
    let mut count = 0_u64;
    loop {
        count = black_box(count.wrapping_add(1));
        if count == u64::MAX {
            return Ok(count.to_string());
        }
    }
}

fn take_memory() -> Result<String, Failure> {
    let mut taken = Vec::new();
    loop {
        taken.push(black_box(vec![1_u8; 1 << 20]));
    }
}

#[expect(clippy::print_stdout, reason = "flooding the output is the attempt")]
fn print_a_gigabyte() -> Result<String, Failure> {
    let line = "x".repeat(1023);
    for _ in 0..1 << 20 {
        println!("{line}");
    }
    Ok("printed a gigabyte".to_owned())
}

#[expect(unconditional_recursion, reason = "recursing for ever is the attempt")]
fn recurse(depth: u64) -> u64 {
    black_box(recurse(black_box(depth + 1)) + 1)
}

fn open_for_ever(path: &str) -> Result<String, Failure> {
    let mut open = Vec::new();
    loop {
        match fs::File::open(path) {
            Ok(file) => open.push(file),
            Err(error) if open.is_empty() => return Err(refused(error)),
            Err(error) => return Err(Failure::Failed(format!("after {} files: {error}", open.len()))),
        }
    }
}
