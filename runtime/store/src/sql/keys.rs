//! Keys of tenants.

use async_trait::async_trait;
use palisade_agent::StoreError;

use super::{Fault, Instants, Link, Row, Survey, Work, instants, tenants::locked, values};
use crate::{
    clock::moment,
    rules,
    tenants::{self, KeyRecord, MOST_KEYS, NewKey, is_used_anew, no_key, no_tenant, too_many},
};

/// Refuses a key that nothing can be stored under.
pub(super) fn findable(tenant: &str, id: &str) -> Result<(), StoreError> {
    if tenants::is_tenant(tenant) && rules::is_id(id) { Ok(()) } else { Err(no_key(id)) }
}

macro_rules! columns {
    () => {
        "tenant, id, label, scopes, created_at, expires_at, revoked_at, last_used_at"
    };
}

/// A key from its row.
fn read_key(row: &Row) -> Result<KeyRecord, Fault> {
    let maybe = |column| -> Result<_, Fault> { Ok(row.maybe_number(column)?.map(moment).transpose()?) };
    Ok(KeyRecord {
        tenant: row.text(0)?,
        id: row.text(1)?,
        label: row.text(2)?,
        scopes: row.json(3)?,
        created_at: moment(row.number(4)?)?,
        expires_at: maybe(5)?,
        revoked_at: maybe(6)?,
        last_used_at: maybe(7)?,
    })
}

/// Adds a key.
pub(super) struct Add<'a> {
    pub(super) tenant: &'a str,
    pub(super) key: &'a NewKey,
    pub(super) label: String,
    pub(super) scopes: String,
}

#[async_trait]
impl Work for Add<'_> {
    type Made = KeyRecord;

    fn tenant(&self) -> &str {
        self.tenant
    }

    fn instants(&self) -> Instants {
        instants!("add_key")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<KeyRecord, Fault> {
        // Two that are added at once are counted both.
        locked(link, self.tenant).await?;
        let count = link.row("SELECT count(*) FROM api_keys WHERE tenant = $1", values![self.tenant]).await?;
        if count.map_or(Ok(0), |row| row.count(0))? >= MOST_KEYS {
            return Err(too_many().into());
        }
        let (now, key) = (link.now, self.key);
        let expires_at = key.expires_at.map(|at| at.as_microsecond());
        // The secret may be another tenant's, whose row cannot be seen.
        let made = link
            .run(
                "INSERT INTO api_keys (tenant, id, hash, label, scopes, created_at, expires_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
                values![self.tenant, &key.id, &key.hash[..], &self.label, &self.scopes, now, expires_at],
            )
            .await?;
        if made == 0 {
            return Err(StoreError::KeyTaken(key.id.clone()).into());
        }
        let sql = concat!("SELECT ", columns!(), " FROM api_keys WHERE tenant = $1 AND id = $2");
        let row = link.row(sql, values![self.tenant, &key.id]).await?;
        read_key(&row.ok_or_else(|| no_key(&key.id))?)
    }
}

/// Finds a key by the hash of its secret, whosever it is.
pub(super) struct Look<'a>(pub(super) &'a [u8; 32]);

#[async_trait]
impl Survey for Look<'_> {
    type Made = Option<KeyRecord>;

    async fn run(&self, link: &mut Link<'_>) -> Result<Option<KeyRecord>, Fault> {
        let sql = concat!("SELECT ", columns!(), " FROM api_keys WHERE hash = $1");
        link.row(sql, values![&self.0[..]]).await?.as_ref().map(read_key).transpose()
    }
}

/// The keys of a tenant.
pub(super) struct List<'a>(pub(super) &'a str);

#[async_trait]
impl Work for List<'_> {
    type Made = Vec<KeyRecord>;

    fn tenant(&self) -> &str {
        self.0
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Vec<KeyRecord>, Fault> {
        let sql = "SELECT 1 FROM tenants WHERE tenant = $1 AND created_at IS NOT NULL";
        link.row(sql, values![self.0]).await?.ok_or_else(|| no_tenant(self.0))?;
        let sql = concat!("SELECT ", columns!(), " FROM api_keys WHERE tenant = $1");
        let rows = link.rows(sql, values![self.0]).await?;
        let mut keys = rows.iter().map(read_key).collect::<Result<Vec<_>, _>>()?;
        // Databases disagree about the order of texts.
        keys.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        Ok(keys)
    }
}

/// Revokes a key.
pub(super) struct Revoke<'a> {
    pub(super) tenant: &'a str,
    pub(super) id: &'a str,
}

#[async_trait]
impl Work for Revoke<'_> {
    type Made = ();

    fn tenant(&self) -> &str {
        self.tenant
    }

    fn instants(&self) -> Instants {
        instants!("revoke_key")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        let now = link.now;
        let found = link
            .run(
                "UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $3) WHERE tenant = $1 AND id = $2",
                values![self.tenant, self.id, now],
            )
            .await?;
        if found == 0 { Err(no_key(self.id).into()) } else { Ok(()) }
    }
}

/// When a key was last used, and what time it is.
pub(super) struct LastUse<'a> {
    pub(super) tenant: &'a str,
    pub(super) id: &'a str,
}

#[async_trait]
impl Work for LastUse<'_> {
    type Made = (Option<i64>, i64);

    fn tenant(&self) -> &str {
        self.tenant
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Self::Made, Fault> {
        let sql = "SELECT last_used_at FROM api_keys WHERE tenant = $1 AND id = $2";
        let row = link.row(sql, values![self.tenant, self.id]).await?;
        let last = row.ok_or_else(|| no_key(self.id))?.maybe_number(0)?;
        Ok((last, link.now))
    }
}

/// Writes down that a key was used, unless somebody just has.
pub(super) struct Use<'a> {
    pub(super) tenant: &'a str,
    pub(super) id: &'a str,
}

#[async_trait]
impl Work for Use<'_> {
    type Made = ();

    fn tenant(&self) -> &str {
        self.tenant
    }

    fn instants(&self) -> Instants {
        instants!("use_key")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        let (last, now) = LastUse { tenant: self.tenant, id: self.id }.run(link).await?;
        if is_used_anew(last, now) {
            link.run(
                "UPDATE api_keys SET last_used_at = $3 WHERE tenant = $1 AND id = $2",
                values![self.tenant, self.id, now],
            )
            .await?;
        }
        Ok(())
    }
}
