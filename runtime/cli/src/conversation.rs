//! An agent at work: what it may do, the model it speaks to, its tools, and what was said so far. A run
//! is one question of it, a chat are many.

use std::{path::PathBuf, pin::pin, sync::Arc};

use palisade_agent::{
    Account, Asker, Cancellation, Event, Leased, Outcome, PermissionMode, Provider, Run, RunError, Session, Toolbox, Transcript, Usage,
    Watcher,
};
use palisade_catalog::{Effective, Registry, surroundings};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::{
    artifacts::Shelf,
    assemble::Assembly,
    config,
    interrupts::Interrupts,
    outside,
    render::{Line, Style, Terminal, words},
    sessions::{About, Begun, Held, Ids, Work},
    settings::Settings,
    traces::Traces,
};

/// What a conversation is about.
pub(crate) struct Topic<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) effective: Effective,
    pub(crate) provider: Box<dyn Provider>,
    pub(crate) workspace: PathBuf,
    /// Who is asked whether a call may be made.
    pub(crate) asker: Option<Arc<dyn Asker>>,
    /// The JSON Schema that every answer has to fit.
    pub(crate) expected: Option<Value>,
    /// Where traces go.
    pub(crate) traces: Option<config::Traces>,
    /// Where what is said lasts, found with this runtime.
    pub(crate) held: Held,
    pub(crate) runtime: Runtime,
}

/// What came of one run.
pub(crate) struct Asked {
    pub(crate) outcome: Result<Outcome, RunError>,
    pub(crate) usage: Usage,
    /// What it is known by, if anything is kept of it.
    pub(crate) ids: Option<Ids>,
}

/// An agent at work.
pub(crate) struct Conversation<'a> {
    pub(crate) effective: Effective,
    pub(crate) provider: Box<dyn Provider>,
    pub(crate) workspace: PathBuf,
    pub(crate) toolbox: Toolbox,
    pub(crate) transcript: Transcript,
    /// What all runs so far cost.
    pub(crate) usage: Usage,
    pub(crate) interrupts: Interrupts,
    pub(crate) held: Held,
    expected: Option<Value>,
    traces: Option<Traces>,
    registry: &'a Registry,
    terminal: &'a Terminal,
    runtime: Runtime,
    /// The engine that the tools run in.
    _assembly: Assembly<'a>,
}

impl<'a> Conversation<'a> {
    /// Gives the agent its tools and says which of them it has not.
    pub(crate) fn open(topic: Topic<'a>, settings: &'a Settings, terminal: &'a Terminal) -> anyhow::Result<Self> {
        let Topic { registry, effective, provider, workspace, asker, expected, traces, held, runtime } = topic;
        let traces = traces.map(|traces| Traces::to(&traces.endpoint, traces.content)).transpose()?;
        let assembly = Assembly::start(settings, terminal)?;
        let equipped = assembly.equip(&effective, &workspace)?;
        for tool in &equipped.left_out {
            terminal.warning(&format!("the tool `{}` is left out: {}", tool.tool, tool.reason));
        }
        let never = effective.agent.permission_mode == Some(PermissionMode::DontAsk);
        let toolbox = match asker.filter(|_| !never) {
            Some(asker) => equipped.toolbox.asking(asker),
            None => equipped.toolbox,
        };
        let toolbox = match &settings.data {
            Some(data) => toolbox.keeping(Arc::new(Shelf::below(data))),
            None => toolbox,
        };
        let interrupts = Interrupts::listen(&runtime, terminal)?;
        Ok(Self {
            effective,
            provider,
            workspace,
            toolbox,
            transcript: Transcript::new(),
            usage: Usage::default(),
            interrupts,
            held,
            expected,
            traces,
            registry,
            terminal,
            runtime,
            _assembly: assembly,
        })
    }

    /// What was said before this program was started.
    pub(crate) fn remember(&mut self) -> anyhow::Result<()> {
        self.transcript = self.runtime.block_on(self.held.transcript())?;
        Ok(())
    }

    /// Begins a run: what it works on is written down, and nothing was asked yet.
    pub(crate) fn begin(&mut self, work: Work<'_>) -> anyhow::Result<Begun> {
        let model = match self.provider.model() {
            "" => self.provider.name().to_owned(),
            model => format!("{}:{model}", self.provider.name()),
        };
        let about = About { model, budget: self.effective.agent.budget() };
        let said = self.transcript.clone();
        self.runtime.block_on(self.held.begin(work, said, about))
    }

    /// Works on a run that was begun. What was said before is known in it.
    pub(crate) fn carry_out(
        &mut self,
        begun: Begun,
        watcher: &dyn Watcher,
        cancellation: Cancellation,
    ) -> anyhow::Result<Asked> {
        let Begun { transcript, journal, calls, spent, budget, ids } = begun;
        let spans = self.traces.as_ref().map(Traces::watch);
        let watcher = |event: Event| {
            if let Some(spans) = &spans {
                spans.watch(event.clone());
            }
            watcher.watch(event);
        };
        let agent = &self.effective.agent;
        let mut run = Run::new(agent, self.provider.as_ref(), &self.toolbox, &watcher, cancellation, transcript)
            .among(surroundings(&self.effective, self.registry, &self.workspace))
            .after(calls, spent)
            .drawing_from(Account::open(budget));
        if let Some(schema) = &self.expected {
            run = run.expecting(schema)?;
        }
        let outcome = match &journal {
            None => self.runtime.block_on(run.resume()),
            Some(journal) => {
                run = run.written_to(journal);
                self.runtime.block_on(while_held(&mut run, journal, &self.interrupts))
            }
        };
        let usage = run.usage();
        self.transcript = run.into_transcript();
        self.usage += usage;
        self.interrupts.end();
        Ok(Asked { outcome, usage, ids })
    }

    /// Forgets what was said, also where it is kept.
    pub(crate) fn clear(&mut self) -> anyhow::Result<()> {
        self.runtime.block_on(self.held.clear())?;
        self.transcript = Transcript::new();
        Ok(())
    }

    /// The sessions with the agent in the folder, the latest first, and the id of this one.
    pub(crate) fn sessions(&mut self) -> anyhow::Result<(Vec<Session>, Option<String>)> {
        let all = self.runtime.block_on(self.held.siblings())?;
        Ok((all, self.held.session().map(|session| session.id.clone())))
    }

    /// Gives the session a name.
    pub(crate) fn rename(&mut self, name: &str) -> anyhow::Result<()> {
        self.runtime.block_on(self.held.rename(name))
    }

    /// `explore · offline: … · /home/me/project · files: . read-only`
    pub(crate) fn header(&self) -> Line {
        let reach = outside::reach(self.provider.name()).map(str::to_owned);
        Line::new()
            .add(Style::Bold, &self.effective.agent.name)
            .add(Style::Plain, &format!(" · {} · {} · ", self.model(), self.workspace.display()))
            .add(Style::Plain, &reach.unwrap_or_else(|| words::grants(&self.effective.grants)))
    }

    /// The provider and the model in few words.
    pub(crate) fn model(&self) -> String {
        match (self.provider.name(), self.provider.model()) {
            (palisade_model::Offline::NAME, _) => "offline: deterministic survey, no language model".to_owned(),
            (name, "") => name.to_owned(),
            (name, model) => format!("{name}:{model}"),
        }
    }
}

/// Works on a run for as long as its session is held. If somebody else takes it, nothing more is done, and the run
/// says so when it finds that it cannot write any more.
async fn while_held(run: &mut Run<'_>, journal: &Leased, interrupts: &Interrupts) -> Result<Outcome, RunError> {
    let mut work = pin!(run.resume());
    tokio::select! {
        outcome = &mut work => outcome,
        lost = journal.keep_alive() => {
            interrupts.stop();
            match work.await {
                Ok(_) => Err(RunError::Unwritten(lost)),
                failed => failed,
            }
        }
    }
}

impl Drop for Conversation<'_> {
    /// Sends the traces that were not sent yet.
    fn drop(&mut self) {
        if let Some(Err(why)) = self.traces.take().map(Traces::finish) {
            self.terminal.warning(&why);
        }
    }
}
