//! SQLite: a file on this machine, the default. One connection writes, a few read.

mod file;
mod settings;
mod wal;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use palisade_agent::StoreError;
use sqlx::{
    Connection, SqliteConnection, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::sync::Mutex;

use crate::{
    Clock, Sql,
    sql::{Dialect, Fault, KNOWN, Link, Place, Survey, Work, check_shape, migrate, passing, save_shape, version},
};

/// How long somebody waits for others to have written.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many may read at the same time.
const READERS: u32 = 4;
/// The most pages that a database of SQLite can have.
const PAGES: i64 = 4_294_967_294;
/// Up to this size in bytes a database is looked through when it is opened, which takes some milliseconds. Damage in
/// a larger one is found when what is damaged is used.
const LOOKED_THROUGH: u64 = 1024 * 1024;

/// A store in a file of SQLite.
pub type Sqlite = Sql<Connections>;

/// The connections to a file.
#[derive(Debug)]
pub struct Connections {
    writer: Mutex<Writer>,
    readers: SqlitePool,
    clock: Clock,
}

/// The connection that writes.
#[derive(Debug)]
struct Writer {
    options: SqliteConnectOptions,
    /// How many pages the database may have.
    pages: i64,
    connection: Option<SqliteConnection>,
}

impl Writer {
    /// The connection, made anew if the last one failed.
    async fn connection(&mut self) -> Result<&mut SqliteConnection, StoreError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => settings::connect(&self.options).await?,
        };
        let connection = self.connection.insert(connection);
        Ok(connection)
    }

    /// Tells the connection how many pages the database may have.
    async fn limit(&mut self) -> Result<(), StoreError> {
        let sql = format!("PRAGMA max_page_count = {}", self.pages);
        Link::sqlite(self.connection().await?, 0).assembled(sql, &[]).await?;
        Ok(())
    }

    /// Does some work in a transaction.
    async fn work<W: Work>(&mut self, work: &W, now: i64) -> Result<W::Made, Fault> {
        if self.connection.is_none() {
            self.limit().await?;
        }
        let instants = work.instants();
        // Whatever ends this before the commit, also that nobody waits for it any more, takes all of it back.
        let mut transaction = self.connection().await?.begin_with("BEGIN IMMEDIATE").await?;
        passing(instants.begin);
        let made = work.run(&mut Link::sqlite(&mut transaction, now)).await?;
        passing(instants.before_commit);
        transaction.commit().await?;
        passing(instants.after_commit);
        Ok(made)
    }
}

impl Sqlite {
    /// Opens a database, and makes one if there is none. Refuses one that is damaged, of another program or of
    /// a newer version, and never puts an empty one in its place.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::open_by(path, Clock::default()).await
    }

    /// Opens a database that goes by this clock.
    pub async fn open_by(path: impl Into<PathBuf>, clock: Clock) -> Result<Self, StoreError> {
        let path: PathBuf = path.into();
        let checked = path.clone();
        let found = tokio::task::spawn_blocking(move || file::look(&checked)).await;
        if !found.map_err(|_| StoreError::Unavailable("its file could not be looked at".to_owned()))?? {
            make(&path).await?;
        }
        let writing = settings::options(&path).create_if_missing(false);
        let reading = writing.clone().pragma("query_only", "ON");
        let mut writer = settings::connect(&writing).await?;
        look_through(&mut writer, &path).await?;
        bring_up_to_date(&mut writer).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(PATIENCE)
            .after_connect(|connection, _| Box::pin(settings::check(connection)))
            .connect_lazy_with(reading);
        let writer = Writer { options: writing, pages: PAGES, connection: Some(writer) };
        Ok(Self { place: Connections { writer: Mutex::new(writer), readers, clock } })
    }

    /// Closes it. Dropping it is as good for what is stored, and leaves more to the next start.
    pub async fn close(self) -> Result<(), StoreError> {
        self.place.readers.close().await;
        match self.place.writer.into_inner().connection {
            Some(connection) => connection.close().await.map_err(|error| Fault::from(error).into()),
            None => Ok(()),
        }
    }

    /// Lets the database grow to so many bytes and no further; what does not fit is refused as
    /// [`StoreError::Full`].
    pub async fn limit(&self, bytes: u64) -> Result<(), StoreError> {
        let mut writer = self.place.writer.lock().await;
        let row = Link::sqlite(writer.connection().await?, 0).row("PRAGMA page_size", &[]).await?;
        let page = row.map_or(Ok(4096), |row| row.number(0))?.max(1);
        writer.pages = (i64::try_from(bytes).unwrap_or(i64::MAX) / page).clamp(1, PAGES);
        writer.limit().await
    }
}

#[async_trait]
impl Place for Connections {
    async fn write<W: Work>(&self, work: &W) -> Result<W::Made, StoreError> {
        let writer = tokio::time::timeout(PATIENCE, self.writer.lock()).await;
        let mut writer =
            writer.map_err(|_| StoreError::Unavailable("others have been writing for too long".to_owned()))?;
        let made = writer.work(work, self.clock.now()).await;
        if matches!(made, Err(Fault::Failed(_))) {
            // SQLite may have taken the transaction back by itself, and then the connection does not know.
            writer.connection = None;
        }
        Ok(made?)
    }

    async fn read<W: Work>(&self, work: &W) -> Result<W::Made, StoreError> {
        let mut reader = self.readers.acquire().await.map_err(Fault::from)?;
        Ok(work.run(&mut Link::sqlite(&mut reader, self.clock.now())).await?)
    }

    async fn survey<S: Survey>(&self, survey: &S) -> Result<S::Made, StoreError> {
        let mut reader = self.readers.acquire().await.map_err(Fault::from)?;
        Ok(survey.run(&mut Link::sqlite(&mut reader, self.clock.now())).await?)
    }
}

/// Makes a database under another name and gives it its own when it is whole, so that there never is half a one.
async fn make(path: &Path) -> Result<(), StoreError> {
    let new = file::NewFile::beside(path)?;
    // Nobody waits for single pages to be on the disk: all of it is, before it gets its name.
    let options = settings::bare_options(new.path())
        .create_if_missing(false)
        .synchronous(SqliteSynchronous::Off)
        .journal_mode(SqliteJournalMode::Memory);
    let mut connection = SqliteConnection::connect_with(&options).await.map_err(Fault::from)?;
    let id = format!("PRAGMA application_id = {}", file::APPLICATION);
    Link::sqlite(&mut connection, 0).assembled(id, &[]).await?;
    bring_up_to_date(&mut connection).await?;
    connection.close().await.map_err(Fault::from)?;
    new.keep()
}

/// Looks through a database that is small enough.
async fn look_through(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    if file::length(path) > LOOKED_THROUGH {
        return Ok(());
    }
    let row = Link::sqlite(connection, 0).row("PRAGMA integrity_check(1)", &[]).await?;
    match row.map(|row| row.text(0)).transpose()? {
        Some(word) if word == "ok" => Ok(()),
        _ => Err(StoreError::Corrupt(format!("{} is not in order", path.display()))),
    }
}

/// Makes all steps to the newest version that were not made yet.
async fn bring_up_to_date(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    loop {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(Fault::from)?;
        let mut link = Link::sqlite(&mut transaction, 0);
        let found = version(&mut link, Dialect::Sqlite).await?;
        if found == KNOWN {
            return Ok(check_shape(&mut link).await?);
        }
        migrate(&mut link, found, Dialect::Sqlite).await?;
        save_shape(&mut link).await?;
        transaction.commit().await.map_err(Fault::from)?;
    }
}
