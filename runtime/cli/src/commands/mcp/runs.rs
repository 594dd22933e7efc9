//! Agents that a client lets work: each run is one of `palisade run`, with a session that is kept as its is.

use std::{
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::bail;
use async_trait::async_trait;
use palisade_agent::{Cancellation, Event, Watcher};
use palisade_catalog::{Registry, SharedRegistry, effective};
use palisade_mcp::{AgentOffer, Answer, Runs};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::{
    assemble::{self, Spoken},
    config::Config,
    conversation::{Conversation, Topic},
    database::{self, Database},
    ended::Ended,
    offers,
    outside::{self, Place},
    render::{Terminal, Timeline},
    servers,
    sessions::{self, Elsewhere, Flags, Held, Work},
    settings::Settings,
};

/// How many agents work at once for one client.
const AT_ONCE: usize = 8;

/// Lets agents work in this process.
pub(super) struct LocalRuns {
    workplace: Arc<Workplace>,
    room: Arc<Semaphore>,
    /// Held by each that works.
    working: mpsc::Sender<()>,
}

/// What every run starts from.
pub(super) struct Workplace {
    pub(super) settings: Settings,
    pub(super) terminal: Terminal,
    pub(super) config: Arc<Config>,
    pub(super) workspace: PathBuf,
    pub(super) shared: SharedRegistry,
    /// The model that was named on the command line.
    pub(super) model: Option<String>,
}

/// Waits for all that work.
pub(super) struct Settled(mpsc::Receiver<()>);

impl Settled {
    /// Waits until nobody works any more, but not for ever.
    pub(super) async fn wait(mut self, patience: Duration) {
        drop(tokio::time::timeout(patience, self.0.recv()).await);
    }
}

impl LocalRuns {
    pub(super) fn new(workplace: Workplace) -> (Self, Settled) {
        let (working, settled) = mpsc::channel(1);
        let runs = Self { workplace: Arc::new(workplace), room: Arc::new(Semaphore::new(AT_ONCE)), working };
        (runs, Settled(settled))
    }

    /// The agents that are offered.
    pub(super) fn offers(&self) -> anyhow::Result<Vec<AgentOffer>> {
        let Workplace { config, shared, model, .. } = &*self.workplace;
        let registry = shared.now();
        offers::agents(&registry, config, model.as_deref(), |agent, available| effective(agent, available, &registry))
    }
}

#[async_trait]
impl Runs for LocalRuns {
    async fn run(&self, work: palisade_mcp::Work, watcher: Arc<dyn Watcher>, cancellation: Cancellation) -> Answer {
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            return refused(format!("{AT_ONCE} agents are at work; wait for one of them"));
        };
        let (workplace, working) = (Arc::clone(&self.workplace), self.working.clone());
        let (sender, answer) = oneshot::channel();
        // A thread of its own: a run waits in its own way, and goes on until it is written down when nobody waits for
        // it any more.
        let thread = thread::Builder::new().name("run".to_owned()).spawn(move || {
            let answer = workplace.work(&work, watcher, cancellation);
            let _whoever_asked_is_gone = sender.send(answer.unwrap_or_else(|error| refused(format!("{error:#}"))));
            drop((permit, working));
        });
        match thread {
            Ok(_) => answer.await.unwrap_or_else(|_| refused("the run broke down; see standard error".to_owned())),
            Err(error) => refused(format!("no thread could be started for the run: {error}")),
        }
    }
}

fn refused(why: String) -> Answer {
    Answer { text: Err(why), session: None }
}

impl Workplace {
    /// Carries out one run, as `palisade run` does.
    fn work(
        &self,
        work: &palisade_mcp::Work,
        watcher: Arc<dyn Watcher>,
        cancellation: Cancellation,
    ) -> anyhow::Result<Answer> {
        let Self { settings, terminal, config, workspace, shared, model } = self;
        // If the configuration cannot be read now, everything stays as it was.
        drop(shared.refresh());
        let registry = Registry::clone(&shared.now());
        let agent = config.budgeted(registry.find(&work.agent)?);
        let registry = servers::met(registry, &agent, workspace, config, settings, terminal)?;
        let wanted = work.session.as_deref().map(Flags::of).unwrap_or_default().wanted()?;
        let (runtime, database) = (database::runtime()?, Database::of(config, settings));
        let held = runtime.block_on(Held::find(wanted, database, &agent.name, workspace, Elsewhere::Refused))?;
        let mut effective = sessions::effective_in(held.known(), &agent, &registry);
        let place = Place { config, data: settings.data.as_deref(), workspace };
        let Spoken { provider, warning, .. } = assemble::spoken(model.as_deref(), &mut effective, &place)?;
        if outside::reach(provider.name()).is_some() {
            bail!(
                "`{}` works outside of the sandbox, where nothing holds it; only a person can start it, with `palisade run`",
                agent.name
            );
        }
        let told = warning.iter().chain(&effective.warnings).chain(&effective.cut);
        told.for_each(|warning| terminal.warning(warning));
        let topic = Topic {
            registry: &registry,
            effective,
            provider,
            workspace: workspace.clone(),
            config: Arc::clone(config),
            asker: None,
            expected: None,
            traces: config.typed.traces.clone(),
            held,
            runtime,
            ended_by: Some(cancellation),
        };
        let mut conversation = Conversation::open(topic, settings, terminal)?;
        let begun = conversation.begin(Work::Task(&work.task))?;
        let (started, timeline) = (Instant::now(), Arc::new(Timeline::silent()));
        let counted = Arc::clone(&timeline);
        let both = move |event: Event| {
            counted.watch(event.clone());
            watcher.watch(event);
        };
        let cancellation = conversation.interrupts.begin();
        let asked = conversation.carry_out(begun, Arc::new(both), cancellation)?;
        let ended = Ended::new(asked, &timeline, &conversation.transcript, started.elapsed());
        Ok(Answer { text: ended.told(), session: ended.session_id().map(str::to_owned) })
    }
}
