//! Spaces. A change first locks the row of its space, which counts the bytes in it, so that two that write at the
//! same time are counted both.

use async_trait::async_trait;
use palisade_agent::StoreError;

use super::{Fault, Instants, Link, Place, Sql, Work, hold::not_deleted, instants, values};
use crate::spaces::{Kept, Space, Spaces, check_space, check_value, size};

#[async_trait]
impl<P: Place> Spaces for Sql<P> {
    async fn value(&self, space: &Space, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        check_space(space)?;
        self.place.read(&Look { space, key }).await
    }

    async fn keep(&self, space: &Space, key: &str, value: &[u8], most: u64) -> Result<Kept, StoreError> {
        check_space(space)?;
        check_value(key, value)?;
        self.place.write(&Keep { space, key, value: Some(value), most }).await
    }

    async fn forget(&self, space: &Space, key: &str) -> Result<(), StoreError> {
        check_space(space)?;
        // That the space is not full any more is nobody's question here.
        self.place.write(&Keep { space, key, value: None, most: u64::MAX }).await.map(|_| ())
    }

    async fn keys(&self, space: &Space, prefix: &str) -> Result<Vec<String>, StoreError> {
        check_space(space)?;
        self.place.read(&Keys { space, prefix }).await
    }
}

struct Look<'a> {
    space: &'a Space,
    key: &'a str,
}

#[async_trait]
impl Work for Look<'_> {
    type Made = Option<Vec<u8>>;

    fn tenant(&self) -> &str {
        &self.space.tenant
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Self::Made, Fault> {
        let Space { tenant, name } = self.space;
        let sql = "SELECT value FROM space_values WHERE tenant = $1 AND space = $2 AND key = $3";
        let row = link.row(sql, values![tenant, name, self.key.as_bytes()]).await?;
        row.map(|row| row.bytes(0)).transpose()
    }
}

/// Puts a value in the place of another, or nothing.
struct Keep<'a> {
    space: &'a Space,
    key: &'a str,
    value: Option<&'a [u8]>,
    most: u64,
}

#[async_trait]
impl Work for Keep<'_> {
    type Made = Kept;

    fn tenant(&self) -> &str {
        &self.space.tenant
    }

    fn instants(&self) -> Instants {
        instants!("keep")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Kept, Fault> {
        macro_rules! bytes {
            () => {
                "SELECT bytes FROM spaces WHERE tenant = $1 AND space = $2"
            };
        }
        let Space { tenant, name } = self.space;
        let key = self.key.as_bytes();
        not_deleted(link, tenant).await?;
        link.run(
            "INSERT INTO spaces (tenant, space, bytes) VALUES ($1, $2, 0) ON CONFLICT (tenant, space) DO NOTHING",
            values![tenant, name],
        )
        .await?;
        let row = link.locked(bytes!(), concat!(bytes!(), " FOR UPDATE"), values![tenant, name]).await?;
        let bytes = row.map_or(Ok(0), |row| row.count(0))?;
        let row = link
            .row(
                "SELECT CAST(length(value) AS BIGINT) FROM space_values WHERE tenant = $1 AND space = $2 AND key = $3",
                values![tenant, name, key],
            )
            .await?;
        let old = row.map(|row| row.count(0)).transpose()?.map_or(0, |value| key.len() as u64 + value);
        let new = self.value.map_or(0, |value| size(self.key, value.len()));
        let bytes = bytes.saturating_sub(old).saturating_add(new);
        if self.value.is_some() && bytes > self.most {
            return Ok(Kept::Full);
        }
        match self.value {
            Some(value) => {
                link.run(
                    "INSERT INTO space_values (tenant, space, key, value) VALUES ($1, $2, $3, $4)
                     ON CONFLICT (tenant, space, key) DO UPDATE SET value = excluded.value",
                    values![tenant, name, key, value],
                )
                .await?;
            }
            None => {
                link.run(
                    "DELETE FROM space_values WHERE tenant = $1 AND space = $2 AND key = $3",
                    values![tenant, name, key],
                )
                .await?;
            }
        }
        link.run("UPDATE spaces SET bytes = $3 WHERE tenant = $1 AND space = $2", values![tenant, name, bytes]).await?;
        Ok(Kept::Yes)
    }
}

struct Keys<'a> {
    space: &'a Space,
    prefix: &'a str,
}

#[async_trait]
impl Work for Keys<'_> {
    type Made = Vec<String>;

    fn tenant(&self) -> &str {
        &self.space.tenant
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Self::Made, Fault> {
        let Space { tenant, name } = self.space;
        let mut end = self.prefix.as_bytes().to_vec();
        let rows = match end.last_mut() {
            // The last byte of a text is never the largest there is.
            Some(last) => {
                *last = last.saturating_add(1);
                link.rows(
                    "SELECT key FROM space_values
                     WHERE tenant = $1 AND space = $2 AND key >= $3 AND key < $4 ORDER BY key",
                    values![tenant, name, self.prefix.as_bytes(), end.as_slice()],
                )
                .await?
            }
            None => {
                link.rows(
                    "SELECT key FROM space_values WHERE tenant = $1 AND space = $2 ORDER BY key",
                    values![tenant, name],
                )
                .await?
            }
        };
        let no_text = |_| Fault::from(StoreError::Corrupt("a key is no text".to_owned()));
        rows.iter().map(|row| String::from_utf8(row.bytes(0)?).map_err(no_text)).collect()
    }
}
