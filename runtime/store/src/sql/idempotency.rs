//! Requests that are done once. The row of a key is made, or locked, before anything is decided, so that of those
//! who begin the same at once one works on it.

use std::time::Duration;

use async_trait::async_trait;
use palisade_agent::StoreError;

use super::{Fault, Instants, Link, Place, Row, Sql, Work, hold::not_deleted, instants, values};
use crate::{
    idempotency::{Begun, Idempotency, Record, check_answer, check_request, kept, nothing_under_way},
    owner::this_process,
    rules,
};

#[async_trait]
impl<P: Place> Idempotency for Sql<P> {
    async fn begin(
        &self,
        tenant: &str,
        key: &str,
        fingerprint: [u8; 32],
        lasts: Duration,
    ) -> Result<Begun, StoreError> {
        check_request(tenant, key)?;
        self.place.write(&Begin { tenant, key, fingerprint, lasts: rules::lasts(lasts) }).await
    }

    async fn finish(&self, tenant: &str, key: &str, answer: &str) -> Result<(), StoreError> {
        check_request(tenant, key)?;
        check_answer(answer)?;
        self.place.write(&Finish { tenant, key, answer }).await
    }

    async fn forget(&self, tenant: &str, key: &str) -> Result<(), StoreError> {
        check_request(tenant, key)?;
        self.place.write(&Forget { tenant, key }).await
    }
}

/// How often a row is made or looked for that others make and take away at the same time.
const TRIES: usize = 8;

struct Begin<'a> {
    tenant: &'a str,
    key: &'a str,
    fingerprint: [u8; 32],
    lasts: i64,
}

impl Begin<'_> {
    /// Takes away some of what counts no longer; those who come later take away the rest.
    async fn sweep(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        let now = link.now;
        link.run(
            "DELETE FROM idempotency WHERE tenant = $1 AND key IN
             (SELECT key FROM idempotency WHERE tenant = $1 AND ends_at <= $2 ORDER BY ends_at LIMIT 100)",
            values![self.tenant, now],
        )
        .await?;
        Ok(())
    }

    /// Makes the row, unless there is one.
    async fn insert(&self, link: &mut Link<'_>) -> Result<bool, Fault> {
        let now = link.now;
        let made = link
            .run(
                "INSERT INTO idempotency (tenant, key, fingerprint, owner, at, lasts, ends_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant, key) DO NOTHING",
                values![
                    self.tenant,
                    self.key,
                    &self.fingerprint[..],
                    this_process(),
                    now,
                    self.lasts,
                    now.saturating_add(self.lasts)
                ],
            )
            .await?;
        Ok(made == 1)
    }

    /// Locks the row, if there is one.
    async fn locked(&self, link: &mut Link<'_>) -> Result<Option<Record>, Fault> {
        macro_rules! found {
            () => {
                "SELECT fingerprint, owner, at, lasts, answer FROM idempotency WHERE tenant = $1 AND key = $2"
            };
        }
        let row = link.locked(found!(), concat!(found!(), " FOR UPDATE"), values![self.tenant, self.key]).await?;
        row.as_ref().map(read_record).transpose()
    }
}

fn read_record(row: &Row) -> Result<Record, Fault> {
    let fingerprint = row.bytes(0)?;
    let corrupt = |_| StoreError::Corrupt("a fingerprint is none".to_owned());
    Ok(Record {
        fingerprint: fingerprint.try_into().map_err(corrupt)?,
        owner: row.text(1)?,
        at: row.number(2)?,
        lasts: row.number(3)?,
        answer: row.maybe_text(4)?,
    })
}

#[async_trait]
impl Work for Begin<'_> {
    type Made = Begun;

    fn tenant(&self) -> &str {
        self.tenant
    }

    fn instants(&self) -> Instants {
        instants!("begin_request")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Begun, Fault> {
        not_deleted(link, self.tenant).await?;
        self.sweep(link).await?;
        for _ in 0..TRIES {
            if self.insert(link).await? {
                return Ok(Begun::Fresh);
            }
            let Some(record) = self.locked(link).await? else { continue };
            if let Some(begun) = record.begun(&self.fingerprint, link.now) {
                return Ok(begun);
            }
            // Whoever held it is gone, or a clock was set back.
            link.run("DELETE FROM idempotency WHERE tenant = $1 AND key = $2", values![self.tenant, self.key]).await?;
        }
        Err(StoreError::Unavailable("too many begin the same at once".to_owned()).into())
    }
}

/// Writes down an answer.
struct Finish<'a> {
    tenant: &'a str,
    key: &'a str,
    answer: &'a str,
}

#[async_trait]
impl Work for Finish<'_> {
    type Made = ();

    fn tenant(&self) -> &str {
        self.tenant
    }

    fn instants(&self) -> Instants {
        instants!("finish_request")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        let now = link.now;
        let finished = link
            .run(
                "UPDATE idempotency SET answer = $3, at = $4, lasts = $5, ends_at = $6
                 WHERE tenant = $1 AND key = $2 AND answer IS NULL",
                values![self.tenant, self.key, self.answer, now, kept(), now.saturating_add(kept())],
            )
            .await?;
        if finished == 0 { Err(nothing_under_way(self.key).into()) } else { Ok(()) }
    }
}

/// Takes away what is under way.
struct Forget<'a> {
    tenant: &'a str,
    key: &'a str,
}

#[async_trait]
impl Work for Forget<'_> {
    type Made = ();

    fn tenant(&self) -> &str {
        self.tenant
    }

    fn instants(&self) -> Instants {
        instants!("forget_request")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        link.run(
            "DELETE FROM idempotency WHERE tenant = $1 AND key = $2 AND answer IS NULL",
            values![self.tenant, self.key],
        )
        .await?;
        Ok(())
    }
}
