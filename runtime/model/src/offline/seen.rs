//! What the tools have shown since the last question, read back from the transcript.
//!
//! Outputs are parsed tolerantly: a line that does not fit is skipped, so a tool that formats
//! differently makes the survey poorer, never wrong.

use std::collections::{HashMap, HashSet};

use palisade_agent::{Entry, ToolCall, ToolResult, Transcript};
use serde_json::Value;

use super::question::question;

/// The pattern whose counts are the sizes of files.
pub(super) const EVERY_LINE: &str = "^";

/// Everything that is known. What is not in here cannot be in an answer.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) task: String,
    /// Replies given since the question.
    pub(super) steps: usize,
    calls: Vec<(String, Value)>,
    /// Every path that `glob` gave, in its order, once each.
    pub(super) files: Vec<String>,
    /// How many files there are, if a list that was cut said so.
    files_there: usize,
    /// Whether a list of files was cut.
    pub(super) files_cut: bool,
    /// How often a pattern occurs in a file, from `grep` in count mode.
    pub(super) counts: Vec<Count>,
    /// How many lines files have, as far as they were counted.
    pub(super) sizes: HashMap<String, u64>,
    /// Every line that `grep` showed, once each.
    pub(super) lines: Vec<Line>,
    known_lines: HashSet<(String, usize)>,
    /// Every stretch of a file that `read` showed.
    pub(super) windows: Vec<Window>,
    /// Directories that were listed but not looked into.
    pub(super) directories: Vec<String>,
    /// Calls that failed: the tool, and the first line of why.
    pub(super) failures: Vec<(String, String)>,
}

#[derive(Debug)]
pub(super) struct Count {
    pub(super) pattern: String,
    pub(super) path: String,
    pub(super) count: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) path: String,
    pub(super) number: usize,
    pub(super) text: String,
}

#[derive(Debug)]
pub(super) struct Window {
    pub(super) path: String,
    pub(super) lines: Vec<(usize, String)>,
}

impl Seen {
    pub(super) fn of(transcript: &Transcript) -> Self {
        let entries = transcript.entries();
        let last = entries.iter().rposition(|entry| matches!(entry, Entry::User { .. }));
        let mut seen = Self::default();
        let mut ids = HashSet::new();
        for entry in entries.iter().skip(last.unwrap_or(0)) {
            match entry {
                Entry::User { text } => question(text).clone_into(&mut seen.task),
                Entry::Reply { calls, .. } => {
                    seen.steps += 1;
                    ids.extend(calls.iter().map(|call| call.id.as_str()));
                }
                Entry::Result { .. } | Entry::Notice { .. } | Entry::Summary { .. } => {}
            }
        }
        for (call, result) in transcript.calls().filter(|(call, _)| ids.contains(call.id.as_str())) {
            seen.calls.push((call.tool.clone(), call.input.clone()));
            if let Some(result) = result {
                seen.take(call, result);
            }
        }
        seen
    }

    /// How many files there are, in words.
    pub(super) fn files_in_words(&self) -> String {
        match (self.files.len(), self.files_cut) {
            (1, false) => "one file".to_owned(),
            (count, false) => format!("{count} files"),
            (count, true) if self.files_there > count => format!("{} files", self.files_there),
            (count, true) => format!("more than {count} files"),
        }
    }

    /// How many lines a file usually has here.
    pub(super) fn usual_size(&self) -> f64 {
        let all: u64 = self.sizes.values().sum();
        (all as f64 / self.sizes.len().max(1) as f64).max(1.0)
    }

    pub(super) fn has_called(&self, tool: &str, input: &Value) -> bool {
        self.calls.iter().any(|(other, with)| other == tool && with == input)
    }

    fn take(&mut self, call: &ToolCall, result: &ToolResult) {
        let text = result.text();
        if !result.is_done() {
            self.failures.push((call.tool.clone(), text.lines().next().unwrap_or_default().to_owned()));
            return;
        }
        let input = |name: &str| call.input.get(name).and_then(Value::as_str).unwrap_or_default();
        match (call.tool.as_str(), input("output_mode")) {
            ("glob", _) => self.take_files(text),
            ("grep", "count") if input("pattern") == EVERY_LINE => self.take_sizes(text),
            ("grep", "count") => self.take_counts(input("pattern"), text),
            ("grep", "content") => self.take_lines(text),
            ("read", _) => self.take_window(input("path"), text),
            ("tree", _) => self.take_tree(text),
            ("ls", _) => self.take_directory(text),
            _ => {}
        }
    }

    fn take_files(&mut self, text: &str) {
        let mut known: HashSet<String> = self.files.iter().cloned().collect();
        for note in text.lines().filter(|line| line.starts_with('…')) {
            self.files_cut = true;
            // `… 12000 matches in total, …` of the list of all files; other lists are shorter.
            let count: String =
                note.chars().skip(1).skip_while(|c| *c == ' ').take_while(char::is_ascii_digit).collect();
            if note.contains(" in total") {
                self.files_there = self.files_there.max(count.parse().unwrap_or(0));
            }
        }
        for line in text.lines().filter(|line| !is_note(line) && !line.ends_with('/')) {
            let path = clean(line.trim_end());
            if !path.is_empty() && known.insert(path.to_owned()) {
                self.files.push(path.to_owned());
            }
        }
    }

    /// Reads the paths back from a drawing: four characters for each level.
    fn take_tree(&mut self, text: &str) {
        let mut above: Vec<&str> = Vec::new();
        for line in text.lines().filter(|line| !is_note(line)) {
            let Some((branch, name)) = line.split_once("-- ") else { continue };
            above.truncate(branch.chars().count() / 4);
            let (name, is_cut) = name.split_once(" … ").map_or((name, false), |(name, _)| (name, true));
            self.files_cut |= is_cut || name.starts_with('…');
            match name.strip_suffix('/') {
                Some(directory) => above.push(directory),
                None if name.starts_with('…') => {}
                None => self.files.push([&above[..], &[name]].concat().join("/")),
            }
        }
    }

    fn take_directory(&mut self, text: &str) {
        for line in text.lines().filter(|line| !is_note(line)) {
            match line.strip_suffix('/') {
                Some(directory) => self.directories.push(directory.to_owned()),
                // A link may lead anywhere.
                None if line.ends_with('@') => {}
                None => self.files.extend(line.split("  ").next().map(str::to_owned)),
            }
        }
        self.files_cut |= !self.directories.is_empty();
    }

    fn take_counts(&mut self, pattern: &str, text: &str) {
        let counts = counted(text).map(|(path, count)| Count { pattern: pattern.to_owned(), path, count });
        self.counts.extend(counts);
    }

    fn take_sizes(&mut self, text: &str) {
        self.sizes.extend(counted(text));
    }

    fn take_lines(&mut self, text: &str) {
        for line in text.lines().filter(|line| !is_note(line)) {
            if let Some(line) = located(line)
                && self.known_lines.insert((line.path.clone(), line.number))
            {
                self.lines.push(line);
            }
        }
    }

    fn take_window(&mut self, path: &str, text: &str) {
        let numbered = |line: &str| {
            let (number, text) = line.split_once('\t')?;
            Some((number.trim().parse().ok()?, text.to_owned()))
        };
        let lines: Vec<(usize, String)> = text.lines().filter_map(numbered).collect();
        for (number, text) in &lines {
            if self.known_lines.insert((clean(path).to_owned(), *number)) {
                self.lines.push(Line { path: clean(path).to_owned(), number: *number, text: text.clone() });
            }
        }
        if !lines.is_empty() {
            self.windows.push(Window { path: clean(path).to_owned(), lines });
        }
    }
}

/// Whether a line is a remark of the tool and not a result. A path may begin with a parenthesis too,
/// but not one with a blank in it.
fn is_note(line: &str) -> bool {
    let is_remark = line.starts_with('(') && line.contains(' ') && line.trim_end().ends_with(')');
    is_remark || line.starts_with('…') || line.starts_with("No matches") || line.starts_with("No files")
}

fn clean(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

/// Parses `path:count`, line by line.
fn counted(text: &str) -> impl Iterator<Item = (String, u64)> {
    text.lines().filter(|line| !is_note(line)).filter_map(|line| {
        let (path, count) = line.rsplit_once(':')?;
        // Not more than can be added up: whoever names a file may write anything here.
        let count = count.trim().parse::<u32>().ok().filter(|count| *count > 0)?;
        Some((clean(path).to_owned(), u64::from(count)))
    })
}

/// Parses `path:line:text`; the path may contain colons.
fn located(line: &str) -> Option<Line> {
    line.match_indices(':').find_map(|(colon, _)| {
        let (number, text) = line[colon + 1..].split_once(':')?;
        let number = number.parse().ok().filter(|number| *number > 0)?;
        (colon > 0).then(|| Line { path: clean(&line[..colon]).to_owned(), number, text: text.to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use palisade_agent::Reply;
    use serde_json::json;

    use super::*;

    fn seen(tool: &str, input: Value, output: &str) -> Seen {
        let mut transcript = Transcript::new();
        transcript.record_user("old");
        let call = |id: &str| ToolCall { id: id.into(), tool: tool.into(), input: input.clone() };
        transcript.record_reply(&Reply { calls: vec![call("old")], ..Reply::default() });
        transcript.record_result("old", ToolResult::done("old.rs:1:old\nold.rs:1"));
        transcript.record_user("new");
        transcript.record_reply(&Reply { calls: vec![call("a")], ..Reply::default() });
        transcript.record_result("a", ToolResult::done(output));
        Seen::of(&transcript)
    }

    #[test]
    fn only_what_came_after_the_last_question_counts() {
        let seen =
            seen("glob", json!({"pattern": "*"}), "./a.rs\n(app)/b.rs\ndir/\na.rs\n\n(limit reached at 3)\n… more");
        assert_eq!((seen.task.as_str(), seen.steps), ("new", 1));
        assert_eq!(seen.files, ["a.rs", "(app)/b.rs"]);
        assert!(seen.files_cut && seen.has_called("glob", &json!({"pattern": "*"})));
    }

    #[test]
    fn lines_and_counts_are_read_from_paths_with_colons() {
        let lines =
            seen("grep", json!({"output_mode": "content"}), "c:d/e.rs:12:let a: u8 = 1:2;\nnonsense\n--\nx:0:y").lines;
        assert_eq!(lines, [Line { path: "c:d/e.rs".into(), number: 12, text: "let a: u8 = 1:2;".into() }]);
        let counts = seen(
            "grep",
            json!({"output_mode": "count", "pattern": "p"}),
            "a:b.rs:3\nNo matches\nz.rs:x\nhuge:18446744073709551615",
        )
        .counts;
        assert_eq!(counts.len(), 1);
        assert_eq!((counts[0].path.as_str(), counts[0].count, counts[0].pattern.as_str()), ("a:b.rs", 3, "p"));
    }

    #[test]
    fn a_window_keeps_its_line_numbers() {
        let windows = seen("read", json!({"path": "a.rs"}), "    10\tone\n    11\t\ttwo\n… 5 more lines").windows;
        assert_eq!(windows[0].lines, [(10, "one".to_owned()), (11, "\ttwo".to_owned())]);
    }

    #[test]
    fn a_list_that_was_cut_says_how_many_files_there_are() {
        let cut = seen(
            "glob",
            json!({"pattern": "**/*"}),
            "a.rs\n… 5000 bytes omitted …\nb.rs\n… 712 matches in total, the 2 …",
        );
        assert_eq!((cut.files.len(), cut.files_in_words().as_str()), (2, "712 files"));
        let unknown = seen("glob", json!({"pattern": "**/*"}), "a.rs\n… 5000 bytes omitted …\nb.rs");
        assert_eq!(unknown.files_in_words(), "more than 2 files");
    }

    #[test]
    fn paths_are_read_back_from_drawings_and_listings() {
        let drawing = ".\n|-- a/\n|   |-- b/\n|   |   `-- c.rs\n|   `-- d e.rs\n|-- f/ … (1 directory, 1 file)\n`-- g.md\n(3 directories, 3 files)";
        let tree = seen("tree", json!({}), drawing);
        assert_eq!(tree.files, ["a/b/c.rs", "a/d e.rs", "g.md"]);
        assert!(tree.files_cut);
        let ls = seen("ls", json!({}), "src/\nREADME.md  1.5 KiB  2023-11-14 22:13\nlink@\n(1 hidden entry left out)");
        assert_eq!((ls.directories, ls.files), (vec!["src".to_owned()], vec!["README.md".to_owned()]));
    }
}
