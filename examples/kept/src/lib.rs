//! What the plugins that keep lists share.
//!
//! Entries live in the storage that the host has for the plugin, each under a key of its own: two calls at the same
//! time that add or change different entries do not get in each other's way.

mod day;

pub use day::Day;

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher as _,
    marker::PhantomData,
    time::{SystemTime, UNIX_EPOCH},
};

use palisade_tool::{Failure, storage, text};
use serde::{Serialize, de::DeserializeOwned};

/// Entries of one kind.
pub struct Shelf<T> {
    kind: &'static str,
    holds: PhantomData<T>,
}

/// Letters that nobody mistakes for others.
const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
const ID: usize = 6;
/// Lines that a list shows.
const SHOWN: usize = 100;

impl<T: Serialize + DeserializeOwned> Shelf<T> {
    /// The entries of this kind. The word is part of their keys.
    pub const fn of(kind: &'static str) -> Self {
        Self { kind, holds: PhantomData }
    }

    /// Adds an entry and says what it is called. The name begins with `start`.
    pub fn add(&self, start: &str, entry: &T) -> Result<String, Failure> {
        loop {
            let id = format!("{start}{}", random());
            if storage::get(&self.key(&id))?.is_none() {
                self.put(&id, entry)?;
                return Ok(id);
            }
        }
    }

    /// Gives an entry a new content.
    pub fn put(&self, id: &str, entry: &T) -> Result<(), Failure> {
        let bytes = serde_json::to_vec(entry).map_err(|error| Failure::Failed(format!("`{id}`: {error}")))?;
        storage::set(&self.key(id), &bytes)
    }

    /// An entry that must be there.
    pub fn get(&self, id: &str) -> Result<T, Failure> {
        let id = id.trim();
        let Some(bytes) = storage::get(&self.key(id))? else { return Err(self.missing(id)) };
        serde_json::from_slice(&bytes)
            .map_err(|error| Failure::Failed(format!("what is kept as `{id}` is damaged: {error}")))
    }

    /// Removes an entry that must be there.
    pub fn remove(&self, id: &str) -> Result<(), Failure> {
        let id = id.trim();
        if storage::get(&self.key(id))?.is_none() {
            return Err(self.missing(id));
        }
        storage::delete(&self.key(id))
    }

    /// Every entry with its name, in the order of the names.
    pub fn all(&self) -> Result<Vec<(String, T)>, Failure> {
        self.ids()?.into_iter().map(|id| Ok((id.clone(), self.get(&id)?))).collect()
    }

    fn ids(&self) -> Result<Vec<String>, Failure> {
        let start = self.key("");
        Ok(storage::keys(&start)?.into_iter().filter_map(|key| Some(key.strip_prefix(&start)?.to_owned())).collect())
    }

    fn key(&self, id: &str) -> String {
        format!("{}/{id}", self.kind)
    }

    fn missing(&self, id: &str) -> Failure {
        let ids = self.ids().unwrap_or_default();
        let alike = text::similar(id, ids.iter().map(String::as_str), 3);
        let hint = if alike.is_empty() { String::new() } else { format!("; there is {}", alike.join(", ")) };
        Failure::InvalidInput(format!("there is no {} `{id}`{hint}", self.kind))
    }
}

/// Text that was given and says something.
pub fn said(field: &str, given: &str, most: usize) -> Result<String, Failure> {
    let given = given.trim();
    if given.is_empty() {
        return Err(Failure::InvalidInput(format!("`{field}` is empty")));
    }
    match text::clip(given, most) {
        (_, 0) => Ok(given.to_owned()),
        (_, more) => {
            Err(Failure::InvalidInput(format!("`{field}` is {more} characters too long; at most {most} are kept")))
        }
    }
}

/// Lines for the model: how many there are, and those that fit.
pub fn listed(lines: &[String], one: &str, many: &str) -> String {
    let mut said = text::count(lines.len(), one, many);
    said += if lines.is_empty() { "." } else { ":" };
    for line in lines.iter().take(SHOWN) {
        said += &format!("\n{line}");
    }
    match lines.len().checked_sub(SHOWN) {
        None | Some(0) => said,
        Some(more) => format!("{said}\n{more} more are left out; ask for fewer."),
    }
}

/// Whether every word of a question is in one of the texts.
pub fn matches<'a>(question: &str, texts: impl IntoIterator<Item = &'a str>) -> bool {
    let all = texts.into_iter().map(str::to_lowercase).collect::<Vec<_>>().join("\n");
    question.to_lowercase().split_whitespace().all(|word| all.contains(word))
}

fn random() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    let mut number = RandomState::new().hash_one(now);
    let mut id = String::with_capacity(ID);
    for _ in 0..ID {
        id.push(char::from(LETTERS[usize::try_from(number % 32).unwrap_or(0)]));
        number /= 32;
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_kept_found_and_removed() {
        let shelf: Shelf<String> = Shelf::of("thing");
        let id = shelf.add("", &"one".to_owned()).unwrap();
        assert_eq!(id.len(), ID);
        assert_eq!(shelf.get(&format!(" {id}\n")).unwrap(), "one");
        shelf.put(&id, &"two".to_owned()).unwrap();
        assert_eq!(shelf.all().unwrap(), [(id.clone(), "two".to_owned())]);
        shelf.remove(&id).unwrap();
        assert_eq!(shelf.all().unwrap(), []);
        let Failure::InvalidInput(text) = shelf.remove(&id).unwrap_err() else { panic!("no such entry") };
        assert_eq!(text, format!("there is no thing `{id}`"));
    }

    #[test]
    fn kinds_do_not_see_each_other() {
        let (one, other): (Shelf<u8>, Shelf<u8>) = (Shelf::of("a"), Shelf::of("ab"));
        one.add("", &1).unwrap();
        assert_eq!(other.all().unwrap(), []);
    }

    #[test]
    fn what_is_damaged_is_said_and_can_be_removed() {
        let shelf: Shelf<u8> = Shelf::of("number");
        storage::set("number/x", b"not json").unwrap();
        let Failure::Failed(text) = shelf.all().unwrap_err() else { panic!("damaged") };
        assert!(text.starts_with("what is kept as `x` is damaged"), "{text}");
        shelf.remove("x").unwrap();
        assert_eq!(shelf.all().unwrap(), []);
    }

    #[test]
    fn every_word_must_be_there_somewhere() {
        assert!(matches("BOOK rust", ["The Rust Programming Language", "a book"]));
        assert!(!matches("book go", ["The Rust Programming Language", "a book"]));
        assert!(matches("", ["anything"]));
    }

    #[test]
    fn long_lists_say_what_is_left_out() {
        let lines: Vec<String> = (0..SHOWN + 2).map(|line| line.to_string()).collect();
        assert!(listed(&lines, "task", "tasks").ends_with("99\n2 more are left out; ask for fewer."));
        assert_eq!(listed(&[], "task", "tasks"), "0 tasks.");
    }

    #[test]
    fn texts_that_are_empty_or_too_long_are_refused() {
        assert_eq!(said("title", " a ", 3), Ok("a".to_owned()));
        assert_eq!(said("title", " ", 3), Err(Failure::InvalidInput("`title` is empty".to_owned())));
        assert!(said("title", "abcd", 3).is_err());
    }
}
