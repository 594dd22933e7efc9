//! The second wall between tenants: what a role sees and changes in Postgres with statements that forgot to ask whose
//! something is.

use palisade_agent::{AuditRecord, Store};
use palisade_store::{Begun, Idempotency, Kept, Postgres, RunEvents, Space, Spaces, Tenants};
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::{
    cluster,
    conformance::tenants::{new_key, tenant},
    said::{LASTS, answered, batch, begun, intent, message, user},
};

/// All tables that have a tenant, as the database knows them.
async fn tables(connection: &mut PgConnection) -> Vec<String> {
    let sql = "SELECT CAST(table_name AS TEXT) FROM information_schema.columns
               WHERE table_schema = 'palisade' AND column_name = 'tenant' ORDER BY 1";
    let rows: Vec<(String,)> = sqlx::query_as(sql).fetch_all(connection).await.unwrap();
    rows.into_iter().map(|(name,)| name).collect()
}

/// A row of each table for each of two tenants.
async fn filled(store: &Postgres) {
    for (id, secret) in [("a", 1), ("b", 2)] {
        store.create_tenant(tenant(id)).await.unwrap();
        store.add_key(id, new_key("k", secret)).await.unwrap();
        let lease = begun(store, id, "s").await;
        let mut said = batch(vec![user("more")]);
        said.intents = vec![intent("1")];
        store.record(&lease, &said).await.unwrap();
        store.append(&lease, 1, &["{}".into()]).await.unwrap();
        store.enqueue(&message(&lease.session, "m")).await.unwrap();
        let (tenant, kind) = (id.to_owned(), "denial".to_owned());
        let record = AuditRecord { tenant, at: None, session: None, run: None, kind, detail: json!({}) };
        store.audit(&record).await.unwrap();
        let space = Space { tenant: id.into(), name: "plugin".into() };
        assert_eq!(store.keep(&space, "key", b"value", 100).await.unwrap(), Kept::Yes);
        assert_eq!(Idempotency::begin(store, id, "r", [7; 32], LASTS).await.unwrap(), Begun::Fresh);
        let gone = begun(store, id, "gone").await;
        store.end(&gone, &answered(1)).await.unwrap();
        store.delete(&gone.session).await.unwrap();
    }
}

/// The tenants whose rows a table shows.
async fn shown(connection: &mut PgConnection, table: &str) -> Vec<String> {
    let sql = format!("SELECT DISTINCT tenant FROM palisade.{table} ORDER BY 1");
    let rows: Vec<(String,)> = sqlx::query_as(AssertSqlSafe(sql)).fetch_all(connection).await.unwrap();
    rows.into_iter().map(|(tenant,)| tenant).collect()
}

async fn set(connection: &mut PgConnection, setting: &str, value: &str) {
    connection.execute(AssertSqlSafe(format!("SET LOCAL {setting} = '{value}'"))).await.unwrap();
}

/// A row of each table that a role without special rights, with the rows of two tenants, can see.
async fn walled() -> Option<(String, Postgres, Vec<String>)> {
    let address = cluster::database().await?;
    let store = Postgres::connect(&address).await.unwrap();
    filled(&store).await;
    let mut administrator = PgConnection::connect(&cluster::for_administrator(&address)).await.unwrap();
    let tables = tables(&mut administrator).await;
    assert_eq!(tables.len(), 13, "{tables:?}");
    for table in &tables {
        let seen = shown(&mut administrator, table).await;
        assert!(seen.contains(&"a".to_owned()) && seen.contains(&"b".to_owned()), "{table}: {seen:?}");
    }
    Some((address, store, tables))
}

#[tokio::test]
async fn a_statement_that_forgets_the_tenant_sees_and_changes_only_its_own() {
    let Some((address, _store, tables)) = walled().await else { return };
    let mut connection = PgConnection::connect(&address).await.unwrap();
    for table in &tables {
        let mut transaction = connection.begin().await.unwrap();
        set(&mut transaction, "palisade.tenant", "a").await;
        assert_eq!(shown(&mut transaction, table).await, ["a"], "{table}");
        let count = |sql: &str| AssertSqlSafe(sql.replace("TABLE", &format!("palisade.{table}")));
        let own: (i64,) =
            sqlx::query_as(count("SELECT count(*) FROM TABLE")).fetch_one(&mut *transaction).await.unwrap();
        let changed = transaction.execute(count("UPDATE TABLE SET tenant = tenant")).await.unwrap().rows_affected();
        assert_eq!(changed, own.0.cast_unsigned(), "{table}");
        let locked = transaction.execute(count("SELECT 1 FROM TABLE WHERE tenant = 'b' FOR UPDATE")).await.unwrap();
        assert_eq!(locked.rows_affected(), 0, "{table}: also when it is asked for by name");
        let gone = transaction.execute(count("DELETE FROM TABLE WHERE tenant = 'b'")).await.unwrap();
        assert_eq!(gone.rows_affected(), 0, "{table}");
        transaction.execute(count("DELETE FROM TABLE")).await.unwrap();
        transaction.commit().await.unwrap();
        // What was deleted above took what depends on it along, of the same tenant.
        let mut administrator = PgConnection::connect(&cluster::for_administrator(&address)).await.unwrap();
        for other in &tables {
            assert!(shown(&mut administrator, other).await.contains(&"b".to_owned()), "{table} took {other} along");
        }
        assert!(!shown(&mut administrator, table).await.contains(&"a".to_owned()), "{table}");
    }
}

#[tokio::test]
async fn nothing_is_given_to_another_tenant() {
    let Some((address, _store, tables)) = walled().await else { return };
    let mut connection = PgConnection::connect(&address).await.unwrap();
    for sql in [
        "INSERT INTO palisade.audits (tenant, at, kind, detail) VALUES ('b', 7, 'x', '{}')",
        "INSERT INTO palisade.tenants (tenant, moment) VALUES ('c', 0)",
        "UPDATE palisade.audits SET tenant = 'b'",
        "UPDATE palisade.api_keys SET tenant = 'b', id = 'stolen'",
    ] {
        let mut transaction = connection.begin().await.unwrap();
        set(&mut transaction, "palisade.tenant", "a").await;
        let error = transaction.execute(sql).await.unwrap_err();
        let code = error.as_database_error().unwrap().code().unwrap().into_owned();
        assert_eq!(code, "42501", "{sql}: {error}");
        transaction.rollback().await.unwrap();
    }
    drop(tables);
}

#[tokio::test]
async fn who_says_nothing_sees_nothing() {
    let Some((address, _store, tables)) = walled().await else { return };
    let mut connection = PgConnection::connect(&address).await.unwrap();
    for table in &tables {
        assert_eq!(shown(&mut connection, table).await, Vec::<String>::new(), "{table}");
    }
    // What was said for one transaction is not said for the next.
    let mut transaction = connection.begin().await.unwrap();
    set(&mut transaction, "palisade.tenant", "a").await;
    set(&mut transaction, "palisade.operator", "on").await;
    transaction.commit().await.unwrap();
    for table in &tables {
        assert_eq!(shown(&mut connection, table).await, Vec::<String>::new(), "{table}");
        let sql = format!("DELETE FROM palisade.{table}");
        assert_eq!(connection.execute(AssertSqlSafe(sql)).await.unwrap().rows_affected(), 0, "{table}");
    }
    for nobody in ["", "c", "A", "a ", "%"] {
        let mut transaction = connection.begin().await.unwrap();
        set(&mut transaction, "palisade.tenant", nobody).await;
        for table in &tables {
            assert_eq!(shown(&mut transaction, table).await, Vec::<String>::new(), "{nobody:?} {table}");
        }
    }
}

#[tokio::test]
async fn the_operator_looks_over_few_tables_and_changes_none() {
    let Some((address, _store, tables)) = walled().await else { return };
    let mut connection = PgConnection::connect(&address).await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    set(&mut transaction, "palisade.operator", "on").await;
    for table in &tables {
        let seen = shown(&mut transaction, table).await;
        match table.as_str() {
            "tenants" => assert_eq!(seen, ["a", "b", "local"]),
            "api_keys" | "runs" => assert_eq!(seen, ["a", "b"], "{table}"),
            _ => assert_eq!(seen, Vec::<String>::new(), "{table}"),
        }
        for sql in ["UPDATE palisade.TABLE SET tenant = tenant", "DELETE FROM palisade.TABLE"] {
            let outcome = transaction.execute(AssertSqlSafe(sql.replace("TABLE", table))).await.unwrap();
            assert_eq!(outcome.rows_affected(), 0, "{table}: {sql}");
        }
    }
}

#[tokio::test]
async fn a_role_that_skips_the_wall_is_known() {
    let Some(address) = cluster::database().await else { return };
    let plain = Postgres::connect(&address).await.unwrap();
    assert!(plain.obeys_row_security().await.unwrap());
    let administrator = cluster::for_administrator(&address);
    let special = Postgres::connect(&administrator).await.unwrap();
    assert!(!special.obeys_row_security().await.unwrap());
    assert!(palisade_store::open_database(&address).await.unwrap().has_walls);
    assert!(!palisade_store::open_database(&administrator).await.unwrap().has_walls);
    let [obeys, skips] = [address, administrator]
        .map(|address| async move { palisade_store::examine(&address).await.unwrap().unwrap().settings });
    assert!(obeys.await.ends_with("row-level security") && skips.await.contains("skipped"));
}

/// A new table with a tenant that nobody thought of a wall for would be found here.
#[tokio::test]
async fn every_table_with_a_tenant_has_a_wall_for_its_owner_too() {
    let Some(address) = cluster::database().await else { return };
    Postgres::connect(&address).await.unwrap().close().await;
    let mut connection = PgConnection::connect(&address).await.unwrap();
    let tables = tables(&mut connection).await;
    let sql = "SELECT CAST(relname AS TEXT) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
               WHERE n.nspname = 'palisade' AND relrowsecurity AND relforcerowsecurity ORDER BY 1";
    let walled: Vec<(String,)> = sqlx::query_as(sql).fetch_all(&mut connection).await.unwrap();
    assert_eq!(walled.into_iter().map(|(name,)| name).collect::<Vec<_>>(), tables);
}
