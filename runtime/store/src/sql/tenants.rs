//! Tenants. Whoever adds something to one locks its row as little as that takes; whoever deletes one locks it whole.

use async_trait::async_trait;
use palisade_agent::{SessionKey, StoreError, passing};

use super::{Fault, Instants, Link, Place, Row, Sql, Survey, Work, instants, keys, values};
use crate::{
    clock::moment,
    rules::Hold,
    tenants::{
        self, KeyRecord, NewKey, NewTenant, Tenant, TenantChange, Tenants, check_key, check_new, is_used_anew,
        no_tenant,
    },
};

#[async_trait]
impl<P: Place> Tenants for Sql<P> {
    async fn create_tenant(&self, tenant: NewTenant) -> Result<Tenant, StoreError> {
        let (name, settings) = check_new(&tenant)?;
        self.place.write(&Create { tenant, name, settings }).await
    }

    async fn tenant(&self, id: &str) -> Result<Tenant, StoreError> {
        tenants::findable(id)?;
        self.place.read(&Find(id)).await
    }

    async fn tenants(&self, after: Option<&str>, limit: usize) -> Result<Vec<Tenant>, StoreError> {
        // No id has a zero byte, and a database would choke on one.
        let after = after.unwrap_or_default().split('\0').next().unwrap_or_default();
        self.place.survey(&List { after, limit }).await
    }

    async fn change_tenant(&self, id: &str, change: TenantChange) -> Result<Tenant, StoreError> {
        tenants::findable(id)?;
        self.place.write(&Change { id, change }).await
    }

    async fn delete_tenant(&self, id: &str) -> Result<(), StoreError> {
        tenants::deletable(id)?;
        self.place.write(&Delete(id)).await
    }

    async fn add_key(&self, tenant: &str, key: NewKey) -> Result<KeyRecord, StoreError> {
        let (label, scopes) = check_key(&key)?;
        tenants::findable(tenant)?;
        self.place.write(&keys::Add { tenant, key: &key, label, scopes }).await
    }

    async fn key(&self, hash: &[u8; 32]) -> Result<Option<KeyRecord>, StoreError> {
        self.place.survey(&keys::Look(hash)).await
    }

    async fn keys(&self, tenant: &str) -> Result<Vec<KeyRecord>, StoreError> {
        tenants::findable(tenant)?;
        self.place.read(&keys::List(tenant)).await
    }

    async fn revoke_key(&self, tenant: &str, id: &str) -> Result<(), StoreError> {
        keys::findable(tenant, id)?;
        self.place.write(&keys::Revoke { tenant, id }).await
    }

    async fn used_key(&self, tenant: &str, id: &str) -> Result<(), StoreError> {
        keys::findable(tenant, id)?;
        let (last, now) = self.place.read(&keys::LastUse { tenant, id }).await?;
        match is_used_anew(last, now) {
            true => self.place.write(&keys::Use { tenant, id }).await,
            false => Ok(()),
        }
    }
}

macro_rules! columns {
    () => {
        "tenant, name, settings, created_at, suspended_at"
    };
}

/// A tenant from its row.
fn read_tenant(row: &Row) -> Result<Tenant, Fault> {
    Ok(Tenant {
        id: row.text(0)?,
        name: row.text(1)?,
        settings: row.json(2)?,
        created_at: moment(row.number(3)?)?,
        suspended_at: row.maybe_number(4)?.map(moment).transpose()?,
    })
}

/// Makes a tenant.
struct Create {
    tenant: NewTenant,
    name: String,
    settings: String,
}

#[async_trait]
impl Work for Create {
    type Made = Tenant;

    fn tenant(&self) -> &str {
        &self.tenant.id
    }

    fn instants(&self) -> Instants {
        instants!("create_tenant")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Tenant, Fault> {
        let (id, now) = (&self.tenant.id, link.now);
        // There may be a row that only gives out moments.
        let made = link
            .run(
                "INSERT INTO tenants (tenant, moment, name, settings, created_at) VALUES ($1, 0, $2, $3, $4)
                 ON CONFLICT (tenant) DO UPDATE SET name = excluded.name, settings = excluded.settings,
                 created_at = excluded.created_at
                 WHERE tenants.created_at IS NULL AND tenants.deleted_at IS NULL",
                values![id, &self.name, &self.settings, now],
            )
            .await?;
        if made == 0 {
            return Err(StoreError::TenantTaken(id.clone()).into());
        }
        Find(id).run(link).await
    }
}

/// Finds a tenant.
struct Find<'a>(&'a str);

#[async_trait]
impl Work for Find<'_> {
    type Made = Tenant;

    fn tenant(&self) -> &str {
        self.0
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Tenant, Fault> {
        let sql = concat!("SELECT ", columns!(), " FROM tenants WHERE tenant = $1 AND created_at IS NOT NULL");
        let row = link.row(sql, values![self.0]).await?;
        read_tenant(&row.ok_or_else(|| no_tenant(self.0))?)
    }
}

/// All tenants, a page of them.
struct List<'a> {
    after: &'a str,
    limit: usize,
}

#[async_trait]
impl Survey for List<'_> {
    type Made = Vec<Tenant>;

    async fn run(&self, link: &mut Link<'_>) -> Result<Vec<Tenant>, Fault> {
        let limit = u64::try_from(self.limit).unwrap_or(u64::MAX);
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM tenants WHERE tenant > $1 AND created_at IS NOT NULL ORDER BY tenant LIMIT $2"
        );
        link.rows(sql, values![self.after, limit]).await?.iter().map(read_tenant).collect()
    }
}

/// Locks a tenant whole, if it is there.
pub(super) async fn locked(link: &mut Link<'_>, tenant: &str) -> Result<(), Fault> {
    macro_rules! made {
        () => {
            "SELECT created_at FROM tenants WHERE tenant = $1"
        };
    }
    let row = link.locked(made!(), concat!(made!(), " FOR UPDATE"), values![tenant]).await?;
    match row.map_or(Ok(None), |row| row.maybe_number(0))? {
        Some(_) => Ok(()),
        None => Err(no_tenant(tenant).into()),
    }
}

/// Changes what is known of a tenant.
struct Change<'a> {
    id: &'a str,
    change: TenantChange,
}

#[async_trait]
impl Work for Change<'_> {
    type Made = Tenant;

    fn tenant(&self) -> &str {
        self.id
    }

    fn instants(&self) -> Instants {
        instants!("change_tenant")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Tenant, Fault> {
        locked(link, self.id).await?;
        let mut tenant = Find(self.id).run(link).await?;
        tenants::apply(&mut tenant, &self.change, moment(link.now)?)?;
        let settings = tenants::settings(&tenant.settings)?;
        let suspended_at = tenant.suspended_at.map(|at| at.as_microsecond());
        link.run(
            "UPDATE tenants SET name = $2, settings = $3, suspended_at = $4 WHERE tenant = $1",
            values![self.id, &tenant.name, &settings, suspended_at],
        )
        .await?;
        Ok(tenant)
    }
}

/// Takes away a tenant with all that belongs to it.
struct Delete<'a>(&'a str);

impl Delete<'_> {
    /// Locks all sessions, before the tenant as everybody does; refuses if somebody who is alive holds one.
    async fn lock_sessions(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        let sql = "SELECT id FROM sessions WHERE tenant = $1 ORDER BY id";
        let locking = "SELECT id FROM sessions WHERE tenant = $1 ORDER BY id FOR UPDATE";
        link.locked(sql, locking, values![self.0]).await?;
        let held = link
            .rows(
                "SELECT id, run, owner, renewed_at, lasts FROM sessions WHERE tenant = $1 AND run IS NOT NULL
                 ORDER BY id",
                values![self.0],
            )
            .await?;
        for row in held {
            let key = SessionKey::new(self.0, row.text(0)?);
            let hold =
                Hold { run: row.text(1)?, owner: row.text(2)?, renewed_at: row.number(3)?, lasts: row.number(4)? };
            hold.refuse_if_live(&key.id, link.now)?;
        }
        Ok(())
    }
}

#[async_trait]
impl Work for Delete<'_> {
    type Made = ();

    fn tenant(&self) -> &str {
        self.0
    }

    fn instants(&self) -> Instants {
        instants!("delete_tenant")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        Find(self.0).run(link).await?;
        self.lock_sessions(link).await?;
        locked(link, self.0).await?;
        // From here on no session is made; some may have been since the others were locked.
        self.lock_sessions(link).await?;
        for statement in [
            // With their entries, runs, calls, events and messages.
            "DELETE FROM sessions WHERE tenant = $1",
            "DELETE FROM spent WHERE tenant = $1",
            "DELETE FROM audits WHERE tenant = $1",
            // With their values.
            "DELETE FROM spaces WHERE tenant = $1",
            "DELETE FROM api_keys WHERE tenant = $1",
            "DELETE FROM idempotency WHERE tenant = $1",
        ] {
            link.run(statement, values![self.0]).await?;
            passing("store.delete_tenant.rows");
        }
        let now = link.now;
        link.run(
            "UPDATE tenants SET name = NULL, settings = NULL, created_at = NULL, suspended_at = NULL, deleted_at = $2
             WHERE tenant = $1",
            values![self.0, now],
        )
        .await?;
        Ok(())
    }
}
