//! Agents at work for clients: begun, watched, asked about, ended.
//!
//! Everything that happens in a run is numbered and written down in the order it happened, so that whoever reads it
//! later, from whichever number on, reads the same.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use palisade_agent::{
    Answer, Asker, Canceller, Conclusion, Event, Inquiry, Lease, RunRecord, Session, ToolCall, Visit, Watcher,
};
use palisade_store::RunEvents;
use serde::Serialize;
use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};

use crate::{admission::Admitted, house::House, problem::Problem};

/// How many events wait to be written. Whoever tells more waits... nobody: the rest of a reply is put together instead.
const WAITING: usize = 4096;
/// How long events are gathered before they are written together.
const GATHERED: Duration = Duration::from_millis(40);
/// How many are written together.
const TOGETHER: usize = 256;
/// The longest event; of a longer one its kind is told.
const LONGEST: usize = 60 << 10;

/// What happens in a run, as clients are told.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Told {
    /// What the loop says.
    Event(Event),
    /// Somebody has to say whether a call may be made.
    Asked(Asked),
}

/// A call that somebody has to decide about.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Asked {
    /// It waits.
    ApprovalWanted {
        /// What the decision is known by.
        approval: String,
        /// The call.
        call: String,
        /// The tool.
        tool: String,
        /// What it is called with.
        input: Value,
        /// Which rule wants somebody to decide.
        why: String,
    },
    /// It was decided, or is no longer wanted.
    ApprovalGiven {
        /// What the decision was known by.
        approval: String,
        /// Whether the call may be made.
        allowed: bool,
    },
}

/// Runs by tenant and id.
type AtWork = HashMap<(String, String), Arc<Live>>;

/// The runs that this process works on.
#[derive(Clone)]
pub(crate) struct Runs {
    house: Arc<dyn House>,
    events: Arc<dyn RunEvents>,
    live: Arc<Mutex<AtWork>>,
}

/// A run at work.
pub(crate) struct Live {
    canceller: Canceller,
    /// The number of the last event that was written.
    last: watch::Receiver<u64>,
    /// What came of it, when it is over.
    conclusion: watch::Receiver<Option<Result<Conclusion, Problem>>>,
    desk: Arc<Desk>,
}

/// A run that was begun.
pub(crate) struct Started {
    /// The run.
    pub(crate) run: String,
    /// Its session.
    pub(crate) session: Session,
    /// What is known of it.
    pub(crate) live: Arc<Live>,
}

impl Runs {
    pub(crate) fn new(house: Arc<dyn House>, events: Arc<dyn RunEvents>) -> Self {
        Self { house, events, live: Arc::default() }
    }

    /// Has an agent work on something, for as long as it may be at work.
    pub(crate) async fn begin(&self, tenant: &str, inquiry: Inquiry, admitted: Admitted) -> Result<Started, Problem> {
        let (desk, told) = Desk::open();
        let client = self.house.client(tenant, &inquiry.agent, desk.clone(), desk.clone()).await?;
        let visit = self.house.hub(tenant).await?.receive(client, inquiry).await?;
        Ok(self.see_through(tenant, visit, desk, told, admitted))
    }

    /// Goes on with a run that another process has left behind.
    pub(crate) async fn go_on(&self, left: &RunRecord, admitted: Admitted) -> Result<Started, Problem> {
        let tenant = &left.session.tenant;
        let (desk, told) = Desk::open();
        let client = self.house.client(tenant, &left.agent, desk.clone(), desk.clone()).await?;
        let visit = self.house.hub(tenant).await?.receive_again(client, left).await?;
        Ok(self.see_through(tenant, visit, desk, told, admitted))
    }

    fn see_through(
        &self,
        tenant: &str,
        mut visit: Visit,
        desk: Arc<Desk>,
        told: mpsc::Receiver<Told>,
        admitted: Admitted,
    ) -> Started {
        let (last, written) = watch::channel(0);
        let (conclude, conclusion) = watch::channel(None);
        let live = Arc::new(Live { canceller: visit.canceller(), last: written, conclusion, desk: Arc::clone(&desk) });
        let (run, session) = (visit.lease.run.clone(), visit.session.clone());
        let key = (tenant.to_owned(), run.clone());
        self.lock().insert(key.clone(), Arc::clone(&live));
        let writer = tokio::spawn(write(Arc::clone(&self.events), visit.lease.clone(), told, last));
        let runs = self.clone();
        tokio::spawn(async move {
            let ended = visit.ended().await.map_err(Problem::from);
            desk.close();
            // What was told is written before anybody is told that it is over.
            drop(writer.await);
            conclude.send_replace(Some(ended));
            runs.lock().remove(&key);
            drop(admitted);
        });
        Started { run, session, live }
    }

    /// A run that this process works on.
    pub(crate) fn live(&self, tenant: &str, run: &str) -> Option<Arc<Live>> {
        self.lock().get(&(tenant.to_owned(), run.to_owned())).cloned()
    }

    /// What was told of a run, from a number on.
    pub(crate) async fn told(
        &self,
        tenant: &str,
        run: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, String)>, Problem> {
        Ok(self.events.events(tenant, run, after, limit).await?)
    }

    fn lock(&self) -> MutexGuard<'_, AtWork> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    /// Ends it.
    pub(crate) fn cancel(&self) {
        self.canceller.cancel();
    }

    /// Waits until something was written after an event; `false` if nothing more will be.
    pub(crate) async fn more_than(&self, number: u64) -> bool {
        let mut last = self.last.clone();
        last.wait_for(|last| *last > number).await.is_ok()
    }

    /// Waits for its end.
    pub(crate) async fn ended(&self) -> Result<Conclusion, Problem> {
        let mut conclusion = self.conclusion.clone();
        match conclusion.wait_for(Option::is_some).await.map(|it| it.clone()) {
            Ok(Some(ended)) => ended,
            _ => Err(Problem::broken(&"a run ended without a word")),
        }
    }

    /// Decides about a call that waits for it. There is no such call: `false`.
    pub(crate) fn decide(&self, approval: &str, answer: Answer) -> bool {
        self.desk.decide(approval, answer)
    }

    /// The calls that wait for somebody.
    pub(crate) fn waiting(&self) -> Vec<Asked> {
        self.desk.lock().values().map(|(asked, _)| asked.clone()).collect()
    }
}

/// Where a run is watched and asks.
pub(crate) struct Desk {
    tell: Mutex<Option<mpsc::Sender<Told>>>,
    waiting: Mutex<HashMap<String, (Asked, oneshot::Sender<Answer>)>>,
}

impl Desk {
    fn open() -> (Arc<Self>, mpsc::Receiver<Told>) {
        let (tell, told) = mpsc::channel(WAITING);
        (Arc::new(Self { tell: Mutex::new(Some(tell)), waiting: Mutex::default() }), told)
    }

    fn tell(&self, told: Told) {
        if let Some(tell) = &*self.tell.lock().unwrap_or_else(PoisonError::into_inner) {
            // Whatever is told faster than it can be written is missing from the stream, and from nothing else: what
            // was said and done is in the session.
            drop(tell.try_send(told));
        }
    }

    fn close(&self) {
        *self.tell.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.lock().clear();
    }

    fn decide(&self, approval: &str, answer: Answer) -> bool {
        let waiting = self.lock().remove(approval);
        waiting.is_some_and(|(_, decide)| decide.send(answer).is_ok())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Asked, oneshot::Sender<Answer>)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher for Desk {
    fn watch(&self, event: Event) {
        self.tell(Told::Event(event));
    }
}

#[async_trait]
impl Asker for Desk {
    async fn ask(&self, call: &ToolCall, why: &str) -> Answer {
        let approval = uuid::Uuid::new_v4().to_string();
        let (decide, decided) = oneshot::channel();
        let asked = Asked::ApprovalWanted {
            approval: approval.clone(),
            call: call.id.clone(),
            tool: call.tool.clone(),
            input: call.input.clone(),
            why: why.to_owned(),
        };
        self.lock().insert(approval.clone(), (asked.clone(), decide));
        // The future may be dropped while it waits, and then nobody wants to know any more.
        let forget = Forget { desk: self, approval: approval.clone() };
        self.tell(Told::Asked(asked));
        let answer = decided.await.unwrap_or(Answer::No);
        drop(forget);
        self.tell(Told::Asked(Asked::ApprovalGiven { approval, allowed: answer == Answer::Yes }));
        answer
    }
}

struct Forget<'a> {
    desk: &'a Desk,
    approval: String,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.desk.lock().remove(&self.approval);
    }
}

/// Numbers what is told and writes it down, several together.
async fn write(events: Arc<dyn RunEvents>, lease: Lease, mut told: mpsc::Receiver<Told>, last: watch::Sender<u64>) {
    let (tenant, run) = (&lease.session.tenant, &lease.run);
    let mut next = events.last_event(tenant, run).await.unwrap_or(0) + 1;
    last.send_replace(next - 1);
    let mut batch = Vec::new();
    while told.recv_many(&mut batch, TOGETHER).await > 0 {
        // Whoever waits for the end of a run does not wait for more than that.
        let until = Instant::now() + GATHERED;
        while batch.len() < TOGETHER
            && let Ok(Some(more)) = tokio::time::timeout_at(until, told.recv()).await
        {
            batch.push(more);
        }
        let texts: Vec<String> = joined(batch.drain(..)).iter().map(text).collect();
        match events.append(&lease, next, &texts).await {
            Ok(()) => next += texts.len() as u64,
            // Somebody else goes on with the run, or it cannot be written now; what was said is in the session.
            Err(error) => {
                tracing::warn!(%error, "events of a run were not written");
                continue;
            }
        }
        last.send_replace(next - 1);
    }
}

/// Pieces of a reply that follow each other are one.
fn joined(told: impl Iterator<Item = Told>) -> Vec<Told> {
    let mut joined: Vec<Told> = Vec::new();
    for told in told {
        match (joined.last_mut(), told) {
            (Some(Told::Event(Event::ReplyText { text })), Told::Event(Event::ReplyText { text: more }))
            | (Some(Told::Event(Event::ReplyThinking { text })), Told::Event(Event::ReplyThinking { text: more }))
                if text.len() + more.len() < LONGEST / 2 =>
            {
                text.push_str(&more);
            }
            (_, told) => joined.push(told),
        }
    }
    joined
}

fn text(told: &Told) -> String {
    let text = serde_json::to_string(told).unwrap_or_default();
    if text.len() <= LONGEST {
        return text;
    }
    let kind = serde_json::to_value(told).ok().and_then(|value| value.get("event").cloned()).unwrap_or_default();
    serde_json::json!({ "event": kind, "omitted": text.len() }).to_string()
}
