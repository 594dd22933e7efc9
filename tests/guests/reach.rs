//! Does with files what it is told, step by step, through raw WASI and through the host's own
//! interface, and says what came of each step.
#![cfg(target_family = "wasm")]

use std::collections::BTreeMap;

use palisade_tool::{Failure, files};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wasip2::filesystem::{
    preopens::get_directories,
    types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags},
};

/// The input of `reach`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// What to do, in order.
    steps: Vec<Step>,
}

/// One thing to do.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Step {
    /// What.
    op: String,
    /// The directory or file handle it starts from; a preopen goes by its name.
    #[serde(default = "here")]
    at: String,
    #[serde(default)]
    path: String,
    #[serde(default = "here")]
    to_at: String,
    #[serde(default)]
    to: String,
    /// Whether a link in the last place is followed.
    #[serde(default)]
    follow: bool,
    /// What to write, or what a link says.
    #[serde(default)]
    text: String,
    /// For `open`: create, directory, exclusive, truncate, write.
    #[serde(default)]
    flags: Vec<String>,
    /// For `open`: the name to keep the handle under.
    #[serde(default)]
    keep: String,
}

/// What came of a step.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Came {
    Ok(String),
    Error(String),
}

type Handles = BTreeMap<String, Descriptor>;

palisade_tool::tool! {
    /// Does with files what it is told.
    #[tool(needs = ["fs.read", "fs.write"], read_only = false, idempotent = false)]
    pub fn reach(input: Input) -> Result<String, Failure> {
        let mut handles: Handles = get_directories().into_iter().map(|(handle, name)| (name, handle)).collect();
        let came: Vec<Came> = input.steps.iter().map(|step| match take(step, &mut handles) {
            Ok(text) => Came::Ok(text),
            Err(text) => Came::Error(text),
        }).collect();
        serde_json::to_string(&came).map_err(|error| Failure::Failed(error.to_string()))
    }
}

fn here() -> String {
    ".".to_owned()
}

fn take(step: &Step, handles: &mut Handles) -> Result<String, String> {
    let Step { op, at, path, to_at, to, text, .. } = step;
    let follow = if step.follow { PathFlags::SYMLINK_FOLLOW } else { PathFlags::empty() };
    match op.as_str() {
        "host-read" => return told(files::read(path, 0, 4096).map(|chunk| lossy(&chunk.bytes))),
        "host-list" => {
            return told(files::list(path).map(|listing| names(listing.entries.into_iter().map(|entry| entry.name))));
        }
        "host-stat" => return told(files::stat(path).map(|stat| format!("{:?} {}", stat.kind, stat.size))),
        "preopens" => return Ok(names(handles.keys().cloned())),
        _ => {}
    }
    let dir = handles.get(at).ok_or("no-handle")?;
    let open = |open: OpenFlags, flags: DescriptorFlags| dir.open_at(follow, path, open, flags);
    let (read, write) = (DescriptorFlags::READ, DescriptorFlags::WRITE);
    let none = OpenFlags::empty();
    let done = |result: Result<(), ErrorCode>| named(result).map(|()| "done".to_owned());
    match op.as_str() {
        "open" => {
            let handle = named(open(
                open_flags(&step.flags),
                if step.flags.iter().any(|flag| flag == "write") { read | write } else { read },
            ))?;
            handles.insert(step.keep.clone(), handle);
            Ok("opened".to_owned())
        }
        "drop" => Ok(handles.remove(at).map_or("nothing", |_| "dropped").to_owned()),
        "read" => named(open(none, read).and_then(|file| contents(&file))),
        "write" => done(open(OpenFlags::CREATE | OpenFlags::TRUNCATE, write).and_then(|file| put(&file, text))),
        "overwrite" => done(open(none, write).and_then(|file| put(&file, text))),
        "create" => done(open(OpenFlags::CREATE | OpenFlags::EXCLUSIVE, write).map(drop)),
        "truncate" => done(open(OpenFlags::TRUNCATE, write).map(drop)),
        "append" => {
            let file = named(open(none, write))?;
            let stream = named(file.append_via_stream())?;
            stream
                .blocking_write_and_flush(text.as_bytes())
                .map(|()| "done".to_owned())
                .map_err(|error| format!("{error:?}"))
        }
        "set-size" => done(open(none, write).and_then(|file| file.set_size(1))),
        "set-size-of-read" => done(open(none, read).and_then(|file| file.set_size(1))),
        "set-times-of-read" => {
            done(open(none, read).and_then(|file| file.set_times(NewTimestamp::Now, NewTimestamp::Now)))
        }
        "write-to-read" => done(open(none, read).and_then(|file| put(&file, text))),
        "set-times" => done(dir.set_times_at(follow, path, NewTimestamp::Now, NewTimestamp::Now)),
        "stat" => named(dir.stat_at(follow, path).map(|stat| format!("{:?} {}", stat.type_, stat.size))),
        "hash" => named(dir.metadata_hash_at(follow, path).map(|_| "hashed".to_owned())),
        "mkdir" => done(dir.create_directory_at(path)),
        "rmdir" => done(dir.remove_directory_at(path)),
        "unlink" => done(dir.unlink_file_at(path)),
        "symlink" => done(dir.symlink_at(text, path)),
        "readlink" => named(dir.readlink_at(path)),
        "list" => named(open(OpenFlags::DIRECTORY, read).and_then(|opened| list(&opened))),
        "list-handle" => named(list(dir)),
        "read-handle" => named(contents(dir)),
        "write-handle" => done(put(dir, text)),
        "set-size-handle" => done(dir.set_size(text.parse().unwrap_or(0))),
        "rename" => done(dir.rename_at(path, handles.get(to_at).ok_or("no-handle")?, to)),
        "link" => done(dir.link_at(follow, path, handles.get(to_at).ok_or("no-handle")?, to)),
        other => Err(format!("no operation `{other}`")),
    }
}

fn open_flags(names: &[String]) -> OpenFlags {
    names.iter().fold(OpenFlags::empty(), |flags, name| {
        flags
            | match name.as_str() {
                "create" => OpenFlags::CREATE,
                "directory" => OpenFlags::DIRECTORY,
                "exclusive" => OpenFlags::EXCLUSIVE,
                "truncate" => OpenFlags::TRUNCATE,
                _ => OpenFlags::empty(),
            }
    })
}

fn contents(file: &Descriptor) -> Result<String, ErrorCode> {
    file.read(4096, 0).map(|(bytes, _)| lossy(&bytes))
}

fn put(file: &Descriptor, text: &str) -> Result<(), ErrorCode> {
    file.write(text.as_bytes(), 0).map(drop)
}

fn list(dir: &Descriptor) -> Result<String, ErrorCode> {
    let stream = dir.read_directory()?;
    let mut found = Vec::new();
    while let Some(entry) = stream.read_directory_entry()? {
        found.push(entry.name);
    }
    found.sort();
    Ok(names(found.into_iter()))
}

fn names(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(",")
}

fn named<T>(result: Result<T, ErrorCode>) -> Result<T, String> {
    result.map_err(|code| code.name().to_owned())
}

fn told(result: Result<String, files::FileError>) -> Result<String, String> {
    result.map_err(|error| match error {
        files::FileError::Denied(_) => "denied".to_owned(),
        other => format!("{other:?}"),
    })
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
