//! An agent's linker: what its grants hold, its tools linked to that, and nothing else.

mod linking;
mod mirrored;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use palisade_grants::{Capability, Denial, FilesGrant, Grants};
use wasmtime::component::ResourceTable;

use crate::{
    Compiled, Description, Engine, Entry, Failure, Limits, Network, ProgramCall, Programs, Storage, Workspace,
    WorkspaceError,
    bindings::exports,
    capabilities::{
        commands::{CommandTool, Commands, Offered, ShellCommand},
        http::{Http, Web},
        preopens::{Files, Preopens},
        process,
        process::Native,
        shell::Session,
        storage::StorageSpace,
        trail::Trail,
    },
    engine,
    host::{self, Host},
    meter::Meter,
    output::Sink,
    runner::Apart,
    sandbox::{self, Call, Report},
};

pub(crate) use linking::Code;
use linking::{hollow, link};
pub(crate) use mirrored::Mirrored;

/// What an agent's tools run in: its grants, opened once, and its tools, linked to them.
pub struct Scope {
    engine: Engine,
    grants: Grants,
    limits: Limits,
    preopens: Preopens,
    storage: Option<Arc<dyn Storage>>,
    programs: Option<Arc<Programs>>,
    network: Option<Network>,
    /// Where its guests run, if that is another process.
    apart: Option<Arc<Apart>>,
    tools: Tools,
    /// Tools that are in scope and not linked yet.
    expected: RwLock<BTreeSet<String>>,
}

/// Which interfaces a linker holds. Tools with the same shape share their linked code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Shape {
    files: bool,
    storage: bool,
    process: bool,
    http: bool,
    toolbox: BTreeSet<String>,
}

/// The tools of one agent, shared with its guests so that one can call another.
pub(crate) type Tools = Arc<RwLock<BTreeMap<String, Arc<LinkedTool>>>>;

/// A tool linked to what its agent and its own declaration both allow.
pub(crate) struct LinkedTool {
    pub(crate) code: Code,
    /// Where in its component it begins.
    pub(crate) entry: Entry,
    pub(crate) limits: Limits,
    pub(crate) engine: Engine,
    /// Tells it from an earlier tool of its name.
    pub(crate) number: u64,
    /// Its machine code, and what it needs.
    pub(crate) compiled: Compiled,
    pub(crate) preopens: Preopens,
    /// The plugin whose folder it sees.
    pub(crate) package: Option<String>,
    pub(crate) grants: Grants,
    pub(crate) storage: Option<StorageSpace>,
    pub(crate) native: Option<Native>,
    /// What one call of it leaves for the next.
    session: Session,
    /// The tools that are commands of it, if it is a shell.
    pub(crate) commands: Commands,
    pub(crate) web: Option<Web>,
    /// Asked before another tool calls this one.
    pub(crate) gate: Option<Gate>,
    /// Where it runs, if that is another process.
    pub(crate) apart: Option<Arc<Apart>>,
}

/// Decides about the input of a call that one tool makes to another. Whoever calls a tool from outside
/// decides for itself.
pub type Gate = Arc<dyn Fn(&str) -> Result<(), Denial> + Send + Sync>;

/// How far one tool of an agent reaches, where that is less than its agent does.
#[derive(Clone, Default)]
pub struct Bounds {
    /// What it may touch at most.
    pub grants: Option<Grants>,
    /// What other tools may have it do.
    pub gate: Option<Gate>,
    /// Asked before it runs a native program, with the program and its arguments.
    pub programs: Option<Gate>,
    /// Other tools of the agent that are commands of this one, which is a shell.
    pub commands: Vec<ShellCommand>,
    /// The plugin that it belongs to: its folder, if the workspace has it, is there for the tool to look at.
    pub plugin: Option<String>,
    /// Where in its component it begins.
    pub entry: Entry,
}

/// Why a tool is not in an agent's toolbox.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkRefusal {
    /// It imports something that the agent's grants do not hold.
    #[error("it imports `{import}`: {denial}")]
    NotGranted {
        /// The import.
        import: String,
        /// What is missing and what would allow it.
        denial: Denial,
    },
    /// It cannot be linked at all.
    #[error("{0}")]
    Unusable(Failure),
}

impl Scope {
    /// Opens the granted folders. Tools are added afterwards.
    pub fn open(
        engine: &Engine,
        workspace: &Workspace,
        grants: Grants,
        limits: Limits,
        storage: Option<Arc<dyn Storage>>,
    ) -> Result<Self, WorkspaceError> {
        let preopens = Preopens::open(workspace, &grants.files)?;
        let apart = engine.runner().map(|_| Arc::new(Apart::new(workspace, &grants.files)));
        let (engine, network) = (engine.clone(), workspace.network());
        let storage = storage.or_else(|| workspace.storage());
        let (programs, tools, expected) = (None, Tools::default(), RwLock::default());
        Ok(Self { engine, grants, limits, preopens, storage, programs, network, apart, tools, expected })
    }

    /// The same with what an operator lets native programs have. Without it none is run, whatever is granted.
    #[must_use]
    pub fn with_programs(self, programs: Arc<Programs>) -> Self {
        Self { programs: Some(programs), ..self }
    }

    /// A scope that lends nothing but links everything, for asking a tool what it is.
    pub(crate) fn for_describing(engine: &Engine, limits: Limits) -> Self {
        let preopens = Preopens::none();
        let (engine, grants) = (engine.clone(), Grants::default());
        let (storage, programs, network, apart) = (None, None, None, None);
        let (tools, expected) = (Tools::default(), RwLock::default());
        Self { engine, grants, limits, preopens, storage, programs, network, apart, tools, expected }
    }

    /// What the agent may do.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// What each call may use up.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Says that a tool is in scope, though it is linked later, or never: others may be linked to it now. Until it is
    /// there, calls of it fail.
    pub fn expect(&self, tool: &str) {
        self.expected.write().unwrap_or_else(PoisonError::into_inner).insert(plain(tool));
    }

    /// Adds a tool: links it to what the agent's grants and the tool's declaration both hold. Tools
    /// that import `palisade:toolbox/…` are added after those they call.
    pub fn add(&self, tool: &Compiled, description: &Description, space: &str) -> Result<(), LinkRefusal> {
        self.add_within(tool, description, space, Bounds::default())
    }

    /// The same for a tool that reaches less far than its agent.
    pub fn add_within(
        &self,
        tool: &Compiled,
        description: &Description,
        space: &str,
        bounds: Bounds,
    ) -> Result<(), LinkRefusal> {
        let refused = |reason: String| LinkRefusal::Unusable(Failure::BadComponent { reason });
        if self.limits.stack < engine::STACK {
            return Err(refused(format!("a stack limit below {} bytes cannot be kept", engine::STACK)));
        }
        tool.needs().check_declared(&description.capabilities).map_err(|error| refused(error.to_string()))?;
        let asked = Grants::asking(&description.capabilities);
        let grants = bounds.grants.iter().fold(self.grants.narrow(&asked), |grants, bound| grants.narrow(bound));
        let package = bounds.plugin.as_deref().filter(|_| tool.needs().asks(Capability::FsRead));
        let shape = self.shape(tool, description, &grants, package.is_some())?;
        let code = link(&self.engine, tool, &bounds.entry, shape).map_err(LinkRefusal::Unusable)?;
        let storage = self.storage.clone().zip(grants.storage).map(|(storage, grant)| StorageSpace {
            storage,
            space: space.into(),
            grant,
        });
        let native = self.programs.clone().filter(|_| !grants.commands.is_empty()).map(|programs| Native {
            programs,
            commands: grants.commands.clone(),
            env: grants.env.clone(),
            gate: bounds.programs.clone(),
        });
        let web = (!grants.http.is_empty() || hollow(tool, Capability::Http)).then(|| Web {
            hosts: grants.http.clone(),
            secrets: grants.secrets.clone(),
            network: self.network.clone(),
        });
        let linked = LinkedTool {
            code,
            entry: bounds.entry,
            limits: self.limits_with(native.as_ref()),
            engine: self.engine.clone(),
            number: number(),
            compiled: tool.clone(),
            preopens: preopens_for(tool, &self.preopens, &grants.files, package),
            package: package.map(str::to_owned),
            grants,
            storage,
            native,
            session: Session::default(),
            commands: Arc::new(bounds.commands.into_iter().map(|command| self.offer(command)).collect()),
            web,
            gate: bounds.gate,
            apart: self.apart.clone(),
        };
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        tools.insert(description.name.clone(), Arc::new(linked));
        Ok(())
    }

    /// The names of the tools that are linked.
    pub fn tools(&self) -> Vec<String> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// What a tool may do here: its agent's grants, no wider than it declares.
    pub fn effective(&self, tool: &str) -> Option<Grants> {
        find(&self.tools, tool).map(|tool| tool.grants.clone())
    }

    /// Runs a tool on one of the sandbox's threads.
    pub async fn call(&self, tool: &str, input: String, call: Call) -> Report {
        match find(&self.tools, tool) {
            Some(linked) => sandbox::call_elsewhere(linked, Arc::clone(&self.tools), input, call).await,
            None => Report::failed(unknown(tool)),
        }
    }

    /// Runs a tool on this thread, which must be one that may block.
    pub fn call_here(&self, tool: &str, input: &str, call: &Call) -> Report {
        match find(&self.tools, tool) {
            Some(linked) => sandbox::call_here(&linked, &self.tools, input, call),
            None => Report::failed(unknown(tool)),
        }
    }

    /// Runs a native program that is a tool of its own, with no more than these of the agent's grants. Dropping
    /// the future ends it.
    pub async fn run_program(&self, program: ProgramCall, bounds: &Grants, call: Call) -> Report {
        let Some((native, preopens, limits)) = self.native_within(bounds) else {
            let denial = not_granted(&program.program, &[Capability::Exec], None);
            return Report::failed(Failure::Denied(denial));
        };
        let files = Files::new(&preopens, &limits);
        process::run_elsewhere(&self.engine, native, files, limits, program, call).await
    }

    /// The folders that somebody has who may do no more than this.
    pub(crate) fn narrowed_preopens(&self, files: &FilesGrant) -> Preopens {
        self.preopens.narrow(files)
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// How hosts are reached, if they are.
    pub(crate) fn network(&self) -> Option<Network> {
        self.network.clone()
    }

    /// What a native program finds that has no more than these of the agent's grants; nothing if none is run.
    fn native_within(&self, bounds: &Grants) -> Option<(Native, Preopens, Limits)> {
        let grants = self.grants.narrow(bounds);
        let programs = self.programs.clone().filter(|_| !grants.commands.is_empty())?;
        let native = Native { programs, commands: grants.commands, env: grants.env, gate: None };
        let limits = self.limits_with(Some(&native));
        Some((native, self.preopens.narrow(&grants.files), limits))
    }

    /// A tool as a command, with what it needs to run.
    fn offer(&self, command: ShellCommand) -> (String, Arc<Offered>) {
        let native = match &command.tool {
            CommandTool::Program(_, bounds) => self.native_within(bounds),
            CommandTool::Linked(_) => None,
        };
        (command.name.clone(), Arc::new(Offered { command, native }))
    }

    /// Makes a guest and keeps it without calling it, to measure what it costs.
    #[doc(hidden)]
    pub fn hold(&self, tool: &str) -> Result<sandbox::Held, Failure> {
        let linked = find(&self.tools, tool).ok_or_else(|| unknown(tool))?;
        sandbox::hold(&linked, &self.tools)
    }

    pub(crate) fn describe(&self, tool: &Compiled, call: &Call) -> Result<exports::Description, Failure> {
        let needs = tool.needs();
        let shape = Shape {
            files: needs.asks(Capability::FsRead),
            storage: needs.asks(Capability::Storage),
            process: needs.asks(Capability::Exec),
            http: needs.asks(Capability::Http),
            toolbox: needs.toolbox.clone(),
        };
        let linked = LinkedTool {
            code: link(&self.engine, tool, &Entry::Tool, shape)?,
            entry: Entry::Tool,
            limits: self.limits,
            engine: self.engine.clone(),
            number: number(),
            compiled: tool.clone(),
            preopens: self.preopens.clone(),
            package: None,
            grants: Grants::default(),
            storage: None,
            native: None,
            session: Session::default(),
            commands: Commands::default(),
            web: None,
            gate: None,
            apart: None,
        };
        sandbox::describe_here(&linked, &self.tools, call)
    }

    /// Decides which interfaces a tool gets, and refuses it if that is not all it imports.
    fn shape(
        &self,
        tool: &Compiled,
        description: &Description,
        grants: &Grants,
        package: bool,
    ) -> Result<Shape, LinkRefusal> {
        let mut held = grants.capabilities();
        let expected = self.expected.read().unwrap_or_else(PoisonError::into_inner);
        let in_scope = |name: &str| expected.contains(&plain(name)) || find(&self.tools, name).is_some();
        held.extend(package.then_some(Capability::FsRead));
        if description.capabilities.contains(&Capability::Tools) {
            held.insert(Capability::Tools);
        }
        for import in &tool.needs().imports {
            let missing_tool = import.toolbox().filter(|name| !in_scope(name));
            let is_hollow = tool.needs().is_foreign && import.can_be_hollow();
            if (import.is_met_by(&held) || is_hollow) && missing_tool.is_none() {
                continue;
            }
            let denial = not_granted(&import.name, import.capabilities, missing_tool);
            return Err(LinkRefusal::NotGranted { import: import.name.clone(), denial });
        }
        Ok(Shape {
            files: package || !grants.files.is_empty() || hollow(tool, Capability::FsRead),
            storage: grants.storage.is_some(),
            process: !grants.commands.is_empty(),
            http: !grants.http.is_empty() || hollow(tool, Capability::Http),
            toolbox: tool.needs().toolbox.clone(),
        })
    }

    /// Native programs take longer than guests. An agent that is held to less than the standard stays so.
    fn limits_with(&self, native: Option<&Native>) -> Limits {
        let own = self.limits.call_time;
        match native {
            Some(native) if own >= Limits::STANDARD.call_time => {
                Limits { call_time: own.max(native.programs.time + process::MARGIN), ..self.limits }
            }
            _ => self.limits,
        }
    }
}

impl LinkedTool {
    /// The state behind one call.
    pub(crate) fn host(&self, tools: &Tools, call: &Call, depth: u32, deadline: Instant) -> Host {
        let asked = call.host_for(depth);
        let stdout = Sink::new(self.limits.output);
        let stderr = Sink::new(self.limits.output);
        let files = Files::new(&self.preopens, &self.limits);
        let mut table = ResourceTable::new();
        table.set_max_capacity(self.limits.handles);
        Host {
            wasi: host::wasi(&self.limits, &stdout, &stderr),
            table,
            meter: Meter::new(self.limits),
            files,
            trail: Trail::default(),
            storage: self.storage(asked.as_ref()),
            native: self.native.clone(),
            output: self.limits.output,
            session: self.session.clone(),
            commands: Arc::clone(&self.commands),
            http: self.web.as_ref().map(|web| Box::new(Http::new(web.clone(), self.limits, deadline, asked.clone()))),
            progress: call.progress(),
            tools: Arc::clone(tools),
            asked,
            depth,
            deadline,
            cancelled: call.clone(),
            denials: Vec::new(),
            stdout,
            stderr,
            epochs: 0,
        }
    }
}

/// The folders that a tool has, under the names that it has for them.
fn preopens_for(tool: &Compiled, preopens: &Preopens, files: &FilesGrant, package: Option<&str>) -> Preopens {
    let narrowed = preopens.narrow(files);
    let narrowed = match package {
        Some(plugin) => narrowed.with_package(plugin),
        None => narrowed,
    };
    if tool.needs().has_shell() { narrowed.for_shell() } else { narrowed }
}

fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Finds a tool by its name, or by what that becomes where names have no `_`: in the imports of a component.
pub(crate) fn find(tools: &Tools, name: &str) -> Option<Arc<LinkedTool>> {
    let tools = tools.read().unwrap_or_else(PoisonError::into_inner);
    let alike = || tools.iter().find(|(other, _)| plain(other) == plain(name)).map(|(_, tool)| tool);
    tools.get(name).or_else(alike).cloned()
}

/// A tool's name as the import of a component writes it.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

/// A tool with its name, if it still is in a scope.
pub(crate) fn named(tools: &Tools, tool: &LinkedTool) -> Option<(String, Arc<LinkedTool>)> {
    let tools = tools.read().unwrap_or_else(PoisonError::into_inner);
    let (name, found) = tools.iter().find(|(_, other)| other.number == tool.number)?;
    Some((name.clone(), Arc::clone(found)))
}

pub(crate) fn unknown(tool: &str) -> Failure {
    Failure::BadComponent { reason: format!("there is no tool `{tool}` in this agent's scope") }
}

fn not_granted(import: &str, capabilities: &[Capability], missing_tool: Option<&str>) -> Denial {
    let capability = capabilities.first().copied().unwrap_or(Capability::Tools);
    let remedy = match (capability, missing_tool) {
        (_, Some(tool)) => format!("add `{tool}` to the agent's tools"),
        (Capability::FsRead | Capability::FsWrite, _) => {
            "`grants: { files: { \".\": read } }` in the agent's definition would allow it".to_owned()
        }
        (Capability::Storage, _) => {
            "`grants: { storage: { bytes: 1048576 } }` in the agent's definition would allow it".to_owned()
        }
        (Capability::Exec, _) => "`[exec] allow = [\"cargo test:*\"]` in the operator's or the user's configuration, \
                                  and `commands` where a definition has grants, would allow it"
            .to_owned(),
        (Capability::Http, _) => {
            "`grants: { http: [\"api.example.com\"] }` in the agent's definition would allow it".to_owned()
        }
        (Capability::Agents | Capability::Env | Capability::Secrets, _) => {
            format!("no agent can be granted `{capability}` in this version")
        }
        (Capability::Tools | Capability::Progress, _) => "declare `tools` in the tool's description".to_owned(),
    };
    Denial {
        capability,
        asked: format!("linking {import}"),
        rule: format!("the agent's grants hold no `{capability}`"),
        remedy,
    }
}
