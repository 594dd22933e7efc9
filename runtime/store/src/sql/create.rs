//! Beginning a session, empty or with what was said elsewhere.

use async_trait::async_trait;
use palisade_agent::{NewSession, Numbered, Session, StoreError, passing};

use super::{Fault, Instants, Link, Work, hold::next_moment, instants, session::refuse_taken_name, values};
use crate::{clock::moment, rules, whole::check_whole};

/// Begins a session.
pub(super) struct Create<'a> {
    session: Session,
    entries: &'a [Numbered],
}

impl<'a> Create<'a> {
    pub(super) fn new(new: NewSession, entries: &'a [Numbered]) -> Result<Self, StoreError> {
        check_whole(entries)?;
        let id = new.id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        // When it began is not known before the transaction does.
        let mut session = rules::new_session(new, id, moment(0)?)?;
        session.entries = entries.len() as u64;
        session.last_snippet = rules::snippet(entries.iter().map(|numbered| &numbered.entry));
        Ok(Self { session, entries })
    }
}

#[async_trait]
impl Work for Create<'_> {
    type Made = Session;

    fn tenant(&self) -> &str {
        &self.session.tenant
    }

    fn instants(&self) -> Instants {
        instants!("create")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Session, Fault> {
        let mut session = self.session.clone();
        // From here on no other session of the tenant is made or renamed.
        let at = next_moment(link, &session.tenant).await?;
        session.created_at = moment(at)?;
        session.updated_at = session.created_at;
        let same = values![&session.tenant, &session.id];
        if link.row("SELECT 1 FROM sessions WHERE tenant = $1 AND id = $2", same).await?.is_some() {
            return Err(StoreError::IdTaken(session.id).into());
        }
        if let Some(name) = &session.name {
            refuse_taken_name(link, &session, name).await?;
        }
        insert(link, &session, at).await?;
        passing("store.create.session");
        for numbered in self.entries {
            let body = rules::json("an entry", &numbered.entry)?;
            insert_entry(link, &session, numbered.number, numbered.at.as_microsecond(), &body).await?;
        }
        Ok(session)
    }
}

async fn insert(link: &mut Link<'_>, session: &Session, at: i64) -> Result<(), Fault> {
    let origin = &session.origin;
    let name_key = session.name.as_deref().map(rules::name_key);
    let attributes = rules::json("the attributes of a session", &session.attributes)?;
    let chain = rules::json("where a session comes from", &origin.chain)?;
    let ceiling = origin.ceiling.as_ref().map(|ceiling| rules::json("a ceiling", ceiling)).transpose()?;
    link.run(
        "INSERT INTO sessions (tenant, id, agent, name, name_key, pinned_at, created_at, updated_at, snippet,
         attributes, entries, workspace, parent, chain, ceiling, token)
         VALUES ($1, $2, $3, $4, $5, NULL, $6, $6, $7, $8, $9, $10, $11, $12, $13, 0)",
        values![
            &session.tenant,
            &session.id,
            &session.agent,
            &session.name,
            &name_key,
            at,
            &session.last_snippet,
            &attributes,
            session.entries,
            &origin.workspace,
            &origin.parent,
            &chain,
            &ceiling,
        ],
    )
    .await?;
    Ok(())
}

async fn insert_entry(link: &mut Link<'_>, session: &Session, number: u64, at: i64, body: &str) -> Result<(), Fault> {
    link.run(
        "INSERT INTO entries (tenant, session, number, at, body) VALUES ($1, $2, $3, $4, $5)",
        values![&session.tenant, &session.id, number, at, body],
    )
    .await?;
    Ok(())
}
