//! One piece of work from its beginning to its end, in a task of its own: whatever happens in it, the one that
//! asked gets a report.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::FutureExt as _;
use tokio::{
    sync::{oneshot, watch},
    time::Instant,
};

use super::{
    Delegation, Handle,
    active::Piece,
    order::{Order, WhenBusy},
    place::{Above, Place, Slot},
    refusal::Refusal,
    report::Report,
    telling::{Relay, Telling},
};
use crate::run::BLANK;
use crate::{
    CallRecord, Cancellation, Canceller, Ending, Entry, Equipment, FailureKind, Journal as _, Lease, Leased, NewRun,
    Outcome, Panels, Run, RunEnd, RunError, Seat, Spending, StoreError, Transcript, Usage, Watcher, panel_tools,
    passing,
};

/// Work that was asked for. Dropped before its end, it is cancelled, unless it was left alone.
pub(super) struct Underway {
    begun: oneshot::Receiver<Result<Begun, Refusal>>,
    handle: Handle,
    armed: bool,
}

/// How a piece of work began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    /// Its run goes on, which writes with this right.
    Started(Lease),
    /// It waits for its session to be free.
    Queued,
}

/// What is known of a piece of work while it goes on, and outlives a panic in it.
#[derive(Default)]
struct Stage {
    begun: Mutex<Option<oneshot::Sender<Result<Begun, Refusal>>>>,
    lease: Mutex<Option<Arc<Leased>>>,
    telling: Mutex<Option<Telling>>,
    /// It had to wait for its session, so its answer comes as a turn of its own.
    waited: Mutex<bool>,
}

/// What a run needs: the right to write, what was said, and where in it this turn begins.
struct Opened {
    leased: Arc<Leased>,
    transcript: Transcript,
    turn: usize,
    /// What an earlier process meant to do and what it used up, if this goes on with its run.
    before: (Vec<CallRecord>, Spending),
}

/// What is said of work that broke down.
const BROKE_DOWN: &str = "the run broke down; this is a fault of the program, please report it";

impl Delegation {
    /// Has a piece of work done in a task of its own.
    pub(super) fn start(self: &Arc<Self>, order: Order) -> Underway {
        let (canceller, cancellation) = order.cancellation.branch();
        let (report, reported) = watch::channel(None);
        let (begin, begun) = oneshot::channel();
        let handle = Handle { canceller: canceller.clone(), report: reported };
        self.active.start(Piece {
            task: order.task.clone(),
            tenant: order.asker.session.tenant.clone(),
            parent: order.asker.session.id.clone(),
            call: order.call.clone(),
            agent: order.recruit.agent.name.clone(),
            session: order.session.id.clone(),
            description: crate::event::shorten(&order.description),
            background: order.background,
            handle: handle.clone(),
        });
        let over = Over { hub: Arc::clone(self), task: order.task.clone() };
        let stage = Stage { begun: Mutex::new(Some(begin)), ..Stage::default() };
        tokio::spawn(work(over, order, stage, canceller, cancellation, report));
        Underway { begun, handle, armed: true }
    }

    /// Makes the agent ready, begins its run and sees it through.
    async fn perform(
        self: &Arc<Self>,
        order: &Order,
        stage: &Stage,
        canceller: &Canceller,
        cancellation: &Cancellation,
    ) -> Result<Report, Refusal> {
        let above = Above {
            place: Arc::clone(&order.place),
            session: order.session.clone(),
            name: order.name.clone(),
            messages: order.messages,
        };
        let place = Arc::new(Place::below(order.recruit.agent.clone(), above));
        let mut tools = self.tools_at(&place, order.account.depth(), order.messages);
        let panels = Panels::now(self.store.as_ref(), &order.key()).await?;
        if !panels.is_empty() {
            tools.extend(panel_tools(&self.store, &order.key()));
        }
        let mut equipment = tokio::select! {
            biased;
            () = cancellation.cancelled() => return Err(Refusal::over()),
            () = tokio::time::sleep_until(order.account.deadline()) => return Err(Refusal::over()),
            equipment = self.crew.equip(&order.recruit, &order.asker, tools) => equipment?,
        };
        equipment.surroundings.panels = panels;
        let opened = self.open(order, &equipment, stage, cancellation).await?;
        put(&stage.lease, Arc::clone(&opened.leased));
        let watcher: Arc<dyn Watcher> = Arc::new(Relay::of(order));
        place.sit(Arc::new(seat_below(order, &opened, &equipment, cancellation, &watcher)));
        passing("delegation.before_spawn");
        self.audit_spawn(order, &opened.leased.lease().run).await?;
        passing("delegation.after_spawn");
        put(&stage.telling, Telling::start(order));
        stage.begin(Ok(Begun::Started(opened.leased.lease().clone())));
        let seen = self.see_through(order, opened, &equipment, &place, &watcher, (canceller, cancellation));
        let mut report = seen.await;
        if !matches!(report.ending, Ending::Unwritten(_)) {
            // The run has written down how it ended.
            take(&stage.lease);
        }
        report.warnings = equipment.warnings;
        Ok(report)
    }

    /// Holds the session and writes down what the run begins with.
    async fn open(
        &self,
        order: &Order,
        equipment: &Equipment,
        stage: &Stage,
        cancellation: &Cancellation,
    ) -> Result<Opened, Refusal> {
        if let Some(run) = &order.left {
            return Ok(self.take_over(order, run).await?);
        }
        let id = match &order.when_busy {
            WhenBusy::Queued(id) => id.clone(),
            when_busy => match self.begin(order, equipment, None).await {
                Err(StoreError::Busy { .. }) if *when_busy == WhenBusy::Queue => {
                    let message = order.queued(&self.owner);
                    self.store.enqueue(&message).await?;
                    self.active.leave(&order.task);
                    *stage.waited.lock().unwrap_or_else(PoisonError::into_inner) = true;
                    stage.begin(Ok(Begun::Queued));
                    message.id
                }
                Err(StoreError::Busy { .. }) => {
                    let text = "this agent is at work in that session; wait for it, or start another with `task`";
                    return Err(Refusal { code: "agent_busy", kind: FailureKind::Failed, text: text.to_owned() });
                }
                opened => return Ok(opened?),
            },
        };
        loop {
            self.wait_for_turn(&order.key(), &id, order.account.deadline(), cancellation).await?;
            match self.begin(order, equipment, Some(&id)).await {
                // Somebody else was faster; the next turn is waited for.
                Err(StoreError::Busy { .. }) => tokio::time::sleep(super::POLL).await,
                opened => return Ok(opened?),
            }
        }
    }

    async fn begin(&self, order: &Order, equipment: &Equipment, queued: Option<&str>) -> Result<Opened, StoreError> {
        loop {
            match self.begin_once(order, equipment, queued).await {
                // Another process has said something between the reading and the holding.
                Err(StoreError::Outdated(_)) => {}
                begun => return begun,
            }
        }
    }

    async fn begin_once(
        &self,
        order: &Order,
        equipment: &Equipment,
        queued: Option<&str>,
    ) -> Result<Opened, StoreError> {
        let key = order.key();
        let (mut transcript, known) = self.load(&key).await?;
        let after = Some(transcript.entries().len() as u64);
        let entries = transcript.take_up(&order.text, &known);
        let turn = transcript.entries().len().saturating_sub(1);
        let provider = equipment.provider.as_ref();
        let run = NewRun {
            session: key,
            agent: order.recruit.agent.name.clone(),
            model: format!("{}:{}", provider.name(), provider.model()).trim_end_matches(':').to_owned(),
            parent: order.asker.run.clone(),
            parent_call: Some(order.call.clone()).filter(|call| !call.is_empty()),
            queued: queued.map(str::to_owned),
            entries,
            after,
            budget: order.recruit.budget,
            owner: self.owner.clone(),
            lasts: self.lease,
        };
        let lease = self.store.begin(run).await?;
        let leased = Arc::new(Leased::new(Arc::clone(&self.store), lease));
        Ok(Opened { leased, transcript, turn, before: (Vec::new(), Spending::default()) })
    }

    /// Goes on with a run whose process is gone.
    async fn take_over(&self, order: &Order, run: &str) -> Result<Opened, StoreError> {
        let key = order.key();
        let lease = self.store.claim(&key.tenant, run, &self.owner, self.lease).await?;
        // Read when nobody else writes any more.
        let (transcript, _) = self.load(&key).await?;
        let turn = transcript.entries().iter().rposition(|entry| matches!(entry, Entry::User { .. })).unwrap_or(0);
        let before = (self.store.calls(&key.tenant, run).await?, self.store.run(&key.tenant, run).await?.spending);
        Ok(Opened { leased: Arc::new(Leased::new(Arc::clone(&self.store), lease)), transcript, turn, before })
    }

    /// Runs until the end; a run whose session was taken over is cancelled.
    async fn see_through(
        &self,
        order: &Order,
        opened: Opened,
        equipment: &Equipment,
        place: &Place,
        watcher: &Arc<dyn Watcher>,
        (canceller, cancellation): (&Canceller, &Cancellation),
    ) -> Report {
        let Opened { leased, transcript, turn, before } = opened;
        let work = async {
            // Whoever is cancelled or late while waiting need not be let in: the run ends in its first step.
            tokio::select! {
                biased;
                () = cancellation.cancelled() => {}
                () = tokio::time::sleep_until(order.account.deadline()) => {}
                slot = Slot::free(&order.account, self.limits.live.max(1)) => place.admit(slot),
            }
            let (agent, cancellation) = (&order.recruit.agent, cancellation.clone());
            let provider = equipment.provider.as_ref();
            let run = Run::new(agent, provider, &equipment.toolbox, watcher.as_ref(), cancellation, transcript);
            let run = run.among(equipment.surroundings.clone()).written_to(leased.as_ref());
            let run = run.drawing_from(order.account.clone()).after(before.0, before.1);
            let mut run = match &order.doing {
                Some(task) => run.doing(task),
                None => run,
            };
            let outcome = run.resume().await;
            place.leave();
            (outcome, run.usage(), run.into_transcript())
        };
        tokio::pin!(work);
        let (outcome, usage, transcript) = tokio::select! {
            ended = &mut work => ended,
            _lost = leased.keep_alive() => {
                canceller.cancel();
                work.await
            }
        };
        report(order, outcome, usage, &transcript, turn)
    }
}

/// The whole of a piece of work. Its end is told, its result given and its place in the table freed exactly once.
async fn work(
    over: Over,
    mut order: Order,
    stage: Stage,
    canceller: Canceller,
    cancellation: Cancellation,
    reported: watch::Sender<Option<Arc<Report>>>,
) {
    let since = Instant::now();
    let hub = &over.hub;
    let performed = AssertUnwindSafe(hub.perform(&order, &stage, &canceller, &cancellation)).catch_unwind().await;
    let mut report = match performed {
        Ok(Ok(report)) => report,
        Ok(Err(refusal)) => {
            let report = failed(&order, &refusal.text, refusal.kind);
            stage.begin(Err(refusal));
            report
        }
        Err(_panic) => {
            stage.begin(Err(Refusal::session(BROKE_DOWN)));
            failed(&order, BROKE_DOWN, FailureKind::Crashed)
        }
    };
    report.duration = since.elapsed();
    if !report.is_success() {
        // Whatever the run could not write down itself.
        if let Some(lease) = take(&stage.lease) {
            drop(lease.end(RunEnd { ending: report.ending.clone(), spending: Spending::default() }).await);
        }
    }
    let key = order.key();
    order.keep.settle(hub, &key, report.is_success()).await;
    if let Some(telling) = take(&stage.telling) {
        telling.end(&report);
    }
    let waited = *stage.waited.lock().unwrap_or_else(PoisonError::into_inner);
    if order.calls_back || waited {
        hub.call_back(&order, &report).await;
    }
    passing("delegation.before_report");
    reported.send_replace(Some(Arc::new(report)));
    drop(over);
}

/// A piece of work that will be over when this is dropped.
struct Over {
    hub: Arc<Delegation>,
    task: String,
}

impl Drop for Over {
    fn drop(&mut self) {
        self.hub.active.finish(&self.task);
        self.hub.changed.notify_waiters();
    }
}

impl Stage {
    /// Says how it began, if nobody has said it.
    fn begin(&self, begun: Result<Begun, Refusal>) {
        if let Some(sender) = take(&self.begun) {
            // Whoever asked may be gone.
            drop(sender.send(begun));
        }
    }
}

fn put<T>(cell: &Mutex<Option<T>>, value: T) {
    *cell.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
}

fn take<T>(cell: &Mutex<Option<T>>) -> Option<T> {
    cell.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Underway {
    /// How it began, or why it did not.
    pub(super) async fn begun(&mut self) -> Result<Begun, Refusal> {
        match (&mut self.begun).await {
            Ok(begun) => begun,
            Err(_gone) => Err(Refusal::over()),
        }
    }

    /// Its end.
    pub(super) async fn ended(&mut self) -> Result<Arc<Report>, Refusal> {
        self.handle.ended().await
    }

    /// From now on it goes on whatever becomes of the call that asked for it.
    pub(super) fn leave(mut self) {
        self.armed = false;
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        if self.armed && self.handle.report.borrow().is_none() {
            self.handle.canceller.cancel();
        }
    }
}

/// The seat of the agent that was asked.
fn seat_below(
    order: &Order,
    opened: &Opened,
    equipment: &Equipment,
    cancellation: &Cancellation,
    watcher: &Arc<dyn Watcher>,
) -> Seat {
    let mut chain = order.asker.chain.clone();
    chain.push(order.recruit.agent.name.clone());
    Seat {
        session: order.key(),
        run: Some(opened.leased.lease().run.clone()),
        agent: order.recruit.agent.clone(),
        ceiling: order.recruit.ceiling.clone(),
        account: order.account.clone(),
        cancellation: cancellation.clone(),
        chain,
        messages: order.messages,
        provider: Arc::clone(&equipment.provider),
        watcher: Arc::clone(watcher),
        asker: order.asker.asker.clone(),
        warrant: equipment.toolbox.warrant(),
    }
}

/// The report of a run that came to its end.
fn report(
    order: &Order,
    outcome: Result<Outcome, RunError>,
    usage: Usage,
    transcript: &Transcript,
    turn: usize,
) -> Report {
    let (ending, answer) = match outcome {
        Ok(Outcome::Answered(answer)) => (Ending::Answered, answer),
        Ok(Outcome::Spent(spent)) => (Ending::Spent(spent), String::new()),
        Ok(Outcome::Circling) => (Ending::Circling, String::new()),
        Ok(Outcome::Cancelled) => (Ending::Cancelled, String::new()),
        // An agent that has done its work and has no words for it has done its work.
        Err(RunError::Provider(error)) if error.message == BLANK => (Ending::Answered, String::new()),
        Err(RunError::Unwritten(error)) => (Ending::Unwritten(error.to_string()), String::new()),
        Err(RunError::Unfit { faults }) => (Ending::Unfit(faults), String::new()),
        Err(error) => (Ending::Failed(error.to_string()), String::new()),
    };
    let entries = transcript.entries().get(turn..).unwrap_or_default();
    Report { usage, ..Report::of(order, ending, &answer, entries) }
}

/// The report of work that did not come so far.
fn failed(order: &Order, why: &str, kind: FailureKind) -> Report {
    let ending = match kind {
        FailureKind::Cancelled => Ending::Cancelled,
        _ => Ending::Failed(why.to_owned()),
    };
    Report::of(order, ending, "", &[])
}
