//! Components of plugins become tools when they are first called: a run that has a hundred and calls none pays for none.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
};

use async_trait::async_trait;
use palisade_agent::{FailureKind, Progress, Tool, ToolResult, ToolSpec};
use palisade_grants::{Capability, Grants};
use palisade_sandbox::{
    Bounds, Call, Compiled, Compiler, Description, Engine, Entry, Failure, Gate, LinkRefusal, Report, Scope,
};
use tokio::sync::oneshot;

use crate::{
    EffectiveTool, Missing,
    plugin_tools::{PluginComponent, told},
    tool::result,
};

/// The components of plugins that one agent has.
pub(crate) struct Linking {
    engine: Engine,
    compiler: Option<Arc<Compiler>>,
    scope: Arc<Scope>,
    /// By their names as imports write them.
    components: BTreeMap<String, Linkable>,
    /// What became of those that were wanted.
    linked: Mutex<Linked>,
}

type Linked = BTreeMap<String, Result<(), LinkRefusal>>;

/// A tool that can be linked, and what it is linked to.
pub(crate) struct Linkable {
    name: String,
    grants: Grants,
    gate: Gate,
    component: Arc<PluginComponent>,
    compiled: OnceLock<Result<Compiled, Failure>>,
    said: OnceLock<Result<Said, Missing>>,
}

impl Linkable {
    pub(crate) fn new(tool: &EffectiveTool, component: &Arc<PluginComponent>, gate: Gate) -> Self {
        let (name, grants) = (tool.candidate.name().to_owned(), tool.grants.clone());
        let component = Arc::clone(component);
        Self { name, grants, gate, component, compiled: OnceLock::new(), said: OnceLock::new() }
    }
}

/// What a model is told of a tool.
#[derive(Clone)]
pub(crate) struct Said {
    description: String,
    schema: serde_json::Value,
    read_only: bool,
    idempotent: bool,
}

impl Linking {
    pub(crate) fn new(
        engine: &Engine,
        compiler: Option<&Arc<Compiler>>,
        scope: &Arc<Scope>,
        components: Vec<Linkable>,
    ) -> Self {
        for one in &components {
            scope.expect(&one.name);
        }
        let components = components.into_iter().map(|one| (plain(&one.name), one)).collect();
        let (engine, compiler, scope) = (engine.clone(), compiler.cloned(), Arc::clone(scope));
        Self { engine, compiler, scope, components, linked: Mutex::default() }
    }

    /// What a tool says of itself. The manifest goes first; only what it does not say is asked of the component.
    pub(crate) fn said(&self, tool: &str) -> Result<Said, Missing> {
        let one = self.find(tool)?;
        if let Some(said) = one.said.get() {
            return said.clone();
        }
        match self.ask(tool, &one.component) {
            // That all sandboxes are busy says nothing of the component.
            Err(Missing::Refused(LinkRefusal::Unusable(busy @ Failure::Busy { .. }))) => Err(busy.into()),
            said => one.said.get_or_init(|| said).clone(),
        }
    }

    fn ask(&self, tool: &str, component: &PluginComponent) -> Result<Said, Missing> {
        if let (Some(description), Some(schema)) = (component.description(), component.schema()) {
            let (description, schema) = (description.to_owned(), told::schema(schema)?);
            return Ok(Said { description, schema, read_only: false, idempotent: false });
        }
        let offers = self.compiler()?.offers(&self.engine, &component.read()?)?;
        let described = component.choose(tool, offers)?.description;
        if !component.says_what_it_said(&described) {
            return Err(Missing::Changed { plugin: component.plugin().to_owned() });
        }
        Ok(Said {
            description: component.description().map_or_else(|| told::text(&described.description), str::to_owned),
            schema: told::schema(component.schema().unwrap_or(&described.input_schema))?,
            read_only: described.read_only,
            idempotent: described.idempotent,
        })
    }

    /// Links a tool, and those of other plugins that it calls, if that was not done yet. It may take long.
    pub(crate) fn link(&self, tool: &str) -> Result<(), LinkRefusal> {
        if let Some(linked) = self.became_of(tool) {
            return linked;
        }
        // Several are compiled at once; only linking is one by one.
        drop(self.compiled(self.find(tool).map_err(LinkRefusal::Unusable)?));
        self.link_in(&plain(tool), &mut self.linked())
    }

    /// What came of a call, with what it has to do with the tool's plugin.
    pub(crate) fn explained(&self, tool: &str, report: Report) -> Report {
        match self.find(tool) {
            Ok(one) => one.component.explained(report),
            Err(_) => report,
        }
    }

    /// What became of a tool, if it was wanted before and nobody is linking one now.
    fn became_of(&self, tool: &str) -> Option<Result<(), LinkRefusal>> {
        self.linked.try_lock().ok()?.get(&plain(tool)).cloned()
    }

    fn link_in(&self, tool: &str, linked: &mut MutexGuard<'_, Linked>) -> Result<(), LinkRefusal> {
        if let Some(linked) = linked.get(tool) {
            return linked.clone();
        }
        // Tools may call each other in a circle: how deep is bounded when they are called.
        linked.insert(tool.to_owned(), Ok(()));
        let added = self.find(tool).map_err(LinkRefusal::Unusable).and_then(|one| self.add(one, linked));
        linked.insert(tool.to_owned(), added.clone());
        added
    }

    fn add(&self, one: &Linkable, linked: &mut MutexGuard<'_, Linked>) -> Result<(), LinkRefusal> {
        let compiled = self.compiled(one).map_err(LinkRefusal::Unusable)?;
        one.component.check(&compiled, &one.grants)?;
        // Nobody has it that no model is told of: neither other tools nor a shell.
        self.said(&one.name).map_err(LinkRefusal::from)?;
        for called in compiled.needs().toolbox.iter().map(|name| plain(name)) {
            if self.components.contains_key(&called) {
                self.link_in(&called, linked).map_err(|refusal| unusable(format!("it calls `{called}`: {refusal}")))?;
            }
        }
        // What it may do was worked out already; this says that it declares no less.
        let tools = one.component.was_granted(Capability::Tools);
        let capabilities = Capability::ALL.into_iter().filter(|one| *one != Capability::Tools || tools).collect();
        let description = Description {
            name: one.name.clone(),
            description: String::new(),
            input_schema: "{}".to_owned(),
            capabilities,
            own_capabilities: std::collections::BTreeSet::new(),
            read_only: false,
            idempotent: false,
        };
        let bounds = Bounds {
            grants: Some(one.grants.clone()),
            gate: Some(Arc::clone(&one.gate)),
            plugin: Some(one.component.plugin().to_owned()),
            entry: self.entry(one, &compiled).map_err(LinkRefusal::Unusable)?,
            ..Bounds::default()
        };
        self.scope.add_within(&compiled, &description, one.component.plugin(), bounds)
    }

    /// Where in its component a tool begins. Of one that was not written for this program no code runs to find it.
    fn entry(&self, one: &Linkable, compiled: &Compiled) -> Result<Entry, Failure> {
        match (compiled.is_tool(), one.component.function()) {
            (true, None) => Ok(Entry::Tool),
            (true, Some(_)) => {
                let reason = "its component is one tool; leave `function` out of the manifest".to_owned();
                Err(Failure::BadComponent { reason })
            }
            (false, _) => Ok(one.component.choose(&one.name, compiled.offers(&self.engine)?)?.entry),
        }
    }

    fn compiled(&self, one: &Linkable) -> Result<Compiled, Failure> {
        let prepare = || self.compiler()?.prepare(&self.engine, &one.component.read()?);
        one.compiled.get_or_init(prepare).clone()
    }

    fn compiler(&self) -> Result<&Compiler, Failure> {
        let none = || Failure::Host { reason: "nothing compiles components of plugins here".to_owned() };
        self.compiler.as_deref().ok_or_else(none)
    }

    fn find(&self, tool: &str) -> Result<&Linkable, Failure> {
        let none = || Failure::BadComponent { reason: format!("there is no component `{tool}` in this agent's scope") };
        self.components.get(&plain(tool)).ok_or_else(none)
    }

    fn linked(&self) -> MutexGuard<'_, Linked> {
        self.linked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tool's name as imports write it.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

fn unusable(reason: String) -> LinkRefusal {
    LinkRefusal::Unusable(Failure::BadComponent { reason })
}

/// A component of a plugin as a tool of an agent.
pub(crate) struct ComponentTool {
    spec: ToolSpec,
    component: Arc<PluginComponent>,
    linking: Arc<Linking>,
}

impl ComponentTool {
    pub(crate) fn new(
        tool: &EffectiveTool,
        component: &Arc<PluginComponent>,
        said: Said,
        linking: &Arc<Linking>,
    ) -> Self {
        let Said { description, schema, read_only, idempotent } = said;
        let spec = ToolSpec {
            name: tool.candidate.name().to_owned(),
            description,
            input_schema: schema,
            capabilities: tool.candidate.capabilities().to_vec(),
            read_only,
            idempotent,
        };
        Self { spec, component: Arc::clone(component), linking: Arc::clone(linking) }
    }

    /// Waits until it is linked, on a thread that may block.
    async fn link(&self) -> Result<(), LinkRefusal> {
        if let Some(linked) = self.linking.became_of(&self.spec.name) {
            return linked;
        }
        let (sender, linked) = oneshot::channel();
        let (linking, name) = (Arc::clone(&self.linking), self.spec.name.clone());
        let started = thread::Builder::new().name("palisade-plugin".to_owned());
        let started = started.spawn(move || drop(sender.send(linking.link(&name))));
        let lost = |reason: String| LinkRefusal::Unusable(Failure::Host { reason });
        started.map_err(|error| lost(format!("no thread can be started: {error}")))?;
        linked.await.unwrap_or_else(|_| Err(lost("loading it ended early".to_owned())))
    }
}

#[async_trait]
impl Tool for ComponentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, input: &str, progress: &Progress) -> ToolResult {
        if let Err(refusal) = self.link().await {
            let kind = match refusal {
                LinkRefusal::NotGranted { .. } => FailureKind::Denied,
                LinkRefusal::Unusable(_) => FailureKind::Crashed,
            };
            let (name, plugin) = (&self.spec.name, self.component.plugin());
            return ToolResult::failed(kind, format!("`{name}` of the plugin `{plugin}` cannot be used: {refusal}"));
        }
        let progress = progress.clone();
        let call = Call::new().watched_by(Arc::new(move |message: &str| progress.report(message)));
        let report = self.linking.scope.call(&self.spec.name, input.to_owned(), call).await;
        result(self.component.explained(report))
    }
}
