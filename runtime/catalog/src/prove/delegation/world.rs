//! The stage of one case: a throw-away workspace, agents, a hub between them, and who sits at the top.
#![expect(clippy::disallowed_methods, reason = "sets and looks at a temporary folder of its own")]

use std::{fs, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use palisade_agent::{
    Account, Agent, Budget, CallLimits, Ceiling, Delegation, DelegationLimits, LOCAL_TENANT, NewSession, Origin,
    Progress, Provider, Quiet, RunLimits, Seat, SessionKey, Store, StoreError, Tool, ToolResult, ToolSpec, Toolbox,
    cancellation,
};
use palisade_grants::{Access, FilesGrant, Grants, Reach, Rule, Span, WorkspacePath};
use palisade_sandbox::{Bounds, Description, Engine, LinkRefusal, Programs, Scope, Workspace};
use serde_json::Value;

use super::{
    Proof,
    axis::{
        Axis, BY_TOOL, CALL_TIME, CALL_TIME_OF_PROGRAMS, DEPTH, DIAL, ELSEWHERE, EXEC, MEMORY, PROBE, READ_ONLY, STEPS,
        WANTED_CALL_TIME, WANTED_MEMORY, WRITABLE,
    },
    hostile::{HELPER, Hostile, Notes, Part, Seen, deeper},
};
use crate::{
    BuiltIn, Chosen, Effective, Equipped, LocalCrew, Outfitter, Registry, SharedRegistry, available,
    builtin::LinkProbe,
    effective, equip,
    equip::gate,
    prove::{
        ProveError,
        recorder::{BOUND_TO, PUBLIC, Recorder},
    },
    tool::SandboxedTool,
};

/// The agent that wants more than the one that asks it.
pub(super) const ASKED: &str = "wide";
/// An agent that asks that one, for the one at the top.
pub(super) const BETWEEN: &str = "between";
/// The plugin that brings both.
pub(super) const PLUGIN: &str = "kit";
/// The one at the top, unless somebody else is to be looked at.
const COORDINATOR: &str = "coordinator";
/// Its session.
const ROOT: &str = "root";

/// The stage of one case.
pub(super) struct World<'a> {
    /// What nobody may read who was not handed it.
    pub(super) canary: String,
    pub(super) registry: SharedRegistry,
    pub(super) notes: Notes,
    /// Where requests go.
    pub(super) recorder: Recorder,
    folder: tempfile::TempDir,
    proof: &'a Proof<'a>,
    /// The one that asks, with as much as it has.
    top: Agent,
    /// What it is to be left with.
    left: Grants,
}

impl<'a> World<'a> {
    /// An agent that has little asks one that wants much. With `everything` it is granted that at first.
    pub(super) fn narrow(
        proof: &'a Proof<'a>,
        top: Option<&Agent>,
        axis: Axis,
        everything: bool,
    ) -> Result<Self, ProveError> {
        let mut world = Self::set(proof, top.cloned().unwrap_or_else(|| coordinator(axis)), wide(false))?;
        world.left = world.handed_down().grants;
        // Who may ask nobody is not asked to begin with.
        if everything && !world.left.agents.is_empty() {
            world.top.grants = Some(Grants::everything());
        }
        Ok(world)
    }

    /// An agent that has everything asks one that wants much.
    pub(super) fn wide(proof: &'a Proof<'a>, axis: Axis) -> Result<Self, ProveError> {
        let mut top = opened(&coordinator(axis));
        top.budget = MUCH;
        Self::set(proof, top, wide(true))
    }

    fn set(proof: &'a Proof<'a>, top: Agent, asked: Agent) -> Result<Self, ProveError> {
        let folder = tempfile::Builder::new().prefix("palisade-prove-").tempdir()?;
        let workspace = folder.path().join("workspace");
        let canary = format!("canary-{:?}", folder.path().file_name());
        for file in [&format!("{READ_ONLY}/a.txt"), &format!("{WRITABLE}/a.txt"), ELSEWHERE] {
            let path = workspace.join(file);
            fs::create_dir_all(path.parent().unwrap_or(&workspace))?;
            fs::write(path, &canary)?;
        }
        let mut registry = Registry::built_in();
        // As if an operator allowed every program: what is proved is that askers hand down no more than they have.
        let programs = proof.programs.clone().unwrap_or_else(|| Programs::standard(PathBuf::new()));
        registry.allow_programs(Grants::everything().commands, programs);
        let mut add = |agent: Agent| registry.register(agent).map_err(|error| ProveError::Control(error.to_string()));
        add(Agent { origin: Origin::default(), ..top.clone() })?;
        add(helper())?;
        for level in 1..=4 {
            add(Agent { name: deeper(level), ..asked.clone() })?;
        }
        add(asked)?;
        registry.register_plugin_agent(of_plugin(between())).map_err(|error| ProveError::Control(error.to_string()))?;
        let (registry, left) = (SharedRegistry::new(registry), Grants::everything());
        let (notes, recorder) = (Notes::default(), Recorder::leading_to(PUBLIC));
        notes.lock().orders.runs_programs = proof.programs.is_some();
        Ok(Self { canary, registry, notes, recorder, folder, proof, top, left })
    }

    /// What was seen so far.
    pub(super) fn seen(&self) -> Seen {
        self.notes.lock().clone()
    }

    /// Whether a file is there.
    pub(super) fn has(&self, file: &str) -> bool {
        self.workspace().join(file).exists()
    }

    /// The most that the one at the top may hand down.
    pub(super) fn handed_down(&self) -> Ceiling {
        self.effective(&self.top).handed_down()
    }

    /// What the one at the top and all below it may use up.
    pub(super) fn budget(&self) -> Budget {
        self.top.budget()
    }

    /// A store in memory, with the session of the one at the top in it.
    pub(super) async fn store(&self) -> Result<Arc<dyn Store>, StoreError> {
        self.rooted((self.proof.stores)("memory:".to_owned()).await?).await
    }

    /// A store in a file, opened anew.
    pub(super) async fn lasting(&self) -> Result<Arc<dyn Store>, StoreError> {
        let file = self.folder.path().join("store.db");
        self.rooted((self.proof.stores)(format!("sqlite:{}", file.display())).await?).await
    }

    async fn rooted(&self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, StoreError> {
        let mut root = NewSession { id: Some(ROOT.to_owned()), ..NewSession::with(LOCAL_TENANT, &self.top.name) };
        root.origin.workspace = Some(self.workspace().display().to_string());
        match store.create(root).await {
            Ok(_) | Err(StoreError::IdTaken(_)) => Ok(store),
            Err(error) => Err(error),
        }
    }

    /// What agents ask each other through.
    pub(super) fn hub(&self, store: &Arc<dyn Store>) -> Arc<Delegation> {
        let outfitter = Outfit {
            engine: self.proof.engine.clone(),
            workspace: self.workspace(),
            notes: self.notes.clone(),
            recorder: self.recorder.clone(),
        };
        let crew = LocalCrew::new(self.registry.clone(), self.workspace(), Arc::new(outfitter));
        Arc::new(Delegation::new(Arc::clone(store), Arc::new(crew), DelegationLimits::default(), "the proof"))
    }

    /// The one at the top, with what it has.
    pub(super) fn seat(&self) -> Arc<Seat> {
        self.seat_of(self.top.clone())
    }

    /// The same, at a time when it had everything; but no larger budget.
    pub(super) fn seat_with_everything(&self) -> Arc<Seat> {
        self.seat_of(opened(&self.top))
    }

    fn seat_of(&self, agent: Agent) -> Arc<Seat> {
        let (_, cancellation) = cancellation();
        Arc::new(Seat {
            session: SessionKey::new(LOCAL_TENANT, ROOT),
            run: None,
            ceiling: self.effective(&agent).ceiling(),
            account: Account::open(agent.budget()),
            cancellation,
            chain: vec![agent.name.clone()],
            messages: 0,
            provider: Arc::new(Hostile { notes: self.notes.clone(), level: 0, part: Part::Other }),
            watcher: Arc::new(Quiet),
            asker: None,
            warrant: None,
            agent,
        })
    }

    /// Gives everybody who asks from now on other definitions: the one at the top, and the one that is asked.
    /// With another tool, if its definition is to name one.
    pub(super) fn widening(&self, with_write: bool) -> impl FnOnce() + Send + 'static {
        let (registry, top) = (self.registry.clone(), Agent { budget: MUCH, ..opened(&self.top) });
        move || {
            registry.change(|registry| {
                // Names that were good before are good again.
                drop(registry.register(Agent { origin: Origin::default(), ..top }));
                drop(registry.register(Agent { prompt: Some("Take more.".to_owned()), ..wide(with_write) }));
            });
        }
    }

    /// Leaves to everybody what the one at the top is to have.
    pub(super) fn lowering(&self) -> impl FnOnce() + Send + 'static {
        let (registry, left) = (self.registry.clone(), self.left.clone());
        move || registry.change(|registry| registry.lower_ceiling(&left))
    }

    /// Takes an agent of the plugin away.
    pub(super) fn unloading(&self, name: &'static str) -> impl FnOnce() + Send + 'static {
        let registry = self.registry.clone();
        move || {
            registry.change(|registry| registry.unregister_plugin_agent(PLUGIN, name));
        }
    }

    /// The agent that is asked is a plugin's, which wants little in the first version and much in the next.
    pub(super) fn loading_plugin(&self, wants_much: bool) -> impl FnOnce() + Send + 'static {
        let (registry, mut agent) = (self.registry.clone(), of_plugin(wide(false)));
        if !wants_much {
            agent.grants = Some(Grants { agents: all(), ..Grants::workspace(Access::Read) });
        }
        move || {
            registry.change(|registry| {
                registry.unregister(ASKED);
                drop(registry.register_plugin_agent(agent));
            });
        }
    }

    /// Loads the plugin now.
    pub(super) fn load_plugin(&self, wants_much: bool) {
        self.loading_plugin(wants_much)();
    }

    fn effective(&self, agent: &Agent) -> Effective {
        let registry = self.registry.now();
        effective(agent, &available(&registry), &registry)
    }

    fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }
}

/// Has the one in a seat use one of its tools for asking others.
pub(super) async fn ask(hub: &Arc<Delegation>, seat: &Arc<Seat>, tool: &str, input: &Value) -> ToolResult {
    let tools = hub.tools(Arc::clone(seat));
    match tools.iter().find(|bound| bound.spec().name == tool) {
        Some(bound) => bound.call(&input.to_string(), &Progress::unheard()).await,
        None => ToolResult::failed(palisade_agent::FailureKind::UnknownTool, format!("it has no tool `{tool}`")),
    }
}

fn all<S: Span>() -> Reach<S> {
    Reach::new("*".parse())
}

fn one<S: Span>(name: &str) -> Reach<S> {
    Reach::new(name.parse())
}

fn rules(names: &[&str]) -> Option<Vec<Rule>> {
    Some(names.iter().flat_map(|name| Rule::parse(name)).collect())
}

/// A budget that no attempt exceeds.
const MUCH: RunLimits =
    RunLimits { steps: Some(100), depth: Some(8), tokens: None, time: None, calls: None, cost: None };

/// Has little of everything.
fn coordinator(axis: Axis) -> Agent {
    let folders = [(READ_ONLY, Access::Read), (WRITABLE, Access::ReadWrite)];
    let folders = folders.into_iter().flat_map(|(path, access)| WorkspacePath::parse(path).map(|path| (path, access)));
    let mut agent = Agent::new(COORDINATOR, "Asks others.");
    agent.scope.tools = rules(&["read", "write", "task", "agents_message"]);
    agent.grants = Some(Grants {
        files: FilesGrant::new(folders),
        http: one(BOUND_TO),
        commands: one("ls:*"),
        agents: all(),
        secrets: one("OWN"),
        ..Grants::default()
    });
    let call_time = if axis == Axis::Command { CALL_TIME_OF_PROGRAMS } else { CALL_TIME };
    agent.limits = CallLimits { memory: Some(MEMORY), call_time: Some(call_time), ..CallLimits::default() };
    agent.budget = RunLimits { steps: Some(STEPS), depth: Some(DEPTH), ..RunLimits::default() };
    agent
}

/// The same agent, as if it had been given everything.
fn opened(agent: &Agent) -> Agent {
    let mut opened = Agent::new(&agent.name, &agent.description);
    opened.grants = Some(Grants::everything());
    opened.budget = agent.budget;
    opened
}

/// Wants much of everything, but of the tools only some, and a rule keeps one call from it.
fn wide(with_write: bool) -> Agent {
    let mut agent = Agent::new(ASKED, "Wants much.");
    let tools = ["read", "think", "probe", "relay", "dial", "exec", "task", "agents_message", "write"];
    agent.scope.tools = rules(tools.get(..tools.len() - usize::from(!with_write)).unwrap_or_default());
    agent.grants = Some(Grants::everything());
    agent.limits =
        CallLimits { memory: Some(WANTED_MEMORY), call_time: Some(WANTED_CALL_TIME), ..CallLimits::default() };
    agent.budget = RunLimits { steps: Some(1000), depth: Some(100), ..RunLimits::default() };
    if !with_write {
        agent.scope.disallowed = rules(&[&format!("probe(*{BY_TOOL}*)")]).unwrap_or_default();
    }
    agent
}

fn between() -> Agent {
    let mut agent = Agent::new(BETWEEN, "Has others do it.");
    agent.scope.tools = rules(&["task"]);
    agent.grants = Some(Grants::everything());
    agent.budget = RunLimits { steps: Some(1000), depth: Some(100), ..RunLimits::default() };
    agent
}

fn of_plugin(agent: Agent) -> Agent {
    Agent { origin: Origin { plugin: Some(PLUGIN.to_owned()), ..Origin::default() }, ..agent }
}

fn helper() -> Agent {
    let mut agent = Agent::new(HELPER, "Answers.");
    agent.scope.tools = rules(&["think"]);
    agent
}

/// Gives the agents of the proof their models, and the one that is asked the hostile guests beside its tools.
struct Outfit {
    engine: Engine,
    workspace: PathBuf,
    notes: Notes,
    recorder: Recorder,
}

impl Outfitter for Outfit {
    fn model(&self, effective: &Effective, asked_by: &Seat) -> Result<Chosen, String> {
        let part = match effective.agent.name.as_str() {
            ASKED => Part::Asked,
            BETWEEN => Part::Between,
            HELPER => Part::Other,
            _ => Part::Deeper,
        };
        let (notes, level) = (self.notes.clone(), asked_by.chain.len());
        let provider: Arc<dyn Provider> = Arc::new(Hostile { notes, level, part });
        Ok(Chosen { provider, warning: None, is_outside: false })
    }

    fn tools(&self, effective: &Effective, host: &[Arc<dyn Tool>]) -> Result<Equipped, String> {
        let workspace = Workspace::open(&self.workspace).map_err(|error| error.to_string())?;
        let workspace = workspace.with_network(self.recorder.network());
        let equipped = equip(&self.engine, None, &workspace, effective, host).map_err(|error| error.to_string())?;
        if effective.agent.name != ASKED {
            return Ok(equipped);
        }
        let Equipped { toolbox, scope, left_out, linking } = equipped;
        let mut tools = toolbox.into_tools();
        for guest in [BuiltIn::probe(), BuiltIn::relay(), BuiltIn::dial()].into_iter().flatten() {
            if self.link(guest, guest.name, effective, &scope)? {
                let tool = SandboxedTool::new(&guest.description(), Arc::clone(&scope));
                tools.push(Arc::new(Witnessed { tool, scope: Arc::clone(&scope), notes: self.notes.clone() }));
            }
        }
        let orders = self.notes.lock().orders;
        let tool = orders.axis.map_or(PROBE, |axis| axis.tool(orders.runs_programs));
        if orders.through_relay && tool != PROBE {
            // It takes the place of the one that the other tool calls.
            let guest = BuiltIn::dial().filter(|dial| dial.name == tool).or_else(|| BuiltIn::find(tool));
            self.link(guest.ok_or("this build has no such tool")?, PROBE, effective, &scope)?;
        }
        self.notes.lock().borrowed |= links(&self.engine, &scope, "probe-borrow");
        let toolbox = Toolbox::new(tools).map_err(|error| error.to_string())?.ruled_by(effective.agent.scope.clone());
        Ok(Equipped { toolbox, scope, left_out, linking })
    }
}

impl Outfit {
    /// Links a hostile guest under a name. One for which the agent has no right at all is not linked: it is refused
    /// already.
    fn link(&self, guest: &BuiltIn, name: &'static str, effective: &Effective, scope: &Scope) -> Result<bool, String> {
        let compiled = guest.load(&self.engine, None).map_err(|failure| failure.to_string())?;
        let description = Description { name: name.to_owned(), ..guest.description() };
        let bounds = Bounds { gate: Some(gate(name.to_owned(), effective)), ..Bounds::default() };
        match scope.add_within(&compiled, &description, "probe", bounds) {
            Ok(()) => Ok(true),
            Err(LinkRefusal::NotGranted { .. }) if [DIAL, EXEC].contains(&guest.name) => Ok(false),
            Err(refusal) => Err(refusal.to_string()),
        }
    }
}

/// A hostile guest. What its sandbox holds is written down when it is called.
struct Witnessed {
    tool: SandboxedTool,
    scope: Arc<Scope>,
    notes: Notes,
}

#[async_trait]
impl Tool for Witnessed {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    async fn call(&self, input: &str, progress: &Progress) -> ToolResult {
        self.notes.lock().scopes.push((self.scope.grants().clone(), *self.scope.limits()));
        self.tool.call(input, progress).await
    }
}

/// Whether a component that only wants to be linked is.
fn links(engine: &Engine, scope: &Scope, name: &str) -> bool {
    let Some(probe) = LinkProbe::all().iter().find(|probe| probe.name == name) else { return false };
    probe.load(engine).is_ok_and(|compiled| scope.add(&compiled, &probe.description(), "probe").is_ok())
}
