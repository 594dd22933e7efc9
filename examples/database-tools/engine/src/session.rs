//! Opening a database to read it or to write to it.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use palisade_tool::Failure;
use rusqlite::{Connection, OpenFlags};

use crate::{
    fault::Fault,
    file::{DatabaseFile, Look},
    guard::guard,
    lock::{self, Lock, Patience},
};

/// Reads of a database that somebody changes meanwhile.
const ATTEMPTS: usize = 5;
/// Bytes by which a database grows in one call.
pub(crate) const GROWTH: i64 = 32 << 20;
/// Files without locks; SQLite's own name for that.
const WITHOUT_LOCKS: &str = "unix-none";

/// Reads. If the database changed meanwhile, what was read is forgotten and read again.
pub(crate) fn read<T>(
    file: &DatabaseFile,
    time: Duration,
    work: impl Fn(&Connection) -> Result<T, Fault>,
) -> Result<T, Failure> {
    let end = Instant::now() + time;
    for _ in 0..ATTEMPTS {
        let mut before = file.look()?.ok_or_else(|| file.missing())?;
        if before.unfinished {
            lock::wait(file, Patience::USUAL)?;
            before = file.look()?.ok_or_else(|| file.missing())?;
        }
        if before.unfinished {
            return Err(file.unfinished());
        }
        if before.logged && before.log > 0 {
            return Err(Failure::Failed(format!(
                "{0} has a log with changes that are not in it yet ({0}-wal), which only who may write can bring in: close \
                 the program that has it open, or use `execute_sql` with `PRAGMA journal_mode = DELETE`",
                file.shown()
            )));
        }
        let result = open_to_read(file, &before, end.saturating_duration_since(Instant::now()))
            .and_then(|connection| work(&connection));
        if file.look()?.is_some_and(|after| after == before) {
            return result.map_err(|fault| fault.about(file, time.as_secs()));
        }
    }
    Err(Failure::Failed(format!("{} is being changed all the time; try again", file.shown())))
}

fn open_to_read(file: &DatabaseFile, look: &Look, time: Duration) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // A log wants memory that programs share. Without one there is nothing in the log, so the file alone is read.
    let mut connection = match look.logged {
        true => {
            Connection::open_with_flags_and_vfs(file.unchanging(), flags | OpenFlags::SQLITE_OPEN_URI, WITHOUT_LOCKS)?
        }
        false => Connection::open_with_flags_and_vfs(file.path(), flags, WITHOUT_LOCKS)?,
    };
    guard(&mut connection, time, || {})?;
    Ok(connection)
}

/// Writes, alone.
pub(crate) fn write<T>(
    file: &DatabaseFile,
    create: bool,
    time: Duration,
    work: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Failure> {
    let is_new = file.look()?.is_none();
    if is_new && !create {
        return Err(Failure::Failed(format!("{} does not exist; with \"create\": true it is made", file.shown())));
    }
    if let Some(folder) = Path::new(file.path()).parent().filter(|_| is_new) {
        fs::create_dir_all(folder).map_err(|error| Failure::on_io(file.shown(), &error))?;
    }
    let (lock, mut heart) = Lock::take(file, Patience::USUAL)?;
    let look = file.look()?;
    if let Some(look) = &look {
        refuse_shared(file, look, lock.inherited)?;
    }
    let done = open_to_write(file, look.as_ref(), time, move || heart.beat()).and_then(|connection| {
        let done = work(&connection)?;
        connection.close().map_err(|(_, error)| Fault::Sql(error))?;
        Ok(done)
    });
    // Where undoing it would take more than a call may write, the next one does it.
    if file.look().is_ok_and(|look| look.is_some_and(|look| look.unfinished)) {
        lock.leave();
    } else if lock.inherited {
        lock.undone();
    }
    // A file that nothing was written to is not a database yet.
    if done.is_err() && is_new && fs::metadata(file.path()).is_ok_and(|made| made.len() == 0) {
        drop(fs::remove_file(file.path()));
    }
    done.map_err(|fault| fault.about(file, time.as_secs()))
}

/// Locks of other programs are not seen here, so where there is a sign of one at work nothing is written.
fn refuse_shared(file: &DatabaseFile, look: &Look, inherited: bool) -> Result<(), Failure> {
    if look.unfinished && !inherited {
        return Err(Failure::Failed(format!(
            "{0} has the journal of a transaction ({0}-journal) that another program began: wait until it is done, or, if \
             it was stopped, open the database with it once",
            file.shown()
        )));
    }
    if look.logged && look.shared {
        return Err(Failure::Failed(format!("{0} is open in another program ({0}-shm); close it there", file.shown())));
    }
    Ok(())
}

fn open_to_write(
    file: &DatabaseFile,
    look: Option<&Look>,
    time: Duration,
    beat: impl FnMut() + Send + 'static,
) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags_and_vfs(file.path(), flags, WITHOUT_LOCKS)?;
    if look.is_some_and(|look| look.logged) {
        // Whoever is alone needs no memory to share.
        connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE;")?;
    }
    guard(&mut connection, time, beat)?;
    bound_growth(&connection)?;
    Ok(connection)
}

/// A call may write so much and no more, and what it began must be undone within that.
fn bound_growth(connection: &Connection) -> rusqlite::Result<()> {
    let number = |pragma: &str| connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0));
    let most = number("page_count")? + GROWTH / number("page_size")?.max(1);
    number(&format!("max_page_count = {most}")).map(drop)
}
