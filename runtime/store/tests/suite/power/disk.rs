//! What a disk may hold when the power is cut: all that was waited for, and of the rest anything.

use std::{collections::BTreeMap, fs::OpenOptions, io::Write as _, os::unix::fs::OpenOptionsExt as _, path::Path};

use super::watch::{Happened, What};

/// A stream of numbers that is the same for the same seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5041_4c49)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from(word ^ (word >> 31)).unwrap() % limit.max(1)
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// Whether the disk does what it is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Disk {
    /// What was waited for is there.
    Honest,
    /// It says so, and it is not.
    Lying,
}

/// A file: what of it is on the disk for certain, and what was done since.
struct File {
    lasting: Vec<u8>,
    since: Vec<What>,
    /// Its name is on the disk, too.
    is_named: bool,
}

/// What may be found under one name.
#[derive(Default)]
struct Name {
    now: Option<File>,
    /// What had the name before, and may still have it on the disk.
    before: Option<File>,
}

/// All names at one moment.
pub(super) struct Moment {
    names: BTreeMap<String, Name>,
    disk: Disk,
}

impl Moment {
    pub(super) fn new(disk: Disk) -> Self {
        Self { names: BTreeMap::new(), disk }
    }

    /// What happens next.
    pub(super) fn pass(&mut self, happened: &Happened) {
        let name = self.names.entry(happened.path.clone()).or_default();
        match (&happened.what, &mut name.now) {
            (What::Found(content), now) => {
                *now = Some(File { lasting: content.clone(), since: Vec::new(), is_named: true });
            }
            (What::Made, now) => *now = Some(File { lasting: Vec::new(), since: Vec::new(), is_named: false }),
            (What::Written { .. } | What::Truncated(_), Some(file)) => file.since.push(happened.what.clone()),
            (What::Synced, Some(file)) => {
                let is_first = !std::mem::replace(&mut file.is_named, true);
                if self.disk == Disk::Honest {
                    file.since.drain(..).for_each(|what| all_of(&mut file.lasting, &what));
                }
                // SQLite waits for the folder when it first waits for a file that it made: with that, what was
                // removed from it is gone for good.
                if is_first {
                    self.names.values_mut().for_each(|name| name.before = None);
                }
            }
            (What::Removed { lasts: true }, now) => (*now, name.before) = (None, None),
            (What::Removed { lasts: false }, now) => {
                if let Some(file) = now.take().filter(|file| file.is_named) {
                    name.before = Some(file);
                }
            }
            (What::Written { .. } | What::Truncated(_) | What::Synced, None) => panic!("{happened:?} of no file"),
            (What::Acknowledged(_), _) => {}
        }
    }

    /// Puts what the disk may hold into a folder.
    pub(super) fn cut(&self, folder: &Path, dice: &mut Dice) {
        for (path, name) in &self.names {
            let Some(file) = name.left(dice) else { continue };
            let title = Path::new(path).file_name().unwrap().to_str().unwrap();
            // What a database is made in before it has its name is nothing that anybody looks at.
            if !title.contains("-new-") {
                write(&folder.join(title), &file.left(dice));
            }
        }
        // How a log is searched is never waited for: the file of that may hold anything.
        if folder.join("store.db-wal").exists() && dice.below(4) == 0 {
            let junk: Vec<u8> = (0..32768).map(|_| dice.below(256) as u8).collect();
            write(&folder.join("store.db-shm"), &junk);
        }
    }
}

impl Name {
    fn left(&self, dice: &mut Dice) -> Option<&File> {
        match &self.now {
            Some(file) if file.is_named || dice.below(3) == 0 => Some(file),
            _ if dice.coin() => self.before.as_ref(),
            _ => None,
        }
    }
}

/// Which of the things that nobody waited for were done.
enum Done {
    None,
    All,
    First(usize),
    AllBut(usize),
    /// Any of them.
    Any,
    /// Any pieces of them, of so many bytes.
    Pieces(usize),
}

impl File {
    /// What the disk may hold of it.
    fn left(&self, dice: &mut Dice) -> Vec<u8> {
        let mut content = self.lasting.clone();
        let done = match dice.below(8) {
            0 => Done::None,
            1 => Done::All,
            2 => Done::First(dice.below(self.since.len() + 1)),
            3 => Done::AllBut(dice.below(self.since.len())),
            4 | 5 => Done::Any,
            6 => Done::Pieces(512),
            _ => Done::Pieces(4096),
        };
        // Where a file grew and what was written is lost, there may be zeros, or what the disk held before.
        let lost = match dice.below(3) {
            0 => None,
            1 => Some(0),
            _ => Some(0xa5),
        };
        for (number, what) in self.since.iter().enumerate() {
            let What::Written { at, bytes } = what else {
                if dice.coin() {
                    all_of(&mut content, what);
                }
                continue;
            };
            let size = if let Done::Pieces(size) = done { size } else { usize::MAX };
            let mut from = *at;
            while from < at + bytes.len() {
                let to = from.saturating_add(size - from % size).min(at + bytes.len());
                let piece = &bytes[from - at..to - at];
                let is_done = match done {
                    Done::None => false,
                    Done::All => true,
                    Done::First(count) => number < count,
                    Done::AllBut(other) => number != other,
                    Done::Any | Done::Pieces(_) => dice.coin(),
                };
                match lost {
                    _ if is_done => put(&mut content, from, piece),
                    Some(byte) if from >= content.len() => put(&mut content, from, &vec![byte; piece.len()]),
                    _ => {}
                }
                from = to;
            }
        }
        content
    }
}

fn all_of(content: &mut Vec<u8>, what: &What) {
    match what {
        What::Written { at, bytes } => put(content, *at, bytes),
        What::Truncated(length) => content.resize(*length, 0),
        _ => {}
    }
}

fn put(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[at..end].copy_from_slice(bytes);
}

fn write(path: &Path, content: &[u8]) {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).unwrap();
    file.write_all(content).unwrap();
}
