//! What `grep` promises, on small trees.
#![expect(clippy::disallowed_methods, reason = "builds trees to search")]

use std::fs;

use palisade_tool::Failure;

use crate::{call, filter::Filter};

struct World(tempfile::TempDir);

impl World {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (path, bytes) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        Self(dir)
    }

    /// Calls the tool on a path in this world with more input, without the closing brace.
    fn grep_in(&self, path: &str, input: &str) -> Result<String, Failure> {
        let root = self.0.path().to_str().unwrap();
        let text = call(&format!(r#"{{"path":"{root}{path}",{input}}}"#))?;
        Ok(text.replace(&format!("{root}/"), ""))
    }

    fn grep(&self, input: &str) -> String {
        self.grep_in("", input).unwrap()
    }
}

fn refused(input: &str) -> String {
    match call(input) {
        Err(Failure::InvalidInput(text)) => text,
        other => panic!("{input} gave {other:?}"),
    }
}

fn sample() -> World {
    World::new(&[
        (".gitignore", b"*.log\n"),
        (".hidden", b"needle\n"),
        ("a.log", b"needle\n"),
        ("a.rs", b"one\nneedle two\nthree\n\nfive\nsix Needle\n"),
        ("b/c.py", b"x\r\nneedles\r\n"),
        ("b/d.bin", b"\0needle\n"),
    ])
}

#[test]
fn lines_come_with_path_and_number_in_path_order() {
    assert_eq!(sample().grep(r#""pattern":"needle""#), "a.rs:2:needle two\nb/c.py:2:needles");
    assert_eq!(
        sample().grep(r#""pattern":"needle","-i":true,"-n":true,"hidden":true,"ignored":true"#),
        ".hidden:1:needle\na.log:1:needle\na.rs:2:needle two\na.rs:6:six Needle\nb/c.py:2:needles"
    );
}

#[test]
fn context_is_marked_and_groups_are_set_apart() {
    assert_eq!(
        sample().grep(r#""pattern":"needle","-i":true,"-C":1"#),
        "a.rs-1-one\na.rs:2:needle two\na.rs-3-three\n--\na.rs-5-five\na.rs:6:six Needle\n--\nb/c.py-1-x\nb/c.py:2:needles"
    );
    assert_eq!(sample().grep(r#""pattern":"two","before":1"#), "a.rs-1-one\na.rs:2:needle two");
}

#[test]
fn files_and_counts_can_be_asked_for() {
    assert_eq!(sample().grep(r#""pattern":"needle","output_mode":"files_with_matches""#), "a.rs\nb/c.py");
    assert_eq!(sample().grep(r#""pattern":"needle","ignore_case":true,"output_mode":"count""#), "a.rs:2\nb/c.py:1");
}

#[test]
fn words_plain_text_inversion_and_line_ends() {
    let world = World::new(&[("f", b"a.b\naxb\r\nfoobar\nfoo bar\n")]);
    assert_eq!(world.grep(r#""pattern":"a.b","fixed_strings":true"#), "f:1:a.b");
    assert_eq!(world.grep(r#""pattern":"foo","word":true"#), "f:4:foo bar");
    assert_eq!(world.grep(r#""pattern":"foo|a\\.b","invert":true"#), "f:2:axb");
    assert_eq!(world.grep(r#""pattern":"^axb$""#), "f:2:axb");
    assert_eq!(world.grep(r#""pattern":"\\Aaxb""#), "f:2:axb");
}

#[test]
fn a_match_may_span_lines_when_asked_for() {
    let world = World::new(&[("f", b"begin {\n  x\n}\nend\n")]);
    assert_eq!(world.grep(r#""pattern":"begin.*?\\}","multiline":true"#), "f:1:begin {\nf:2:  x\nf:3:}");
    assert!(refused(r#"{"pattern":"a\\nb"}"#).contains("`multiline`"));
}

#[test]
fn globs_and_types_choose_files() {
    assert_eq!(sample().grep(r#""pattern":"needle","glob":"*.py""#), "b/c.py:2:needles");
    assert_eq!(sample().grep(r#""pattern":"needle","glob":["*.{rs,py}","!a.*"]"#), "b/c.py:2:needles");
    assert_eq!(sample().grep(r#""pattern":"needle","glob":"!b""#), "a.rs:2:needle two");
    assert_eq!(sample().grep(r#""pattern":"needle","glob":".hid*""#), ".hidden:1:needle");
    assert_eq!(sample().grep(r#""pattern":"needle","type":"rust""#), "a.rs:2:needle two");
    let filter = Filter::new(&["./src/**/*.rs".to_owned(), "!src/gen/**".to_owned()], &[]).unwrap();
    let accepted = ["src/a.rs", "src/x/y.rs", "a.rs", "src/gen/a.rs"].map(|path| filter.accepts_file(path));
    assert_eq!(accepted, [true, true, false, false]);
    assert_eq!(
        refused(r#"{"pattern":"x","type":"pyton"}"#),
        "there is no file type `pyton`; did you mean `python`? or use `glob`, such as `*.pyton`"
    );
}

#[test]
fn a_limit_stops_the_search_and_says_so() {
    let world = World::new(&[("a", b"x\nx\n"), ("b", b"x\n")]);
    assert_eq!(world.grep(r#""pattern":"x","limit":3"#), "a:1:x\na:2:x\nb:1:x");
    assert_eq!(
        world.grep(r#""pattern":"x","head_limit":2"#),
        "a:1:x\na:2:x\n… stopped after 2 lines (2 matches in 1 file so far); \
         narrow the search with `path`, `glob` or `type`, or raise `limit`"
    );
    assert!(world.grep(r#""pattern":"x","limit":1,"output_mode":"count""#).starts_with("a:2\n… stopped after 1 line "));
}

#[test]
fn finding_nothing_says_how_much_was_searched() {
    assert_eq!(
        sample().grep(r#""pattern":"absent""#),
        "No matches in 2 files searched (hidden and ignored files were left out)."
    );
    assert_eq!(
        sample().grep(r#""pattern":"needle","glob":"*.go","hidden":true,"ignored":true"#),
        "No files to search: none fits `path`, `glob` and `type`."
    );
    let in_file = sample().grep_in("/a.rs", r#""pattern":"absent""#);
    assert_eq!(in_file, Ok("No matches in 1 file searched.".to_owned()));
}

#[test]
fn long_lines_show_the_part_around_the_match() {
    let line = format!("{}needle{}", "é".repeat(5000), "z".repeat(5000));
    let text = World::new(&[("f", line.as_bytes())]).grep(r#""pattern":"needle""#);
    assert!(text.starts_with("f:1:…é") && text.contains("éneedlezz"), "{text}");
    assert!(text.ends_with("z… [clipped, the line has 15006 bytes]"), "{text}");
    assert!(!text.contains('\u{fffd}') && text.chars().count() < 600);
}

#[test]
fn a_file_named_outright_is_searched_whatever_it_is() {
    assert_eq!(sample().grep_in("/a.log", r#""pattern":"needle""#), Ok("a.log:1:needle".to_owned()));
    assert_eq!(sample().grep_in("/b/d.bin", r#""pattern":"needle""#), Ok("binary file b/d.bin matches".to_owned()));
    let missing = sample().grep_in("/nothing", r#""pattern":"x""#);
    assert!(matches!(missing, Err(Failure::Failed(text)) if text.contains("does not exist")));
}

#[test]
fn large_files_are_streamed_and_unicode_marks_are_understood() {
    let mut large = "filler line\n".repeat(300_000).into_bytes();
    large.extend_from_slice(b"the needle\n");
    let wide: Vec<u8> = "\u{feff}x\nneedle é\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let world = World::new(&[("large", &large), ("marked", b"\xef\xbb\xbfneedle"), ("wide", &wide)]);
    assert_eq!(
        world.grep(r#""pattern":"^needle|the needle""#),
        "large:300001:the needle\nmarked:1:needle\nwide:2:needle é"
    );
    assert_eq!(
        world.grep(r#""pattern":"line\nthe","multiline":true"#.replace('\n', "\\n").as_str()),
        "large:300000:filler line\nlarge:300001:the needle"
    );
}

#[test]
fn input_that_makes_no_sense_is_refused() {
    for input in [
        r#"{"pattern":""}"#,
        r#"{"pattern":"x","path":""}"#,
        r#"{"pattern":"x","limit":0}"#,
        r#"{"pattern":"("}"#,
        r#"{"pattern":"(?=x)"}"#,
        r#"{"pattern":"x","glob":"[a"}"#,
        r#"{"pattern":"x","glob":""}"#,
        r#"{"pattern":"x","unknown":1}"#,
        r#"{"pattern":"(\\w{1000}){1000}"}"#,
    ] {
        refused(input);
    }
}
