//! One process that guests run in, from start to end, and the calls in it.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    io::{self, Write as _},
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use palisade_grants::FilesGrant;

use super::{
    MARGIN,
    live::{Live, within},
    protocol::{self, Ask, Blob, MAX_WORD, Order, Told, Word},
    start::{self, Plan, Scratch},
};
use crate::{
    Call, Failure, Report,
    component::Digest,
    host::Host,
    sandbox::GRACE,
    scope::{self, LinkedTool, Tools},
};

/// A process that guests run in. It ends when this is dropped.
pub(crate) struct Room {
    shared: Arc<Shared>,
    process: u32,
    /// Started the process, hears it, and sees it end.
    keeper: Option<thread::JoinHandle<()>>,
}

/// What the keeper and the calls share.
pub(super) struct Shared {
    socket: UnixStream,
    writer: Mutex<UnixStream>,
    state: Mutex<State>,
    told: Mutex<HaveTold>,
    next: AtomicU64,
}

#[derive(Default)]
struct State {
    calls: HashMap<u64, Listed>,
    /// Why it is to end.
    reason: Option<String>,
    /// How it ended.
    ended: Option<String>,
}

struct Listed {
    inbox: SyncSender<Heard>,
    /// Whoever waits for the call has it.
    live: Weak<Live>,
}

enum Heard {
    Ask { depth: u32, ask: u64, what: Ask },
    Done(Report),
}

/// What the process knows already.
#[derive(Default)]
struct HaveTold {
    code: HashSet<Digest>,
    /// The tools of each scope, each with the number that tells it from an earlier one of its name.
    scopes: HashMap<u64, HashMap<String, u64>>,
}

/// How long a process may take to put up its walls.
const START: Duration = Duration::from_secs(20);
/// How often a call that waits looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(10);
/// A guest waits for one answer at a time, so no call has more to say at once.
const INBOX: usize = 2;

impl Room {
    /// Starts a process; it is there when this returns. The error is shown.
    pub(super) fn start(plan: Plan) -> Result<Self, String> {
        if !cfg!(target_os = "linux") {
            return Err("the walls around it can be put up on Linux alone".to_owned());
        }
        let (socket, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
        let (started, hears) = sync_channel(1);
        let own = socket.try_clone().map_err(|error| error.to_string())?;
        // The kernel ends the process together with the thread that started it.
        let keeper =
            thread::Builder::new().name("palisade-runner".to_owned()).spawn(move || keep(&plan, own, theirs, &started));
        let keeper = keeper.map_err(|error| format!("no thread can be started: {error}"))?;
        match hears.recv_timeout(START) {
            Ok(Ok((shared, process))) => Ok(Self { shared, process, keeper: Some(keeper) }),
            Ok(Err(why)) => Err(why),
            Err(_) => {
                // Wakes the keeper, which ends the process.
                drop(socket.shutdown(Shutdown::Both));
                Err(format!("it was not ready within {} seconds", START.as_secs()))
            }
        }
    }

    pub(super) fn process(&self) -> u32 {
        self.process
    }

    /// Whether calls can be made.
    pub(super) fn is_there(&self) -> bool {
        let state = self.shared.state();
        state.reason.is_none() && state.ended.is_none()
    }

    /// A scope is no more.
    pub(super) fn close(&self, scope: u64) {
        if self.shared.told().scopes.remove(&scope).is_some() {
            // If it is gone, so is the scope.
            drop(self.shared.say(&Order::Close { scope }));
        }
    }

    /// Calls a tool of a scope, serves what its guests ask for, and waits for the end.
    pub(super) fn call(
        &self,
        scope: u64,
        files: &FilesGrant,
        tool: &LinkedTool,
        tools: &Tools,
        input: &str,
        call: &Call,
    ) -> Report {
        let shared = &self.shared;
        let Some((name, tool)) = scope::named(tools, tool) else {
            return Report::failed(Failure::Host { reason: "the tool is not in its scope any more".to_owned() });
        };
        if let Err(failure) = shared.tell(scope, files, &name, &tool, tools) {
            return Report::failed(failure);
        }
        let limits = tool.limits;
        let live = Arc::new(Live::begin(tool, tools, call));
        let (inbox, heard) = sync_channel(INBOX);
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        {
            let mut state = shared.state();
            if let Some(how) = state.ended.clone().or(state.reason.clone()) {
                return Report::failed(Failure::RunnerEnded { how });
            }
            state.calls.insert(number, Listed { inbox, live: Arc::downgrade(&live) });
        }
        let is_watched = call.progress().is_some();
        let (tool, input) = (name, input.to_owned());
        if let Err(error) = shared.say(&Order::Call { call: number, scope, tool, input, is_watched }) {
            shared.end(format!("it does not take calls: {error}"));
        }
        let waiting = Waiting {
            shared,
            number,
            live: &live,
            heard: &heard,
            end: Instant::now() + limits.call_time + GRACE + MARGIN,
        };
        match waiting.wait(call) {
            Ended::Report(report) => match within(*report, &limits) {
                Ok(mut report) => {
                    // Whoever cancelled does not want the result, even if it was there before the guest heard of it.
                    if call.is_cancelled() {
                        report.outcome = Err(Failure::Cancelled);
                    }
                    for denial in live.denials() {
                        Host::deny(&mut report.denials, denial);
                    }
                    report
                }
                Err(why) => {
                    shared.end(why);
                    Report::failed(shared.ended())
                }
            },
            Ended::Lost => Report::failed(shared.ended()),
            Ended::TooLate => {
                shared.end("it did not end a call".to_owned());
                Report::failed(Failure::OutOfTime { limit: limits.call_time })
            }
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.shared.end("nobody needs it".to_owned());
        // It is killed, so this does not take long; its scratch folder is gone afterwards. If the last to let go is the
        // keeper itself, it sees to that next.
        if let Some(keeper) = self.keeper.take().filter(|keeper| keeper.thread().id() != thread::current().id()) {
            drop(keeper.join());
        }
    }
}

/// One call on its way.
struct Waiting<'a> {
    shared: &'a Shared,
    number: u64,
    live: &'a Live,
    heard: &'a Receiver<Heard>,
    /// If it is not back then, the process is ended.
    end: Instant,
}

enum Ended {
    Report(Box<Report>),
    Lost,
    TooLate,
}

impl Waiting<'_> {
    fn wait(mut self, call: &Call) -> Ended {
        let mut is_told = false;
        loop {
            match self.heard.recv_timeout(LOOK) {
                Ok(Heard::Done(report)) => return Ended::Report(Box::new(report)),
                Ok(Heard::Ask { depth, ask, what }) => {
                    let said = self.live.answer(depth, what).and_then(|answer| {
                        self.shared.say(&Order::Answer { ask, answer }).map_err(|error| error.to_string())
                    });
                    if let Err(why) = said {
                        self.shared.end(why);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ended::Lost,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if call.is_cancelled() && !is_told {
                is_told = true;
                self.end = self.end.min(Instant::now() + GRACE + MARGIN);
                drop(self.shared.say(&Order::Cancel { call: self.number }));
            }
            if Instant::now() >= self.end {
                return Ended::TooLate;
            }
        }
    }
}

impl Shared {
    fn new(socket: &UnixStream, code: Vec<Digest>) -> Result<Self, String> {
        let clone = || socket.try_clone().map_err(|error| format!("it cannot be spoken to: {error}"));
        let told = HaveTold { code: code.into_iter().collect(), scopes: HashMap::new() };
        let (state, told, next) = (Mutex::default(), Mutex::new(told), AtomicU64::new(1));
        Ok(Self { socket: clone()?, writer: Mutex::new(clone()?), state, told, next })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self) -> MutexGuard<'_, HaveTold> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn say(&self, order: &Order) -> io::Result<()> {
        let frame = protocol::frame(order)?;
        let written = self.writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(&frame);
        if written.is_err() {
            // Half a message is no message, and nothing can follow it.
            self.end("it does not listen".to_owned());
        }
        written
    }

    /// Has the process end, for a reason that its calls are told.
    pub(super) fn end(&self, reason: String) {
        self.state().reason.get_or_insert(reason);
        drop(self.socket.shutdown(Shutdown::Both));
    }

    /// How it ended, which may take a moment to be known.
    fn ended(&self) -> Failure {
        let end = Instant::now() + Duration::from_secs(1);
        loop {
            let how = self.state().ended.clone();
            match how {
                Some(how) => return Failure::RunnerEnded { how },
                None if Instant::now() < end => thread::sleep(Duration::from_millis(1)),
                None => return Failure::RunnerEnded { how: "it hangs".to_owned() },
            }
        }
    }

    /// Tells the process what it has to know for a call: the folders, the tool, and those that it calls.
    fn tell(
        &self,
        scope: u64,
        files: &FilesGrant,
        name: &str,
        tool: &Arc<LinkedTool>,
        tools: &Tools,
    ) -> Result<(), Failure> {
        let mut told = self.told();
        let lost = |error: io::Error| Failure::RunnerEnded { how: error.to_string() };
        if let Entry::Vacant(untold) = told.scopes.entry(scope) {
            self.say(&Order::Open { scope, files: written(files)? }).map_err(lost)?;
            untold.insert(HashMap::new());
        }
        let mut waiting = vec![(name.to_owned(), Arc::clone(tool))];
        while let Some((name, tool)) = waiting.pop() {
            if told.scopes.get(&scope).and_then(|tools| tools.get(&name)) == Some(&tool.number) {
                continue;
            }
            let digest = tool.compiled.digest();
            if !told.code.contains(&digest) {
                let code = tool.compiled.code();
                let code = code.map_err(|error| Failure::Host { reason: format!("{error:#}") })?;
                self.say(&Order::Code { digest, code: Blob(code) }).map_err(lost)?;
                told.code.insert(digest);
            }
            let grants = &tool.grants;
            let described = Told {
                digest,
                entry: tool.entry.clone(),
                limits: tool.limits,
                files: written(&grants.files)?,
                storage: tool.storage.as_ref().map(|space| space.grant.bytes).filter(|_| grants.storage.is_some()),
                process: !grants.commands.is_empty(),
                http: tool.web.is_some(),
                package: tool.package.clone(),
            };
            self.say(&Order::Add { scope, name: name.clone(), tool: Box::new(described) }).map_err(lost)?;
            told.scopes.entry(scope).or_default().insert(name, tool.number);
            let commands = tool.commands.values().filter_map(|offered| offered.linked());
            let called = tool.compiled.needs().toolbox.iter().map(String::as_str).chain(commands);
            waiting.extend(called.filter_map(|name| Some((name.to_owned(), scope::find(tools, name)?))));
        }
        Ok(())
    }

    /// Takes what the process says. An error is something that it may not say, and its end.
    fn hear(self: &Arc<Self>, word: Word) -> Result<(), String> {
        match word {
            Word::Ready(_) | Word::Refused(_) => Err("it began twice".to_owned()),
            Word::Done { call, report } => {
                let entry = self.state().calls.remove(&call).ok_or("it ended a call that nobody made")?;
                entry.inbox.try_send(Heard::Done(report)).map_err(|_| "it said too much at once".to_owned())
            }
            Word::Ask { call, depth, ask, what } => {
                let (inbox, live) = match self.state().calls.get(&call) {
                    Some(entry) => (entry.inbox.clone(), entry.live.upgrade()),
                    // A request goes on beside its guest, and may not have noticed that it is over.
                    None if matches!(what, Ask::Web(_)) => return Ok(()),
                    None => return Err("it asked for a call that nobody made".to_owned()),
                };
                match what {
                    Ask::Web(what) => live.map_or(Ok(()), |live| live.request(self, depth, ask, what)),
                    what => inbox
                        .try_send(Heard::Ask { depth, ask, what })
                        .map_err(|_| "it asked too much at once".to_owned()),
                }
            }
        }
    }
}

fn written(files: &FilesGrant) -> Result<String, Failure> {
    serde_json::to_string(files).map_err(|error| Failure::Host { reason: error.to_string() })
}

type Started = Result<(Arc<Shared>, u32), String>;

/// The keeper's whole life: start the process, hear it, see it end.
fn keep(plan: &Plan, socket: UnixStream, theirs: UnixStream, started: &SyncSender<Started>) {
    let failed = |why: String| drop(started.send(Err(why)));
    let scratch = plan.writes.then(|| Scratch::make(plan)).flatten();
    let mut child = match start::start(&plan.worker, theirs) {
        Ok(child) => child,
        Err(error) => return failed(format!("it cannot be started: {error}")),
    };
    let begun = start::begin(plan, &socket, scratch.as_ref());
    let begun = begun.and_then(|(code, reader)| Ok((Arc::new(Shared::new(&socket, code)?), reader)));
    let (shared, mut reader) = match begun {
        Ok(begun) => begun,
        Err(why) => {
            let _ = start::end(&mut child, false);
            return failed(why);
        }
    };
    if started.send(Ok((Arc::clone(&shared), child.id()))).is_err() {
        let _ = start::end(&mut child, false);
        return;
    }
    let why = loop {
        match protocol::read(&mut reader, MAX_WORD) {
            Ok(Some(word)) => match shared.hear(word) {
                Ok(()) => {}
                Err(why) => break Some(why),
            },
            Ok(None) => break None,
            Err(protocol::FrameError::Lost(_)) => break None,
            Err(error) => break Some(format!("it sent {error}")),
        }
    };
    let why = why.or_else(|| shared.state().reason.clone());
    drop(shared.socket.shutdown(Shutdown::Both));
    let status = start::end(&mut child, why.is_none());
    drop(scratch);
    let mut state = shared.state();
    state.ended = Some(why.unwrap_or_else(|| start::in_words(status)));
    // Whoever waits for a call learns of it.
    let calls = std::mem::take(&mut state.calls);
    drop(state);
    drop(calls);
}
