//! `read`: shows a file's lines with their numbers, and says what a file is that has none.

mod kind;
mod page;

use palisade_tool::{
    Failure,
    files::{self, Chunk, FileError},
    text, walk,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    kind::{Content, Endianness},
    page::Page,
};

/// The input of `read`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The file, relative to the workspace.
    #[serde(alias = "file_path", alias = "filename", alias = "file")]
    path: String,
    /// The first line to show; lines are counted from 1.
    #[serde(default = "first")]
    offset: u64,
    /// The most lines to show.
    #[serde(default = "limit")]
    limit: u64,
}

fn first() -> u64 {
    1
}

fn limit() -> u64 {
    2000
}

/// What is read at first; it is enough for most files.
const FIRST_READ: u32 = 256 << 10;
/// What is read at once of the rest; a huge file is never in memory as a whole.
const NEXT_READ: u32 = 1 << 20;
/// Up to this size the lines that are not shown are counted too.
const COUNTED: u64 = 8 << 20;
/// The largest UTF-16 file that is decoded; it has to be in memory as a whole.
const MAX_WIDE: u64 = 8 << 20;

palisade_tool::tool! {
    /// Shows a text file with line numbers, as `number<tab>text`. At most `limit` lines are shown,
    /// beginning with line `offset`; the end of the output says how to go on if there are more. Of
    /// an image or another binary file it shows what kind it is. Use `ls` for directories.
    #[tool(needs = ["fs.read"], read_only = true, idempotent = true)]
    pub fn read(input: Input) -> Result<String, Failure> {
        let Input { path, offset, limit } = input;
        if path.is_empty() {
            return Err(Failure::InvalidInput("`path` is empty; give the path of a file".to_owned()));
        }
        if offset == 0 || limit == 0 {
            return Err(Failure::InvalidInput("`offset` and `limit` must be at least 1; lines are counted from 1".to_owned()));
        }
        let chunk = files::read(&path, 0, FIRST_READ).map_err(|error| explain(&path, error))?;
        if chunk.bytes.is_empty() {
            return Ok(format!("({path} is empty)"));
        }
        let page = Page::new(offset, limit);
        match Content::of(&chunk.bytes) {
            Content::Binary => Ok(kind::describe(&path, &chunk)),
            Content::Utf16(endianness) => show_wide(&path, &chunk, endianness, page),
            Content::Text => show(&path, chunk, page),
        }
    }
}

fn show(path: &str, mut chunk: Chunk, mut page: Page) -> Result<String, Failure> {
    let mut position = 0;
    loop {
        let mark: &[u8] = if position == 0 { b"\xef\xbb\xbf" } else { b"" };
        page.take(chunk.bytes.strip_prefix(mark).unwrap_or(&chunk.bytes));
        position += chunk.bytes.len() as u64;
        let at_end = position >= chunk.size || chunk.bytes.is_empty();
        if at_end {
            return page.into_text(path);
        }
        if page.is_full() && chunk.size > COUNTED {
            return Ok(page.into_text_of_more());
        }
        chunk = files::read(path, position, NEXT_READ).map_err(|error| Failure::on_path(path, error))?;
    }
}

fn show_wide(path: &str, first: &Chunk, endianness: Endianness, mut page: Page) -> Result<String, Failure> {
    if first.size > MAX_WIDE {
        return Err(Failure::Failed(format!(
            "{path} is UTF-16 text of {}; more than {} of it cannot be shown, search it with grep",
            text::size(first.size),
            text::size(MAX_WIDE)
        )));
    }
    let chunk = files::read(path, 0, files::MAX_READ).map_err(|error| Failure::on_path(path, error))?;
    page.take(endianness.decode(&chunk.bytes).as_bytes());
    page.into_text(path)
}

/// Describes an error; for a file that is missing, with the names that may have been meant.
fn explain(path: &str, error: FileError) -> Failure {
    let clean = walk::clean(path);
    let (directory, name) = clean.rsplit_once('/').unwrap_or(("", &clean));
    if error == FileError::NotFound
        && let Ok(listing) = files::list(if clean.starts_with('/') && directory.is_empty() { "/" } else { directory })
    {
        let similar = text::similar(name, listing.entries.iter().map(|entry| entry.name.as_str()), 3);
        if !similar.is_empty() {
            let above = &clean[..clean.len() - name.len()];
            let similar: Vec<String> = similar.iter().map(|name| format!("{above}{name}")).collect();
            return Failure::Failed(format!("{path} does not exist; did you mean {}?", similar.join(", ")));
        }
    }
    Failure::on_path(path, error)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "builds files to read")]
mod tests {
    use std::fs;

    use super::*;

    fn read_file(bytes: &[u8], input: &str) -> Result<String, Failure> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, bytes).unwrap();
        let path = path.to_str().unwrap();
        let named = |text: String| text.replace(path, "f");
        match call(&format!(r#"{{"file_path":"{path}"{input}}}"#)) {
            Ok(text) => Ok(named(text)),
            Err(Failure::Failed(text)) => Err(Failure::Failed(named(text))),
            Err(other) => Err(other),
        }
    }

    fn check(bytes: &[u8], input: &str, expected: &str) {
        assert_eq!(read_file(bytes, input), Ok(expected.to_owned()));
    }

    #[test]
    fn lines_are_numbered_and_line_ends_left_out() {
        check(b"one\r\n\ntwo", "", "     1\tone\n     2\t\n     3\ttwo");
        check(b"\xef\xbb\xbfone\n", "", "     1\tone");
        check(b"caf\xe9 au lait\n", "", "     1\tcaf\u{fffd} au lait");
        check(b"", "", "(f is empty)");
    }

    #[test]
    fn a_window_says_how_to_go_on() {
        let text = b"1\n2\n3\n4\n5\n";
        check(text, r#","offset":2,"limit":2"#, "     2\t2\n     3\t3\n… 2 more lines; continue with offset=4");
        check(text, r#","offset":4,"limit":1"#, "     4\t4\n… 1 more line; continue with offset=5");
        check(text, r#","offset":5"#, "     5\t5");
        check(b"1\n2", r#","limit":1"#, "     1\t1\n… 1 more line; continue with offset=2");
        let beyond = read_file(text, r#","offset":6"#);
        assert_eq!(beyond, Err(Failure::Failed("f has 5 lines; offset 6 is beyond its end".to_owned())));
    }

    #[test]
    fn long_lines_and_long_files_are_clipped() {
        let long = "é".repeat(3000);
        check(long.as_bytes(), "", &format!("     1\t{}… [clipped, the line has 6000 bytes]", "é".repeat(2000)));
        let wide = format!("{}\n", "x".repeat(1900)).repeat(1000);
        let text = read_file(wide.as_bytes(), "").unwrap();
        assert!(text.len() <= 256 << 10 && text.ends_with("more lines; continue with offset=138"), "{}", text.len());
    }

    #[test]
    fn a_huge_file_is_read_only_as_far_as_needed() {
        let huge = "0123456789abcde\n".repeat(600_000);
        check(
            huge.as_bytes(),
            r#","offset":400000,"limit":1"#,
            "400000\t0123456789abcde\n… more lines follow; continue with offset=400001",
        );
        check(huge.as_bytes(), r#","offset":600000,"limit":1"#, "600000\t0123456789abcde");
        assert!(read_file(huge.as_bytes(), r#","offset":600001"#).is_err());
    }

    #[test]
    fn utf16_text_is_decoded() {
        let little: Vec<u8> = "\u{feff}é\r\nb".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "\u{feff}é\nb".encode_utf16().flat_map(u16::to_be_bytes).collect();
        check(&little, "", "     1\té\n     2\tb");
        check(&big, "", "     1\té\n     2\tb");
    }

    #[test]
    fn binary_files_are_described() {
        check(b"\x7fELF\x02\x01\x01\0\0", "", "f is a binary file: ELF program or library, 9 B");
        check(b"ab\0cd", "", "f is a binary file: unknown kind, 5 B");
    }

    #[test]
    fn a_missing_file_names_those_that_may_have_been_meant() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["Main.rs", "other"] {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        let root = dir.path().to_str().unwrap();
        let failed = |name: &str| match call(&format!(r#"{{"path":"{root}/{name}"}}"#)) {
            Err(Failure::Failed(text)) => text.replace(root, ""),
            other => panic!("{other:?}"),
        };
        assert_eq!(failed("main.rs"), "/main.rs does not exist; did you mean /Main.rs?");
        assert!(failed("zzz").starts_with("/zzz does not exist; look for it"));
        assert!(failed("").contains("is a directory; list it with ls"));
    }

    #[test]
    fn input_that_makes_no_sense_is_refused() {
        for input in [r#"{"path":""}"#, r#"{"path":"x","offset":0}"#, r#"{"path":"x","limit":0}"#, r#"{}"#] {
            assert!(matches!(call(input), Err(Failure::InvalidInput(_))), "{input}");
        }
    }
}
