//! From what an agent may do to an agent that can act: a scope, and a toolbox whose every tool is
//! linked in it.

use std::{collections::BTreeMap, fmt, sync::Arc, thread};

use palisade_agent::{DuplicateTool, PANEL_TOOLS, Tool, Toolbox};
use palisade_grants::{Call, Capability, DELEGATION, Decision, Denial, ToolSource};
use palisade_sandbox::{
    Bounds, Compiled, Compiler, Engine, Failure, Gate, LinkRefusal, Report, Scope, Workspace, WorkspaceError,
};

use crate::{
    BuiltIn, Effective, EffectiveTool, PluginComponent,
    plugin_tools::{ComponentTool, Linkable, Linking, NativeTool},
    servers::{Link, ServedTool},
    shell_commands::{SHELL, shell_commands},
    skills::TOOL,
    tool::SandboxedTool,
};

/// An agent that can act.
pub struct Equipped {
    /// Its tools, for the loop.
    pub toolbox: Toolbox,
    /// The sandbox they run in.
    pub scope: Arc<Scope>,
    /// Tools in its scope that cannot be called, with the reason.
    pub left_out: Vec<LeftOut>,
    pub(crate) linking: Arc<Linking>,
}

impl Equipped {
    /// Links a tool of a plugin now, which its first call would do otherwise, so that it can be called in the scope.
    pub fn link(&self, tool: &str) -> Result<(), LinkRefusal> {
        self.linking.link(tool)
    }

    /// What came of a call of a tool of a plugin: what was refused says what it has to do with the plugin.
    pub fn explained(&self, tool: &str, report: Report) -> Report {
        self.linking.explained(tool, report)
    }
}

/// A tool in an agent's scope that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub tool: String,
    /// Why.
    pub reason: Missing,
}

/// Why a tool in scope is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It was not linked.
    Refused(LinkRefusal),
    /// There is nothing to link.
    Unavailable(String),
    /// It is a component of an installed plugin and describes itself otherwise than when it was looked at.
    Changed {
        /// Whose it is.
        plugin: String,
    },
}

impl From<Failure> for Missing {
    fn from(failure: Failure) -> Self {
        Self::Refused(LinkRefusal::Unusable(failure))
    }
}

impl From<Missing> for LinkRefusal {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Refused(refusal) => refusal,
            missing => Self::Unusable(Failure::BadComponent { reason: missing.to_string() }),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Unavailable(reason) => f.write_str(reason),
            Self::Changed { plugin } => write!(
                f,
                "it describes itself otherwise than when it was granted; `palisade plugins update {plugin}` shows what \
                 it says now"
            ),
        }
    }
}

/// Why an agent could not be equipped.
#[derive(Debug, thiserror::Error)]
pub enum EquipError {
    /// Its folders cannot be opened.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// It has two tools of one name.
    #[error(transparent)]
    Duplicate(#[from] DuplicateTool),
}

/// Opens what an agent may touch and links its tools to that. Of the tools in `host`, which this program
/// carries out itself, it gets those in its scope.
pub fn equip(
    engine: &Engine,
    compiler: Option<&Arc<Compiler>>,
    workspace: &Workspace,
    effective: &Effective,
    host: &[Arc<dyn Tool>],
) -> Result<Equipped, EquipError> {
    let workspace = with_packages(workspace, effective);
    let scope = Scope::open(engine, &workspace, effective.grants.clone(), effective.limits, None)?;
    let scope = Arc::new(match &effective.programs {
        Some(programs) => scope.with_programs(Arc::clone(programs)),
        None => scope,
    });
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    let mut left_out = Vec::new();
    let mut built_in: Vec<(&EffectiveTool, &'static BuiltIn)> = Vec::new();
    let mut own: Vec<Arc<dyn Tool>> = Vec::new();
    let mut links: BTreeMap<&str, Arc<Link>> = BTreeMap::new();
    let linking = Arc::new(Linking::new(engine, compiler, &scope, linkable(effective)));
    for tool in &effective.tools {
        if let (None, Some(component)) = (&tool.unavailable, &tool.component) {
            match linking.said(tool.candidate.name()) {
                Ok(said) if effective.is_shown(tool) => {
                    own.push(Arc::new(ComponentTool::new(tool, component, said, &linking)));
                }
                Ok(_) => {}
                Err(reason) => left_out.push(LeftOut { tool: tool.candidate.name().to_owned(), reason }),
            }
            continue;
        }
        if let (None, Some(command)) = (&tool.unavailable, &tool.command) {
            if !effective.is_shown(tool) {
                continue;
            }
            own.push(Arc::new(NativeTool::new(tool, command, Arc::clone(&scope))));
            continue;
        }
        if let (None, Some(served)) = (&tool.unavailable, &tool.server) {
            let link = links.entry(served.server.name.as_str()).or_insert_with(|| {
                let of_server = effective.tools.iter().filter_map(|other| other.server.as_ref());
                let of_server = of_server.filter(|other| other.server == served.server);
                let pinned = of_server.map(|other| (other.own.clone(), other.pinned.clone())).collect();
                Arc::new(Link::new(&served.server, &scope, tool.grants.clone(), pinned))
            });
            own.push(Arc::new(ServedTool::new(tool, served, link, effective.limits.output)));
            continue;
        }
        let hosted = host.iter().find(|hosted| is_hosted(tool, hosted.as_ref()));
        match (&tool.unavailable, BuiltIn::find(tool.candidate.name()), hosted) {
            (None, Some(component), _) => built_in.push((tool, component)),
            (None, None, Some(hosted)) => own.push(Arc::clone(hosted)),
            // There is nothing to read with it: nothing is missing.
            (None, None, None) if reads_what_is_not_there(tool) => {}
            (reason, ..) => {
                let reason = reason.clone().unwrap_or_else(|| nothing_there(tool).to_owned());
                left_out.push(LeftOut { tool: tool.candidate.name().to_owned(), reason: Missing::Unavailable(reason) });
            }
        }
    }
    // A shell finds its commands linked.
    for (tool, _) in effective.commands().filter(|(tool, _)| tool.component.is_some()) {
        let name = tool.candidate.name();
        if let Err(reason) = linking.link(name)
            && !left_out.iter().any(|other| other.tool == name)
        {
            left_out.push(LeftOut { tool: name.to_owned(), reason: Missing::Refused(reason) });
        }
    }
    let components: Vec<&'static BuiltIn> = built_in.iter().map(|(_, component)| *component).collect();
    for ((tool, component), loaded) in built_in.iter().zip(load(&components, engine, compiler.map(AsRef::as_ref))) {
        let description = component.description();
        let loaded = loaded.map_err(LinkRefusal::Unusable);
        let mut bounds = Bounds {
            grants: Some(tool.grants.clone()),
            gate: Some(gate(component.name.to_owned(), effective)),
            ..Bounds::default()
        };
        if component.name == SHELL {
            bounds.programs = Some(program_gate(effective));
            bounds.commands = shell_commands(effective);
        }
        match loaded.and_then(|compiled| scope.add_within(&compiled, &description, "core", bounds)) {
            Ok(()) => tools.push(Arc::new(SandboxedTool::new(&description, Arc::clone(&scope)))),
            Err(reason) => left_out.push(LeftOut { tool: component.name.to_owned(), reason: Missing::Refused(reason) }),
        }
    }
    tools.append(&mut own);
    let toolbox = Toolbox::new(tools)?.ruled_by(effective.agent.scope.clone()).knowing(effective.bound.clone());
    Ok(Equipped { toolbox, scope, left_out, linking })
}

/// The components of plugins that can be called.
fn linkable(effective: &Effective) -> Vec<Linkable> {
    let tools = effective.tools.iter().filter(|tool| tool.unavailable.is_none());
    let one = |tool: &EffectiveTool| {
        let gate = gate(tool.candidate.name().to_owned(), effective);
        Some(Linkable::new(tool, tool.component.as_ref()?, gate))
    };
    tools.filter_map(one).collect()
}

/// The same with the folders of the plugins whose components the agent has.
fn with_packages(workspace: &Workspace, effective: &Effective) -> Workspace {
    let tools = effective.tools.iter().filter(|tool| tool.unavailable.is_none());
    let packages: BTreeMap<&str, &PluginComponent> =
        tools.filter_map(|tool| tool.component.as_deref()).map(|component| (component.plugin(), component)).collect();
    packages.into_iter().fold(workspace.clone(), |workspace, (plugin, component)| match component.package() {
        Some(folder) => workspace.with_package(plugin, folder),
        None => workspace,
    })
}

/// Whether a tool in scope is this one of the host; a plugin's tool of the same name is not.
fn is_hosted(tool: &EffectiveTool, hosted: &dyn Tool) -> bool {
    tool.candidate.source == ToolSource::Core && tool.candidate.name() == hosted.spec().name
}

/// Whether a tool that the host has not brought is one for skills or panels, which it brings if there are any.
fn reads_what_is_not_there(tool: &EffectiveTool) -> bool {
    let name = tool.candidate.canonical();
    tool.candidate.source == ToolSource::Core && (name == TOOL || PANEL_TOOLS.contains(&name))
}

fn nothing_there(tool: &EffectiveTool) -> &'static str {
    match DELEGATION.contains(&tool.candidate.canonical()) {
        true => "other agents cannot be asked here",
        false => "it has no component",
    }
}

/// The rules hold for a tool that calls another as they do for the model; there is nobody to ask.
pub(crate) fn gate(tool: String, effective: &Effective) -> Gate {
    let scope = effective.agent.scope.clone();
    Arc::new(move |input| {
        let input = serde_json::from_str(input).unwrap_or_default();
        let verdict = scope.decide(&Call::new(&tool, &input)).without_asking();
        match verdict.decision {
            Decision::Allow => Ok(()),
            Decision::Ask | Decision::Deny => Err(Denial {
                capability: Capability::Tools,
                asked: format!("calling {tool}"),
                rule: verdict.reason,
                remedy: "change the rules of the agent's definition".to_owned(),
            }),
        }
    })
}

/// A script may come from a file that no rule has seen. What is denied to be run is denied again when it is.
fn program_gate(effective: &Effective) -> Gate {
    let scope = effective.agent.scope.clone();
    Arc::new(move |input| {
        let input = serde_json::from_str(input).unwrap_or_default();
        let call = Call::new("exec", &input);
        let mut denying = scope.disallowed.iter().chain(&scope.permissions.deny);
        match denying.find(|rule| rule.denies(&call)) {
            None => Ok(()),
            Some(rule) => Err(Denial {
                capability: Capability::Exec,
                asked: format!("running {}", call.input()["program"].as_str().unwrap_or_default()),
                rule: format!("`{rule}` denies it"),
                remedy: "change the rules of the agent's definition".to_owned(),
            }),
        }
    })
}

/// Loads tools side by side: copying their machine code is most of what a first answer waits for. Those after it
/// find it loaded.
fn load(tools: &[&'static BuiltIn], engine: &Engine, compiler: Option<&Compiler>) -> Vec<Result<Compiled, Failure>> {
    if tools.iter().filter(|tool| !tool.is_loaded(engine)).count() < 2 {
        return tools.iter().map(|tool| tool.load(engine, compiler)).collect();
    }
    thread::scope(|scope| {
        let start = |tool: &'static BuiltIn| {
            (tool, thread::Builder::new().spawn_scoped(scope, move || tool.load(engine, compiler)))
        };
        let loading: Vec<_> = tools.iter().copied().map(start).collect();
        let finish = |(tool, thread): (&BuiltIn, std::io::Result<thread::ScopedJoinHandle<'_, _>>)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| tool.load(engine, compiler)),
            // No thread is to be had: this one will do.
            Err(_) => tool.load(engine, compiler),
        };
        loading.into_iter().map(finish).collect()
    })
}
