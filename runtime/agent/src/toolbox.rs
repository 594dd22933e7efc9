//! One agent's tools: finds the one that is called, holds its input against the schema, asks the rules,
//! bounds the output.

use std::{
    pin::pin,
    sync::{Arc, OnceLock},
};

use palisade_grants::{Call, Decision, ToolScope, canonical_tool};
use thiserror::Error;

use crate::event::brief;
use crate::schema::{Schema, SchemaError};
use crate::tool::Said;
use crate::{
    Answer, Artifacts, Asker, Event, FailureKind, Gate, Progress, Tool, ToolCall, ToolResult, ToolSpec, Warrant,
    Watcher,
};

/// The longest output of one call that reaches the model, in bytes: a context window is small, and a
/// tool chooses how much it says.
pub const OUTPUT_LIMIT: usize = 64 * 1024;

/// The tools of one agent.
pub struct Toolbox {
    tools: Vec<Held>,
    specs: Vec<ToolSpec>,
    scope: ToolScope,
    asker: Option<Arc<dyn Asker>>,
    artifacts: Option<Arc<dyn Artifacts>>,
    warrant: Option<Arc<dyn Warrant>>,
    /// Tools of others, with what is said when one is called.
    bound: Vec<(String, String)>,
    /// Where calls wait, and the tools that do not: they wait for others, who come to the gate themselves.
    gate: Option<(Arc<dyn Gate>, Vec<String>)>,
}

/// A tool, and what is worked out once for all of its calls.
struct Held {
    tool: Arc<dyn Tool>,
    /// Its name in the form that names are compared in.
    name: String,
    /// Read when it is first called: most tools of most runs never are.
    schema: OnceLock<Result<Schema, SchemaError>>,
}

/// Two tools want the same name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("two tools are called `{name}`; rename one or leave one out")]
pub struct DuplicateTool {
    /// The name.
    pub name: String,
}

impl Toolbox {
    /// A toolbox of these tools, in this order.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Result<Self, DuplicateTool> {
        let specs: Vec<ToolSpec> = tools.iter().map(|tool| tool.spec().clone()).collect();
        let mut held: Vec<Held> = Vec::with_capacity(tools.len());
        for tool in tools {
            let name = canonical_tool(&tool.spec().name);
            if held.iter().any(|other| other.name == name) {
                return Err(DuplicateTool { name: tool.spec().name.clone() });
            }
            held.push(Held { tool, name, schema: OnceLock::new() });
        }
        let (scope, asker, artifacts, warrant, bound) = (ToolScope::default(), None, None, None, Vec::new());
        Ok(Self { tools: held, specs, scope, asker, artifacts, warrant, bound, gate: None })
    }

    /// The same; who calls one of these tools, which work for other agents, is told so.
    pub fn knowing(mut self, bound: Vec<(String, String)>) -> Self {
        self.bound = bound;
        self
    }

    /// The same tools, each call of which the rules of a scope are asked about first.
    pub fn ruled_by(mut self, scope: ToolScope) -> Self {
        self.scope = scope;
        self
    }

    /// The same, with somebody to ask where a rule wants it.
    pub fn asking(mut self, asker: Arc<dyn Asker>) -> Self {
        self.asker = Some(asker);
        self
    }

    /// The same, with a place for outputs that are too long for a model.
    pub fn keeping(mut self, artifacts: Arc<dyn Artifacts>) -> Self {
        self.artifacts = Some(artifacts);
        self
    }

    /// The same; all calls wait at a gate, but those of tools of the host.
    pub fn behind(mut self, gate: Arc<dyn Gate>, host: &[Arc<dyn Tool>]) -> Self {
        self.gate = Some((gate, host.iter().map(|tool| canonical_tool(&tool.spec().name)).collect()));
        self
    }

    /// From now on it is for as long and as far as nobody takes it back.
    pub fn hold(&mut self, warrant: Arc<dyn Warrant>) {
        self.warrant = Some(warrant);
    }

    /// Who says how far these tools may still be used.
    pub fn warrant(&self) -> Option<Arc<dyn Warrant>> {
        self.warrant.clone()
    }

    /// Its tools, in their order, without the rules.
    pub fn into_tools(self) -> Vec<Arc<dyn Tool>> {
        self.tools.into_iter().map(|held| held.tool).collect()
    }

    /// What the model is told about the tools.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Whether calling a tool changes nothing; a tool that is not there changes nothing either.
    pub fn is_read_only(&self, name: &str) -> bool {
        self.find(name).is_none_or(|held| held.tool.spec().read_only)
    }

    /// Whether making a call twice is as good as making it once.
    pub fn is_idempotent(&self, name: &str) -> bool {
        self.find(name).is_none_or(|held| held.tool.spec().read_only || held.tool.spec().idempotent)
    }

    /// Makes one call. Whatever is wrong with it is a result the model can read.
    pub async fn call(&self, call: &ToolCall, progress: &Progress) -> ToolResult {
        let left = match self.warrant.as_ref().map(|warrant| warrant.tools()).transpose() {
            Ok(left) => left.flatten(),
            Err(why) => return ToolResult::failed(FailureKind::Denied, format!("`{}` is refused: {why}", call.tool)),
        };
        match left.filter(|_| self.find(&call.tool).is_some()) {
            None => self.make(call, progress).await,
            Some(left) if left.find(&call.tool).is_none() => {
                let text = format!("`{}` was taken from this agent while it worked", call.tool);
                ToolResult::failed(FailureKind::Denied, text)
            }
            Some(left) => left.make(call, progress).await,
        }
    }

    /// Makes one call that no run has asked for. A watcher is told of it as of the calls of a run; if the future is
    /// dropped, of its end nothing is told.
    pub async fn call_alone(&self, call: &ToolCall, watcher: &dyn Watcher) -> ToolResult {
        let (id, tool, input) = (call.id.clone(), call.tool.clone(), brief(&call.input));
        watcher.watch(Event::CallStarted { id, tool, input });
        let (sender, mut progress) = Progress::queue();
        let own = Progress::of_call(&call.id, &sender);
        let mut work = pin!(self.call(call, &own));
        let result = loop {
            tokio::select! {
                biased;
                Some(Said { id, message }) = progress.recv() => watcher.watch(Event::CallProgress { id, message }),
                result = &mut work => break result,
            }
        };
        // What it said last.
        while let Ok(Said { id, message }) = progress.try_recv() {
            watcher.watch(Event::CallProgress { id, message });
        }
        watcher.watch(Event::finished(&call.id, &call.tool, &result));
        result
    }

    async fn make(&self, call: &ToolCall, progress: &Progress) -> ToolResult {
        let Some(held) = self.find(&call.tool) else {
            return self.unknown(&call.tool);
        };
        if let Err(text) = held.check(call) {
            return ToolResult::failed(FailureKind::InvalidInput, text);
        }
        if let Err(reason) = self.permit(held.tool.as_ref(), call).await {
            return ToolResult::failed(FailureKind::Denied, format!("`{}` is refused: {reason}", call.tool));
        }
        let gate = self.gate.as_ref().filter(|(_, free)| !free.contains(&held.name));
        let _entered = match gate {
            None => None,
            Some((gate, _)) => match gate.enter().await {
                Ok(entered) => Some(entered),
                Err(why) => return ToolResult::failed(FailureKind::Limit, why),
            },
        };
        self.bounded(call, held.tool.call(&call.input.to_string(), progress).await)
    }

    /// Clips an output that is too long for the model, and keeps the whole of it where there is a place.
    fn bounded(&self, call: &ToolCall, result: ToolResult) -> ToolResult {
        let length = result.text().len();
        if length <= OUTPUT_LIMIT {
            return result;
        }
        let artifact = self.artifacts.as_ref().and_then(|artifacts| artifacts.keep(call, result.text()));
        ToolResult { artifact, ..result.clipped(OUTPUT_LIMIT) }
    }

    /// Asks the rules, and where they want it, somebody.
    async fn permit(&self, tool: &dyn Tool, call: &ToolCall) -> Result<(), String> {
        let verdict = self.scope.decide(&Call::new(&tool.spec().name, &call.input));
        match (verdict.decision, &self.asker) {
            (Decision::Allow, _) => Ok(()),
            (Decision::Ask, Some(asker)) => match asker.ask(call, &verdict.reason).await {
                Answer::Yes => Ok(()),
                Answer::No => Err(format!("{}; the user said no", verdict.reason)),
            },
            (Decision::Ask | Decision::Deny, _) => Err(verdict.without_asking().reason),
        }
    }

    /// Models write a name in many ways; it is the same tool.
    fn find(&self, name: &str) -> Option<&Held> {
        let name = canonical_tool(name);
        self.tools.iter().find(|held| held.name == name)
    }

    fn unknown(&self, name: &str) -> ToolResult {
        let called = canonical_tool(name);
        if let Some((_, told)) = self.bound.iter().find(|(tool, _)| canonical_tool(tool) == called) {
            return ToolResult::failed(FailureKind::InvalidInput, told.clone());
        }
        let name = crate::clip(name, 128);
        let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        let text = if names.is_empty() {
            format!("there is no tool `{name}`; this agent has no tools")
        } else {
            format!("there is no tool `{name}`; this agent has: {}", names.join(", "))
        };
        ToolResult::failed(FailureKind::UnknownTool, text)
    }
}

impl Held {
    /// Holds the input of a call against the tool's schema, before anything is made for the call.
    fn check(&self, call: &ToolCall) -> Result<(), String> {
        let tool = &self.tool.spec().name;
        if !call.input.is_object() {
            return Err(format!("the input of `{tool}` must be a JSON object, such as {{\"name\": \"value\"}}"));
        }
        let schema = self.schema.get_or_init(|| Schema::new(&self.tool.spec().input_schema));
        let schema = schema.as_ref().map_err(|error| format!("`{tool}` cannot be called: its schema is {error}"))?;
        match schema.faults(&call.input).as_slice() {
            [] => Ok(()),
            faults => Err(format!("the input of `{tool}` does not fit its schema: {}", faults.join("; "))),
        }
    }
}
