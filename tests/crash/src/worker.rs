//! The process that is killed: it goes on with the conversation where the last one died.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use palisade_agent::{
    Account, Agent, Batch, Budget, Cancellation, Delegation, Entry, Journal, LOCAL_TENANT, Leased, NewRun, NewSession,
    Outcome, Quiet, Run, RunEnd, RunLimits, RunState, SessionKey, Spending, Store, StoreError, Transcript, at_instants,
};

use crate::{
    chores, crew,
    plan::{Planner, TASK, TASKS, WORKER, markers},
};

/// What to work on, and when to die.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder with the database and the marks.
    #[arg(long)]
    folder: PathBuf,
    /// Die at this instant.
    #[arg(long)]
    at: Option<String>,
    /// When it is passed for this time, counted from one.
    #[arg(long, default_value_t = 1)]
    pass: u64,
}

/// The one session of a folder.
pub(crate) const SESSION: &str = "crash";

/// How many entries are read at once.
pub(crate) const PAGE: usize = 1000;

struct Fate {
    instant: String,
    pass: u64,
}

static FATE: OnceLock<Fate> = OnceLock::new();
static PASSED: AtomicU64 = AtomicU64::new(0);

/// Dies as a process dies that is killed: at once, and nothing is tidied up.
fn die_if_fated(instant: &'static str) {
    let Some(fate) = FATE.get().filter(|fate| fate.instant == instant) else { return };
    if PASSED.fetch_add(1, Ordering::SeqCst) + 1 == fate.pass {
        // Should the signal be late, nothing more may happen.
        let _sent = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        std::thread::park();
    }
}

/// Says that something is acknowledged: what the checker must find from now on.
pub(crate) fn acknowledge(what: &str) {
    // Whoever reads may have seen enough and be gone.
    drop(writeln!(io::stdout(), "{what}").and_then(|()| io::stdout().flush()));
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(instant) = &arguments.at {
        let fate = Fate { instant: instant.clone(), pass: arguments.pass };
        let _first = FATE.set(fate);
    }
    at_instants(die_if_fated);
    acknowledge("started");
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work(arguments))
}

async fn work(arguments: &Arguments) -> anyhow::Result<()> {
    let store: Arc<dyn Store> = Arc::new(palisade_store::Sqlite::open(arguments.folder.join("palisade.db")).await?);
    let key = SessionKey::new(LOCAL_TENANT, SESSION);
    match store.session(&key).await {
        Ok(_) => {}
        Err(StoreError::NoSession(_)) => {
            let id = Some(SESSION.to_owned());
            store.create(NewSession { id, ..NewSession::with(LOCAL_TENANT, "worker") }).await?;
        }
        Err(error) => return Err(error.into()),
    }
    acknowledge("session");
    chores::all(store.as_ref()).await?;
    let hub = crew::hub(&store, arguments.folder.clone());
    let work = Work { folder: &arguments.folder, store: &store, key: &key, hub: &hub };
    loop {
        let last = store.last_run(&key).await?;
        let open = last.filter(|run| matches!(run.state, RunState::Open { .. }));
        let transcript = transcript(store.as_ref(), &key).await?;
        let is_task = |entry: &&Entry| matches!(entry, Entry::User { text } if text.starts_with(TASK));
        let tasks = transcript.entries().iter().filter(is_task).count();
        let todo = match open {
            Some(run) => Todo::LeftBehind(run.id),
            // An answer that has come is a turn of its own.
            None => match hub.next_callback(&key).await? {
                Some(answer) => Todo::New(answer.text, Some(answer.id)),
                None if tasks >= TASKS => {
                    acknowledge("over");
                    return Ok(());
                }
                None => Todo::New(format!("{TASK}{}", tasks + 1), None),
            },
        };
        work.one_run(transcript, todo).await?;
    }
}

struct Work<'a> {
    folder: &'a Path,
    store: &'a Arc<dyn Store>,
    key: &'a SessionKey,
    hub: &'a Arc<Delegation>,
}

/// What a run is about.
enum Todo {
    /// The run that the last process left behind.
    LeftBehind(String),
    /// Something new, maybe from the queue.
    New(String, Option<String>),
}

impl Work<'_> {
    async fn one_run(&self, mut transcript: Transcript, todo: Todo) -> anyhow::Result<()> {
        let Self { folder, store, key, hub } = self;
        let (owner, lasts) = (palisade_store::this_process().to_owned(), Duration::from_secs(30));
        let agent = Agent {
            budget: RunLimits { steps: Some(50), time: Some(Duration::from_secs(60)), ..RunLimits::default() },
            ..Agent::new(WORKER, "Leaves marks.")
        };
        let (lease, calls, spent) = match todo {
            Todo::LeftBehind(run) => {
                let record = store.run(&key.tenant, &run).await?;
                let lease = store.claim(&key.tenant, &run, &owner, lasts).await?;
                (lease, store.calls(&key.tenant, &run).await?, record.spending)
            }
            Todo::New(text, queued) => {
                let after = Some(transcript.entries().len() as u64);
                let entries = transcript.take_up(&text, &[]);
                let prints: Vec<String> = entries.iter().map(fingerprint).collect();
                let (agent, model, budget) = (agent.name.clone(), "planner".to_owned(), Budget::default());
                let session = SessionKey::clone(key);
                let (parent, parent_call) = (None, None);
                let new =
                    NewRun { session, agent, model, parent, parent_call, queued, entries, after, budget, owner, lasts };
                let lease = store.begin(new).await?;
                prints.iter().for_each(|print| acknowledge(&format!("entry {print}")));
                (lease, Vec::new(), Spending::default())
            }
        };
        let account = Account::open(agent.budget());
        let toolbox = markers(folder, crew::tools(hub, &agent, &lease.run, &account))?;
        let journal = Acknowledging(Leased::new(Arc::clone(store), lease));
        let planner = Planner::of(&agent.name);
        let run = Run::new(&agent, &planner, &toolbox, &Quiet, Cancellation::never(), transcript);
        let mut run = run.written_to(&journal).after(calls, spent).drawing_from(account);
        match run.resume().await {
            Ok(Outcome::Answered(_)) => acknowledge("answered"),
            other => anyhow::bail!("the run ended as it should not: {other:?}"),
        }
        Ok(())
    }
}

/// Everything that was said, read in pages.
pub(crate) async fn transcript(store: &dyn Store, key: &SessionKey) -> Result<Transcript, StoreError> {
    let mut entries = Vec::new();
    loop {
        let page = store.entries(key, entries.len() as u64, PAGE).await?;
        if page.is_empty() {
            return Ok(Transcript::of(entries));
        }
        entries.extend(page.into_iter().map(|numbered| numbered.entry));
    }
}

/// A journal that says aloud what it was told is written.
struct Acknowledging(Leased);

#[async_trait]
impl Journal for Acknowledging {
    async fn record(&self, batch: Batch) -> Result<(), StoreError> {
        let entries: Vec<String> = batch.entries.iter().map(fingerprint).collect();
        let results: Vec<String> = batch.results.iter().map(|(id, _)| id.clone()).collect();
        self.0.record(batch).await?;
        entries.iter().for_each(|print| acknowledge(&format!("entry {print}")));
        results.iter().for_each(|id| acknowledge(&format!("result {id}")));
        Ok(())
    }

    async fn end(&self, end: RunEnd) -> Result<(), StoreError> {
        self.0.end(end).await?;
        acknowledge("end");
        Ok(())
    }
}

/// What an entry is, in few letters.
pub(crate) fn fingerprint(entry: &Entry) -> String {
    let text = serde_json::to_string(entry).unwrap_or_default();
    blake3::hash(text.as_bytes()).to_hex().chars().take(16).collect()
}
