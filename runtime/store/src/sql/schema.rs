//! The tables, and how a database of an older version becomes one of this version. Every step is one
//! transaction that also writes down its number, so that one that broke off is made again.

use jiff::Timestamp;
use palisade_agent::{LOCAL_TENANT, StoreError, passing};

use super::{
    Fault, Link, values,
    walls::{SPENT, WALLS, WINDOWS},
};

/// What the two databases call things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// One step for each version, as separate statements. A step is never changed once it was released.
const STEPS: &[&[&str]] = &[
    &[
        "CREATE TABLE tenants (
        tenant TEXT NOT NULL PRIMARY KEY,
        moment BIGINT NOT NULL
    )",
        "CREATE TABLE sessions (
        tenant TEXT NOT NULL,
        id TEXT NOT NULL,
        agent TEXT NOT NULL,
        name TEXT,
        name_key TEXT,
        pinned_at BIGINT,
        created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL,
        snippet TEXT,
        attributes TEXT NOT NULL,
        entries BIGINT NOT NULL,
        workspace TEXT,
        parent TEXT,
        chain TEXT NOT NULL,
        ceiling TEXT,
        token BIGINT NOT NULL,
        run TEXT,
        owner TEXT,
        renewed_at BIGINT,
        lasts BIGINT,
        PRIMARY KEY (tenant, id)
    )",
        "CREATE UNIQUE INDEX sessions_names ON sessions (tenant, agent, name_key) WHERE name_key IS NOT NULL",
        "CREATE UNIQUE INDEX sessions_updated ON sessions (tenant, updated_at)",
        // Those that nobody delegated are what people and routing look for.
        "CREATE INDEX sessions_agents ON sessions (tenant, agent, updated_at) WHERE parent IS NULL",
        "CREATE INDEX sessions_workspaces ON sessions (tenant, workspace, updated_at) WHERE parent IS NULL",
        "CREATE INDEX sessions_parents ON sessions (tenant, parent, updated_at) WHERE parent IS NOT NULL",
        "CREATE TABLE entries (
        tenant TEXT NOT NULL,
        session TEXT NOT NULL,
        number BIGINT NOT NULL,
        at BIGINT NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (tenant, session, number),
        FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    )",
        "CREATE TABLE runs (
        tenant TEXT NOT NULL,
        id TEXT NOT NULL,
        session TEXT NOT NULL,
        token BIGINT NOT NULL,
        agent TEXT NOT NULL,
        model TEXT NOT NULL,
        parent TEXT,
        parent_call TEXT,
        budget TEXT NOT NULL,
        owner TEXT NOT NULL,
        started_at BIGINT NOT NULL,
        day TEXT NOT NULL,
        ended_at BIGINT,
        ending TEXT,
        steps BIGINT NOT NULL,
        calls BIGINT NOT NULL,
        input_tokens BIGINT NOT NULL,
        output_tokens BIGINT NOT NULL,
        cached_tokens BIGINT NOT NULL,
        cache_written_tokens BIGINT NOT NULL,
        cost_micros BIGINT NOT NULL,
        micros BIGINT NOT NULL,
        PRIMARY KEY (tenant, id),
        UNIQUE (tenant, session, token),
        FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    )",
        "CREATE INDEX runs_started ON runs (tenant, started_at)",
        "CREATE TABLE calls (
        tenant TEXT NOT NULL,
        run TEXT NOT NULL,
        number BIGINT NOT NULL,
        id TEXT NOT NULL,
        call TEXT NOT NULL,
        idempotent BIGINT NOT NULL,
        result TEXT,
        PRIMARY KEY (tenant, run, number),
        UNIQUE (tenant, run, id),
        FOREIGN KEY (tenant, run) REFERENCES runs (tenant, id) ON DELETE CASCADE
    )",
        "CREATE TABLE messages (
        tenant TEXT NOT NULL,
        id TEXT NOT NULL,
        session TEXT NOT NULL,
        moment BIGINT NOT NULL,
        message TEXT,
        PRIMARY KEY (tenant, id),
        FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
    )",
        "CREATE INDEX messages_sessions ON messages (tenant, session)",
        "CREATE INDEX messages_waiting ON messages (tenant, session, moment) WHERE message IS NOT NULL",
        "CREATE TABLE audits (
        tenant TEXT NOT NULL,
        at BIGINT NOT NULL,
        session TEXT,
        run TEXT,
        kind TEXT NOT NULL,
        detail TEXT NOT NULL,
        PRIMARY KEY (tenant, at)
    )",
        "CREATE INDEX audits_sessions ON audits (tenant, session, at) WHERE session IS NOT NULL",
    ],
    &[
        // How many bytes of keys and values a space holds.
        "CREATE TABLE spaces (
        tenant TEXT NOT NULL,
        space TEXT NOT NULL,
        bytes BIGINT NOT NULL,
        PRIMARY KEY (tenant, space)
    )",
        // Keys are bytes too: they are anybody's, and sorted alike everywhere.
        "CREATE TABLE space_values (
        tenant TEXT NOT NULL,
        space TEXT NOT NULL,
        key BYTEA NOT NULL,
        value BYTEA NOT NULL,
        PRIMARY KEY (tenant, space, key),
        FOREIGN KEY (tenant, space) REFERENCES spaces (tenant, space) ON DELETE CASCADE
    )",
    ],
    &[
        // A tenant that nobody made has nothing of these: its row only gives out moments.
        "ALTER TABLE tenants ADD COLUMN name TEXT",
        "ALTER TABLE tenants ADD COLUMN settings TEXT",
        "ALTER TABLE tenants ADD COLUMN created_at BIGINT",
        "ALTER TABLE tenants ADD COLUMN suspended_at BIGINT",
        "ALTER TABLE tenants ADD COLUMN deleted_at BIGINT",
        "CREATE TABLE api_keys (
        tenant TEXT NOT NULL,
        id TEXT NOT NULL,
        hash BYTEA NOT NULL UNIQUE,
        label TEXT NOT NULL,
        scopes TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        expires_at BIGINT,
        revoked_at BIGINT,
        last_used_at BIGINT,
        PRIMARY KEY (tenant, id)
    )",
        "CREATE TABLE events (
        tenant TEXT NOT NULL,
        run TEXT NOT NULL,
        number BIGINT NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (tenant, run, number),
        FOREIGN KEY (tenant, run) REFERENCES runs (tenant, id) ON DELETE CASCADE
    )",
        "CREATE TABLE idempotency (
        tenant TEXT NOT NULL,
        key TEXT NOT NULL,
        fingerprint BYTEA NOT NULL,
        owner TEXT NOT NULL,
        at BIGINT NOT NULL,
        lasts BIGINT NOT NULL,
        ends_at BIGINT NOT NULL,
        answer TEXT,
        PRIMARY KEY (tenant, key)
    )",
        "CREATE INDEX idempotency_ends ON idempotency (tenant, ends_at)",
        "CREATE INDEX runs_open ON runs (tenant, id) WHERE ended_at IS NULL",
    ],
    &[
        // What runs used up whose sessions were deleted.
        "CREATE TABLE spent (
        tenant TEXT NOT NULL,
        day TEXT NOT NULL,
        agent TEXT NOT NULL,
        model TEXT NOT NULL,
        runs BIGINT NOT NULL,
        answered BIGINT NOT NULL,
        steps BIGINT NOT NULL,
        calls BIGINT NOT NULL,
        input_tokens BIGINT NOT NULL,
        output_tokens BIGINT NOT NULL,
        cached_tokens BIGINT NOT NULL,
        cache_written_tokens BIGINT NOT NULL,
        cost_micros BIGINT NOT NULL,
        micros BIGINT NOT NULL,
        PRIMARY KEY (tenant, day, agent, model)
    )",
    ],
];

/// The version that knows who tenants are.
const WITH_TENANTS: i64 = 3;
/// The version that keeps what deleted runs used up.
const WITH_SPENT: i64 = 4;

/// The newest version that is known.
pub(crate) const KNOWN: i64 = STEPS.len() as i64;

/// The version of a database, zero if it has none of the tables; refuses one that is newer.
pub(crate) async fn version(link: &mut Link<'_>, dialect: Dialect) -> Result<i64, Fault> {
    let there = match dialect {
        Dialect::Sqlite => "SELECT count(*) FROM sqlite_schema WHERE name = 'palisade_version'",
        Dialect::Postgres => {
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'palisade' AND tablename = 'palisade_version'"
        }
    };
    if link.row(there, &[]).await?.map_or(Ok(0), |row| row.number(0))? == 0 {
        return Ok(0);
    }
    let found = link.row("SELECT version FROM palisade_version", &[]).await?.map_or(Ok(0), |row| row.number(0))?;
    if found > KNOWN {
        return Err(StoreError::Newer { found, known: KNOWN }.into());
    }
    Ok(found)
}

/// Makes one step from `version` to the next. The caller commits it.
pub(crate) async fn migrate(link: &mut Link<'_>, version: i64, dialect: Dialect) -> Result<(), Fault> {
    passing("store.migrate.begin");
    if version == 0 {
        link.run("CREATE TABLE IF NOT EXISTS palisade_version (version BIGINT NOT NULL, shape TEXT)", &[]).await?;
        link.run("INSERT INTO palisade_version (version) VALUES (0)", &[]).await?;
    }
    let step = usize::try_from(version).ok().and_then(|version| STEPS.get(version)).copied().unwrap_or_default();
    for statement in step {
        link.run(statement, &[]).await?;
    }
    if version + 1 == WITH_TENANTS {
        settle(link).await?;
    }
    if dialect == Dialect::Postgres {
        wall(link, version + 1).await?;
    }
    link.run("UPDATE palisade_version SET version = $1", values![version + 1]).await?;
    passing("store.migrate.before_commit");
    Ok(())
}

/// Makes the tenant of those who work alone.
async fn settle(link: &mut Link<'_>) -> Result<(), Fault> {
    link.run(
        "INSERT INTO tenants (tenant, moment, name, settings, created_at) VALUES ($1, 0, $1, '{}', $2)
         ON CONFLICT (tenant) DO UPDATE SET name = excluded.name, settings = excluded.settings,
         created_at = excluded.created_at",
        values![LOCAL_TENANT, Timestamp::now().as_microsecond()],
    )
    .await?;
    Ok(())
}

/// Puts up the walls of Postgres that came with a version. Whatever a later step does to rows of many tenants, it has to
/// take down `FORCE` for, or it sees none of them.
async fn wall(link: &mut Link<'_>, version: i64) -> Result<(), Fault> {
    let statements: Vec<&'static str> = match version {
        WITH_TENANTS => {
            // Tenants are listed in an order that does not depend on the language of the server.
            let order = "ALTER TABLE tenants ALTER COLUMN tenant TYPE TEXT COLLATE \"C\"";
            [order].into_iter().chain(WALLS.into_iter().flatten()).chain(WINDOWS).collect()
        }
        WITH_SPENT => SPENT.to_vec(),
        _ => Vec::new(),
    };
    for statement in statements {
        link.run(statement, &[]).await?;
    }
    Ok(())
}

/// All tables and indices of SQLite, in one text.
macro_rules! shape {
    () => {
        "(SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name))"
    };
}

/// Writes down what the tables of SQLite look like.
pub(crate) async fn save_shape(link: &mut Link<'_>) -> Result<(), Fault> {
    link.run(concat!("UPDATE palisade_version SET shape = ", shape!()), &[]).await?;
    Ok(())
}

/// Refuses a database of SQLite whose tables do not look as they did. How they look is a text in its file; a byte
/// of it that is flipped makes another table or index of one, and SQLite would find less in it.
pub(crate) async fn check_shape(link: &mut Link<'_>) -> Result<(), Fault> {
    let row = link.row(concat!("SELECT count(*) FROM palisade_version WHERE shape = ", shape!()), &[]).await?;
    match row.map_or(Ok(0), |row| row.number(0))? {
        1 => Ok(()),
        _ => Err(StoreError::Corrupt("its tables are not what they should be".to_owned()).into()),
    }
}
