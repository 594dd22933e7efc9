//! Asking the host, from the process that guests run in.

use std::{
    collections::HashMap,
    io,
    os::unix::net::UnixStream,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
};

use palisade_grants::{Denial, PermittedKey};
use tokio::sync::oneshot;

use super::protocol::{self, Answer, Ask, Blob, WebAnswer, WebAsk, WebError, Word};
use crate::{
    Failure, Progress, Report, Storage, StorageError,
    bindings::process::{Command, Error, Outcome},
    capabilities::commands::Decided,
};

/// The host of one call, for the guest at one depth. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Remote {
    line: Arc<Line>,
    call: u64,
    depth: u32,
}

/// The way to the host.
pub(super) struct Line {
    writer: Mutex<UnixStream>,
    asked: Mutex<HashMap<u64, Waiter>>,
    next: AtomicU64,
}

/// Who waits for an answer.
enum Waiter {
    Guest(SyncSender<Answer>),
    Request(oneshot::Sender<Answer>),
}

impl Line {
    pub(super) fn new(socket: UnixStream) -> Self {
        Self { writer: Mutex::new(socket), asked: Mutex::default(), next: AtomicU64::new(1) }
    }

    pub(super) fn say(&self, word: &Word) -> io::Result<()> {
        protocol::write(&mut *self.writer.lock().unwrap_or_else(PoisonError::into_inner), word)
    }

    /// Hands an answer to whoever waits for it.
    pub(super) fn answered(&self, ask: u64, answer: Answer) {
        match self.asked.lock().unwrap_or_else(PoisonError::into_inner).remove(&ask) {
            Some(Waiter::Guest(guest)) => drop(guest.try_send(answer)),
            Some(Waiter::Request(request)) => drop(request.send(answer)),
            None => {}
        }
    }

    fn ask(&self, call: u64, depth: u32, what: Ask, waiter: Option<Waiter>) -> io::Result<()> {
        let ask = self.next.fetch_add(1, Ordering::Relaxed);
        if let Some(waiter) = waiter {
            self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(ask, waiter);
        }
        self.say(&Word::Ask { call, depth, ask, what })
    }
}

impl Remote {
    pub(super) fn new(line: Arc<Line>, call: u64) -> Self {
        Self { line, call, depth: 0 }
    }

    /// The same for a guest this deep.
    pub(crate) fn at(&self, depth: u32) -> Self {
        Self { depth, ..self.clone() }
    }

    pub(super) fn number(&self) -> u64 {
        self.line.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Asks and waits. Without a host there is no answer, and soon no process.
    fn ask(&self, what: Ask) -> Option<Answer> {
        self.ask_at(self.depth, what)
    }

    fn ask_at(&self, depth: u32, what: Ask) -> Option<Answer> {
        let (guest, answer) = sync_channel(1);
        self.line.ask(self.call, depth, what, Some(Waiter::Guest(guest))).ok()?;
        answer.recv().ok()
    }

    /// Asks for a request, while the guest does something else.
    pub(super) async fn ask_for_request(&self, what: WebAsk) -> Result<WebAnswer, WebError> {
        let (request, answer) = oneshot::channel();
        let asked = self.line.ask(self.call, self.depth, Ask::Web(what), Some(Waiter::Request(request)));
        match (asked, answer.await) {
            (Ok(()), Ok(Answer::Web(answer))) => answer,
            _ => Err(WebError::Terminated),
        }
    }

    /// Says that nobody wants the rest of a request.
    pub(super) fn forget(&self, request: u64) {
        drop(self.line.ask(self.call, self.depth, Ask::Web(WebAsk::Forget { request }), None));
    }

    /// Asks whether the guest above may call a tool, which then is at this depth.
    pub(crate) fn enter(&self, tool: &str, input: &str) -> Result<(), Box<Report>> {
        let enter = Ask::Enter { tool: tool.to_owned(), input: input.to_owned() };
        match self.ask_at(self.depth.saturating_sub(1), enter) {
            Some(Answer::Entered(Ok(()))) => Ok(()),
            Some(Answer::Entered(Err((failure, denials)))) => {
                Err(Box::new(Report { denials, ..Report::failed(failure) }))
            }
            _ => Err(Box::new(Report::failed(Failure::Host { reason: NO_HOST.to_owned() }))),
        }
    }

    /// The tool at this depth is done. Tells what the host denied it.
    pub(crate) fn leave(&self) -> Vec<Denial> {
        match self.ask(Ask::Leave) {
            Some(Answer::Left(denials)) => denials,
            _ => Vec::new(),
        }
    }

    pub(crate) fn program_names(&self) -> Vec<String> {
        match self.ask(Ask::Programs) {
            Some(Answer::Programs(names)) => names,
            _ => Vec::new(),
        }
    }

    pub(crate) fn run_program(&self, command: &Command) -> (Result<Outcome, Error>, Vec<Denial>) {
        match self.ask(Ask::Run(command.clone())) {
            Some(Answer::Ran(ran, denials)) => (ran, denials),
            _ => (Err(Error::Failed(NO_HOST.to_owned())), Vec::new()),
        }
    }

    /// Has a command of a shell run, or learns which tool it is.
    pub(crate) fn run_command(&self, command: Command) -> Decided {
        match self.ask(Ask::Command(command)) {
            Some(Answer::Ran(ran, denials)) => Decided::Ran(ran, denials),
            Some(Answer::Call { tool, input }) => Decided::Call { tool, input },
            _ => Decided::Ran(Err(Error::Failed(NO_HOST.to_owned())), Vec::new()),
        }
    }
}

const NO_HOST: &str = "the host is gone";

fn lost() -> StorageError {
    StorageError::Failed(NO_HOST.to_owned())
}

/// The spaces are the host's, which knows whose they are.
impl Storage for Remote {
    fn get(&self, _: &str, key: &PermittedKey) -> Result<Option<Vec<u8>>, StorageError> {
        match self.ask(Ask::Get { key: key.as_str().to_owned() }) {
            Some(Answer::Value(value)) => value.map(|value| value.map(|Blob(value)| value)),
            _ => Err(lost()),
        }
    }

    fn set(&self, _: &str, key: &PermittedKey, value: &[u8], _: u64) -> Result<(), StorageError> {
        match self.ask(Ask::Set { key: key.as_str().to_owned(), value: Blob(value.to_vec()) }) {
            Some(Answer::Kept(kept)) => kept,
            _ => Err(lost()),
        }
    }

    fn delete(&self, _: &str, key: &PermittedKey) -> Result<(), StorageError> {
        match self.ask(Ask::Delete { key: key.as_str().to_owned() }) {
            Some(Answer::Kept(kept)) => kept,
            _ => Err(lost()),
        }
    }

    fn keys(&self, _: &str, prefix: &str) -> Result<Vec<String>, StorageError> {
        match self.ask(Ask::Keys { prefix: prefix.to_owned() }) {
            Some(Answer::Keys(keys)) => keys,
            _ => Err(lost()),
        }
    }
}

impl Progress for Remote {
    fn report(&self, message: &str) {
        drop(self.ask(Ask::Progress(message.to_owned())));
    }
}
