//! What `edit` promises, on small files.
#![expect(clippy::disallowed_methods, reason = "builds files to edit")]

use std::fs;

use palisade_tool::Failure;

use crate::{Edit, call, change::Draft, excerpt::Excerpt};

struct File(tempfile::TempDir);

impl File {
    fn new(bytes: impl AsRef<[u8]>) -> Self {
        let file = Self(tempfile::tempdir().unwrap());
        fs::write(file.path(), bytes).unwrap();
        file
    }

    fn missing() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> String {
        format!("{}/f", self.0.path().display())
    }

    fn content(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    /// Calls the tool with the rest of the input, and says `f` for the path.
    fn edit(&self, input: &str) -> Result<String, Failure> {
        let named = |text: String| text.replace(&self.path(), "f");
        match call(&format!(r#"{{"path":"{}",{input}}}"#, self.path())) {
            Ok(text) => Ok(named(text)),
            Err(Failure::Failed(text)) => Err(Failure::Failed(named(text))),
            Err(Failure::InvalidInput(text)) => Err(Failure::InvalidInput(named(text))),
            Err(denied) => Err(denied),
        }
    }

    fn failed(&self, input: &str) -> String {
        let before = fs::read(self.path()).ok();
        let result = self.edit(input);
        assert_eq!(fs::read(self.path()).ok(), before, "a failed edit changed the file");
        match result {
            Err(Failure::Failed(text)) => text,
            other => panic!("{input} gave {other:?}"),
        }
    }
}

#[test]
fn one_occurrence_is_replaced_and_shown() {
    let file = File::new("a\nb\nc\nd\ne\nf\n");
    assert_eq!(
        file.edit(r#""old_string":"d\ne\n","new_string":"D\n""#),
        Ok("Edited f: 1 replacement.\n@@ line 4 @@\n     1  a\n     2  b\n     3  c\n       -d\n       -e\n     4 +D\n     5  f"
            .to_owned())
    );
    assert_eq!(file.content(), "a\nb\nc\nD\nf\n");
    assert_eq!(
        file.edit(r#""old":"f\n","new":"""#).unwrap(),
        "Edited f: 1 replacement.\n@@ line 5 @@\n     2  b\n     3  c\n     4  D\n       -f"
    );
}

#[test]
fn several_occurrences_need_replace_all() {
    let file = File::new("x x\ny\nx\n");
    assert_eq!(
        file.failed(r#""old":"x","new":"z""#),
        "f: `old` occurs 3 times, at lines 1, 1, 3; give more of the lines around it so that it occurs once, \
         or set `replace_all`; nothing was changed"
    );
    assert_eq!(
        file.edit(r#""old":"x","new":"z\nz","replace_all":true"#).unwrap(),
        "Edited f: 3 replacements.\n@@ line 1 @@\n       -x x\n     1 +z\n     2 +z z\n     3 +z\n     4  y\n     5  z\n     6  z\n\
         @@ line 5 @@\n     2  z z\n     3  z\n     4  y\n       -x\n     5 +z\n     6 +z"
    );
    assert_eq!(file.content(), "z\nz z\nz\ny\nz\nz\n");
}

#[test]
fn edits_are_made_in_order_and_all_or_none() {
    let file = File::new("one\ntwo\n");
    let text = file
        .edit(r#""edits":[{"old":"two","new":"three"},{"old_string":"one\n","new_string":"1\n1\n"},{"old":"three","new":"3"}]"#)
        .unwrap();
    assert_eq!(file.content(), "1\n1\n3\n");
    assert!(text.contains("@@ line 3 @@\n     1  1\n     2  1\n       -two\n"), "{text}");
    file.edit(r#""edits":[{"old":"3","new":"4"},{"old":"1\n1\n4\n","new":"3\n"}]"#).unwrap();
    assert_eq!(file.content(), "3\n");
    let failed = file.failed(r#""edits":[{"old":"3","new":"4"},{"old":"absent text","new":"x"}]"#);
    assert!(failed.starts_with("f: edit 2 of 2: `old` was not found; nothing was changed"), "{failed}");
}

#[test]
fn a_text_that_is_not_found_shows_the_nearest_lines() {
    let file = File::new("fn main() {\n\tlet answer = 42;\n\tprintln!(\"{answer}\");\n}\n");
    assert_eq!(
        file.failed(r#""old":"    let answer = 42;\n    println!(\"{answer}\");","new":"x""#),
        "f: `old` was not found; nothing was changed\n\
         - only the indentation differs: one has tabs where the other has spaces\n\
         The nearest lines are:\n     2\t\tlet answer = 42;\n     3\t\tprintln!(\"{answer}\");"
    );
    let close = file.failed(r#""old":"let anwser = 41;","new":"x""#);
    assert!(close.ends_with("The nearest lines are:\n     2\t\tlet answer = 42;"), "{close}");
    let numbered = file.failed(r#""old":"     1\tfn main() {","new":"x""#);
    assert!(numbered.contains("leave them out"), "{numbered}");
    let nothing = file.failed(r#""old":"ZZZZ QQQQ","new":"x""#);
    assert!(nothing.ends_with("copy the text exactly"), "{nothing}");
    assert!(file.failed(r#""old":"absent","new":"fn main()""#).contains("already contains `new`"));
}

#[test]
fn crlf_files_keep_their_line_ends() {
    let file = File::new("a\r\nb\r\nc\r\n");
    file.edit(r#""old":"a\nb","new":"x\ny""#).unwrap();
    file.edit(r#""old":"y\r\nc","new":"z""#).unwrap();
    assert_eq!(file.content(), "x\r\nz\r\n");
    let mixed = File::new("a\r\nb\nc\n");
    assert!(mixed.failed(r#""old":"a\nb","new":"x""#).contains("mixes CRLF and LF"));
    mixed.edit(r#""old":"b\nc","new":"x""#).unwrap();
    assert_eq!(mixed.content(), "a\r\nx\n");
}

#[test]
fn an_empty_old_creates_a_missing_file_only() {
    let file = File::missing();
    assert!(file.failed(r#""old":"x","new":"y""#).contains("does not exist"));
    assert_eq!(file.edit(r#""old":"","new":"y\n""#).unwrap(), "Created f: 1 replacement.\n@@ line 1 @@\n     1 +y");
    assert_eq!(file.content(), "y\n");
    assert!(matches!(file.edit(r#""old":"","new":"z""#), Err(Failure::InvalidInput(_))));
}

#[test]
fn files_that_are_no_text_or_too_large_are_refused() {
    assert!(File::new(b"ab\xff").failed(r#""old":"a","new":"b""#).contains("not UTF-8 text (byte 2)"));
    let large = File::new("");
    fs::File::options().write(true).open(large.path()).unwrap().set_len((16 << 20) + 1).unwrap();
    let text = large.edit(r#""old":"a","new":"b""#).unwrap_err().text().to_owned();
    assert_eq!(text, "f has 16.0 MiB; files over 16.0 MiB cannot be edited");
}

#[test]
fn large_changes_are_shown_in_part() {
    let file = File::new("x\n".repeat(5000));
    let text = file.edit(r#""old":"x","new":"y","replace_all":true"#).unwrap();
    assert!(text.len() < 2000 && text.ends_with("… 4992 more changed places not shown"), "{text}");
    let new = "z\\n".repeat(1000);
    let file = File::new("a\n");
    let text = file.edit(&format!(r#""old":"a","new":"{new}""#)).unwrap();
    assert!(text.contains("… 971 more lines added") && text.len() < 1000, "{text}");
}

#[test]
fn input_that_makes_no_sense_is_refused() {
    for input in [
        r#"{"path":"","old":"a","new":"b"}"#,
        r#"{"path":"f","old":"a","new":"a"}"#,
        r#"{"path":"f","old":"a"}"#,
        r#"{"path":"f"}"#,
        r#"{"path":"f","edits":[]}"#,
        r#"{"path":"f","old":"a","new":"b","edits":[{"old":"a","new":"b"}]}"#,
    ] {
        assert!(matches!(call(input), Err(Failure::InvalidInput(_))), "{input}");
    }
}

#[test]
fn any_edits_give_what_plain_replacement_gives() {
    let mut state: u64 = 7;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..20_000 {
        let mut word = |most: u64| -> String {
            let length = next(most);
            (0..length).map(|_| ["a", "b", "\n", "\n", " ", "é", "\r\n"][usize::try_from(next(7)).unwrap()]).collect()
        };
        let before = word(30);
        let edits: Vec<Edit> = (0..3)
            .map(|_| Edit { old: word(4), new: word(5), replace_all: true })
            .filter(|edit| edit.old != edit.new)
            .collect();
        let mut draft = Draft::new(Some(&before));
        let mut expected = draft.text().to_owned();
        let crlf = draft.to_file() != draft.text();
        for edit in &edits {
            let plain = |text: &str| if crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
            let (old, new) = (plain(&edit.old), plain(&edit.new));
            let possible = !old.is_empty() && expected.contains(&old);
            assert_eq!(draft.apply(edit).is_ok(), possible);
            if possible {
                expected = expected.replace(&old, &new);
            }
        }
        assert_eq!(draft.text(), expected);
        assert!(Excerpt::new(&draft).to_string().len() < 20_000);
    }
}
