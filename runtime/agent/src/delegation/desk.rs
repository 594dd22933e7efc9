//! Somebody outside asks an agent: a client of a server, who is no agent. What a client can have done is the ceiling
//! it comes with; nothing of what it says decides over that.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use palisade_grants::Grants;
use serde_json::{Value, json};

use super::{
    Delegation,
    engage::{Lower, Way, is_with},
    order::{Engaged, Order},
    place::Place,
    refusal::Refusal,
    report::Report,
    work::{Begun, Underway},
};
use crate::{
    Account, Agent, Asker, Budget, Cancellation, Canceller, Ceiling, Ending, Event, FailureKind, Lease, Listing,
    NewSession, Panels, Provider, Purse, RunRecord, Seat, Session, SessionKey, SessionOrigin, Usage, Watcher,
    cancellation,
};

/// Who asks.
pub struct Client {
    /// Whose sessions are spoken of.
    pub tenant: String,
    /// What may be done for it at most.
    pub ceiling: Ceiling,
    /// What one request may use up at most.
    pub budget: Budget,
    /// What all its requests together are paid out of.
    pub purse: Option<Arc<Purse>>,
    /// The folder that is worked in, as sessions keep it.
    pub workspace: Option<String>,
    /// What agents speak to that name no model.
    pub provider: Arc<dyn Provider>,
    /// Is told what happens.
    pub watcher: Arc<dyn Watcher>,
    /// Is asked where a rule wants that.
    pub asker: Option<Arc<dyn Asker>>,
}

/// What somebody outside wants from an agent.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// The agent.
    pub agent: String,
    /// In which session.
    pub session: Which,
    /// The words.
    pub text: String,
    /// What its user has open; absent: what was said of that before still holds.
    pub panels: Option<Panels>,
}

/// Which session is meant.
#[derive(Clone, Debug, PartialEq)]
pub enum Which {
    /// A new one.
    New {
        /// What it is known by; absent: a UUID is made.
        id: Option<String>,
        /// What it is called.
        name: Option<String>,
        /// What is kept with it.
        attributes: BTreeMap<String, Value>,
    },
    /// The most recently updated one of the agent; if there is none, a new one.
    LatestOrNew,
    /// This one.
    Known(String),
}

impl Which {
    /// A new one that is called nothing.
    pub fn new() -> Self {
        Self::New { id: None, name: None, attributes: BTreeMap::new() }
    }
}

impl Default for Which {
    fn default() -> Self {
        Self::new()
    }
}

/// A request that is worked on, until it is dropped or left.
pub struct Visit {
    /// The run, and the right to write for it.
    pub lease: Lease,
    /// The session.
    pub session: Session,
    /// Whether the session is new.
    pub created: bool,
    canceller: Canceller,
    underway: Underway,
}

/// What came of a request.
#[derive(Clone, Debug)]
pub struct Conclusion {
    /// How it ended.
    pub ending: Ending,
    /// The answer, or the last words before it ended otherwise.
    pub answer: String,
    /// Why there is no answer.
    pub failure: Option<String>,
    /// What it cost.
    pub usage: Usage,
    /// How long it took.
    pub duration: Duration,
    /// What the definition would allow and the ceiling does not.
    pub cut: Vec<String>,
    /// What whoever asked should know.
    pub warnings: Vec<String>,
}

impl Visit {
    /// Ends it, and all that it has started.
    pub fn cancel(&self) {
        self.canceller.cancel();
    }

    /// What ends it, for somebody else.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> Result<Conclusion, Refusal> {
        Ok(Conclusion::of(self.underway.ended().await?.as_ref()))
    }

    /// From now on it goes on, whatever becomes of whoever asked.
    pub fn leave(self) {
        self.underway.leave();
    }
}

impl Conclusion {
    fn of(report: &Report) -> Self {
        Self {
            ending: report.ending.clone(),
            answer: report.answer.clone(),
            failure: report.failure.clone(),
            usage: report.usage,
            duration: report.duration,
            cut: report.cut.clone(),
            warnings: report.warnings.clone(),
        }
    }
}

impl Delegation {
    /// Has an agent work on what somebody outside wants. Returns when its run has begun.
    pub async fn receive(self: &Arc<Self>, client: Client, inquiry: Inquiry) -> Result<Visit, Refusal> {
        if inquiry.text.trim().is_empty() {
            return Err(Refusal::invalid("there is nothing to do: say it in words"));
        }
        let (place, canceller) = sit_down(&client);
        let (asker, recruit) = self.engage(&place, &inquiry.agent, None, Way::Ruled).await?;
        let found = self.wanted(&client, &recruit.agent, &inquiry.session).await?;
        let created = found.is_none();
        let (session, asker, recruit) = match found {
            Some(session) => {
                let stored = session.origin.ceiling.clone();
                let (asker, recruit) = self.engage(&place, &inquiry.agent, stored.as_ref(), Way::Ruled).await?;
                let session = match &inquiry.panels {
                    Some(panels) => {
                        self.store.change(&SessionKey::new(&client.tenant, &session.id), panels.change()).await?
                    }
                    None => session,
                };
                (session, asker, recruit)
            }
            None => {
                let Inquiry { session, panels, .. } = &inquiry;
                (self.open_session(&client, &recruit, session.clone(), panels.as_ref()).await?, asker, recruit)
            }
        };
        let (account, allowance) = self.account(&asker, &recruit, Lower::default())?;
        let engaged = Engaged { asker, recruit, account, allowance };
        let order = Order { created, ..Order::new(&place, &inquiry.agent, engaged, session.clone(), inquiry.text) };
        let key = order.key();
        let visit = self.begin_visit(order, session, canceller).await;
        if visit.is_err() && created {
            // A session in which nothing was said is none.
            drop(self.store.delete(&key).await);
        }
        visit
    }

    /// Goes on with a run that another process has left behind, with what is left of its budget.
    pub async fn receive_again(self: &Arc<Self>, client: Client, left: &RunRecord) -> Result<Visit, Refusal> {
        let (place, canceller) = sit_down(&client);
        let session = self.store.session(&left.session).await?;
        let stored = session.origin.ceiling.clone();
        let (asker, mut recruit) = self.engage(&place, &left.agent, stored.as_ref(), Way::Ruled).await?;
        recruit.budget = recruit.budget.lower(left.budget).less(&left.spending);
        let (account, allowance) = self.account(&asker, &recruit, Lower::default())?;
        let engaged = Engaged { asker, recruit, account, allowance };
        let text = "goes on with what was left".to_owned();
        let order =
            Order { left: Some(left.id.clone()), ..Order::new(&place, &left.agent, engaged, session.clone(), text) };
        self.begin_visit(order, session, canceller).await
    }

    async fn begin_visit(
        self: &Arc<Self>,
        order: Order,
        session: Session,
        canceller: Canceller,
    ) -> Result<Visit, Refusal> {
        let created = order.created;
        let mut underway = self.start(order);
        match underway.begun().await? {
            Begun::Started(lease) => Ok(Visit { lease, session, created, canceller, underway }),
            Begun::Queued => Err(Refusal::session("the session is in use")),
        }
    }

    /// The session that is meant; nothing if a new one is.
    async fn wanted(&self, client: &Client, agent: &Agent, which: &Which) -> Result<Option<Session>, Refusal> {
        match which {
            Which::New { .. } => Ok(None),
            Which::Known(id) => {
                let session = self.store.session(&SessionKey::new(&client.tenant, id)).await?;
                match is_with(&session, agent) {
                    true => Ok(Some(session)),
                    false => Err(Refusal {
                        code: "session_of_another_agent",
                        kind: FailureKind::InvalidInput,
                        text: format!("session `{id}` is one of the agent `{}`", session.agent),
                    }),
                }
            }
            Which::LatestOrNew => {
                let listing = Listing {
                    tenant: client.tenant.clone(),
                    agent: Some(agent.name.clone()),
                    workspace: client.workspace.clone(),
                    limit: 1,
                    ..Listing::default()
                };
                let latest = self.store.sessions(&listing).await?.into_iter().next();
                Ok(latest.filter(|session| is_with(session, agent)))
            }
        }
    }

    async fn open_session(
        &self,
        client: &Client,
        recruit: &crate::Recruit,
        which: Which,
        panels: Option<&Panels>,
    ) -> Result<Session, Refusal> {
        let (id, name, mut attributes) = match which {
            Which::New { id, name, attributes } => (id, name, attributes),
            Which::LatestOrNew | Which::Known(_) => (None, None, BTreeMap::new()),
        };
        if let Some(panels) = panels.filter(|panels| !panels.is_empty()) {
            attributes.insert(Panels::ATTRIBUTE.to_owned(), json!(panels));
        }
        attributes.insert(super::engage::IDENTITY.to_owned(), recruit.agent.base_key().into());
        let origin = SessionOrigin {
            workspace: client.workspace.clone(),
            ceiling: Some(recruit.ceiling.clone()),
            ..SessionOrigin::default()
        };
        let new = NewSession { id, name, attributes, origin, ..NewSession::with(&client.tenant, &recruit.agent.name) };
        Ok(self.store.create(new).await?)
    }
}

/// The place of a client: above every agent, and itself none.
fn sit_down(client: &Client) -> (Arc<Place>, Canceller) {
    let (canceller, cancelled) = cancellation();
    let grants = Some(Grants::everything());
    let agent = Agent { grants, ..Agent::new(format!("tenant {}", client.tenant), "whoever asks from outside") };
    let Budget { depth, .. } = client.budget;
    // One level is the client itself.
    let account = Account::open(Budget { depth: depth.saturating_add(1), ..client.budget });
    let account = client.purse.iter().fold(account, |account, purse| account.out_of(Arc::clone(purse)));
    let seat = Seat {
        session: SessionKey::new(&client.tenant, ""),
        run: None,
        agent,
        ceiling: client.ceiling.clone(),
        account,
        cancellation: Cancellation::clone(&cancelled),
        chain: Vec::new(),
        messages: 0,
        provider: Arc::clone(&client.provider),
        watcher: Arc::new(Front(Arc::clone(&client.watcher))),
        asker: client.asker.clone(),
        warrant: None,
    };
    (Arc::new(Place::outermost(Arc::new(seat))), canceller)
}

/// A client watches the agent that it asked as if it sat beside it.
struct Front(Arc<dyn Watcher>);

impl Watcher for Front {
    fn watch(&self, event: Event) {
        match event {
            Event::SubagentProgress { event, .. } => self.0.watch(*event),
            // The run tells of its start and end itself.
            Event::SubagentStarted { .. } | Event::SubagentEnded { .. } => {}
            other => self.0.watch(other),
        }
    }
}
