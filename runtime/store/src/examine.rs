//! What can be said of a database as a whole, for whoever wants to know whether it is in order.

use async_trait::async_trait;
use palisade_agent::StoreError;

use crate::{
    Postgres, Sqlite,
    sql::{Fault, Link, Place, Survey, obeys_walls},
};

/// A database that was looked through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// The program that keeps it, with its version.
    pub engine: String,
    /// The version of the tables.
    pub version: i64,
    /// How large it is.
    pub bytes: u64,
    /// What was found to be set so that what is acknowledged lasts.
    pub settings: &'static str,
}

/// Opens what an address means, as [`crate::open`] does, and looks through it. Nothing, if it is no database.
pub async fn examine(address: &str) -> Result<Option<Examined>, StoreError> {
    match address.split_once(':') {
        Some(("sqlite", path)) => Sqlite::open(path).await?.place.survey(&LookThroughFile).await.map(Some),
        Some(("postgres" | "postgresql", _)) => {
            Postgres::connect(address).await?.place.survey(&AskServer).await.map(Some)
        }
        _ => Ok(None),
    }
}

struct LookThroughFile;

#[async_trait]
impl Survey for LookThroughFile {
    type Made = Examined;

    async fn run(&self, link: &mut Link<'_>) -> Result<Examined, Fault> {
        let found = text(link, "PRAGMA quick_check(1)").await?;
        if found != "ok" {
            return Err(StoreError::Corrupt("it is not in order".to_owned()).into());
        }
        let pages = number(link, "PRAGMA page_count").await?;
        Ok(Examined {
            engine: format!("SQLite {}", text(link, "SELECT sqlite_version()").await?),
            version: number(link, VERSION).await?,
            bytes: size(pages.saturating_mul(number(link, "PRAGMA page_size").await?)),
            settings: "WAL, synchronous FULL, foreign keys, no trusted schema",
        })
    }
}

struct AskServer;

#[async_trait]
impl Survey for AskServer {
    type Made = Examined;

    async fn run(&self, link: &mut Link<'_>) -> Result<Examined, Fault> {
        Ok(Examined {
            engine: format!("Postgres {}", text(link, "SELECT current_setting('server_version')").await?),
            version: number(link, VERSION).await?,
            bytes: size(number(link, "SELECT pg_database_size(current_database())").await?),
            settings: match obeys_walls(link).await? {
                true => "fsync, full page writes, synchronous commit, row-level security",
                false => "fsync, full page writes, synchronous commit; row-level security is skipped for this role",
            },
        })
    }
}

const VERSION: &str = "SELECT version FROM palisade_version";

async fn number(link: &mut Link<'_>, sql: &'static str) -> Result<i64, Fault> {
    link.row(sql, &[]).await?.map_or(Ok(0), |row| row.number(0))
}

async fn text(link: &mut Link<'_>, sql: &'static str) -> Result<String, Fault> {
    link.row(sql, &[]).await?.map_or_else(|| Ok(String::new()), |row| row.text(0))
}

fn size(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_database_says_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite:{}", folder.path().join("p.db").display());
        let found = examine(&address).await.unwrap().unwrap();
        assert!(found.engine.starts_with("SQLite 3."), "{found:?}");
        assert!(found.version >= 1 && found.bytes > 4096, "{found:?}");
        assert_eq!(examine("memory:").await, Ok(None));
    }
}
