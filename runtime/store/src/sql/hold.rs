//! Who holds a session. Every change of a session first locks its row; the tenant's row, which gives out moments,
//! is locked after it, so that no two transactions wait for each other.

use async_trait::async_trait;
use palisade_agent::{Lease, SessionKey, StoreError};

use super::{Fault, Instants, Link, Work, instants, values};
use crate::{
    rules::{self, Hold},
    tenants::no_tenant,
};

/// What is known of a session that is locked.
pub(super) struct Held {
    pub(super) entries: u64,
    pub(super) token: u64,
    pub(super) hold: Option<Hold>,
}

impl Held {
    /// Refuses if a run holds the session and its holder is alive.
    pub(super) fn refuse_if_live(&self, key: &SessionKey, now: i64) -> Result<(), StoreError> {
        self.hold.as_ref().map_or(Ok(()), |hold| hold.refuse_if_live(&key.id, now))
    }
}

/// Locks a session.
pub(super) async fn locked(link: &mut Link<'_>, key: &SessionKey) -> Result<Held, Fault> {
    macro_rules! held {
        () => {
            "SELECT entries, token, run, owner, renewed_at, lasts FROM sessions WHERE tenant = $1 AND id = $2"
        };
    }
    let row = link.locked(held!(), concat!(held!(), " FOR UPDATE"), values![&key.tenant, &key.id]).await?;
    let row = row.ok_or_else(|| rules::no_session(key))?;
    let hold = match row.maybe_text(2)? {
        Some(run) => Some(Hold { run, owner: row.text(3)?, renewed_at: row.number(4)?, lasts: row.number(5)? }),
        None => None,
    };
    Ok(Held { entries: row.count(0)?, token: row.count(1)?, hold })
}

/// Locks the session of a lease, if the lease still counts.
pub(super) async fn fenced(link: &mut Link<'_>, lease: &Lease) -> Result<Held, Fault> {
    let held = locked(link, &lease.session).await?;
    let counts = held.token == lease.token && held.hold.as_ref().is_some_and(|hold| hold.run == lease.run);
    if counts { Ok(held) } else { Err(StoreError::Fenced(lease.run.clone()).into()) }
}

/// The same; the lease also counts for a run that was ended with it.
pub(super) async fn fenced_or_ended(link: &mut Link<'_>, lease: &Lease) -> Result<(), Fault> {
    let held = locked(link, &lease.session).await?;
    let holds = held.token == lease.token && held.hold.as_ref().is_some_and(|hold| hold.run == lease.run);
    if holds {
        return Ok(());
    }
    let sql = "SELECT token FROM runs WHERE tenant = $1 AND id = $2 AND ending IS NOT NULL";
    let row = link.row(sql, values![&lease.session.tenant, &lease.run]).await?;
    let ended = row.map(|row| row.count(0)).transpose()?;
    if ended == Some(lease.token) { Ok(()) } else { Err(StoreError::Fenced(lease.run.clone()).into()) }
}

/// Has a run hold a session from now on.
pub(super) async fn take(
    link: &mut Link<'_>,
    key: &SessionKey,
    run: &str,
    owner: &str,
    held: &Held,
    lasts: i64,
) -> Result<u64, Fault> {
    let token = held.token + 1;
    let now = link.now;
    link.run(
        "UPDATE sessions SET token = $3, run = $4, owner = $5, renewed_at = $6, lasts = $7 WHERE tenant = $1 AND id = $2",
        values![&key.tenant, &key.id, token, run, owner, now, lasts],
    )
    .await?;
    Ok(token)
}

/// Lets a session go.
pub(super) async fn release(link: &mut Link<'_>, key: &SessionKey) -> Result<(), Fault> {
    link.run(
        "UPDATE sessions SET run = NULL, owner = NULL, renewed_at = NULL, lasts = NULL WHERE tenant = $1 AND id = $2",
        values![&key.tenant, &key.id],
    )
    .await?;
    Ok(())
}

/// Ends the run that holds a session: whoever did is gone.
pub(super) async fn leave_behind(link: &mut Link<'_>, key: &SessionKey, held: &Held) -> Result<(), Fault> {
    let Some(hold) = &held.hold else { return Ok(()) };
    let now = link.now;
    link.run(
        "UPDATE runs SET ended_at = $3 WHERE tenant = $1 AND id = $2 AND ended_at IS NULL",
        values![&key.tenant, &hold.run, now],
    )
    .await?;
    release(link, key).await
}

/// A moment of a tenant: after all that were given out before, and not before the clock's. One that was deleted gets
/// none, so that nothing is written for it any more by those who have not heard of it.
pub(super) async fn next_moment(link: &mut Link<'_>, tenant: &str) -> Result<i64, Fault> {
    let now = link.now;
    let row = link
        .row(
            "INSERT INTO tenants (tenant, moment) VALUES ($1, $2) ON CONFLICT (tenant) DO UPDATE SET moment =
             CASE WHEN tenants.moment >= excluded.moment THEN tenants.moment + 1 ELSE excluded.moment END
             WHERE tenants.deleted_at IS NULL RETURNING moment",
            values![tenant, now],
        )
        .await?;
    row.ok_or_else(|| no_tenant(tenant))?.number(0)
}

/// Refuses a tenant that was deleted. Until the transaction ends nobody deletes it.
pub(super) async fn not_deleted(link: &mut Link<'_>, tenant: &str) -> Result<(), Fault> {
    macro_rules! deleted {
        () => {
            "SELECT deleted_at FROM tenants WHERE tenant = $1"
        };
    }
    let row = link.locked(deleted!(), concat!(deleted!(), " FOR KEY SHARE"), values![tenant]).await?;
    match row.map_or(Ok(None), |row| row.maybe_number(0))? {
        Some(_) => Err(no_tenant(tenant).into()),
        None => Ok(()),
    }
}

/// Says that the holder is alive.
pub(super) struct Renew<'a>(pub(super) &'a Lease);

#[async_trait]
impl Work for Renew<'_> {
    type Made = ();

    fn tenant(&self) -> &str {
        &self.0.session.tenant
    }

    fn instants(&self) -> Instants {
        instants!("renew")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        let key = &self.0.session;
        fenced(link, self.0).await?;
        let now = link.now;
        link.run(
            "UPDATE sessions SET renewed_at = $3 WHERE tenant = $1 AND id = $2",
            values![&key.tenant, &key.id, now],
        )
        .await?;
        Ok(())
    }
}
