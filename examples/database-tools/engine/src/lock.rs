//! One writer at a time, where files have no locks.
//!
//! Who writes makes a file beside the database, which works for one of several who try, and removes it afterwards.
//! While it works it counts in that file, so that one whose sandbox was ended in the middle is told from one that is
//! busy: its count stands still. Then the next one takes over, and SQLite undoes what was left half done. One that
//! could not undo it itself leaves the file under another name, and is not waited for.

use std::{
    fs::{self, File, OpenOptions},
    hash::{BuildHasher as _, RandomState},
    io::{self, Seek as _, SeekFrom, Write as _},
    mem, thread,
    time::{Duration, Instant},
};

use palisade_tool::Failure;

use crate::file::DatabaseFile;

/// The ending of the file's name.
pub(crate) const ENDING: &str = "-palisade-lock";

/// How long to wait for others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// For one that is busy.
    pub(crate) busy: Duration,
    /// For a count to go on.
    pub(crate) still: Duration,
}

impl Patience {
    /// A busy one counts several times a second.
    pub(crate) const USUAL: Self = Self { busy: Duration::from_secs(8), still: Duration::from_secs(3) };
}

/// The ending of its name where one could not undo what it began. Giving it that takes no room.
pub(crate) const LEFT: &str = "-palisade-left";
/// How often a busy one counts, and how often others look.
const COUNT: Duration = Duration::from_millis(400);
const LOOK: Duration = Duration::from_millis(20);

/// The right to write. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    path: String,
    left: String,
    /// Whoever had it before did not give it back, or left something half done.
    pub(crate) inherited: bool,
}

/// Shows that the holder is still at work.
#[derive(Debug)]
pub(crate) struct Heart {
    file: File,
    token: u64,
    beats: u64,
    last: Instant,
}

impl Lock {
    /// Takes the right to write to a database, or waits for it.
    pub(crate) fn take(database: &DatabaseFile, patience: Patience) -> Result<(Self, Heart), Failure> {
        let path = database.beside(ENDING);
        let failed = |error: io::Error| Failure::on_io(database.shown(), &error);
        let mut watch = Watch::begin(&path, patience);
        let mut inherited = false;
        loop {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    let token = RandomState::new().hash_one(&path);
                    let mut heart = Heart { file, token, beats: 0, last: Instant::now() };
                    let left = database.beside(LEFT);
                    let inherited = inherited || fs::exists(&left).unwrap_or(false);
                    let lock = Self { path, left, inherited };
                    heart.write().map_err(failed)?;
                    return Ok((lock, heart));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match watch.look() {
                    Seen::Free => {}
                    Seen::Busy => thread::sleep(LOOK),
                    Seen::Still(content) => {
                        // Looked at once more: another one who waited may have been quicker.
                        if fs::read(&path).is_ok_and(|now| now == content) {
                            drop(fs::remove_file(&path));
                            inherited = true;
                        }
                    }
                    Seen::TooLong => return Err(busy(database)),
                },
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

impl Lock {
    /// Says that nothing is left half done any more.
    pub(crate) fn undone(&self) {
        drop(fs::remove_file(&self.left));
    }

    /// Ends the right to write, and leaves it to the next one to undo what was begun.
    pub(crate) fn leave(self) {
        // If this fails, the count stands still, which means the same to who waits long enough.
        drop(fs::rename(&self.path, &self.left));
        mem::forget(self);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If it cannot be removed, it stands still, and the next one takes over.
        drop(fs::remove_file(&self.path));
    }
}

impl Heart {
    /// Counts on, if it is time to.
    pub(crate) fn beat(&mut self) {
        if self.last.elapsed() >= COUNT {
            self.last = Instant::now();
            self.beats += 1;
            // One who cannot count is taken for one that is gone, and what it does then is found out by nobody
            // but its own transaction; there is nothing better to do here.
            drop(self.write());
        }
    }

    fn write(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(format!("{:016x} {:08}\n", self.token, self.beats).as_bytes())
    }
}

/// Waits until nobody who is at work holds the right to write.
pub(crate) fn wait(database: &DatabaseFile, patience: Patience) -> Result<(), Failure> {
    let mut watch = Watch::begin(&database.beside(ENDING), patience);
    loop {
        match watch.look() {
            Seen::Free | Seen::Still(_) => return Ok(()),
            Seen::Busy => thread::sleep(LOOK),
            Seen::TooLong => return Err(busy(database)),
        }
    }
}

fn busy(database: &DatabaseFile) -> Failure {
    Failure::Failed(format!("{}: database is locked; another call is writing to it, try again", database.shown()))
}

/// Watches the file of somebody else.
struct Watch {
    path: String,
    patience: Patience,
    begun: Instant,
    seen: Option<(Vec<u8>, Instant)>,
}

enum Seen {
    Free,
    Busy,
    /// The count in it stands still: this is what it says.
    Still(Vec<u8>),
    TooLong,
}

impl Watch {
    fn begin(path: &str, patience: Patience) -> Self {
        Self { path: path.to_owned(), patience, begun: Instant::now(), seen: None }
    }

    fn look(&mut self) -> Seen {
        let Ok(content) = fs::read(&self.path) else { return Seen::Free };
        match &self.seen {
            Some((before, since)) if *before == content => {
                if since.elapsed() >= self.patience.still {
                    return Seen::Still(content);
                }
            }
            _ => self.seen = Some((content, Instant::now())),
        }
        if self.begun.elapsed() >= self.patience.busy { Seen::TooLong } else { Seen::Busy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Patience = Patience { busy: Duration::from_secs(60), still: Duration::ZERO };

    fn database(folder: &tempfile::TempDir) -> DatabaseFile {
        DatabaseFile::named(folder.path().join("a.db").to_str().unwrap()).unwrap()
    }

    #[test]
    fn one_writes_and_gives_the_right_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = database(&folder);
        let (lock, _) = Lock::take(&file, Patience::USUAL).unwrap();
        assert!(!lock.inherited);
        assert!(fs::exists(file.beside(ENDING)).unwrap());
        drop(lock);
        assert!(!fs::exists(file.beside(ENDING)).unwrap());
        wait(&file, Patience::USUAL).unwrap();
    }

    #[test]
    fn a_count_that_stands_still_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = database(&folder);
        fs::write(file.beside(ENDING), "somebody 7").unwrap();
        let (lock, _) = Lock::take(&file, NONE).unwrap();
        assert!(lock.inherited);
    }

    #[test]
    fn one_that_left_something_half_done_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = database(&folder);
        Lock::take(&file, Patience::USUAL).unwrap().0.leave();
        let impatient = Patience { busy: Duration::ZERO, still: Duration::from_secs(60) };
        let (lock, _) = Lock::take(&file, impatient).unwrap();
        assert!(lock.inherited);
        lock.undone();
        drop(lock);
        assert!(!Lock::take(&file, impatient).unwrap().0.inherited);
    }

    #[test]
    fn one_who_counts_is_waited_for_and_in_the_end_not_disturbed() {
        let folder = tempfile::tempdir().unwrap();
        let file = database(&folder);
        let impatient = Patience { busy: Duration::ZERO, still: Duration::from_secs(60) };
        let (_lock, mut heart) = Lock::take(&file, NONE).unwrap();
        let first = fs::read(file.beside(ENDING)).unwrap();
        heart.last -= COUNT;
        heart.beat();
        assert_ne!(fs::read(file.beside(ENDING)).unwrap(), first);
        let Failure::Failed(text) = Lock::take(&file, impatient).unwrap_err() else { panic!("failed") };
        assert!(text.contains("database is locked"), "{text}");
        assert!(wait(&file, impatient).is_err());
    }
}
