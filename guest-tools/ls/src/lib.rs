//! `ls`: what lies in one directory.

mod date;

use palisade_tool::{
    Failure,
    files::{self, Entry, FileError, Kind, Stat},
    text, walk,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `ls`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The directory, relative to the workspace.
    #[serde(default = "workspace", alias = "directory", alias = "file_path")]
    path: String,
    /// Whether to show names that begin with a dot.
    #[serde(default, alias = "hidden", alias = "-a")]
    all: bool,
    /// The most entries to show.
    #[serde(default = "limit")]
    limit: u32,
}

fn workspace() -> String {
    ".".to_owned()
}

fn limit() -> u32 {
    500
}

/// More entries than this help nobody.
const MAX_ENTRIES: u32 = 10_000;

palisade_tool::tool! {
    /// Lists one directory: directories first with a trailing `/`, then files with their size and
    /// the time of their last change (UTC); symbolic links end with `@`. Use `tree` to see several
    /// levels and `glob` to find files by name.
    #[tool(needs = ["fs.read"], read_only = true, idempotent = true)]
    pub fn ls(input: Input) -> Result<String, Failure> {
        if input.path.is_empty() {
            return Err(Failure::InvalidInput("`path` is empty; use `.` for the workspace".to_owned()));
        }
        if input.limit == 0 {
            return Err(Failure::InvalidInput("`limit` must be at least 1".to_owned()));
        }
        let path = walk::clean(&input.path);
        match files::list(&path) {
            Ok(listing) => Ok(show(&path, listing, &input)),
            Err(FileError::NotADirectory) => {
                let stat = files::stat(&path).map_err(|error| Failure::on_path(&input.path, error))?;
                Ok(line(&path, stat.kind, Ok(stat)))
            }
            Err(error) => Err(Failure::on_path(&input.path, error)),
        }
    }
}

fn show(path: &str, listing: files::Listing, input: &Input) -> String {
    let (mut entries, hidden): (Vec<Entry>, Vec<Entry>) =
        listing.entries.into_iter().partition(|entry| input.all || !entry.name.starts_with('.'));
    entries.sort_by_key(|entry| entry.kind != Kind::Directory);
    let limit = input.limit.min(MAX_ENTRIES) as usize;
    let mut lines: Vec<String> = entries
        .iter()
        .take(limit)
        .map(|entry| {
            let below = if path.is_empty() { entry.name.clone() } else { format!("{path}/{}", entry.name) };
            let stat = if entry.kind == Kind::File { files::stat(&below) } else { Err(FileError::NotFound) };
            line(&entry.name, entry.kind, stat)
        })
        .collect();
    if entries.is_empty() {
        lines.push(
            if hidden.is_empty() { "(the directory is empty)" } else { "(nothing that is not hidden)" }.to_owned(),
        );
    }
    if entries.len() > limit {
        let more = text::count(entries.len() - limit, "more entry", "more entries");
        lines.push(format!("… {more}; raise `limit`, or use glob to find files by name"));
    }
    if !hidden.is_empty() {
        lines.push(format!(
            "({} left out; `all` shows them)",
            text::count(hidden.len(), "hidden entry", "hidden entries")
        ));
    }
    if listing.unnameable > 0 {
        let count = text::count(listing.unnameable as usize, "entry whose name is", "entries whose names are");
        lines.push(format!("({count} not valid UTF-8 cannot be shown)"));
    }
    lines.join("\n")
}

fn line(name: &str, kind: Kind, stat: Result<Stat, FileError>) -> String {
    match (kind, stat) {
        (Kind::Directory, _) => format!("{name}/"),
        (Kind::Symlink, _) => format!("{name}@"),
        (Kind::Other, _) => format!("{name}  (device, socket or pipe)"),
        (Kind::File, Ok(stat)) => format!("{name}  {}  {}", text::size(stat.size), date::utc(stat.modified)),
        // It went away since the directory was listed, or may not be looked at.
        (Kind::File, Err(_)) => name.to_owned(),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "builds directories to list")]
mod tests {
    use std::{
        ffi::OsStr,
        fs,
        os::unix::{ffi::OsStrExt as _, fs::symlink},
        time::{Duration, UNIX_EPOCH},
    };

    use super::*;

    fn world() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.txt", ".hidden"] {
            let file = fs::File::create(dir.path().join(name)).unwrap();
            file.set_len(1536).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
        }
        fs::create_dir(dir.path().join("z")).unwrap();
        fs::write(dir.path().join(OsStr::from_bytes(b"\xff")), "").unwrap();
        symlink("b.txt", dir.path().join("link")).unwrap();
        dir
    }

    fn list(dir: &tempfile::TempDir, below: &str, input: &str) -> String {
        let root = dir.path().to_str().unwrap();
        call(&format!(r#"{{"path":"{root}{below}"{input}}}"#)).unwrap().replace(root, "")
    }

    #[test]
    fn directories_come_first_and_what_is_left_out_is_said() {
        assert_eq!(
            list(&world(), "", ""),
            "z/\nb.txt  1.5 KiB  2023-11-14 22:13\nlink@\n(1 hidden entry left out; `all` shows them)\n\
             (1 entry whose name is not valid UTF-8 cannot be shown)"
        );
        assert!(list(&world(), "", r#","all":true"#).starts_with("z/\n.hidden  1.5 KiB"));
    }

    #[test]
    fn a_limit_says_how_many_more_there_are() {
        assert!(list(&world(), "", r#","limit":1"#).starts_with("z/\n… 2 more entries; raise `limit`"));
    }

    #[test]
    fn files_and_empty_directories_can_be_listed() {
        assert_eq!(list(&world(), "/z", ""), "(the directory is empty)");
        assert_eq!(list(&world(), "/b.txt", ""), "/b.txt  1.5 KiB  2023-11-14 22:13");
    }

    #[test]
    fn input_that_makes_no_sense_is_refused() {
        assert!(matches!(call(r#"{"path":""}"#), Err(Failure::InvalidInput(_))));
        assert!(matches!(call(r#"{"limit":0}"#), Err(Failure::InvalidInput(_))));
        assert!(matches!(call(r#"{"path":"/nowhere/at/all"}"#), Err(Failure::Failed(_))));
    }
}
