//! Databases of earlier versions.

use std::{fs::Permissions, os::unix::fs::PermissionsExt, path::Path};

use palisade_agent::{LOCAL_TENANT, Span, Store, StoreError, UsageQuery};
use palisade_store::{Memory, NewTenant, OpenRuns, Postgres, Space, Spaces, Sqlite, Tenants};
use serde_json::json;
use sqlx::{Connection, Executor, PgConnection, SqliteConnection};

use crate::{
    cluster,
    said::{LASTS, batch, key, numbers, user},
};

const TWO: &str = include_str!("versions/two.sql");
const THREE: &str = include_str!("versions/three.sql");
const WALLS: &str = include_str!("versions/three_walls.sql");
const VALUE: &str = "INSERT INTO space_values (tenant, space, key, value) VALUES ('local', 'plugin', $1, $2)";

async fn two_in_file(path: &Path) {
    let mut connection = SqliteConnection::connect(&format!("sqlite:{}?mode=rwc", path.display())).await.unwrap();
    connection.execute("PRAGMA application_id = 1346456649").await.unwrap();
    sqlx::raw_sql(TWO).execute(&mut connection).await.unwrap();
    sqlx::query(VALUE).bind(&b"key"[..]).bind(&b"value"[..]).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

async fn two_in_server(address: &str) {
    let mut connection = PgConnection::connect(address).await.unwrap();
    connection.execute("CREATE SCHEMA palisade; SET search_path TO palisade").await.unwrap();
    sqlx::raw_sql(TWO).execute(&mut connection).await.unwrap();
    sqlx::query(VALUE).bind(&b"key"[..]).bind(&b"value"[..]).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

async fn three_in_file(path: &Path) {
    two_in_file(path).await;
    let mut connection = SqliteConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap();
    sqlx::raw_sql(THREE).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

async fn three_in_server(address: &str) {
    two_in_server(address).await;
    let mut connection = PgConnection::connect(address).await.unwrap();
    connection.execute("SET search_path TO palisade").await.unwrap();
    sqlx::raw_sql(THREE).execute(&mut connection).await.unwrap();
    sqlx::raw_sql(WALLS).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// What was there is there, and what is new works.
async fn goes_on<S: Store + Spaces + Tenants + OpenRuns>(store: &S) {
    let s = key(LOCAL_TENANT, "s");
    let session = store.session(&s).await.unwrap();
    assert_eq!((session.name.as_deref(), session.attributes["x"].as_u64()), (Some("River"), Some(1)));
    assert_eq!(numbers(store, &s).await, [1]);
    let space = Space { tenant: LOCAL_TENANT.into(), name: "plugin".into() };
    assert_eq!(store.value(&space, "key").await.unwrap().as_deref(), Some(&b"value"[..]));
    assert_eq!(store.audits(LOCAL_TENANT, None, 9).await.unwrap().len(), 1);
    assert_eq!(store.last_run(&key("b", "s")).await.unwrap().unwrap().id, "r2");

    let open = store.open_runs(None, None, 9).await.unwrap();
    assert_eq!(open.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["r1"]);
    let lease = store.claim(LOCAL_TENANT, "r1", "me", LASTS).await.unwrap();
    store.record(&lease, &batch(vec![user("on")])).await.unwrap();
    assert_eq!(numbers(store, &s).await, [1, 2]);

    let ids: Vec<String> = store.tenants(None, 9).await.unwrap().into_iter().map(|tenant| tenant.id).collect();
    assert_eq!(ids, [LOCAL_TENANT], "nobody made another one");
    // What is there under the id of a tenant is its own once it is made.
    let new = NewTenant { id: "b".into(), name: "B".into(), settings: json!({}) };
    store.create_tenant(new).await.unwrap();
    assert_eq!(store.session(&key("b", "s")).await.unwrap().id, "s");
    // What a run of then used up stays known when its session goes.
    let usage = UsageQuery { tenant: "b".into(), by: Span::Day, since: None, agent: None };
    let used = store.usage(&usage).await.unwrap();
    assert_eq!((used[0].of.as_str(), used[0].spending.usage.input_tokens), ("2023-11-14", 7));
    store.delete(&key("b", "s")).await.unwrap();
    assert_eq!(store.usage(&usage).await.unwrap(), used);
}

/// STO-09
#[tokio::test]
async fn a_file_of_a_version_without_tenants_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    two_in_file(&path).await;
    let store = Sqlite::open(&path).await.unwrap();
    goes_on(&store).await;
    store.close().await.unwrap();
    let store = Sqlite::open(&path).await.unwrap();
    assert_eq!(numbers(&store, &key(LOCAL_TENANT, "s")).await, [1, 2], "once is enough");
}

/// STO-09
#[tokio::test]
async fn a_server_of_a_version_without_tenants_is_brought_up_to_date_once() {
    let Some(address) = cluster::database().await else { return };
    two_in_server(&address).await;
    let opened = futures_util::future::join_all((0..4).map(|_| Postgres::connect(&address))).await;
    let stores: Vec<Postgres> = opened.into_iter().map(Result::unwrap).collect();
    goes_on(&stores[0]).await;
    for store in &stores {
        assert_eq!(numbers(store, &key(LOCAL_TENANT, "s")).await, [1, 2]);
    }
}

/// STO-09
#[tokio::test]
async fn a_file_that_forgot_what_deleted_runs_used_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    three_in_file(&path).await;
    goes_on(&Sqlite::open(&path).await.unwrap()).await;
}

/// STO-09
#[tokio::test]
async fn a_server_that_forgot_what_deleted_runs_used_is_brought_up_to_date_once() {
    let Some(address) = cluster::database().await else { return };
    three_in_server(&address).await;
    let opened = futures_util::future::join_all((0..4).map(|_| Postgres::connect(&address))).await;
    let stores: Vec<Postgres> = opened.into_iter().map(Result::unwrap).collect();
    goes_on(&stores[0]).await;
}

/// STO-09: a step that breaks off is as if it had not begun.
#[tokio::test]
async fn a_step_that_cannot_be_made_leaves_the_version_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    two_in_file(&path).await;
    let mut connection = SqliteConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap();
    // The last thing that the step makes is there already.
    connection.execute("CREATE TABLE idempotency (x)").await.unwrap();
    let error = Sqlite::open(&path).await.map(drop).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    let version: (i64,) =
        sqlx::query_as("SELECT version FROM palisade_version").fetch_one(&mut connection).await.unwrap();
    let columns: (i64,) =
        sqlx::query_as("SELECT count(*) FROM pragma_table_info('tenants')").fetch_one(&mut connection).await.unwrap();
    assert_eq!((version.0, columns.0), (2, 2));
    connection.execute("DROP TABLE idempotency").await.unwrap();
    connection.close().await.unwrap();
    goes_on(&Sqlite::open(&path).await.unwrap()).await;
}

/// A new one has what one has that was brought up to date.
#[tokio::test]
async fn a_new_store_has_the_local_tenant_in_every_place() {
    let folder = tempfile::tempdir().unwrap();
    let (file, memory) = (Sqlite::open(folder.path().join("store.db")).await.unwrap(), Memory::new());
    let [file, memory] = [file.tenant(LOCAL_TENANT).await.unwrap(), memory.tenant(LOCAL_TENANT).await.unwrap()];
    assert_eq!((&file.name, &file.settings), (&memory.name, &memory.settings));
}
