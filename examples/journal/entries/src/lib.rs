//! What somebody wrote down, day by day.

use kept::{Day, Shelf, listed, matches, said};
use palisade_tool::{Failure, text};
use serde::{Deserialize, Serialize};

const SHELF: Shelf<Entry> = Shelf::of("entry");
const TEXT: usize = 20_000;
const MOOD: usize = 60;
/// How much of an entry a list shows.
const START: usize = 100;

/// Something written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    day: Day,
    text: String,
    mood: Option<String>,
}

impl Entry {
    fn heading(&self, id: &str) -> String {
        match &self.mood {
            Some(mood) => format!("{id}  {} ({mood})", self.day),
            None => format!("{id}  {}", self.day),
        }
    }

    fn line(&self, id: &str) -> String {
        let first = self.text.lines().next().unwrap_or_default();
        let (start, more) = text::clip(first, START);
        let goes_on = more > 0 || self.text.lines().count() > 1;
        format!("{}  {start}{}", self.heading(id), if goes_on { " …" } else { "" })
    }
}

/// Writes something down.
pub fn write(words: &str, mood: Option<&str>, day: Option<Day>) -> Result<String, Failure> {
    let entry = Entry {
        day: day.unwrap_or_else(Day::today),
        text: said("text", words, TEXT)?,
        mood: mood.map(|mood| said("mood", mood, MOOD)).transpose()?,
    };
    // The names of entries are in the order of their days.
    let id = SHELF.add(&format!("{}-", entry.day), &entry)?;
    Ok(format!("Written: {}", entry.heading(&id)))
}

/// Lists entries between two days, the latest first.
pub fn list(from: Option<Day>, to: Option<Day>) -> Result<String, Failure> {
    lines(|entry| from.is_none_or(|from| entry.day >= from) && to.is_none_or(|to| entry.day <= to))
}

/// Lists entries that have every word, the latest first.
pub fn search(question: &str) -> Result<String, Failure> {
    let question = said("query", question, MOOD)?;
    lines(|entry| matches(&question, [entry.text.as_str(), entry.mood.as_deref().unwrap_or_default()]))
}

/// Shows one entry, or all of a day.
pub fn read(which: &str) -> Result<String, Failure> {
    let which = which.trim();
    let whole = |id: &str, entry: &Entry| format!("{}\n{}", entry.heading(id), entry.text);
    let Ok(day) = which.parse::<Day>() else { return Ok(whole(which, &SHELF.get(which)?)) };
    let entries: Vec<(String, Entry)> = SHELF.all()?.into_iter().filter(|(_, entry)| entry.day == day).collect();
    if entries.is_empty() {
        return Err(Failure::InvalidInput(format!("nothing was written on {day}")));
    }
    Ok(entries.iter().map(|(id, entry)| whole(id, entry)).collect::<Vec<_>>().join("\n\n"))
}

fn lines(wanted: impl Fn(&Entry) -> bool) -> Result<String, Failure> {
    let mut entries: Vec<(String, Entry)> = SHELF.all()?.into_iter().filter(|(_, entry)| wanted(entry)).collect();
    entries.sort_by(|one, other| (other.1.day, &other.0).cmp(&(one.1.day, &one.0)));
    let lines: Vec<String> = entries.iter().map(|(id, entry)| entry.line(id)).collect();
    Ok(listed(&lines, "entry", "entries"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Option<Day> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn what_was_written_is_listed_searched_and_read() {
        let said = write("Rain.\nStayed in and read.", Some("calm"), day("2026-11-15")).unwrap();
        let id = said.split_whitespace().nth(1).unwrap().to_owned();
        assert!(id.starts_with("2026-11-15-"), "{said}");
        write("Sun. Went out.", None, day("2026-11-16")).unwrap();
        let list = list(None, None).unwrap();
        let days: Vec<&str> = list.lines().skip(1).map(|line| line.split("  ").nth(1).unwrap()).collect();
        assert_eq!(days, ["2026-11-16", "2026-11-15 (calm)"]);
        assert!(list.ends_with("Rain. …"), "{list}");
        assert!(super::list(day("2026-11-16"), None).unwrap().starts_with("1 entry:"));
        assert!(super::list(None, day("2026-11-14")).unwrap().starts_with("0 entries."));
        assert!(search("calm READ").unwrap().starts_with("1 entry:"));
        let whole = read(&id).unwrap();
        assert_eq!(whole, format!("{id}  2026-11-15 (calm)\nRain.\nStayed in and read."));
        assert_eq!(read("2026-11-15").unwrap(), whole);
        assert!(matches!(read("2026-11-01"), Err(Failure::InvalidInput(_))));
        assert!(matches!(read("nothing"), Err(Failure::InvalidInput(_))));
    }

    #[test]
    fn without_a_day_it_is_today() {
        let said = write("Now.", None, None).unwrap();
        assert!(said.ends_with(&Day::today().to_string()), "{said}");
        assert!(matches!(write(" ", None, None), Err(Failure::InvalidInput(_))));
    }
}
