//! How `ls` writes one entry.

use std::time::SystemTime;

use bashkit::FileType;

use super::{Entry, Given};
use crate::civil::{self, Moment, moment, seconds};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// What is older than half a year is shown with its year in place of the time.
const RECENT: i64 = 31_556_952 / 2;
/// Who everything belongs to; the host does not tell.
const OWNER: &str = "agent";

/// A name with what tells its kind, all kinds or only directories.
pub(super) fn name_only(entry: &Entry, classify: Option<bool>, given: &Given) -> String {
    let quote = if given.has('Q') { "\"" } else { "" };
    format!("{quote}{}{quote}{}", entry.name, mark(entry, classify))
}

pub(super) fn mark(entry: &Entry, classify: Option<bool>) -> &'static str {
    match (entry.metadata.file_type, classify) {
        (_, None) => "",
        (FileType::Directory, Some(_)) => "/",
        (_, Some(false)) => "",
        (FileType::Symlink, Some(true)) => "@",
        (FileType::Fifo, Some(true)) => "|",
        (FileType::File, Some(true)) => {
            if entry.metadata.mode & 0o111 != 0 {
                "*"
            } else {
                ""
            }
        }
    }
}

/// Rows with all that is known.
pub(super) fn long(entries: &[Entry], with_total: bool, classify: Option<bool>, given: &Given) -> String {
    let now = seconds(SystemTime::now());
    let size =
        |entry: &Entry| if given.has('h') { human(entry.metadata.size) } else { entry.metadata.size.to_string() };
    let width = entries.iter().map(|entry| size(entry).len()).max().unwrap_or(0);
    let blocks: u64 = entries.iter().map(|entry| entry.metadata.size.div_ceil(4096) * 4).sum();
    let blocks = if given.has('h') { human(blocks << 10) } else { blocks.to_string() };
    let mut text = if with_total { format!("total {blocks}\n") } else { String::new() };
    for entry in entries {
        let owner = if given.has('g') { String::new() } else { format!(" {OWNER}") };
        let group = if given.has('o') || given.has('G') { String::new() } else { format!(" {OWNER}") };
        let when = date(entry.metadata.modified, now, given.value('y'));
        let target = entry.target.as_ref().map(|target| format!(" -> {target}")).unwrap_or_default();
        let name = format!("{}{}", entry.name, if target.is_empty() { mark(entry, classify) } else { "" });
        text += &format!("{} 1{owner}{group} {:>width$} {when} {name}{target}\n", mode(entry), size(entry));
    }
    text
}

fn mode(entry: &Entry) -> String {
    let kind = match entry.metadata.file_type {
        FileType::Directory => 'd',
        FileType::Symlink => 'l',
        FileType::Fifo => 'p',
        FileType::File => '-',
    };
    let bit = |shift: u32, letter: char| if entry.metadata.mode >> shift & 1 == 1 { letter } else { '-' };
    let bits = (0..9).rev().map(|shift| bit(shift, ['x', 'w', 'r'][shift as usize % 3]));
    std::iter::once(kind).chain(bits).collect()
}

/// A size in the largest unit that leaves a number of at most three digits, rounded up.
fn human(size: u64) -> String {
    if size < 1024 {
        return size.to_string();
    }
    let mut unit = 1u64 << 10;
    let mut letters = "KMGTPE".chars();
    let mut letter = letters.next().unwrap_or('K');
    while size.div_ceil(unit) >= 1024 {
        let Some(next) = letters.next() else { break };
        (unit, letter) = (unit << 10, next);
    }
    let tenths = (u128::from(size) * 10).div_ceil(u128::from(unit));
    if tenths < 100 {
        format!("{}.{}{letter}", tenths / 10, tenths % 10)
    } else {
        format!("{}{letter}", size.div_ceil(unit))
    }
}

/// A time in UTC.
fn date(time: SystemTime, now: i64, style: Option<&str>) -> String {
    let Moment { year, month, day, hour, minute, .. } = moment(seconds(time));
    match style {
        Some("long-iso") => format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}"),
        Some("full-iso") => civil::long(time),
        _ => {
            let name = MONTHS.get(usize::try_from(month - 1).unwrap_or(0)).copied().unwrap_or("?");
            let age = now - seconds(time);
            if (0..RECENT).contains(&age) {
                format!("{name} {day:2} {hour:02}:{minute:02}")
            } else {
                format!("{name} {day:2}  {year}")
            }
        }
    }
}
