//! One guest, one call, then gone.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::{Duration, Instant},
};

use palisade_grants::Denial;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use wasmtime::{Store, UpdateDeadline, component::ResourceTableError};
use wasmtime_wasi::I32Exit;

use crate::{
    Captured, Failure, Limits, Progress,
    bindings::exports,
    capabilities::absent::Called,
    engine::Slot,
    functions::{Function, TooLong},
    give_way,
    host::Host,
    meter::Refused,
    runner::{self, Remote},
    scope::{self, Code, LinkedTool, Tools},
};

/// Whoever wants a call: can stop it, and may watch its progress. Cheap to clone.
#[derive(Clone, Default)]
pub struct Call {
    cancelled: Option<Arc<Cancel>>,
    progress: Option<Arc<dyn Progress>>,
    /// The host that it is made for, in the process that guests run in.
    asked_by: Option<Remote>,
}

#[derive(Default)]
struct Cancel {
    requested: AtomicBool,
    wake: Notify,
}

/// What a call came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The result, or why there is none.
    pub outcome: Result<String, Failure>,
    /// What it used up.
    pub cost: Cost,
    /// What the sandbox refused while it ran.
    pub denials: Vec<Denial>,
    /// What it printed.
    pub stdout: Captured,
    /// What it printed as errors.
    pub stderr: Captured,
}

/// What a call used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// From start to end.
    pub duration: Duration,
    /// The most linear memory it had, in bytes.
    pub peak_memory: usize,
    /// How often the clock looked at it: one epoch is 10 ms of computing.
    pub epochs: u64,
    /// Bytes written to files.
    pub written: u64,
}

/// After this much longer than its limit, a thread that is stuck in the kernel is left behind.
pub(crate) const GRACE: Duration = Duration::from_millis(250);

impl Call {
    /// A call that can be cancelled.
    pub fn new() -> Self {
        Self { cancelled: Some(Arc::default()), ..Self::default() }
    }

    /// The same, watched.
    pub fn watched_by(self, progress: Arc<dyn Progress>) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// A call that a host in another process asks for.
    pub(crate) fn asked_by(host: Remote, is_watched: bool) -> Self {
        let progress = is_watched.then(|| Arc::new(host.clone()) as Arc<dyn Progress>);
        Self { progress, asked_by: Some(host), ..Self::new() }
    }

    /// The host to ask, for a guest this deep.
    pub(crate) fn host_for(&self, depth: u32) -> Option<Remote> {
        self.asked_by.as_ref().map(|host| host.at(depth))
    }

    /// Stops the call, wherever it is.
    pub fn cancel(&self) {
        if let Some(cancel) = &self.cancelled {
            cancel.requested.store(true, Ordering::Release);
            cancel.wake.notify_waiters();
        }
    }

    /// Stops the call when this is dropped.
    pub(crate) fn ended_when_dropped(&self) -> impl Drop + use<> {
        CancelOnDrop(self.clone())
    }

    pub(crate) fn progress(&self) -> Option<Arc<dyn Progress>> {
        self.progress.clone()
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.as_ref().is_some_and(|cancel| cancel.requested.load(Ordering::Acquire))
    }

    async fn cancelled(&self) {
        let Some(cancel) = &self.cancelled else { return std::future::pending().await };
        let woken = cancel.wake.notified();
        if !self.is_cancelled() {
            woken.await;
        }
    }
}

impl Report {
    pub(crate) fn failed(failure: Failure) -> Self {
        Self {
            outcome: Err(failure),
            cost: Cost::default(),
            denials: Vec::new(),
            stdout: Captured::default(),
            stderr: Captured::default(),
        }
    }
}

/// Runs a tool on one of the sandbox's threads. Dropping the future cancels the call.
pub(crate) async fn call_elsewhere(tool: Arc<LinkedTool>, tools: Tools, input: String, call: Call) -> Report {
    let call = Call { cancelled: call.cancelled.or_else(|| Some(Arc::default())), ..call };
    let cancel_when_dropped = CancelOnDrop(call.clone());
    let slot = match tool.engine.slot().await {
        Ok(slot) => slot,
        Err(failure) => return Report::failed(failure),
    };
    let engine = tool.engine.clone();
    let limit = tool.limits.call_time;
    let patience = limit + GRACE + if tool.apart.is_some() { runner::MARGIN } else { Duration::ZERO };
    let work = engine.runtime().spawn_blocking(move || {
        let _slot = slot;
        run_here(&tool, &tools, &input, &call)
    });
    // A guest stuck in a system call cannot be interrupted; its caller goes on without it.
    let ended = {
        let _timers = engine.runtime().enter();
        tokio::time::timeout(patience, work)
    };
    let report = match ended.await {
        Ok(Ok(report)) => report,
        Ok(Err(_)) => Report::failed(Failure::Host { reason: "the call's thread ended early".to_owned() }),
        Err(_) => Report::failed(Failure::OutOfTime { limit }),
    };
    drop(cancel_when_dropped);
    report
}

struct CancelOnDrop(Call);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Runs a tool on this thread.
pub(crate) fn call_here(tool: &LinkedTool, tools: &Tools, input: &str, call: &Call) -> Report {
    match tool.engine.try_slot() {
        Ok(_slot) => run_here(tool, tools, input, call),
        Err(failure) => Report::failed(failure),
    }
}

/// Runs a tool for another guest, inside what is left of that guest's time and depth.
pub(crate) async fn call_from(caller: &mut Host, tool: &str, input: &str) -> Report {
    let depth = caller.depth + 1;
    let asked = caller.cancelled.host_for(depth);
    let entered = match &asked {
        // The host decides; what is left to find here is what it told of the tool.
        Some(host) => host.enter(tool, input).and_then(|()| {
            let linked = scope::find(&caller.tools, tool).ok_or_else(|| scope::unknown(tool));
            let entered = linked.and_then(|linked| Ok((linked.engine.try_slot()?, linked)));
            entered.map_err(|failure| {
                host.leave();
                Box::new(Report::failed(failure))
            })
        }),
        None => enter(&caller.tools, tool, input, depth),
    };
    let (slot, linked) = match entered {
        Ok(entered) => entered,
        Err(report) => return *report,
    };
    let deadline = caller.deadline.min(Instant::now() + linked.limits.call_time);
    let mut host = linked.host(&caller.tools, &caller.cancelled, depth, deadline);
    host.files.quota = Arc::clone(&caller.files.quota);
    if let (Some(http), Some(callers)) = (&mut host.http, &caller.http) {
        http.share(callers);
    }
    let mut report = run(&linked, host, Ask::Call(input)).await.into_report();
    drop(slot);
    if let Some(host) = asked {
        report.denials.extend(host.leave());
    }
    report
}

/// Decides whether one tool may call another now: it is in scope, the gate lets the input through, and there is room.
pub(crate) fn enter(
    tools: &Tools,
    tool: &str,
    input: &str,
    depth: u32,
) -> Result<(Slot, Arc<LinkedTool>), Box<Report>> {
    let failed = |failure| Box::new(Report::failed(failure));
    let linked = scope::find(tools, tool).ok_or_else(|| failed(scope::unknown(tool)))?;
    if let Some(Err(denial)) = linked.gate.as_ref().map(|gate| gate(input)) {
        return Err(Box::new(Report { denials: vec![denial.clone()], ..Report::failed(Failure::Denied(denial)) }));
    }
    if depth > linked.limits.depth {
        let limit = linked.limits.depth as usize;
        return Err(failed(Failure::TooMany { what: "tools calling tools", limit }));
    }
    let slot = linked.engine.try_slot().map_err(failed)?;
    Ok((slot, linked))
}

/// Asks a tool what it is, on this thread.
pub(crate) fn describe_here(tool: &LinkedTool, tools: &Tools, call: &Call) -> Result<exports::Description, Failure> {
    let _slot = tool.engine.try_slot()?;
    let host = tool.host(tools, call, 0, Instant::now() + tool.limits.call_time);
    match unless_panicked(tool, run(tool, host, Ask::Describe))?.outcome? {
        Answer::Description(description) => Ok(description),
        Answer::Output(_) => Err(Failure::Host { reason: "a description was asked for".to_owned() }),
    }
}

fn run_here(tool: &LinkedTool, tools: &Tools, input: &str, call: &Call) -> Report {
    if let Some(apart) = &tool.apart {
        return apart.call(tool, tools, input, call);
    }
    let host = tool.host(tools, call, 0, Instant::now() + tool.limits.call_time);
    match unless_panicked(tool, run(tool, host, Ask::Call(input))) {
        Ok(ended) => ended.into_report(),
        Err(failure) => Report::failed(failure),
    }
}

/// A panic in a host function is our bug, not a reason to end the process.
fn unless_panicked(tool: &LinkedTool, work: impl Future<Output = Ended> + Send) -> Result<Ended, Failure> {
    let handle = tool.engine.runtime().handle();
    let done = || match tool.engine.settings().gives_way {
        true => give_way::block_on(handle, work),
        false => handle.block_on(work),
    };
    catch_unwind(AssertUnwindSafe(done))
        .map_err(|_| Failure::Host { reason: "a host function panicked; this is a bug".to_owned() })
}

/// A guest that was made and not called.
#[doc(hidden)]
pub struct Held {
    _store: Store<Host>,
    _slot: Slot,
}

pub(crate) fn hold(tool: &LinkedTool, tools: &Tools) -> Result<Held, Failure> {
    let slot = tool.engine.try_slot()?;
    let host = tool.host(tools, &Call::default(), 0, Instant::now() + tool.limits.call_time);
    let mut store = Store::new(tool.engine.wasm(), host);
    set_limits(&mut store, &tool.limits);
    let made = tool.engine.runtime().handle().block_on(async {
        match &tool.code {
            Code::Tool(pre) => pre.instantiate_async(&mut store).await.map(drop),
            Code::Function(function) => function.pre.instantiate_async(&mut store).await.map(drop),
        }
    });
    made.map_err(|error| explain(&error, store.data(), &tool.limits))?;
    Ok(Held { _store: store, _slot: slot })
}

enum Ask<'a> {
    Describe,
    Call(&'a str),
}

enum Answer {
    Description(exports::Description),
    Output(String),
}

/// A call that is over, with what its store still knew.
struct Ended {
    outcome: Result<Answer, Failure>,
    cost: Cost,
    denials: Vec<Denial>,
    stdout: Captured,
    stderr: Captured,
}

impl Ended {
    fn into_report(self) -> Report {
        let outcome = self.outcome.and_then(|answer| match answer {
            Answer::Output(text) => Ok(text),
            Answer::Description(_) => Err(Failure::Host { reason: "an output was asked for".to_owned() }),
        });
        Report { outcome, cost: self.cost, denials: self.denials, stdout: self.stdout, stderr: self.stderr }
    }
}

/// The life of one guest: a fresh store with every limit set, one call, and the store is dropped.
async fn run(tool: &LinkedTool, host: Host, ask: Ask<'_>) -> Ended {
    let started = Instant::now();
    let limits = &tool.limits;
    let (deadline, call) = (host.deadline, host.cancelled.clone());
    let mut store = Store::new(tool.engine.wasm(), host);
    set_limits(&mut store, limits);
    let outcome = {
        let mut work = pin!(answer(tool, &mut store, ask));
        match poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await {
            Poll::Ready(outcome) => outcome,
            // Only a guest that waits needs a timer; most never do.
            Poll::Pending => tokio::select! {
                biased;
                outcome = work => outcome,
                () = tokio::time::sleep_until(deadline.into()) => Err(wasmtime::Error::from(Stop::Deadline)),
                () = call.cancelled() => Err(wasmtime::Error::from(Stop::Cancelled)),
            },
        }
    };
    // Whoever cancelled does not want the result, even if it was there before the guest noticed.
    let outcome = if call.is_cancelled() { Err(Stop::Cancelled.into()) } else { outcome };
    let mut host = store.into_data();
    if let Some(denial) = host.files.refused_write() {
        Host::deny(&mut host.denials, denial);
    }
    for denial in host.http.iter().flat_map(|http| http.denials()) {
        Host::deny(&mut host.denials, denial);
    }
    let outcome = match outcome {
        Ok(outcome) => within_output(outcome, limits),
        Err(error) => Err(explain(&error, &host, limits)),
    };
    let (stdout, stderr) = (host.stdout.take(), host.stderr.take());
    Ended {
        outcome: outcome.map_err(|failure| failure.with_last_words(&stderr)),
        cost: Cost {
            duration: started.elapsed(),
            peak_memory: host.meter.peak_memory(),
            epochs: host.epochs,
            written: host.files.written(),
        },
        denials: host.denials,
        stdout,
        stderr,
    }
}

async fn answer(
    tool: &LinkedTool,
    store: &mut Store<Host>,
    ask: Ask<'_>,
) -> wasmtime::Result<Result<Answer, exports::Failure>> {
    let pre = match &tool.code {
        Code::Tool(pre) => pre,
        Code::Function(function) => return function_answer(function, store, ask, tool.limits.output).await,
    };
    let guest = pre.instantiate_async(&mut *store).await?;
    let exports = guest.palisade_tool_tool();
    Ok(match ask {
        Ask::Describe => Ok(Answer::Description(exports.call_describe(store).await?)),
        Ask::Call(input) => exports.call_call(store, input).await?.map(Answer::Output),
    })
}

/// The same for a function of a component that was not written for Palisade: its types are known only now.
async fn function_answer(
    function: &Function,
    store: &mut Store<Host>,
    ask: Ask<'_>,
    most: usize,
) -> wasmtime::Result<Result<Answer, exports::Failure>> {
    let Ask::Call(input) = ask else { wasmtime::bail!("a function does not describe itself") };
    // Before there is a guest: wrong input costs nothing.
    let parameters = match function.parameters(input) {
        Ok(parameters) => parameters,
        Err(wrong) => return Ok(Err(exports::Failure::InvalidInput(wrong))),
    };
    let guest = function.pre.instantiate_async(&mut *store).await?;
    let Some(called) = guest.get_func(&mut *store, function.index) else {
        wasmtime::bail!("the function is not there")
    };
    let mut results = function.places();
    called.call_async(&mut *store, &parameters, &mut results).await?;
    Ok(function.result(&results, most)?.map(Answer::Output).map_err(exports::Failure::Failed))
}

fn set_limits(store: &mut Store<Host>, limits: &Limits) {
    store.limiter(|host| &mut host.meter);
    store.set_hostcall_fuel(limits.host_call);
    store.set_max_component_handles(limits.handles);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|mut store| {
        let host = store.data_mut();
        host.epochs += 1;
        if host.cancelled.is_cancelled() {
            return Err(Stop::Cancelled.into());
        }
        if Instant::now() >= host.deadline {
            return Err(Stop::Deadline.into());
        }
        Ok(UpdateDeadline::Yield(1))
    });
}

/// Why the host ended a guest.
#[derive(Clone, Copy, Debug, thiserror::Error)]
enum Stop {
    #[error("out of time")]
    Deadline,
    #[error("cancelled")]
    Cancelled,
}

fn within_output(outcome: Result<Answer, exports::Failure>, limits: &Limits) -> Result<Answer, Failure> {
    match outcome {
        Ok(Answer::Output(text)) if text.len() > limits.output => Err(Failure::OutputTooLarge { limit: limits.output }),
        Ok(answer) => Ok(answer),
        Err(exports::Failure::InvalidInput(text)) => Err(Failure::InvalidInput(clip(text, limits))),
        Err(exports::Failure::Denied(text)) => Err(Failure::Refused(clip(text, limits))),
        Err(exports::Failure::Failed(text)) => Err(Failure::Failed(clip(text, limits))),
    }
}

fn clip(mut text: String, limits: &Limits) -> String {
    text.truncate(text.floor_char_boundary(limits.output));
    text
}

/// Finds out why a guest ended without an answer.
fn explain(error: &wasmtime::Error, host: &Host, limits: &Limits) -> Failure {
    match error.downcast_ref::<Stop>() {
        Some(Stop::Deadline) => return Failure::OutOfTime { limit: limits.call_time },
        Some(Stop::Cancelled) => return Failure::Cancelled,
        None => {}
    }
    if error.downcast_ref::<TooLong>().is_some() {
        return Failure::OutputTooLarge { limit: limits.output };
    }
    if let Some(called) = error.downcast_ref::<Called>() {
        return Failure::Trap { reason: called.to_string() };
    }
    if let Some(I32Exit(code)) = error.downcast_ref::<I32Exit>() {
        return Failure::Trap { reason: format!("it called exit({code}) instead of returning") };
    }
    let text = format!("{error:#}");
    match host.meter.refused() {
        Some(Refused::Memory) => return Failure::OutOfMemory { what: "memory", limit: limits.memory },
        Some(Refused::Tables) => return Failure::OutOfMemory { what: "table elements", limit: limits.table_elements },
        None => {}
    }
    if error.downcast_ref::<wasmtime::PoolConcurrencyLimitError>().is_some() {
        return Failure::OutOfMemory { what: "instances", limit: limits.instances };
    }
    if text.contains("fuel allocated for hostcalls") {
        return Failure::TooMany { what: "bytes in one host call", limit: limits.host_call };
    }
    if text.contains("store handle limit exceeded") || error.downcast_ref::<ResourceTableError>().is_some() {
        return Failure::TooMany { what: "handles", limit: limits.handles };
    }
    if text.contains("minimum size") || text.contains("resource limit exceeded") {
        return Failure::OutOfMemory { what: "memory, tables or instances", limit: limits.memory };
    }
    Failure::Trap { reason: error.downcast_ref::<wasmtime::Trap>().map_or(text, ToString::to_string) }
}
