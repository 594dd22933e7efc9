//! What a server keeps: any sequence of what can be done to it, done in memory and in a database, says the same; what
//! happens when clocks are set; and what a file of SQLite does for it.

mod lockstep;

use std::time::Duration;

use palisade_agent::StoreError;
use palisade_store::{
    Begun, Clock, Idempotency, KEPT, MOST_EVENTS, MOST_KEYS, Memory, Postgres, RunEvents, Sqlite, Tenants,
};
use sqlx::{Connection, SqliteConnection};

use crate::{
    cluster,
    conformance::tenants::{new_key, tenant},
    said::{LASTS, begun},
};

const SECOND: i64 = 1_000_000;

/// STO-13
#[tokio::test]
async fn uses_and_answers_go_by_the_clock() {
    let clock = Clock::default();
    by_the_clock(&Memory::by(clock.clone()), &clock).await;
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::default();
    by_the_clock(&Sqlite::open_by(folder.path().join("store.db"), clock.clone()).await.unwrap(), &clock).await;
    let Some(address) = cluster::database().await else { return };
    let clock = Clock::default();
    by_the_clock(&Postgres::connect_by(&address, clock.clone()).await.unwrap(), &clock).await;
}

async fn by_the_clock(store: &(impl Tenants + Idempotency), clock: &Clock) {
    store.create_tenant(tenant("a")).await.unwrap();
    store.add_key("a", new_key("k", 1)).await.unwrap();
    let used = async || {
        store.used_key("a", "k").await.unwrap();
        store.key(&[1; 32]).await.unwrap().unwrap().last_used_at.unwrap()
    };
    let first = used().await;
    clock.shift(30 * SECOND);
    assert_eq!(used().await, first, "within the minute");
    clock.shift(40 * SECOND);
    let second = used().await;
    assert!(second > first);
    clock.shift(-3600 * SECOND);
    assert!(used().await < second, "a clock that was set back stops nothing");

    let begin = async |key: &str| store.begin("a", key, [1; 32], LASTS).await.unwrap();
    let lasts = i64::try_from(LASTS.as_micros()).unwrap();
    let kept = i64::try_from(KEPT.as_micros()).unwrap();
    assert_eq!([begin("done").await, begin("open").await], [Begun::Fresh, Begun::Fresh]);
    store.finish("a", "done", "1").await.unwrap();
    clock.shift(lasts - 60 * SECOND);
    assert_eq!([begin("done").await, begin("open").await], [Begun::Done("1".into()), Begun::UnderWay]);
    clock.shift(120 * SECOND);
    assert_eq!([begin("done").await, begin("open").await], [Begun::Done("1".into()), Begun::Fresh]);
    clock.shift(-2 * kept);
    assert_eq!(begin("open").await, Begun::Fresh, "nobody waits for days because a clock was set back");
    clock.shift(3 * kept);
    assert_eq!(begin("done").await, Begun::Fresh, "an answer is kept for a day");
}

#[tokio::test]
async fn records_of_requests_that_expired_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let clock = Clock::default();
    let store = Sqlite::open_by(&path, clock.clone()).await.unwrap();
    for number in 0..20 {
        let key = format!("k{number}");
        assert_eq!(store.begin("a", &key, [1; 32], LASTS).await.unwrap(), Begun::Fresh);
        if number % 2 == 0 {
            store.finish("a", &key, "1").await.unwrap();
        }
    }
    assert_eq!(store.begin("b", "k", [1; 32], Duration::ZERO).await.unwrap(), Begun::Fresh);
    let mut connection = SqliteConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap();
    let mut count = async || {
        let (count,): (i64,) = sqlx::query_as("SELECT count(*) FROM idempotency WHERE tenant = 'a'")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        count
    };
    assert_eq!(count().await, 20);
    clock.shift(3600 * SECOND);
    assert_eq!(store.begin("a", "new", [1; 32], LASTS).await.unwrap(), Begun::Fresh);
    assert_eq!(count().await, 11, "those that were never finished are gone");
    clock.shift(24 * 3600 * SECOND);
    assert_eq!(store.begin("a", "newer", [1; 32], LASTS).await.unwrap(), Begun::Fresh);
    assert_eq!(count().await, 1);
}

/// Rows are made directly: there would be many transactions to wait for.
#[tokio::test]
async fn a_run_has_so_many_events_and_a_tenant_so_many_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Sqlite::open(&path).await.unwrap();
    store.create_tenant(tenant("a")).await.unwrap();
    let lease = begun(&store, "a", "s").await;
    let mut connection = SqliteConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap();
    let numbers = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1)";
    let events = format!("{numbers} INSERT INTO events SELECT 'a', $2, n, '{{}}' FROM numbers");
    let (many, run) = (MOST_EVENTS.cast_signed() - 1, lease.run.clone());
    sqlx::query(sqlx::AssertSqlSafe(events)).bind(many).bind(run).execute(&mut connection).await.unwrap();
    store.append(&lease, MOST_EVENTS, &["{}".into()]).await.unwrap();
    assert_eq!(store.last_event("a", &lease.run).await, Ok(MOST_EVENTS));
    let more = store.append(&lease, MOST_EVENTS + 1, &["{}".into()]).await;
    assert!(matches!(more, Err(StoreError::Invalid(_))), "{more:?}");

    let keys = format!(
        "{numbers} INSERT INTO api_keys (tenant, id, hash, label, scopes, created_at)
         SELECT 'a', 'k' || n, CAST(n AS BLOB), 'l', '[]', 0 FROM numbers"
    );
    let many = MOST_KEYS.cast_signed() - 1;
    sqlx::query(sqlx::AssertSqlSafe(keys)).bind(many).execute(&mut connection).await.unwrap();
    store.add_key("a", new_key("last", 1)).await.unwrap();
    let more = store.add_key("a", new_key("more", 2)).await;
    assert!(matches!(more, Err(StoreError::Invalid(_))), "{more:?}");
    store.create_tenant(tenant("b")).await.unwrap();
    store.add_key("b", new_key("more", 2)).await.unwrap();
}

/// Runs that ended are not read to find those that did not.
#[tokio::test]
async fn open_runs_have_an_index_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    Sqlite::open(&path).await.unwrap().close().await.unwrap();
    let mut connection = SqliteConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap();
    for condition in ["tenant = 'a' AND (tenant, id) > ('', '')", "(tenant, id) > ('a', 'b')"] {
        let sql = format!(
            "EXPLAIN QUERY PLAN SELECT model FROM runs WHERE ended_at IS NULL AND {condition} ORDER BY tenant, id LIMIT 9"
        );
        let plan: Vec<(i64, i64, i64, String)> =
            sqlx::query_as(sqlx::AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap();
        let lines: Vec<String> = plan.into_iter().map(|(.., line)| line).collect();
        assert!(lines.len() == 1 && lines[0].contains("runs_open"), "{condition}: {lines:?}");
    }
}
