//! Postgres: a server, for many processes on many machines.
//!
//! A connection that breaks while a transaction is committed leaves it open whether it was. The server knows: it
//! is asked by the number of the transaction, and only one that was not committed is made again.
//!
//! Every transaction first says for which tenant it works, or that it looks over all of them for the operator;
//! the server shows it no other rows (`sql/walls.rs`).

use std::{str::FromStr, time::Duration};

use async_trait::async_trait;
use palisade_agent::StoreError;
use sqlx::{
    ConnectOptions, Connection, PgConnection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{
    Clock, Sql,
    sql::{
        Dialect, Fault, KNOWN, Link, OPERATOR, Place, Survey, TENANT, Work, is_disconnection, migrate, obeys_walls,
        passing, version,
    },
};

/// How long somebody waits for a connection, and for the server to come back.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many connections there are at most.
const CONNECTIONS: u32 = 16;
/// How often work is done again that others were in the way of.
const TRIES: u32 = 8;
/// The number under which processes agree who brings the tables up to date.
const MIGRATION: i64 = 0x5041_4c49;
/// The oldest server whose transactions can be asked after.
const OLDEST: i64 = 130_000;

/// A store in a database of a Postgres server.
pub type Postgres = Sql<Pool>;

/// The connections to a server.
#[derive(Debug)]
pub struct Pool {
    pool: PgPool,
    clock: Clock,
}

impl Postgres {
    /// Connects to the database of an address such as `postgres://user:password@host/name`, and makes the tables
    /// in its schema `palisade` if they are not there. The address is a secret: it is in no error.
    pub async fn connect(address: &str) -> Result<Self, StoreError> {
        Self::connect_by(address, Clock::default()).await
    }

    /// Connects to a database that goes by this clock.
    pub async fn connect_by(address: &str, clock: Clock) -> Result<Self, StoreError> {
        let options = PgConnectOptions::from_str(address)
            .map_err(|_| StoreError::Invalid("the address is none of a Postgres database".to_owned()))?
            .application_name("palisade")
            .options([
                ("search_path", "palisade"),
                ("synchronous_commit", "on"),
                ("lock_timeout", "20s"),
                ("statement_timeout", "60s"),
                ("idle_in_transaction_session_timeout", "60s"),
            ])
            // Statements carry what people say.
            .disable_statement_logging();
        // A server that is not there is told at once; one that goes away later is waited for.
        let first = async {
            let mut first = options.connect().await.map_err(Fault::from)?;
            checked(&mut first).await?;
            first.close().await.map_err(|error| StoreError::from(Fault::from(error)))
        };
        let silent = |_| StoreError::Unavailable("the server does not answer".to_owned());
        tokio::time::timeout(PATIENCE, first).await.map_err(silent)??;
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(PATIENCE)
            .after_connect(|connection, _| Box::pin(check(connection)))
            .connect_lazy_with(options);
        bring_up_to_date(&pool).await?;
        Ok(Self { place: Pool { pool, clock } })
    }

    /// Whether the server itself keeps tenants apart. It does, unless the role of the address is a superuser or was
    /// given `BYPASSRLS`; then nothing but the statements of this program does.
    pub async fn obeys_row_security(&self) -> Result<bool, StoreError> {
        self.place.survey(&AskRole).await
    }

    /// Closes all connections.
    pub async fn close(self) {
        self.place.pool.close().await;
    }
}

struct AskRole;

#[async_trait]
impl Survey for AskRole {
    type Made = bool;

    async fn run(&self, link: &mut Link<'_>) -> Result<bool, Fault> {
        obeys_walls(link).await
    }
}

/// What became of one try.
enum Try<T> {
    Done(T),
    /// The commit was sent, and no answer came; the number of the transaction.
    Unknown(T, String),
    Failed(Fault),
}

impl Pool {
    async fn attempt<W: Work>(&self, work: &W) -> Result<Try<W::Made>, Fault> {
        let mut connection = self.pool.acquire().await?;
        let mut transaction = connection.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
        let instants = work.instants();
        passing(instants.begin);
        let (now, number) = enter(&mut transaction, work.tenant()).await?;
        let made = work.run(&mut Link::postgres(&mut transaction, self.clock.adjust(now))).await?;
        passing(instants.before_commit);
        match transaction.commit().await {
            Ok(()) => {
                passing(instants.after_commit);
                Ok(Try::Done(made))
            }
            Err(error) if is_disconnection(&error) => Ok(Try::Unknown(made, number)),
            Err(error) => Ok(Try::Failed(error.into())),
        }
    }

    /// Asks whether a transaction was committed, until the server knows.
    async fn was_committed(&self, number: &str) -> Result<bool, StoreError> {
        let asked = async {
            loop {
                match self.fate(number).await {
                    Ok(Some(fate)) => return fate == "committed",
                    // Still going on, or nobody there to ask.
                    Ok(None) | Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        };
        let unknown = "the connection broke off, and whether the last step was stored could not be found out";
        tokio::time::timeout(PATIENCE, asked).await.map_err(|_| StoreError::Unavailable(unknown.to_owned()))
    }

    /// Looks something up with a setting that says which rows are shown, until the transaction ends.
    async fn look<S: Survey>(&self, setting: &str, value: &str, survey: &S) -> Result<S::Made, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let looked = async {
                let mut connection = self.pool.acquire().await?;
                // Dropped, it is taken back when the connection is given back; nobody has to wait for that.
                let mut transaction = connection.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY").await?;
                let sql = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT), \
                           set_config($1, $2, true)";
                let row = Link::postgres(&mut transaction, 0).row(sql, &[setting.into(), value.into()]).await?;
                let now = row.map_or(Ok(0), |row| row.number(0))?;
                survey.run(&mut Link::postgres(&mut transaction, self.clock.adjust(now))).await
            };
            match looked.await {
                Ok(made) => return Ok(made),
                Err(fault) if tries < TRIES && fault.is_disconnection() => {
                    tokio::time::sleep(Duration::from_millis(5 << tries)).await;
                }
                Err(fault) => return Err(fault.into()),
            }
        }
    }

    async fn fate(&self, number: &str) -> Result<Option<String>, Fault> {
        let mut connection = self.pool.acquire().await?;
        let mut link = Link::postgres(&mut connection, 0);
        let row = link.row("SELECT pg_xact_status(CAST($1 AS xid8))", &[number.into()]).await?;
        let fate = row.map_or(Ok(None), |row| row.maybe_text(0))?;
        Ok(fate.filter(|fate| fate != "in progress"))
    }
}

#[async_trait]
impl Place for Pool {
    async fn write<W: Work>(&self, work: &W) -> Result<W::Made, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let fault = match self.attempt(work).await {
                Ok(Try::Done(made)) => return Ok(made),
                Ok(Try::Unknown(made, number)) => {
                    if self.was_committed(&number).await? {
                        return Ok(made);
                    }
                    sqlx::Error::WorkerCrashed.into()
                }
                Ok(Try::Failed(fault)) | Err(fault) => fault,
            };
            // What broke off before its commit was taken back by the server.
            if tries == TRIES || !(fault.is_conflict() || fault.is_disconnection()) {
                return Err(fault.into());
            }
            tokio::time::sleep(Duration::from_millis(5 << tries)).await;
        }
    }

    async fn read<W: Work>(&self, work: &W) -> Result<W::Made, StoreError> {
        self.look(TENANT, work.tenant(), &OfOne(work)).await
    }

    async fn survey<S: Survey>(&self, survey: &S) -> Result<S::Made, StoreError> {
        self.look(OPERATOR, "on", survey).await
    }
}

/// What is looked up for one tenant, where only that one's rows are shown.
struct OfOne<'w, W>(&'w W);

#[async_trait]
impl<W: Work> Survey for OfOne<'_, W> {
    type Made = W::Made;

    async fn run(&self, link: &mut Link<'_>) -> Result<W::Made, Fault> {
        self.0.run(link).await
    }
}

/// Has a transaction work for a tenant; what time it is at the server, and the number of the transaction.
async fn enter(connection: &mut PgConnection, tenant: &str) -> Result<(i64, String), Fault> {
    let sql = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT), \
               CAST(pg_current_xact_id() AS TEXT), set_config($1, $2, true)";
    let row = Link::postgres(connection, 0).row(sql, &[TENANT.into(), tenant.into()]).await?;
    row.map_or_else(|| Err(sqlx::Error::RowNotFound.into()), |row| Ok((row.number(0)?, row.text(1)?)))
}

/// Refuses a server on which what is acknowledged would not last.
async fn check(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    checked(connection).await.map_err(|error| sqlx::Error::AnyDriverError(Box::new(error)))
}

async fn checked(connection: &mut PgConnection) -> Result<(), StoreError> {
    let mut link = Link::postgres(connection, 0);
    let sql = "SELECT CAST(current_setting('server_version_num') AS BIGINT), current_setting('fsync'), \
               current_setting('full_page_writes'), current_setting('synchronous_commit'), \
               current_setting('server_encoding')";
    let Some(row) = link.row(sql, &[]).await? else { return Ok(()) };
    let unfit = |what: &str, found: &str, expected: &str| {
        Err(StoreError::Unavailable(format!("{what} is {found} and has to be {expected}")))
    };
    let version = row.number(0)?;
    if version < OLDEST {
        return unfit("the server's version", &version.to_string(), "13 or newer");
    }
    let settings = [
        ("fsync", 1, "on"),
        ("full_page_writes", 2, "on"),
        ("synchronous_commit", 3, "on"),
        ("server_encoding", 4, "UTF8"),
    ];
    for (name, column, expected) in settings {
        let found = row.text(column)?;
        if found != expected {
            return unfit(name, &found, expected);
        }
    }
    Ok(())
}

/// Makes all steps to the newest version that were not made yet; one process at a time.
async fn bring_up_to_date(pool: &PgPool) -> Result<(), StoreError> {
    loop {
        let mut transaction = pool.begin().await.map_err(Fault::from)?;
        let mut link = Link::postgres(&mut transaction, 0);
        let found = version(&mut link, Dialect::Postgres).await?;
        if found == KNOWN {
            return Ok(());
        }
        link.rows("SELECT pg_advisory_xact_lock($1)", &[MIGRATION.into()]).await?;
        link.run("CREATE SCHEMA IF NOT EXISTS palisade", &[]).await?;
        // Somebody may have been faster.
        let found = version(&mut link, Dialect::Postgres).await?;
        if found < KNOWN {
            migrate(&mut link, found, Dialect::Postgres).await?;
        }
        transaction.commit().await.map_err(Fault::from)?;
    }
}
