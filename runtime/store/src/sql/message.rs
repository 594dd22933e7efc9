//! Messages that wait, and what somebody may want to look into later.

use async_trait::async_trait;
use palisade_agent::{AuditRecord, Queued, SessionKey, StoreError, passing};

use super::{
    Fault, Instants, Link, Row, Work,
    hold::{locked, next_moment},
    instants,
    session::Find,
    values,
};
use crate::{clock::moment, rules};

/// Puts a message behind those that wait.
pub(super) struct Enqueue<'a> {
    message: &'a Queued,
    body: String,
}

impl<'a> Enqueue<'a> {
    pub(super) fn new(message: &'a Queued) -> Result<Self, StoreError> {
        rules::queued(message)?;
        Ok(Self { message, body: rules::json("a message", &(&message.text, &message.about))? })
    }
}

#[async_trait]
impl Work for Enqueue<'_> {
    type Made = ();

    fn tenant(&self) -> &str {
        &self.message.session.tenant
    }

    fn instants(&self) -> Instants {
        instants!("enqueue")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        let (key, id) = (&self.message.session, &self.message.id);
        locked(link, key).await?;
        let at = next_moment(link, &key.tenant).await?;
        let same =
            link.row("SELECT session FROM messages WHERE tenant = $1 AND id = $2", values![&key.tenant, id]).await?;
        if let Some(same) = same {
            return Ok(rules::refuse_other(&same.text(0)?, self.message)?);
        }
        link.run(
            "INSERT INTO messages (tenant, id, session, moment, message) VALUES ($1, $2, $3, $4, $5)",
            values![&key.tenant, id, &key.id, at, &self.body],
        )
        .await?;
        passing("store.enqueue.message");
        link.run(
            "UPDATE sessions SET updated_at = $3 WHERE tenant = $1 AND id = $2",
            values![&key.tenant, &key.id, at],
        )
        .await?;
        Ok(())
    }
}

/// The message that waits longest.
pub(super) struct NextQueued<'a>(pub(super) &'a SessionKey);

#[async_trait]
impl Work for NextQueued<'_> {
    type Made = Option<Queued>;

    fn tenant(&self) -> &str {
        &self.0.tenant
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Option<Queued>, Fault> {
        let key = self.0;
        let row = link
            .row(
                "SELECT id, message FROM messages WHERE tenant = $1 AND session = $2 AND message IS NOT NULL
                 ORDER BY moment LIMIT 1",
                values![&key.tenant, &key.id],
            )
            .await?;
        let Some(row) = row else {
            Find(key).run(link).await?;
            return Ok(None);
        };
        let (text, about) = row.json(1)?;
        Ok(Some(Queued { id: row.text(0)?, session: key.clone(), text, about }))
    }
}

/// Writes down an audit record.
pub(super) struct Audit<'a> {
    record: &'a AuditRecord,
    detail: String,
}

impl<'a> Audit<'a> {
    pub(super) fn new(record: &'a AuditRecord) -> Result<Self, StoreError> {
        rules::audit(record)?;
        Ok(Self { record, detail: rules::json("an audit record", &record.detail)? })
    }
}

#[async_trait]
impl Work for Audit<'_> {
    type Made = ();

    fn tenant(&self) -> &str {
        &self.record.tenant
    }

    fn instants(&self) -> Instants {
        instants!("audit")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        let AuditRecord { tenant, session, run, kind, .. } = self.record;
        let at = next_moment(link, tenant).await?;
        link.run(
            "INSERT INTO audits (tenant, at, session, run, kind, detail) VALUES ($1, $2, $3, $4, $5, $6)",
            values![tenant, at, session, run, kind, &self.detail],
        )
        .await?;
        Ok(())
    }
}

/// The newest audit records.
pub(super) struct Audits<'a> {
    pub(super) tenant: &'a str,
    pub(super) session: Option<&'a str>,
    pub(super) limit: usize,
}

#[async_trait]
impl Work for Audits<'_> {
    type Made = Vec<AuditRecord>;

    fn tenant(&self) -> &str {
        self.tenant
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Vec<AuditRecord>, Fault> {
        let limit = u64::try_from(self.limit).unwrap_or(u64::MAX);
        macro_rules! found {
            ($also:literal) => {
                concat!(
                    "SELECT at, session, run, kind, detail FROM audits WHERE tenant = $1",
                    $also,
                    " ORDER BY at DESC LIMIT $2"
                )
            };
        }
        let rows = match self.session {
            Some(session) => link.rows(found!(" AND session = $3"), values![self.tenant, limit, session]).await?,
            None => link.rows(found!(""), values![self.tenant, limit]).await?,
        };
        let record = |row: &Row| {
            Ok(AuditRecord {
                tenant: self.tenant.to_owned(),
                at: Some(moment(row.number(0)?)?),
                session: row.maybe_text(1)?,
                run: row.maybe_text(2)?,
                kind: row.text(3)?,
                detail: row.json(4)?,
            })
        };
        rows.iter().map(record).collect()
    }
}
