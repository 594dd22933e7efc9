//! A session's row: reading it whole, changing it, clearing it, taking it away.

use async_trait::async_trait;
use palisade_agent::{Change, Session, SessionKey, SessionOrigin, StoreError, passing};

use super::{
    Fault, Instants, Link, Row, Work,
    hold::{leave_behind, locked, next_moment},
    instants,
    link::parse,
    usage, values,
};
use crate::{clock::moment, rules};

/// The columns that [`read_session`] reads.
macro_rules! session_columns {
    () => {
        "tenant, id, agent, name, pinned_at, created_at, updated_at, snippet, attributes, entries, workspace, parent, \
         chain, ceiling"
    };
}
pub(super) use session_columns;

/// A session from its row.
pub(super) fn read_session(row: &Row) -> Result<Session, Fault> {
    let ceiling = row.maybe_text(13)?;
    Ok(Session {
        tenant: row.text(0)?,
        id: row.text(1)?,
        agent: row.text(2)?,
        name: row.maybe_text(3)?,
        pinned_at: row.maybe_number(4)?.map(moment).transpose()?,
        created_at: moment(row.number(5)?)?,
        updated_at: moment(row.number(6)?)?,
        last_snippet: row.maybe_text(7)?,
        attributes: row.json(8)?,
        entries: row.count(9)?,
        origin: SessionOrigin {
            workspace: row.maybe_text(10)?,
            parent: row.maybe_text(11)?,
            chain: row.json(12)?,
            ceiling: ceiling.as_deref().map(parse).transpose()?,
        },
    })
}

/// Finds a session.
pub(super) struct Find<'a>(pub(super) &'a SessionKey);

#[async_trait]
impl Work for Find<'_> {
    type Made = Session;

    fn tenant(&self) -> &str {
        &self.0.tenant
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Session, Fault> {
        let sql = concat!("SELECT ", session_columns!(), " FROM sessions WHERE tenant = $1 AND id = $2");
        let row = link.row(sql, values![&self.0.tenant, &self.0.id]).await?;
        read_session(&row.ok_or_else(|| rules::no_session(self.0))?)
    }
}

/// Changes what is known of a session.
pub(super) struct Alter<'a> {
    pub(super) key: &'a SessionKey,
    pub(super) change: Change,
}

#[async_trait]
impl Work for Alter<'_> {
    type Made = Session;

    fn tenant(&self) -> &str {
        &self.key.tenant
    }

    fn instants(&self) -> Instants {
        instants!("change")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Session, Fault> {
        let key = self.key;
        locked(link, key).await?;
        let mut session = Find(key).run(link).await?;
        rules::apply(&mut session, self.change.clone(), moment(link.now)?)?;
        // From here on no other session of the tenant is made or renamed.
        let at = next_moment(link, &key.tenant).await?;
        if let (Change::Name(_), Some(name)) = (&self.change, &session.name) {
            refuse_taken_name(link, &session, name).await?;
        }
        session.updated_at = moment(at)?;
        let attributes = rules::json("the attributes of a session", &session.attributes)?;
        let pinned_at = session.pinned_at.map(|at| at.as_microsecond());
        let name_key = session.name.as_deref().map(rules::name_key);
        link.run(
            "UPDATE sessions SET name = $3, name_key = $4, pinned_at = $5, attributes = $6, updated_at = $7
             WHERE tenant = $1 AND id = $2",
            values![&key.tenant, &key.id, &session.name, &name_key, pinned_at, &attributes, at],
        )
        .await?;
        Ok(session)
    }
}

/// Refuses a name that another session of the agent has.
pub(super) async fn refuse_taken_name(link: &mut Link<'_>, session: &Session, name: &str) -> Result<(), Fault> {
    let key = rules::name_key(name);
    let taken = link
        .row(
            "SELECT 1 FROM sessions WHERE tenant = $1 AND agent = $2 AND name_key = $3 AND id <> $4",
            values![&session.tenant, &session.agent, &key, &session.id],
        )
        .await?;
    match taken {
        Some(_) => Err(StoreError::NameTaken(name.to_owned()).into()),
        None => Ok(()),
    }
}

/// Takes away all that was said.
pub(super) struct Clear<'a>(pub(super) &'a SessionKey);

#[async_trait]
impl Work for Clear<'_> {
    type Made = Session;

    fn tenant(&self) -> &str {
        &self.0.tenant
    }

    fn instants(&self) -> Instants {
        instants!("clear")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Session, Fault> {
        let key = self.0;
        let held = locked(link, key).await?;
        held.refuse_if_live(key, link.now)?;
        leave_behind(link, key, &held).await?;
        let at = next_moment(link, &key.tenant).await?;
        link.run("DELETE FROM entries WHERE tenant = $1 AND session = $2", values![&key.tenant, &key.id]).await?;
        link.run(
            "DELETE FROM calls WHERE tenant = $1 AND run IN (SELECT id FROM runs WHERE tenant = $1 AND session = $2)",
            values![&key.tenant, &key.id],
        )
        .await?;
        // What a run told while it worked is what was said, too.
        link.run(
            "DELETE FROM events WHERE tenant = $1 AND run IN (SELECT id FROM runs WHERE tenant = $1 AND session = $2)",
            values![&key.tenant, &key.id],
        )
        .await?;
        link.run(
            "UPDATE sessions SET entries = 0, snippet = NULL, updated_at = $3 WHERE tenant = $1 AND id = $2",
            values![&key.tenant, &key.id, at],
        )
        .await?;
        Find(key).run(link).await
    }
}

/// Takes away a session with all that belongs to it. What its runs used up is still counted.
pub(super) struct Delete<'a>(pub(super) &'a SessionKey);

#[async_trait]
impl Work for Delete<'_> {
    type Made = ();

    fn tenant(&self) -> &str {
        &self.0.tenant
    }

    fn instants(&self) -> Instants {
        instants!("delete")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        let key = self.0;
        locked(link, key).await?.refuse_if_live(key, link.now)?;
        usage::keep(link, key).await?;
        passing("store.delete.usage");
        link.run("DELETE FROM sessions WHERE tenant = $1 AND id = $2", values![&key.tenant, &key.id]).await?;
        Ok(())
    }
}
