//! A program that is kept: it is spoken to over its standard input and output for as long as somebody holds it, behind the
//! same walls as one that runs once.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    fs::File,
    io,
    net::Shutdown,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    sync::{Arc, Condvar, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use palisade_grants::{FilesGrant, WorkspacePath};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};

use super::{
    Programs,
    plan::{Plan, Word},
    start::{Scratch, Worker, end, hand_over, pipe, unblocked},
};

/// What is kept of standard error: the end of it.
const TAIL: usize = 4 << 10;
/// What the worker says is short.
const WORDS: usize = 64 << 10;
/// Whoever has closed its output has ended a moment later.
const MOMENT: Duration = Duration::from_secs(1);
/// Processor time of each process, in seconds. It has all the time there is, but a loop should end some day.
const SECONDS: u64 = 24 * 60 * 60;

/// A program that may be kept, and in what.
pub(crate) struct ToKeep<'a> {
    pub(crate) program: &'a str,
    pub(crate) arguments: &'a [String],
    pub(crate) env: BTreeMap<String, String>,
    /// The open workspace and what may be done in it.
    pub(crate) workspace: Option<(&'a File, &'a FilesGrant)>,
}

/// A native program that runs behind walls until this is dropped; then none of its processes is left.
pub struct KeptProgram {
    control: UnixStream,
    pipes: Option<(OwnedFd, OwnedFd)>,
    heard: Arc<Hearing>,
    keeper: Option<thread::JoinHandle<()>>,
}

/// What was heard of it beside what it prints.
#[derive(Default)]
struct Heard {
    errors: VecDeque<u8>,
    words: Vec<u8>,
    /// Nothing more will be heard.
    is_over: bool,
}

#[derive(Default)]
struct Hearing {
    heard: Mutex<Heard>,
    over: Condvar,
}

/// What the thread that stays with it hands out once it is started.
struct Begun {
    control: UnixStream,
    pipes: (OwnedFd, OwnedFd),
}

/// Starts a program.
pub(crate) fn keep(programs: &Programs, asked: &ToKeep<'_>) -> io::Result<KeptProgram> {
    if !cfg!(target_os = "linux") {
        return Err(io::Error::other("programs can be confined on Linux alone, so none is run here"));
    }
    let scratch = Scratch::make(programs, asked.workspace.map(|(root, _)| root))?;
    let plan = plan(programs, asked, &scratch).encode()?;
    let root = asked.workspace.map(|(root, _)| root.try_clone()).transpose()?;
    let heard = Arc::new(Hearing::default());
    let (sender, begun) = mpsc::channel();
    let (worker, own) = (programs.worker.clone(), Arc::clone(&heard));
    // The worker ends with the thread that started it, so that one stays.
    let keeper = thread::Builder::new().name("kept program".to_owned()).spawn(move || {
        let started = Worker::start(&worker).and_then(|worker| {
            let begun = begin(&worker, &plan, root.as_ref())?;
            Ok((worker, begun))
        });
        match started {
            Ok((mut worker, begun)) => {
                if sender.send(Ok(begun)).is_ok() {
                    listen(&worker, &own.heard);
                }
                own.heard.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
                own.over.notify_all();
                drop(worker.control.shutdown(Shutdown::Both));
                drop(end(&mut worker.child));
            }
            Err(error) => drop(sender.send(Err(error))),
        }
        drop(scratch);
    })?;
    let begun = begun.recv().unwrap_or_else(|_| Err(io::Error::other("its thread ended early")));
    match begun {
        Ok(Begun { control, pipes }) => Ok(KeptProgram { control, pipes: Some(pipes), heard, keeper: Some(keeper) }),
        Err(error) => {
            drop(keeper.join());
            Err(error)
        }
    }
}

fn begin(worker: &Worker, plan: &[u8], root: Option<&File>) -> io::Result<Begun> {
    let (input, written) = pipe()?;
    // A worker that is gone already has said why, or its silence says it.
    drop(hand_over(&worker.control, plan, &input, root.map(|root| root.as_fd())));
    Ok(Begun { control: worker.control.try_clone()?, pipes: (written, worker.output.try_clone()?) })
}

fn plan(programs: &Programs, asked: &ToKeep<'_>, scratch: &Scratch) -> Plan {
    let mut env = asked.env.clone();
    env.entry("LANG".to_owned()).or_insert_with(|| "C.UTF-8".to_owned());
    Plan {
        program: asked.program.to_owned(),
        arguments: asked.arguments.to_vec(),
        env,
        workspace: asked.workspace.is_some(),
        files: asked.workspace.map(|(_, files)| files.clone()).unwrap_or_default(),
        directory: WorkspacePath::ROOT,
        folder: None,
        scratch: scratch.path().to_owned(),
        search: programs.search(),
        read: programs.read.iter().chain(&programs.path).cloned().collect(),
        network: programs.network,
        namespaces: programs.namespaces,
        seconds: SECONDS,
        memory: programs.memory,
    }
}

/// Hears what is said on standard error and by the worker until the worker is gone, or the other end has shut down.
fn listen(worker: &Worker, heard: &Mutex<Heard>) {
    let errors = worker.errors.try_clone().and_then(unblocked);
    let control = worker.control.try_clone().map(OwnedFd::from).and_then(unblocked);
    let (Ok(errors), Ok(control)) = (errors, control) else { return };
    let mut is_open = true;
    loop {
        let mut polled = vec![PollFd::new(&control, PollFlags::IN)];
        polled.extend(is_open.then(|| PollFd::new(&errors, PollFlags::IN)));
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        is_open = is_open
            && hear(&errors, |bytes| {
                heard.errors.extend(bytes);
                let excess = heard.errors.len().saturating_sub(TAIL);
                drop(heard.errors.drain(..excess));
            });
        let goes_on = hear(&control, |bytes| {
            let room = WORDS.saturating_sub(heard.words.len()).min(bytes.len());
            heard.words.extend_from_slice(bytes.get(..room).unwrap_or_default());
        });
        if !goes_on {
            return;
        }
    }
}

/// Takes what is there; says whether more may come.
fn hear(pipe: &OwnedFd, mut take: impl FnMut(&[u8])) -> bool {
    let mut buffer = [0; 8 << 10];
    match rustix::io::read(pipe, &mut buffer) {
        Ok(0) => false,
        Ok(read) => {
            take(buffer.get(..read).unwrap_or_default());
            true
        }
        Err(Errno::AGAIN | Errno::INTR) => true,
        Err(_) => false,
    }
}

impl KeptProgram {
    /// Where its standard input is written and its standard output read. Given once.
    pub fn pipes(&mut self) -> Option<(OwnedFd, OwnedFd)> {
        self.pipes.take()
    }

    /// Why it is not there, as far as anybody has said it, and what it wrote on standard error last. Waits a moment for
    /// one that is about to end.
    pub fn last_words(&self) -> String {
        let heard = self.heard.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.heard.over.wait_timeout_while(heard, MOMENT, |heard| !heard.is_over);
        let (heard, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let words = heard.words.split(|byte| *byte == b'\n').filter_map(|word| serde_json::from_slice(word).ok());
        let ended: Vec<String> = words.filter_map(ended).collect();
        let (front, back) = heard.errors.as_slices();
        let errors = String::from_utf8_lossy(&[front, back].concat()).trim().to_owned();
        let errors = (!errors.is_empty()).then(|| format!("on standard error: {errors}"));
        ended.into_iter().chain(errors).collect::<Vec<_>>().join("; ")
    }
}

fn ended(word: Word) -> Option<String> {
    match word {
        Word::Walls(_) => None,
        Word::Code(code) => Some(format!("it ended with exit code {code}")),
        Word::Signal(signal) => Some(format!("the signal {signal} ended it")),
        Word::Memory => Some("it used more memory than it may have and was ended".to_owned()),
        Word::Denied(why) | Word::Failed(why) => Some(why),
    }
}

impl Drop for KeptProgram {
    fn drop(&mut self) {
        // The worker hears this, and ends whatever is there.
        drop(self.control.shutdown(Shutdown::Both));
        if let Some(keeper) = self.keeper.take() {
            drop(keeper.join());
        }
    }
}

impl fmt::Debug for KeptProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptProgram").finish_non_exhaustive()
    }
}
