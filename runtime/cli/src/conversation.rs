//! An agent at work: what it may do, the model it speaks to, its tools, and what was said so far. A run
//! is one question of it, a chat are many.

use std::{mem, path::PathBuf, sync::Arc};

use palisade_agent::{
    Asker, Cancellation, Event, Outcome, PermissionMode, Provider, Run, RunError, Toolbox, Transcript, Usage, Watcher,
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
}

/// What came of one run.
pub(crate) struct Asked {
    pub(crate) outcome: Result<Outcome, RunError>,
    pub(crate) usage: Usage,
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
        let Topic { registry, effective, provider, workspace, asker, expected, traces } = topic;
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
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let interrupts = Interrupts::listen(&runtime, terminal)?;
        Ok(Self {
            effective,
            provider,
            workspace,
            toolbox,
            transcript: Transcript::new(),
            usage: Usage::default(),
            interrupts,
            expected,
            traces,
            registry,
            terminal,
            runtime,
            _assembly: assembly,
        })
    }

    /// One run. What was said before is known in it.
    pub(crate) fn ask(
        &mut self,
        task: &str,
        watcher: &dyn Watcher,
        cancellation: Cancellation,
    ) -> anyhow::Result<Asked> {
        let transcript = mem::take(&mut self.transcript);
        let agent = &self.effective.agent;
        let spans = self.traces.as_ref().map(Traces::watch);
        let watcher = |event: Event| {
            if let Some(spans) = &spans {
                spans.watch(event.clone());
            }
            watcher.watch(event);
        };
        let mut run = Run::new(agent, self.provider.as_ref(), &self.toolbox, &watcher, cancellation, transcript)
            .among(surroundings(&self.effective, self.registry, &self.workspace));
        if let Some(schema) = &self.expected {
            run = run.expecting(schema)?;
        }
        let outcome = self.runtime.block_on(run.answer(task));
        let usage = run.usage();
        self.transcript = run.into_transcript();
        self.usage += usage;
        self.interrupts.end();
        Ok(Asked { outcome, usage })
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

impl Drop for Conversation<'_> {
    /// Sends the traces that were not sent yet.
    fn drop(&mut self) {
        if let Some(Err(why)) = self.traces.take().map(Traces::finish) {
            self.terminal.warning(&why);
        }
    }
}
