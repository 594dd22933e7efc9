//! An agent at work: what it may do, the model it speaks to, its tools, and what was said so far. A run
//! is one question of it, a chat are many.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    pin::pin,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use palisade_agent::{
    Account, Asker, Cancellation, Event, Leased, Outcome, PANEL_TOOLS, Panels, PermissionMode, Provider, Run, RunError,
    Session, SessionKey, Surroundings, Tool, Toolbox, Transcript, Usage, Warrant, Watcher, panel_tools,
};
use palisade_catalog::{Effective, Registry, SharedRegistry, Standing, skill_tool, surroundings};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::{
    artifacts::Shelf,
    assemble::Assembly,
    company::{self, Company, Post, Waited},
    config::{self, Config},
    crew::Outfit,
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
    /// What is configured, for the agents that this one asks.
    pub(crate) config: Arc<Config>,
    /// Who is asked whether a call may be made.
    pub(crate) asker: Option<Arc<dyn Asker>>,
    /// The JSON Schema that every answer has to fit.
    pub(crate) expected: Option<Value>,
    /// Where traces go.
    pub(crate) traces: Option<config::Traces>,
    /// Where what is said lasts, found with this runtime.
    pub(crate) held: Held,
    pub(crate) runtime: Runtime,
    /// What ends it; absent: Ctrl-C.
    pub(crate) ended_by: Option<Cancellation>,
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
    pub(crate) provider: Arc<dyn Provider>,
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
    /// The same agents, looked at again while work goes on.
    shared: SharedRegistry,
    terminal: &'a Terminal,
    runtime: Runtime,
    /// The engine that the tools run in.
    assembly: Arc<Assembly>,
    asker: Option<Arc<dyn Asker>>,
    data: Option<PathBuf>,
    /// The agents that this one asks, if it can.
    company: Option<Company>,
}

impl<'a> Conversation<'a> {
    /// Gives the agent its tools and says which of them it has not.
    pub(crate) fn open(topic: Topic<'a>, settings: &'a Settings, terminal: &'a Terminal) -> anyhow::Result<Self> {
        let Topic { registry, effective, provider, workspace, config, asker, expected, traces, .. } = topic;
        let (mut held, runtime) = (topic.held, topic.runtime);
        let interrupts = match topic.ended_by {
            Some(above) => Interrupts::under(above),
            None => Interrupts::listen(&runtime, terminal)?,
        };
        let traces = traces.map(|traces| Traces::to(&traces.endpoint, traces.content)).transpose()?;
        let assembly = Arc::new(Assembly::start_at(settings, terminal, config.typed.apart)?.reaching(&config));
        let never = effective.agent.permission_mode == Some(PermissionMode::DontAsk);
        let outfit = Outfit {
            assembly: Arc::clone(&assembly),
            config,
            workspace: workspace.clone(),
            ration: None,
            data: settings.data.clone(),
            connected: Mutex::new(HashMap::new()),
            not_met: Arc::default(),
        };
        let shared = SharedRegistry::new(registry.clone()).looking_every(LOOK_AGAIN);
        let company = Company::of(&effective, &shared, outfit, asker.clone());
        if company.is_some() {
            held.keep_for_now();
        }
        let mut conversation = Self {
            effective,
            provider: Arc::from(provider),
            workspace,
            toolbox: Toolbox::new(Vec::new())?,
            transcript: Transcript::new(),
            usage: Usage::default(),
            interrupts,
            held,
            expected,
            traces,
            registry,
            shared,
            terminal,
            runtime,
            assembly,
            asker: asker.filter(|_| !never),
            data: settings.data.clone(),
            company,
        };
        conversation.toolbox = conversation.equip(&company::described())?;
        Ok(conversation)
    }

    /// Gives the agent its tools, and says which of them it has not. Those with which it asks others are for one run.
    fn equip(&self, host: &[Arc<dyn Tool>]) -> anyhow::Result<Toolbox> {
        let skill = skill_tool(&self.effective, self.registry);
        let host: Vec<Arc<dyn Tool>> = host.iter().cloned().chain(skill).collect();
        let equipped = self.assembly.equip(&self.effective, &self.workspace, &host)?;
        for tool in &equipped.left_out {
            self.terminal.warning(&format!("the tool `{}` is left out: {}", tool.tool, tool.reason));
        }
        Ok(in_use(equipped.toolbox, self.asker.as_ref(), self.data.as_deref()))
    }

    /// What is left of the agent's rights in a run that begins now.
    fn standing(&self) -> Arc<Standing> {
        Standing::of(&self.effective, &self.shared, &self.effective.agent.name, None)
    }

    /// Lets the agent have its tools for one run, for as long and as far as nobody takes them back.
    fn hold(&mut self, standing: Arc<Standing>, host: &[Arc<dyn Tool>]) {
        let (assembly, workspace, shared) = (Arc::clone(&self.assembly), self.workspace.clone(), self.shared.clone());
        let (asker, data) = (self.asker.clone(), self.data.clone());
        // Whoever asks others through these holds what is left here.
        let own: Vec<Weak<dyn Tool>> = host.iter().map(Arc::downgrade).collect();
        standing.equipping(move |effective| {
            let skill = skill_tool(effective, &shared.now());
            let host: Vec<Arc<dyn Tool>> = own.iter().filter_map(Weak::upgrade).chain(skill).collect();
            let equipped = assembly.equip(effective, &workspace, &host).map_err(|error| format!("{error:#}"))?;
            Ok(in_use(equipped.toolbox, asker.as_ref(), data.as_deref()))
        });
        self.toolbox.hold(standing);
    }

    fn has_tool(&self, name: &str) -> bool {
        self.toolbox.specs().iter().any(|spec| spec.name == name)
    }

    /// What a client of the session has told of what its user has open, and the tools to look at it.
    fn panels(&self, journal: Option<&Leased>) -> anyhow::Result<(Panels, Vec<Arc<dyn Tool>>)> {
        let (Some(journal), Some(store)) = (journal, self.held.store()) else { return Ok(Default::default()) };
        let session = &journal.lease().session;
        let panels = self.runtime.block_on(Panels::now(store.as_ref(), session))?;
        let tools = if panels.is_empty() { Vec::new() } else { panel_tools(&store, session) };
        Ok((panels, tools))
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

    /// Works on a run that was begun, and on the answers of agents that it asked and did not wait for. What was said
    /// before is known in it.
    pub(crate) fn carry_out(
        &mut self,
        begun: Begun,
        watcher: Arc<dyn Watcher>,
        cancellation: Cancellation,
    ) -> anyhow::Result<Asked> {
        let spans = self.traces.as_ref().map(Traces::watch);
        let watcher: Arc<dyn Watcher> = Arc::new(move |event: Event| {
            if let Some(spans) = &spans {
                spans.watch(event.clone());
            }
            watcher.watch(event);
        });
        // All turns of one question draw from one account.
        let account = Account::open(begun.budget);
        let session = begun.journal.as_ref().map(|journal| journal.lease().session.clone());
        let mut asked = self.turn(begun, &account, &watcher, cancellation)?;
        while let (Some(session), Ok(Outcome::Answered(_))) = (&session, &asked.outcome) {
            let cancellation = self.interrupts.begin();
            let waited = self.wait(session, &cancellation);
            let Waited::For(answer) = waited? else { break };
            let begun = self.begin(Work::Answer(&answer))?;
            let mut next = self.turn(begun, &account, &watcher, cancellation)?;
            next.usage += asked.usage;
            asked = next;
        }
        self.interrupts.end();
        // A run that ended without an answer has no use for what it asked for.
        if let Some(company) = self.company.as_ref().filter(|company| company.at_work() > 0) {
            self.runtime.block_on(company.end());
        }
        Ok(asked)
    }

    /// Waits for agents in the background, and says so.
    fn wait(&self, session: &SessionKey, cancellation: &Cancellation) -> anyhow::Result<Waited> {
        let Some(company) = &self.company else { return Ok(Waited::Done) };
        match company.at_work() {
            0 => {}
            count => {
                let text =
                    format!("{} at work in the background; Ctrl-C ends them", words::count(count, "agent", "agents"));
                self.terminal.note(&Line::new().add(Style::Dim, &text));
            }
        }
        Ok(self.runtime.block_on(company.wait(session, cancellation))?)
    }

    /// One run.
    fn turn(
        &mut self,
        begun: Begun,
        account: &Account,
        watcher: &Arc<dyn Watcher>,
        cancellation: Cancellation,
    ) -> anyhow::Result<Asked> {
        let Begun { transcript, journal, calls, spent, ids, .. } = begun;
        let standing = self.standing();
        let (panels, looking) = self.panels(journal.as_ref())?;
        let mut host = company::described();
        if let (Some(company), Some(journal), Some(store)) = (&mut self.company, &journal, self.held.store()) {
            let post = Post {
                above: self.held.session().map(|session| session.origin.chain.clone()).unwrap_or_default(),
                session: journal.lease().session.clone(),
                run: journal.lease().run.clone(),
                account: account.clone(),
                cancellation: cancellation.clone(),
                provider: Arc::clone(&self.provider),
                watcher: Arc::clone(watcher),
                warrant: Arc::clone(&standing) as Arc<dyn Warrant>,
            };
            host = company.tools(&self.effective, &store, post);
            host.extend(looking);
            self.toolbox = self.equip(&host)?;
        } else if !looking.is_empty()
            || self.has_tool(PANEL_TOOLS[0])
            || self.has_tool("skill") != skill_tool(&self.effective, self.registry).is_some()
        {
            // Since the last run the first skill or panel has come, or the last one is gone.
            host.extend(looking);
            self.toolbox = self.equip(&host)?;
        }
        self.hold(standing, &host);
        let agent = &self.effective.agent;
        let around = Surroundings { panels, ..surroundings(&self.effective, self.registry, &self.workspace) };
        let mut run =
            Run::new(agent, self.provider.as_ref(), &self.toolbox, watcher.as_ref(), cancellation, transcript)
                .among(around)
                .after(calls, spent)
                .drawing_from(account.clone());
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

/// How often what was loaded is looked at again while agents work: for this long a decision may be unheard.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Tools as they are used here: with somebody to ask, and a place for long outputs.
pub(crate) fn in_use(mut toolbox: Toolbox, asker: Option<&Arc<dyn Asker>>, data: Option<&Path>) -> Toolbox {
    if let Some(asker) = asker {
        toolbox = toolbox.asking(Arc::clone(asker));
    }
    if let Some(data) = data {
        toolbox = toolbox.keeping(Arc::new(Shelf::below(data)));
    }
    toolbox
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
