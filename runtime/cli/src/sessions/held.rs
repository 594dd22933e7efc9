//! The session that a conversation is: found or made, read, and held for one run after the other.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use palisade_agent::{
    Budget, CallRecord, Ending, Entry, LOCAL_TENANT, Leased, Listing, NewRun, NewSession, Queued, RunRecord, RunState,
    Session, SessionKey, Spending, Store, StoreError, Transcript,
};

use super::{Wanted, by_word, latest, short, transcript};
use crate::database::{Database, Opened};

/// How long a session is held without a sign of life from whoever holds it. A process of this machine that is gone is
/// known to be gone at once.
const LASTS: Duration = Duration::from_secs(30);

/// How many sessions a chat lists.
const SIBLINGS: usize = 50;

/// The session that a conversation is.
pub(crate) struct Held {
    database: Database,
    opened: Option<Opened>,
    plan: Plan,
    agent: String,
    workspace: String,
}

/// What becomes of what is said.
enum Plan {
    /// It is forgotten.
    Nothing,
    /// It makes a new session, when there is something to write.
    New(Option<String>),
    /// It belongs to this one.
    Known(Box<Session>),
}

/// What a run works on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work<'a> {
    /// Something new.
    Task(&'a str),
    /// What was left unfinished.
    Unfinished,
    /// An answer that has come, of an agent that was not waited for.
    Answer(&'a Queued),
}

/// What a run is written down with.
#[derive(Clone)]
pub(crate) struct About {
    pub(crate) model: String,
    pub(crate) budget: Budget,
}

/// What a run is known by, where something is kept of it.
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    pub(crate) session: String,
    pub(crate) run: String,
}

/// A run that was begun: it is written down, and its session is held for it.
pub(crate) struct Begun {
    pub(crate) transcript: Transcript,
    pub(crate) journal: Option<Leased>,
    /// What an earlier process meant to do and what it used up, if this goes on with its run.
    pub(crate) calls: Vec<CallRecord>,
    pub(crate) spent: Spending,
    /// What is left to be used up.
    pub(crate) budget: Budget,
    /// Nothing: it cannot be found again.
    pub(crate) ids: Option<Ids>,
}

impl Held {
    /// Finds the session that is meant. A database is opened only if there is one to be found.
    pub(crate) async fn find(
        wanted: Wanted,
        database: Database,
        agent: &str,
        workspace: &Path,
        elsewhere: Elsewhere,
    ) -> anyhow::Result<Self> {
        let workspace = workspace.display().to_string();
        let mut held = Self { database, opened: None, plan: Plan::Nothing, agent: agent.to_owned(), workspace };
        held.plan = match wanted {
            Wanted::None => Plan::Nothing,
            Wanted::New(name) => Plan::New(name),
            Wanted::Latest => match held.latest().await? {
                Some(session) => Plan::Known(Box::new(session)),
                None => bail!(
                    "there is no session of `{agent}` in {} yet; leave out --continue to begin one, or see `palisade \
                     sessions list`",
                    held.workspace
                ),
            },
            Wanted::LatestOrNew(name) => match held.latest().await? {
                Some(session) => Plan::Known(Box::new(session)),
                None => Plan::New(name),
            },
            Wanted::Called(word) => {
                let session = by_word(held.open().await?.store.as_ref(), Some(agent), &word).await?;
                held.is_here(&session, elsewhere)?;
                Plan::Known(Box::new(session))
            }
        };
        Ok(held)
    }

    async fn latest(&mut self) -> anyhow::Result<Option<Session>> {
        let store = self.open().await?.store;
        Ok(latest(store.as_ref(), &self.agent, &self.workspace).await?)
    }

    /// What was said about one folder is no help in another, and may do harm there.
    fn is_here(&self, session: &Session, elsewhere: Elsewhere) -> anyhow::Result<()> {
        match &session.origin.workspace {
            Some(there) if *there != self.workspace && elsewhere == Elsewhere::Refused => bail!(
                "session `{}` is about {there}; go on there with --workspace {there}, or name this folder with --workspace \
                 to go on here",
                short(&session.id)
            ),
            _ => Ok(()),
        }
    }

    async fn open(&mut self) -> anyhow::Result<Opened> {
        if let Some(opened) = &self.opened {
            return Ok(opened.clone());
        }
        let opened = self.database.open_beside(Path::new(&self.workspace)).await?;
        self.opened = Some(opened.clone());
        Ok(opened)
    }

    /// The session that is gone on with, if one is.
    pub(crate) fn known(&self) -> Option<&Session> {
        match &self.plan {
            Plan::Known(session) => Some(session),
            Plan::Nothing | Plan::New(_) => None,
        }
    }

    /// The session, once there is one that lasts.
    pub(crate) fn session(&self) -> Option<&Session> {
        let lasts = self.opened.as_ref().is_some_and(|opened| opened.url.lasts());
        match &self.plan {
            Plan::Known(session) if lasts => Some(session),
            _ => None,
        }
    }

    /// Keeps what would be forgotten for as long as this program runs: agents that ask others need a place to
    /// do so.
    pub(crate) fn keep_for_now(&mut self) {
        if matches!(self.plan, Plan::Nothing) {
            (self.database, self.plan) = (Database::in_memory(), Plan::New(None));
        }
    }

    /// Where it is kept, once something is.
    pub(crate) fn store(&self) -> Option<Arc<dyn Store>> {
        self.opened.as_ref().map(|opened| Arc::clone(&opened.store))
    }

    /// What was said so far.
    pub(crate) async fn transcript(&mut self) -> anyhow::Result<Transcript> {
        let Plan::Known(session) = &self.plan else { return Ok(Transcript::new()) };
        let key = key(session);
        let store = self.open().await?.store;
        Ok(transcript(store.as_ref(), &key).await?)
    }

    /// Begins a run. Where a session is kept, what is written down is what was said; where none is, `said` is.
    pub(crate) async fn begin(&mut self, work: Work<'_>, said: Transcript, about: About) -> anyhow::Result<Begun> {
        if let (Plan::Nothing, Work::Task(task)) = (&self.plan, work) {
            let mut transcript = said;
            transcript.take_up(task, &[]);
            return Ok(Begun::unwritten(transcript, about.budget));
        }
        let Opened { store, url } = self.open().await?;
        let store = store.as_ref();
        let before = match &self.plan {
            Plan::New(name) => Some(Plan::New(name.clone())),
            Plan::Nothing | Plan::Known(_) => None,
        };
        let key = self.ready(store).await?;
        let begun = loop {
            match self.begin_in(store, &key, work, about.clone()).await {
                // Another process has said something between the reading and the holding.
                Err(error) if matches!(error.downcast_ref(), Some(StoreError::Outdated(_))) => {}
                begun => break begun,
            }
        };
        if let (Err(_), Some(before)) = (&begun, before) {
            // A session in which nothing was said is none.
            drop(store.delete(&key).await);
            self.plan = before;
        }
        let mut begun = begun.map_err(readable)?;
        begun.ids = begun.ids.filter(|_| url.lasts());
        Ok(begun)
    }

    async fn begin_in(
        &self,
        store: &dyn Store,
        key: &SessionKey,
        work: Work<'_>,
        about: About,
    ) -> anyhow::Result<Begun> {
        let last = store.last_run(key).await?;
        match (work, last) {
            (Work::Task(task), last) => self.take_up(store, key, (task, None), last, about).await,
            (Work::Answer(answer), last) => {
                self.take_up(store, key, (&answer.text, Some(&answer.id)), last, about).await
            }
            (Work::Unfinished, Some(run @ RunRecord { state: RunState::Open { .. }, .. })) => {
                self.take_over(store, key, run, about).await
            }
            (Work::Unfinished, Some(RunRecord { state: RunState::Ended { ending, .. }, .. }))
                if !matches!(ending, Some(Ending::Answered)) =>
            {
                self.try_again(store, key, about).await
            }
            (Work::Unfinished, _) => bail!(
                "nothing is left unfinished in session `{}`; say what to do next: palisade run {} --continue \"…\"",
                short(&key.id),
                self.agent
            ),
        }
    }

    /// The session to write into; a new one is made now.
    async fn ready(&mut self, store: &dyn Store) -> anyhow::Result<SessionKey> {
        let name = match &self.plan {
            Plan::Known(session) => return Ok(key(session)),
            Plan::New(name) => name.clone(),
            Plan::Nothing => bail!("nothing of this conversation is kept, so there is nothing to go on with"),
        };
        let mut session = NewSession { name, ..NewSession::with(LOCAL_TENANT, &self.agent) };
        session.origin.workspace = Some(self.workspace.clone());
        let session = store.create(session).await.context("the session cannot be begun")?;
        let key = key(&session);
        self.plan = Plan::Known(Box::new(session));
        Ok(key)
    }

    /// Begins a run with something new, which may have waited in the queue. What an earlier run left open is closed
    /// in the same step.
    async fn take_up(
        &self,
        store: &dyn Store,
        key: &SessionKey,
        (task, queued): (&str, Option<&str>),
        last: Option<RunRecord>,
        about: About,
    ) -> anyhow::Result<Begun> {
        let mut transcript = transcript(store, key).await?;
        let after = transcript.entries().len() as u64;
        let calls = match last {
            Some(RunRecord { id, state: RunState::Open { .. }, .. }) => store.calls(LOCAL_TENANT, &id).await?,
            _ => Vec::new(),
        };
        let entries = transcript.take_up(task, &calls);
        self.begin_run(store, key, Beginning { after, entries, queued }, transcript, about).await
    }

    /// Begins a run that goes on where one ended without an answer.
    async fn try_again(&self, store: &dyn Store, key: &SessionKey, about: About) -> anyhow::Result<Begun> {
        let transcript = transcript(store, key).await?;
        let after = transcript.entries().len() as u64;
        self.begin_run(store, key, Beginning { after, entries: Vec::new(), queued: None }, transcript, about).await
    }

    async fn begin_run(
        &self,
        store: &dyn Store,
        key: &SessionKey,
        Beginning { after, entries, queued }: Beginning<'_>,
        transcript: Transcript,
        about: About,
    ) -> anyhow::Result<Begun> {
        let run = NewRun {
            session: key.clone(),
            agent: self.agent.clone(),
            model: about.model,
            parent: None,
            parent_call: None,
            queued: queued.map(str::to_owned),
            entries,
            after: Some(after),
            budget: about.budget,
            owner: palisade_store::this_process().to_owned(),
            lasts: LASTS,
        };
        let lease = store.begin(run).await?;
        let begun = Begun::unwritten(transcript, about.budget);
        Ok(begun.written(self.journal(lease)?))
    }

    /// Goes on with a run whose process is gone, with what is left of its budget.
    async fn take_over(
        &self,
        store: &dyn Store,
        key: &SessionKey,
        left: RunRecord,
        about: About,
    ) -> anyhow::Result<Begun> {
        let lease = store.claim(LOCAL_TENANT, &left.id, palisade_store::this_process(), LASTS).await?;
        // Read when nobody else writes any more.
        let transcript = transcript(store, key).await?;
        let spent = store.run(LOCAL_TENANT, &left.id).await?.spending;
        let calls = store.calls(LOCAL_TENANT, &left.id).await?;
        let budget = left.budget.lower(about.budget).less(&spent);
        let begun = Begun { calls, spent, ..Begun::unwritten(transcript, budget) };
        Ok(begun.written(self.journal(lease)?))
    }

    fn journal(&self, lease: palisade_agent::Lease) -> anyhow::Result<Leased> {
        let opened = self.opened.as_ref().context("the database was not opened")?;
        Ok(Leased::new(Arc::clone(&opened.store), lease))
    }

    /// The latest sessions of the agent in the folder.
    pub(crate) async fn siblings(&mut self) -> anyhow::Result<Vec<Session>> {
        let listing = Listing {
            tenant: LOCAL_TENANT.to_owned(),
            agent: Some(self.agent.clone()),
            workspace: Some(self.workspace.clone()),
            limit: SIBLINGS,
            ..Listing::default()
        };
        Ok(self.open().await?.store.sessions(&listing).await?)
    }

    /// Takes away all that was said.
    pub(crate) async fn clear(&mut self) -> anyhow::Result<()> {
        let Plan::Known(session) = &self.plan else { return Ok(()) };
        let key = key(session);
        let session = self.open().await?.store.clear(&key).await.map_err(|error| readable(error.into()))?;
        self.plan = Plan::Known(Box::new(session));
        Ok(())
    }

    /// Gives the session a name; one that is still to be made gets it then.
    pub(crate) async fn rename(&mut self, name: &str) -> anyhow::Result<()> {
        match &self.plan {
            Plan::Nothing => bail!("nothing of this conversation is kept, so it needs no name"),
            Plan::New(_) => self.plan = Plan::New(Some(name.to_owned())),
            Plan::Known(session) => {
                let (key, change) = (key(session), palisade_agent::Change::Name(Some(name.to_owned())));
                let session = self.open().await?.store.change(&key, change).await?;
                self.plan = Plan::Known(Box::new(session));
            }
        }
        Ok(())
    }
}

/// What a run begins with.
struct Beginning<'a> {
    /// How many entries there were.
    after: u64,
    entries: Vec<Entry>,
    /// The message of the queue that is among them.
    queued: Option<&'a str>,
}

/// What becomes of a session that is about another folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// It is not gone on with here.
    Refused,
    /// Somebody has named this folder, so they mean it.
    Meant,
}

impl Begun {
    fn unwritten(transcript: Transcript, budget: Budget) -> Self {
        let (calls, spent) = (Vec::new(), Spending::default());
        Self { transcript, journal: None, calls, spent, budget, ids: None }
    }

    fn written(mut self, journal: Leased) -> Self {
        let lease = journal.lease();
        self.ids = Some(Ids { session: lease.session.id.clone(), run: lease.run.clone() });
        self.journal = Some(journal);
        self
    }
}

fn key(session: &Session) -> SessionKey {
    SessionKey::new(LOCAL_TENANT, session.id.clone())
}

/// Who holds a session, in words that help to find the process.
pub(crate) fn readable(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<StoreError>() {
        Ok(StoreError::Busy { session, owner }) => {
            let owner = match owner.split('/').collect::<Vec<_>>().as_slice() {
                [host, _, process, _] => format!("process {process} on {host}"),
                _ => owner,
            };
            StoreError::Busy { session: short(&session).to_owned(), owner }.into()
        }
        Ok(error) => error.into(),
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn held() -> Held {
        let (wanted, database) = (Wanted::New(Some("river".to_owned())), Database::in_memory());
        Held::find(wanted, database, "explore", Path::new("/a"), Elsewhere::Refused).await.unwrap()
    }

    fn about(model: &str) -> About {
        About { model: model.to_owned(), budget: Budget::default() }
    }

    #[tokio::test]
    async fn a_session_whose_first_run_cannot_begin_leaves_nothing_behind() {
        let mut held = held().await;
        let listing = Listing { tenant: LOCAL_TENANT.to_owned(), ..Listing::default() };
        // A run without a model cannot be written down.
        assert!(held.begin(Work::Task("go"), Transcript::new(), about("")).await.is_err());
        let store = held.store().unwrap();
        assert_eq!(store.sessions(&listing).await.unwrap(), []);
        held.begin(Work::Task("go"), Transcript::new(), about("offline")).await.map(drop).unwrap();
        let sessions = store.sessions(&listing).await.unwrap();
        assert_eq!((sessions.len(), sessions[0].name.as_deref(), sessions[0].entries), (1, Some("river"), 1));
    }

    #[test]
    fn who_holds_a_session_is_said_in_words() {
        let busy = |owner: &str| {
            let (session, owner) = ("s-1".to_owned(), owner.to_owned());
            readable(StoreError::Busy { session, owner }.into()).to_string()
        };
        assert_eq!(
            busy("ferry/9f.402/1234/5678"),
            "session `s-1` is in use by process 1234 on ferry; wait for it, or end it"
        );
        assert_eq!(busy("somebody"), "session `s-1` is in use by somebody; wait for it, or end it");
    }
}
