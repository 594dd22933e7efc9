//! What it costs to find a session and to add to one, with few sessions and with many.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use palisade_agent::{Batch, Budget, Entry, LOCAL_TENANT, Lease, Listing, NewRun, SessionKey, Store};
use palisade_store::Sqlite;
use sqlx::{Connection, Executor, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::runtime::Runtime;

use crate::{
    measure::{Contender, side_by_side},
    report::{Ratio, Report, times},
};

/// How many agents share the sessions.
const AGENTS: usize = 10;

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let counts: &[usize] = if quick { &[1_000, 100_000] } else { &[1_000, 100_000, 1_000_000] };
    let rounds = if quick { 20 } else { 60 };
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut stores = Vec::new();
    for count in counts {
        let path = folder.path().join(format!("{count}.db"));
        let started = Instant::now();
        fill(&runtime, &path, *count)?;
        eprintln!("{count} sessions were made in {:.1?}", started.elapsed());
        let store = Arc::new(runtime.block_on(Sqlite::open(&path))?);
        let leases = begin(&runtime, store.as_ref(), *count)?;
        stores.push((*count, store, leases));
    }
    look(report, rounds, &runtime, &stores)?;
    add(report, rounds, &runtime, &stores)
}

type Filled = (usize, Arc<Sqlite>, Vec<Lease>);

/// The latest session of an agent, which is what `--continue` and routing ask for.
fn look(report: &mut Report, rounds: usize, runtime: &Runtime, stores: &[Filled]) -> anyhow::Result<()> {
    let mut turn = 0;
    let mut contenders: Vec<Contender<'_>> = Vec::new();
    for (_, store, _) in stores {
        contenders.push(Box::new(move || {
            turn += 1;
            let listing = Listing {
                tenant: LOCAL_TENANT.to_owned(),
                agent: Some(format!("agent-{}", turn % AGENTS)),
                limit: 1,
                ..Listing::default()
            };
            let found = runtime.block_on(store.sessions(&listing))?;
            anyhow::ensure!(found.len() == 1, "there is none");
            Ok(())
        }));
    }
    let samples = side_by_side(rounds, 10, &mut contenders)?;
    compare(report, "the latest session of an agent", stores, &samples)
}

/// One reply, written down.
fn add(report: &mut Report, rounds: usize, runtime: &Runtime, stores: &[Filled]) -> anyhow::Result<()> {
    let mut contenders: Vec<Contender<'_>> = Vec::new();
    let batch = Batch { entries: vec![Entry::User { text: "words ".repeat(100) }], ..Batch::default() };
    for (_, store, leases) in stores {
        let (mut turn, batch) = (0, batch.clone());
        contenders.push(Box::new(move || {
            turn += 1;
            let lease = leases.get(turn % leases.len()).context("a lease")?;
            Ok(runtime.block_on(store.record(lease, &batch))?)
        }));
    }
    let samples = side_by_side(rounds, 5, &mut contenders)?;
    compare(report, "an entry added to a session", stores, &samples)
}

fn compare(
    report: &mut Report,
    what: &str,
    stores: &[Filled],
    samples: &[crate::measure::Sample],
) -> anyhow::Result<()> {
    let (few, rest) = samples.split_first().context("a sample")?;
    for (sample, (count, ..)) in rest.iter().zip(stores.iter().skip(1)) {
        report.row(
            &format!("{what}, {count} sessions"),
            &times(sample),
            &format!("1000 sessions: {}", times(few)),
            Ratio::Slower.of(sample.median(), few.median()),
            "≤ 2 ×",
        );
    }
    Ok(())
}

/// Fills a database with sessions of two entries each, in large transactions. SQLite makes the rows: through the
/// store every session would wait for the disk.
fn fill(runtime: &Runtime, path: &Path, count: usize) -> anyhow::Result<()> {
    const AT_ONCE: usize = 100_000;
    runtime.block_on(async {
        Sqlite::open(path).await?.close().await?;
        let mut connection = SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(path)).await?;
        connection.execute("PRAGMA synchronous = OFF").await?;
        connection.execute("PRAGMA cache_size = -200000").await?;
        for first in (0..count).step_by(AT_ONCE) {
            let last = count.min(first + AT_ONCE) - 1;
            let mut transaction = connection.begin().await?;
            for statement in [SESSIONS, ENTRIES] {
                let query = sqlx::query(statement).bind(first as i64).bind(last as i64).bind(AGENTS as i64);
                query.execute(&mut *transaction).await?;
            }
            transaction.commit().await?;
        }
        connection
            .execute("INSERT INTO tenants (tenant, moment) SELECT 'local', max(updated_at) FROM sessions")
            .await?;
        Ok(connection.close().await?)
    })
}

/// Sessions from one number to another. Their ids are spread, as those are that are made at random.
const SESSIONS: &str = "
    WITH RECURSIVE n(i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i < $2)
    INSERT INTO sessions (tenant, id, agent, created_at, updated_at, snippet, attributes, entries, workspace, chain, token)
    SELECT 'local', printf('%08x-%d', (i * 2654435761) & 4294967295, i), 'agent-' || (i % $3), i + 1, i + 1,
           'the beginning of what was said last in this session', '{}', 2, '/work/' || (i % 1000), '[]', 0 FROM n";

const ENTRIES: &str = "
    WITH RECURSIVE n(i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i < $2)
    INSERT INTO entries (tenant, session, number, at, body)
    SELECT 'local', printf('%08x-%d', (i * 2654435761) & 4294967295, i), number, i + 1,
           '{\"entry\":\"user\",\"text\":\"' || hex(randomblob(100)) || '\"}'
    FROM n, (SELECT 1 AS number UNION ALL SELECT 2) WHERE $3 > 0";

/// The id of a session, as the statement makes it.
fn id(number: u64) -> String {
    format!("{:08x}-{number}", number.wrapping_mul(2_654_435_761) & 0xffff_ffff)
}

/// Runs of some of the sessions, spread over all of them.
fn begin(runtime: &Runtime, store: &dyn Store, count: usize) -> anyhow::Result<Vec<Lease>> {
    let begun = (0..100_u64).map(|number| {
        let run = NewRun {
            session: SessionKey::new(LOCAL_TENANT, id(number * (count as u64 / 100))),
            agent: "agent".to_owned(),
            model: "none".to_owned(),
            parent: None,
            parent_call: None,
            queued: None,
            entries: Vec::new(),
            after: None,
            budget: Budget::default(),
            owner: palisade_store::this_process().to_owned(),
            lasts: Duration::from_secs(3600),
        };
        Ok(runtime.block_on(store.begin(run))?)
    });
    begun.collect()
}
