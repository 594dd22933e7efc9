//! Names as the servers accept them: letters, digits, `_` and `-`, at most 64 of them. A tool may be
//! called otherwise, and so may a call that another model made.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use palisade_agent::ToolSpec;

/// The longest name that every server accepts.
const LONGEST: usize = 64;

/// How a set of names is written to a server. The same names in the same order are always written in the
/// same way, so the table that a request is written with can be made again to read the reply.
pub(crate) struct Names<'a> {
    written: HashMap<&'a str, String>,
    taken: HashSet<String>,
    /// The number that the next name gets which would be written as another that begins like this.
    next: HashMap<String, u64>,
}

impl<'a> Names<'a> {
    /// The names of tools.
    pub(crate) fn of_tools(tools: &'a [ToolSpec]) -> Self {
        Self::of(tools.iter().map(|tool| tool.name.as_str()))
    }

    /// A table of these names. What fits stays as it is; of two names that would be written alike the
    /// later one gets a number.
    pub(crate) fn of(names: impl Iterator<Item = &'a str> + Clone) -> Self {
        let mut table = Self { written: HashMap::new(), taken: HashSet::new(), next: HashMap::new() };
        for name in names.clone().filter(|name| fits(name)) {
            table.add(name, name.to_owned());
        }
        for name in names.filter(|name| !fits(name)) {
            if !table.written.contains_key(name) {
                let written = table.free(fitting(name));
                table.add(name, written);
            }
        }
        table
    }

    fn add(&mut self, name: &'a str, written: String) {
        self.taken.insert(written.clone());
        self.written.insert(name, written);
    }

    /// A name that is not taken yet. Each number is tried once: a model chooses the names of its calls.
    fn free(&mut self, stem: String) -> String {
        if !self.taken.contains(&stem) {
            return stem;
        }
        let next = self.next.entry(stem[..stem.len().min(LONGEST / 2)].to_owned()).or_insert(2);
        loop {
            let end = format!("_{next}");
            *next += 1;
            let name = format!("{}{end}", &stem[..stem.len().min(LONGEST - end.len())]);
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }

    /// How a name is written. One that is not in the table, because a model made it up, is made to fit.
    pub(crate) fn written<'b>(&'b self, name: &'b str) -> Cow<'b, str> {
        match self.written.get(name) {
            Some(written) => Cow::Borrowed(written),
            None if fits(name) => Cow::Borrowed(name),
            None => Cow::Owned(fitting(name)),
        }
    }

    /// The names that are not written as they are, by how they are written: what a reader needs.
    pub(crate) fn renamed(self) -> HashMap<String, String> {
        let differs = |(name, written): (&str, String)| (name != written).then(|| (written, name.to_owned()));
        self.written.into_iter().filter_map(differs).collect()
    }
}

fn fits(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(is_plain)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn fitting(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii() && is_plain(letter as u8) { letter } else { '_' };
    let fitting: String = name.chars().take(LONGEST).map(plain).collect();
    if fitting.is_empty() { "unnamed".to_owned() } else { fitting }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_written_as_servers_accept_it_and_read_back() {
        let long = "x".repeat(70);
        let names = ["read", "lists.write", "lists/write", "lists_write", "größe", "", &long, &long[..66]];
        let table = Names::of(names.iter().copied());
        let written: Vec<String> = names.iter().map(|name| table.written(name).into_owned()).collect();
        let (stem, short) = ("x".repeat(64), "x".repeat(62));
        let expected =
            ["read", "lists_write_2", "lists_write_3", "lists_write", "gr__e", "unnamed", &stem, &format!("{short}_2")];
        assert_eq!(written, expected);
        assert!(written.iter().all(|name| fits(name)), "{written:?}");
        let renamed = table.renamed();
        for (name, written) in names.iter().zip(&written) {
            assert_eq!(renamed.get(written).unwrap_or(written), name);
        }
    }

    #[test]
    fn many_names_that_would_be_written_alike_are_told_apart_in_time() {
        let alike = |number: usize| format!("{}{number}", "é".repeat(64));
        let nearly = |number: usize| format!("{}{:02}{}", "é".repeat(62), number % 100, number / 100);
        let names: Vec<String> = (0..10_000).flat_map(|number| [alike(number), nearly(number)]).collect();
        let begun = std::time::Instant::now();
        let table = Names::of(names.iter().map(String::as_str));
        let written: HashSet<_> = names.iter().map(|name| table.written(name)).collect();
        assert_eq!(written.len(), names.len());
        assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    }

    #[test]
    fn a_name_that_nobody_has_is_made_to_fit() {
        let table = Names::of(["read"].into_iter());
        assert_eq!(table.written("no such tool!"), "no_such_tool_");
        assert_eq!(table.written("Read"), "Read");
        assert!(table.renamed().is_empty());
    }
}
