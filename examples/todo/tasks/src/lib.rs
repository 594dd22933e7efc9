//! What somebody has to do.

use kept::{Day, Shelf, listed, said};
use palisade_tool::Failure;
use serde::{Deserialize, Serialize};

const SHELF: Shelf<Task> = Shelf::of("task");
const TITLE: usize = 300;
const NOTES: usize = 4_000;

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Task {
    title: String,
    notes: Option<String>,
    due: Option<Day>,
    remind: Option<Day>,
    added: Day,
    done: Option<Day>,
}

/// Which tasks a list is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those still to do.
    Open,
    /// Those still to do whose day, or the day of whose reminder, has come.
    Due,
    /// Those that are done.
    Done,
    /// All.
    All,
}

impl Task {
    fn line(&self, id: &str, today: Day) -> String {
        let mut line = format!("{id}  [{}] {}", if self.done.is_some() { 'x' } else { ' ' }, self.title);
        if let Some(day) = self.done {
            return line + &format!(" (done {day})");
        }
        if let Some(due) = self.due {
            line += &if due < today { format!(" (overdue since {due})") } else { format!(" (due {due})") };
        }
        if let Some(remind) = self.remind {
            line += &if remind <= today { format!(" (reminder of {remind})") } else { format!(" (remind {remind})") };
        }
        match &self.notes {
            Some(notes) => line + &format!("\n    {}", notes.replace('\n', "\n    ")),
            None => line,
        }
    }

    fn is(&self, which: Which, today: Day) -> bool {
        let has_come = |day: Option<Day>| day.is_some_and(|day| day <= today);
        match which {
            Which::Open => self.done.is_none(),
            Which::Due => self.done.is_none() && (has_come(self.due) || has_come(self.remind)),
            Which::Done => self.done.is_some(),
            Which::All => true,
        }
    }
}

/// Adds a task.
pub fn add(title: &str, due: Option<Day>, remind: Option<Day>, notes: Option<&str>) -> Result<String, Failure> {
    let title = said("title", title, TITLE)?;
    let notes = notes.map(|notes| said("notes", notes, NOTES)).transpose()?;
    let today = Day::today();
    let task = Task { title, notes, due, remind, added: today, done: None };
    let id = SHELF.add("", &task)?;
    Ok(format!("Added {}", task.line(&id, today)))
}

/// Lists tasks: those with a day first, the earliest before the others.
pub fn list(which: Which) -> Result<String, Failure> {
    list_on(which, Day::today())
}

fn list_on(which: Which, today: Day) -> Result<String, Failure> {
    let mut tasks: Vec<(String, Task)> = SHELF.all()?.into_iter().filter(|(_, task)| task.is(which, today)).collect();
    tasks.sort_by_key(|(id, task)| {
        let day = [task.due, task.remind].into_iter().flatten().min();
        (task.done.is_some(), day.is_none(), day, task.added, id.clone())
    });
    let lines: Vec<String> = tasks.iter().map(|(id, task)| task.line(id, today)).collect();
    Ok(listed(&lines, "task", "tasks"))
}

/// Says that a task is done, or that it is not.
pub fn complete(id: &str, done: bool) -> Result<String, Failure> {
    change(id, |task, today| task.done = if done { task.done.or(Some(today)) } else { None })
}

/// Sets the day of a reminder, or takes it away.
pub fn remind(id: &str, on: Option<Day>) -> Result<String, Failure> {
    change(id, |task, _| task.remind = on)
}

/// Deletes a task.
pub fn delete(id: &str) -> Result<String, Failure> {
    let line = SHELF.get(id).map_or_else(|_| id.to_owned(), |task| task.line(id.trim(), Day::today()));
    SHELF.remove(id)?;
    Ok(format!("Deleted {line}"))
}

fn change(id: &str, with: impl FnOnce(&mut Task, Day)) -> Result<String, Failure> {
    let (id, today) = (id.trim(), Day::today());
    let mut task = SHELF.get(id)?;
    with(&mut task, today);
    SHELF.put(id, &task)?;
    Ok(task.line(id, today))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(said: &str) -> String {
        said.split_whitespace().nth(1).unwrap().to_owned()
    }

    fn day(text: &str) -> Option<Day> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn tasks_are_added_done_and_deleted() {
        let first = id(&add("Buy milk", None, None, Some("two\nbottles")).unwrap());
        let list = list(Which::Open).unwrap();
        assert_eq!(list, format!("1 task:\n{first}  [ ] Buy milk\n    two\n    bottles"));
        assert!(complete(&first, true).unwrap().contains("[x] Buy milk (done "));
        assert_eq!(super::list(Which::Open).unwrap(), "0 tasks.");
        assert!(super::list(Which::Done).unwrap().contains("Buy milk"));
        assert!(complete(&first, false).unwrap().contains("[ ] Buy milk"));
        delete(&first).unwrap();
        assert!(matches!(delete(&first), Err(Failure::InvalidInput(_))));
    }

    #[test]
    fn what_is_due_comes_first_and_reminders_come_on_their_day() {
        let today: Day = "2026-11-17".parse().unwrap();
        add("Some day", None, None, None).unwrap();
        add("Tomorrow", day("2026-11-18"), None, None).unwrap();
        add("Yesterday", day("2026-11-16"), None, None).unwrap();
        let call = id(&add("Call", None, None, None).unwrap());
        remind(&call, day("2026-11-17")).unwrap();
        let list = list_on(Which::Open, today).unwrap();
        let titles: Vec<&str> = list.lines().skip(1).map(|line| line.split("] ").nth(1).unwrap()).collect();
        assert_eq!(
            titles,
            [
                "Yesterday (overdue since 2026-11-16)",
                "Call (reminder of 2026-11-17)",
                "Tomorrow (due 2026-11-18)",
                "Some day"
            ]
        );
        let due = list_on(Which::Due, today).unwrap();
        assert!(due.starts_with("2 tasks:") && due.contains("Yesterday") && due.contains("Call"), "{due}");
        remind(&call, None).unwrap();
        assert!(list_on(Which::Due, today).unwrap().starts_with("1 task:"));
    }
}
