//! A text in one of the two syntaxes: its tree, and where each part of the tree stands.
//!
//! Neither parser keeps places, but both say where an error was raised. So the place of a node is
//! found by reading once more and failing there on purpose. That is exact, and it costs something
//! only when there is something to report.

use std::ops::Range;

use serde::de::DeserializeSeed;

use super::{
    node::{Id, Node},
    reading::{Aim, Reading, Refusal},
};

/// Settings inside a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document<'t> {
    /// The settings.
    text: &'t str,
    /// Where they begin in the file.
    start: usize,
    syntax: Syntax,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Yaml,
    Json,
}

/// Why there is no tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) cause: String,
    pub(super) fix: Option<&'static str>,
    /// The byte of the file, if it is at one place.
    pub(super) offset: Option<usize>,
}

/// More than a prompt inside YAML leaves open by chance.
const MAX_OPEN: usize = 1000;

/// What a parser said when it stopped.
struct Stop {
    cause: String,
    offset: Option<usize>,
}

impl<'t> Document<'t> {
    /// The part of a file that holds settings.
    pub(super) fn new(file: &'t str, range: Range<usize>, syntax: Syntax) -> Self {
        let start = range.start;
        Self { text: file.get(range).unwrap_or_default(), start, syntax }
    }

    /// Reads the tree.
    pub(super) fn read(&self) -> Result<Node, Fault> {
        if let Some(at) = self.too_many_brackets() {
            let refusal = Refusal::TooDeep;
            return Err(Fault { cause: refusal.to_string(), fix: Some(refusal.fix()), offset: Some(self.start + at) });
        }
        let reading = Reading::new(Aim::Tree, self.text.len());
        let stop = match self.run(&reading) {
            Ok(node) => return Ok(node),
            Err(stop) => stop,
        };
        Err(match reading.refusal() {
            Some((id, refusal)) => self.refused(id, &refusal),
            None => Fault { fix: hint(&stop.cause), offset: stop.offset.map(|at| self.start + at), cause: stop.cause },
        })
    }

    /// The byte of the file at which a node or a key stands.
    pub(super) fn offset(&self, id: Id) -> Option<usize> {
        let aim = match self.syntax {
            Syntax::Yaml => Aim::Late(id),
            Syntax::Json => Aim::Early(id),
        };
        let stop = self.run(&Reading::new(aim, self.text.len())).err()?;
        Some(self.start + stop.offset?)
    }

    /// A YAML scalar as it is written: `0x10`, not 16.
    pub(super) fn written(&self, id: Id) -> Option<String> {
        if self.syntax == Syntax::Json {
            return None;
        }
        let reading = Reading::new(Aim::Written(id), self.text.len());
        self.run(&reading).err()?;
        reading.into_written()
    }

    /// Where more brackets are open than any tree of ours has levels. The YAML parser looks through
    /// the open ones at every token, which takes seconds for a file of nothing else; so they are
    /// counted first, roughly: also those inside texts.
    fn too_many_brackets(&self) -> Option<usize> {
        let mut open = 0_usize;
        self.text.bytes().position(|byte| {
            match byte {
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            open > MAX_OPEN
        })
    }

    fn refused(&self, id: Id, refusal: &Refusal) -> Fault {
        // The node after the last one cannot be aimed at.
        let offset = if *refusal == Refusal::TooMany { None } else { self.offset(id) };
        Fault { cause: refusal.to_string(), fix: Some(refusal.fix()), offset }
    }

    fn run(&self, reading: &Reading) -> Result<Node, Stop> {
        match self.syntax {
            Syntax::Yaml => {
                let deserializer = serde_yaml::Deserializer::from_str(self.text);
                reading.seed().deserialize(deserializer).map_err(|error| yaml_stop(&error))
            }
            Syntax::Json => {
                let mut deserializer = serde_json::Deserializer::from_str(self.text);
                let node = reading.seed().deserialize(&mut deserializer);
                let node = node.and_then(|node| deserializer.end().map(|()| node));
                node.map_err(|error| self.json_stop(&error))
            }
        }
    }

    fn json_stop(&self, error: &serde_json::Error) -> Stop {
        let cause = without_places(&error.to_string());
        // An error of ours is raised before the value is read, so its column counts the bytes in
        // front of it. An error of the parser's own counts the byte it stumbled over, too.
        let read = if error.is_data() { error.column() } else { error.column().saturating_sub(1) };
        let Some(lines) = error.line().checked_sub(1) else {
            // Raised before anything was read at all.
            return Stop { cause, offset: self.text.find(|c: char| !c.is_ascii_whitespace()) };
        };
        let line = self.text.split_inclusive('\n').take(lines).map(str::len).sum::<usize>();
        Stop { cause, offset: Some(line + read) }
    }
}

fn yaml_stop(error: &serde_yaml::Error) -> Stop {
    let text = error.to_string();
    let cause = without_places(&text);
    // Characters that YAML does not take are reported by their position, without a location.
    let position = text
        .split_once(" at position ")
        .and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok()));
    Stop { cause, offset: position.or_else(|| error.location().map(|location| location.index())) }
}

/// The message without places: they count from the beginning of the settings, not of the file.
fn without_places(message: &str) -> String {
    let digits = |text: &'_ str| text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut kept = String::new();
    let mut rest = message;
    while let Some((before, after)) = ["line ", "position "].iter().find_map(|word| {
        let at = rest.find(&format!(" at {word}"))?;
        Some((rest.get(..at)?, rest.get(at + " at ".len() + word.len()..)?))
    }) {
        kept.push_str(before);
        rest = after.get(after.len() - digits(after)..).unwrap_or_default();
        if let Some(column) = rest.strip_prefix(" column ") {
            rest = column.get(column.len() - digits(column)..).unwrap_or_default();
        }
    }
    kept.push_str(rest);
    kept.replace(
        "deserializing from YAML containing more than one document is not supported",
        "there is more than one document",
    )
}

/// What would help against the mistakes people make most.
fn hint(cause: &str) -> Option<&'static str> {
    const HINTS: [(&str, &str); 10] = [
        ("tab character", "indent with spaces"),
        ("mapping values are not allowed", "put a text that holds `: ` in quotes"),
        (
            "cannot start any token",
            "put a text that begins with a sign such as @, ` or % in quotes, and indent with spaces",
        ),
        (
            "did not find expected key",
            "check the indentation, and put texts with quotes or colons in quotes as a whole",
        ),
        ("did not find expected ','", "close what is opened with `[` or `{`"),
        ("could not find expected ':'", "every field is written as `name: value`"),
        ("unknown anchor", "put a text that begins with `*` in quotes"),
        ("undefined alias", "put a text that begins with `*` in quotes"),
        ("more than one document", "keep one document in the file"),
        ("control characters are not allowed", "remove the character"),
    ];
    HINTS.iter().find(|(part, _)| cause.contains(part)).map(|(_, fix)| *fix)
}
