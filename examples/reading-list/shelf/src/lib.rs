//! What somebody wants to read, and what they have read.

use kept::{Day, Shelf, listed, matches, said};
use palisade_tool::Failure;
use serde::{Deserialize, Serialize};

const SHELF: Shelf<Item> = Shelf::of("item");
const TITLE: usize = 300;
const ADDRESS: usize = 2_000;
const NOTES: usize = 4_000;
const TAGS: usize = 20;
const TAG: usize = 50;

/// Something to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Item {
    title: String,
    url: Option<String>,
    tags: Vec<String>,
    notes: Option<String>,
    added: Day,
    read: Option<Day>,
}

/// Which items a list is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those not read yet.
    Unread,
    /// Those that were.
    Read,
    /// All.
    All,
}

impl Item {
    fn line(&self, id: &str) -> String {
        let mut line = format!("{id}  {}", self.title);
        if let Some(url) = &self.url {
            line += &format!(" <{url}>");
        }
        for tag in &self.tags {
            line += &format!(" #{tag}");
        }
        match self.read {
            Some(day) => line + &format!(" (read {day})"),
            None => line + &format!(" (added {})", self.added),
        }
    }

    fn is(&self, which: Which) -> bool {
        match which {
            Which::Unread => self.read.is_none(),
            Which::Read => self.read.is_some(),
            Which::All => true,
        }
    }
}

/// Puts something on the list.
pub fn add(title: &str, url: Option<&str>, tags: &[String], notes: Option<&str>) -> Result<String, Failure> {
    let title = said("title", title, TITLE)?;
    let url = url.map(|url| said("url", url, ADDRESS)).transpose()?;
    let notes = notes.map(|notes| said("notes", notes, NOTES)).transpose()?;
    if tags.len() > TAGS {
        return Err(Failure::InvalidInput(format!("`tags` has {}; at most {TAGS} are kept", tags.len())));
    }
    let tag = |tag: &String| Ok(said("tags", tag.trim_start_matches('#'), TAG)?.to_lowercase());
    let tags = tags.iter().map(tag).collect::<Result<Vec<String>, Failure>>()?;
    let known = SHELF.all()?.into_iter().find(|(_, item)| url.is_some() && item.url == url);
    if let Some((id, item)) = known {
        return Err(Failure::InvalidInput(format!("it is on the list already: {}", item.line(&id))));
    }
    let item = Item { title, url, tags, notes, added: Day::today(), read: None };
    let id = SHELF.add("", &item)?;
    Ok(format!("Added {}", item.line(&id)))
}

/// Lists items, the oldest first.
pub fn list(which: Which, tag: Option<&str>) -> Result<String, Failure> {
    let tag = tag.map(|tag| tag.trim().trim_start_matches('#').to_lowercase());
    let has = |item: &Item| tag.as_ref().is_none_or(|tag| item.tags.contains(tag));
    lines(|item| item.is(which) && has(item))
}

/// Lists items that have every word somewhere.
pub fn search(question: &str) -> Result<String, Failure> {
    let question = said("query", question, TITLE)?;
    lines(|item| {
        let texts = [Some(&item.title), item.url.as_ref(), item.notes.as_ref()].into_iter().flatten().chain(&item.tags);
        matches(&question, texts.map(String::as_str))
    })
}

/// Says that something was read, or that it was not.
pub fn mark(id: &str, read: bool) -> Result<String, Failure> {
    let id = id.trim();
    let mut item = SHELF.get(id)?;
    item.read = if read { item.read.or_else(|| Some(Day::today())) } else { None };
    SHELF.put(id, &item)?;
    Ok(format!("{} {}", if read { "Read:" } else { "To read again:" }, item.line(id)))
}

/// Takes something off the list.
pub fn delete(id: &str) -> Result<String, Failure> {
    let line = SHELF.get(id).map_or_else(|_| id.to_owned(), |item| item.line(id.trim()));
    SHELF.remove(id)?;
    Ok(format!("Deleted {line}"))
}

fn lines(wanted: impl Fn(&Item) -> bool) -> Result<String, Failure> {
    let mut items: Vec<(String, Item)> = SHELF.all()?.into_iter().filter(|(_, item)| wanted(item)).collect();
    items.sort_by_key(|(id, item)| (item.added, id.clone()));
    let lines: Vec<String> = items.iter().map(|(id, item)| item.line(id)).collect();
    Ok(listed(&lines, "item", "items"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(said: &str) -> String {
        said.split_whitespace().nth(1).unwrap().to_owned()
    }

    #[test]
    fn an_item_is_added_found_read_and_deleted() {
        let tags = ["#Rust".to_owned()];
        let first = add("Components", Some("https://example.com/a"), &tags, Some("by a friend")).unwrap();
        let id = id(&first);
        assert!(first.contains("Components <https://example.com/a> #rust (added "), "{first}");
        add("Something else", None, &[], None).unwrap();
        assert!(search("FRIEND components").unwrap().starts_with("1 item:\n"));
        assert_eq!(search("nowhere").unwrap(), "0 items.");
        assert!(list(Which::Unread, Some("#rust")).unwrap().starts_with("1 item:\n"));
        assert!(mark(&id, true).unwrap().starts_with("Read: "));
        assert!(list(Which::Read, None).unwrap().contains("Components"));
        assert!(!list(Which::Unread, None).unwrap().contains("Components"));
        assert!(mark(&id, false).unwrap().starts_with("To read again: "));
        assert!(delete(&id).unwrap().starts_with("Deleted "));
        assert!(matches!(delete(&id), Err(Failure::InvalidInput(_))));
        assert!(list(Which::All, None).unwrap().starts_with("1 item:\n"));
    }

    #[test]
    fn one_address_is_on_the_list_once() {
        add("One", Some("https://example.com"), &[], None).unwrap();
        let Failure::InvalidInput(text) = add("Two", Some(" https://example.com "), &[], None).unwrap_err() else {
            panic!("it is there already")
        };
        assert!(text.contains("it is on the list already"), "{text}");
    }

    #[test]
    fn what_says_nothing_is_refused() {
        assert!(matches!(add(" ", None, &[], None), Err(Failure::InvalidInput(_))));
        assert!(matches!(add("A", None, &vec!["t".to_owned(); 21], None), Err(Failure::InvalidInput(_))));
        assert!(matches!(search(""), Err(Failure::InvalidInput(_))));
    }
}
