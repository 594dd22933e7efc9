//! Finding a session: by its id, the beginning of that, its name, or because it is the latest.

use anyhow::bail;
use palisade_agent::{LOCAL_TENANT, Listing, Numbered, Session, SessionKey, Store, StoreError, Transcript};

/// How many entries are read at once.
const PAGE: usize = 500;

/// How many sessions are shown that a word may mean.
const SHOWN: usize = 5;

/// How many characters of an id that nobody chose are shown: enough to tell sessions apart.
const SHORT: usize = 8;

/// An id as people see it: the beginning of a UUID, or all of what somebody chose.
pub(crate) fn short(id: &str) -> &str {
    let is_uuid = id.len() == 36 && id.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    if is_uuid { id.get(..SHORT).unwrap_or(id) } else { id }
}

/// The most recently updated session of an agent in a folder. What is pinned does not matter.
pub(crate) async fn latest(store: &dyn Store, agent: &str, workspace: &str) -> Result<Option<Session>, StoreError> {
    let listing = Listing {
        tenant: LOCAL_TENANT.to_owned(),
        agent: Some(agent.to_owned()),
        workspace: Some(workspace.to_owned()),
        limit: 1,
        ..Listing::default()
    };
    Ok(store.sessions(&listing).await?.into_iter().next())
}

/// What was said in a session, with numbers and times.
pub(crate) async fn entries(store: &dyn Store, key: &SessionKey) -> Result<Vec<Numbered>, StoreError> {
    let mut all: Vec<Numbered> = Vec::new();
    loop {
        let after = all.last().map_or(0, |numbered| numbered.number);
        let page = store.entries(key, after, PAGE).await?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}

/// What was said in a session, as a run goes on from it.
pub(crate) async fn transcript(store: &dyn Store, key: &SessionKey) -> Result<Transcript, StoreError> {
    let entries = entries(store, key).await?;
    Ok(Transcript::of(entries.into_iter().map(|numbered| numbered.entry).collect()))
}

/// The session that a word means: an id, a name in any case, or the beginning of one id and of no other. With an
/// agent, only one of its own.
pub(crate) async fn by_word(store: &dyn Store, agent: Option<&str>, word: &str) -> anyhow::Result<Session> {
    let word = word.trim();
    match store.session(&SessionKey::new(LOCAL_TENANT, word)).await {
        Ok(session) => return of_agent(session, agent),
        Err(StoreError::NoSession(_)) => {}
        Err(error) => return Err(error.into()),
    }
    if word.is_empty() {
        return Err(StoreError::NoSession(String::new()).into());
    }
    let listing = Listing { tenant: LOCAL_TENANT.to_owned(), delegated: true, limit: SHOWN + 1, ..Listing::default() };
    // A name is unique among the sessions of an agent, so with an agent there is at most one.
    let named = Listing { name: Some(word.to_owned()), agent: agent.map(str::to_owned), ..listing.clone() };
    let mut all = store.sessions(&named).await?;
    if all.is_empty() {
        all = store.sessions(&Listing { begins: Some(word.to_owned()), ..listing }).await?;
    }
    match all.as_slice() {
        [session] => of_agent(session.clone(), agent),
        [] => Err(StoreError::NoSession(palisade_agent::clip(word, 128)).into()),
        several => {
            let shown: Vec<String> = several.iter().take(SHOWN).map(in_words).collect();
            let more = if several.len() > SHOWN { " and others" } else { "" };
            bail!("`{word}` may be any of {}{more}; say more of the id", shown.join(", "))
        }
    }
}

fn in_words(session: &Session) -> String {
    match &session.name {
        Some(name) => format!("{} ({}, {name})", session.id, session.agent),
        None => format!("{} ({})", session.id, session.agent),
    }
}

fn of_agent(session: Session, agent: Option<&str>) -> anyhow::Result<Session> {
    match agent.filter(|agent| *agent != session.agent) {
        None => Ok(session),
        Some(agent) => {
            bail!("session `{}` is held with `{}`, not with `{agent}`; name that agent", session.id, session.agent)
        }
    }
}

#[cfg(test)]
mod tests {
    use palisade_agent::{Change, NewSession};

    use super::*;

    async fn create(store: &dyn Store, agent: &str, id: &str, name: Option<&str>) -> Session {
        let session = NewSession {
            id: Some(id.to_owned()),
            name: name.map(str::to_owned),
            ..NewSession::with(LOCAL_TENANT, agent)
        };
        store.create(session).await.unwrap()
    }

    /// L10, L16, J21
    #[tokio::test]
    async fn a_session_is_found_by_id_name_or_beginning() {
        let store = palisade_store::open("memory:").await.unwrap();
        let store = store.as_ref();
        create(store, "explore", "aaaa-1", Some("River")).await;
        create(store, "explore", "aaab-2", None).await;
        create(store, "general", "b-3", Some("river")).await;
        let found = async |agent: Option<&str>, word: &str| match by_word(store, agent, word).await {
            Ok(session) => session.id,
            Err(error) => error.to_string(),
        };
        assert_eq!(found(None, "aaaa-1").await, "aaaa-1");
        assert_eq!(found(None, "aaab").await, "aaab-2");
        assert_eq!(found(Some("explore"), "RIVER").await, "aaaa-1");
        assert_eq!(found(Some("general"), "river").await, "b-3");
        assert!(found(None, "river").await.starts_with("`river` may be any of "));
        assert!(found(None, "aaa").await.contains("aaaa-1 (explore, River)"));
        assert!(found(None, "nobody").await.starts_with("there is no session `nobody`"));
        assert!(found(None, "").await.starts_with("there is no session"));
        assert!(found(Some("general"), "aaab").await.contains("is held with `explore`, not with `general`"));
    }

    /// L3, L4, L6, DF-15
    #[tokio::test]
    async fn the_latest_is_what_was_updated_last_and_pinning_counts_only_as_an_update() {
        let store = palisade_store::open("memory:").await.unwrap();
        let store = store.as_ref();
        for id in ["one", "two", "three"] {
            let mut session = NewSession { id: Some(id.to_owned()), ..NewSession::with(LOCAL_TENANT, "explore") };
            session.origin.workspace = Some("/a".to_owned());
            store.create(session).await.unwrap();
        }
        let latest = async || latest(store, "explore", "/a").await.unwrap().map(|session| session.id);
        let key = |id: &str| SessionKey::new(LOCAL_TENANT, id);
        assert_eq!(latest().await.as_deref(), Some("three"));
        store.change(&key("one"), Change::Pinned(true)).await.unwrap();
        assert_eq!(latest().await.as_deref(), Some("one"));
        store.change(&key("two"), Change::Name(Some("new".to_owned()))).await.unwrap();
        assert_eq!(latest().await.as_deref(), Some("two"), "what is pinned is not preferred");
        assert_eq!(super::latest(store, "explore", "/b").await.unwrap(), None);
        assert_eq!(super::latest(store, "general", "/a").await.unwrap(), None);
    }

    #[test]
    fn only_what_nobody_chose_is_shortened() {
        assert_eq!(short("0198c5a4-0b5e-4d5e-8a55-3e1f6c9d2b11"), "0198c5a4");
        assert_eq!(short("my-own-session-with-a-long-name-0000"), "my-own-session-with-a-long-name-0000");
    }
}
