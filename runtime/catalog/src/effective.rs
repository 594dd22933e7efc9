//! What an agent may do once every list, rule, grant and ceiling was asked.
//!
//! The one place where a definition becomes rights. The linker, the toolbox, `palisade explain` and
//! `palisade prove` all start from its result and from nothing else.

mod cut;
mod handing;
mod reach;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use palisade_agent::{Agent, Budget, CallLimits, Ceiling, Exposure, Layer, PANEL_TOOLS, PermissionMode};
use palisade_grants::{
    Access, Candidate, Capability, DELEGATION, Excluded, Grants, NamesGrant, Reach, Resolution, StorageGrant,
    Surroundings, ToolSource,
};
use palisade_sandbox::{Limits, Programs};

use crate::{
    BuiltIn, Registry,
    plugin_tools::{NativeCommand, PluginComponent},
    servers::{self, ServerTool},
    shell_commands::SHELL,
    skills::TOOL,
};

/// What an agent may do.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// Its definition.
    pub agent: Agent,
    /// The tools it has.
    pub tools: Vec<EffectiveTool>,
    /// The tools it has not, with the reason.
    pub excluded: Vec<Excluded>,
    /// Tools that work for another agent alone, with what whoever calls one is told.
    pub bound: Vec<(String, String)>,
    /// What it may touch.
    pub grants: Grants,
    /// What each of its calls may use up.
    pub limits: Limits,
    /// What one run may use up.
    pub budget: Budget,
    /// What native programs find, if any are allowed.
    pub programs: Option<Arc<Programs>>,
    /// What its author should know.
    pub warnings: Vec<String>,
    /// What its definition would allow and whoever asks it does not, each with what would allow it.
    pub cut: Vec<String>,
    /// The only tools that it and those it asks may have; absent: those of each definition.
    pub only: Option<BTreeSet<String>>,
}

/// What an agent is under when another one asks it.
#[derive(Clone, Copy, Debug)]
pub struct Under<'a> {
    /// What the other one hands down: see [`Effective::handed_down`].
    pub ceiling: &'a Ceiling,
    /// Its name.
    pub asked_by: &'a str,
}

/// A tool an agent has.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectiveTool {
    /// The tool.
    pub candidate: Candidate,
    /// What it may touch: its agent's grants, no wider than it declares and than the rules about
    /// its arguments let it reach; for a tool of a plugin, no wider than the plugin was granted.
    pub grants: Grants,
    /// Why it cannot be called, although it is in scope.
    pub unavailable: Option<String>,
    /// The native program that it is.
    pub command: Option<NativeCommand>,
    /// The component of a plugin that it is.
    pub component: Option<Arc<PluginComponent>>,
    /// The tool of an MCP server that it is.
    pub server: Option<Arc<ServerTool>>,
}

/// A tool that is there to be had.
#[derive(Clone, Debug, PartialEq)]
pub struct Available {
    /// The tool.
    pub candidate: Candidate,
    /// Why it cannot be called.
    pub unavailable: Option<String>,
    /// The native program that it is.
    pub command: Option<NativeCommand>,
    /// The component of a plugin that it is.
    pub component: Option<Arc<PluginComponent>>,
    /// The tool of an MCP server that it is.
    pub server: Option<Arc<ServerTool>>,
}

impl Available {
    pub(crate) fn new(candidate: Candidate) -> Self {
        Self { candidate, unavailable: None, command: None, component: None, server: None }
    }
}

/// The tools there are: those of this program, the ones with which agents are asked, skills are read and what is open
/// is looked at, then those of the plugins, then those of the MCP servers that were met.
pub fn available(registry: &Registry) -> Vec<Available> {
    let core = BuiltIn::all().map(|tool| {
        let capabilities = tool.description().capabilities;
        let capabilities = capabilities.into_iter().map(|capability| capability.name().to_owned());
        Available::new(Candidate::new(tool.name, capabilities, ToolSource::Core))
    });
    let asking = DELEGATION.map(|name| {
        let capabilities = [Capability::Agents.name().to_owned()];
        Available::new(Candidate::new(name, capabilities, ToolSource::Core))
    });
    let looking = [TOOL].into_iter().chain(PANEL_TOOLS);
    let looking = looking.map(|name| Available::new(Candidate::new(name, [], ToolSource::Core)));
    core.chain(asking)
        .chain(looking)
        .chain(registry.plugins().iter().flat_map(crate::plugin_tools::available))
        .chain(servers::available(registry))
        .collect()
}

/// Works out what an agent may do in the company of these tools, started by a person.
pub fn effective(agent: &Agent, available: &[Available], registry: &Registry) -> Effective {
    work_out(agent, available, registry, None)
}

/// The same, asked by another agent: no more than that one hands down. Which tools it has is its own
/// definition's business, what they reach is not.
pub fn effective_under(agent: &Agent, available: &[Available], registry: &Registry, under: Under<'_>) -> Effective {
    work_out(agent, available, registry, Some(under))
}

fn work_out(agent: &Agent, available: &[Available], registry: &Registry, under: Option<Under<'_>>) -> Effective {
    let candidates: Vec<Candidate> = available.iter().map(|tool| tool.candidate.clone()).collect();
    let budget = agent.budget();
    let identity = agent.identity();
    let around = Surroundings {
        identity: &identity,
        native: agent.native,
        may_delegate: budget.depth > 0,
        binding_overrides: &registry.settings().binding_overrides,
    };
    let Resolution { tools, mut excluded } = agent.scope.resolve(&candidates, &around);
    let bound = |tool: &Candidate| {
        let told = tool.binding.permits(tool.name(), around.identity, around.binding_overrides).err()?;
        Some((tool.name().to_owned(), told))
    };
    let bound = candidates.iter().filter_map(bound).collect();
    let mut warnings = Vec::new();
    let components: BTreeMap<&str, &Arc<PluginComponent>> = available
        .iter()
        .filter_map(|tool| Some((tool.candidate.canonical(), tool.component.as_ref()?)))
        .filter(|(name, _)| tools.iter().any(|tool| tool.canonical() == *name))
        .collect();
    let served: BTreeMap<&str, &Arc<ServerTool>> = available
        .iter()
        .filter_map(|tool| Some((tool.candidate.canonical(), tool.server.as_ref()?)))
        .filter(|(name, _)| tools.iter().any(|tool| tool.canonical() == *name))
        .collect();
    let reads = servers::only_reads(agent, denies_writing(agent));
    let (tools, kept_from): (Vec<&Candidate>, Vec<&Candidate>) =
        tools.into_iter().partition(|tool| !reads || served.get(tool.canonical()).is_none_or(|served| served.reads));
    excluded.extend(kept_from.iter().filter_map(|tool| {
        let reason = served.get(tool.canonical())?.not_for_readers();
        Some(Excluded { name: tool.name().to_owned(), reason, rule: None })
    }));
    let served: BTreeMap<&str, &Arc<ServerTool>> =
        served.into_iter().filter(|(name, _)| tools.iter().any(|tool| tool.canonical() == *name)).collect();
    let own = Held::of(agent, &tools, &components, &registry.ceiling_for(agent));
    let own = own.with(servers::brought(agent, &served, registry));
    let own_limits = limits(&agent.limits, &mut warnings);
    let (held, limits) = match under {
        None => (own.clone(), own_limits),
        Some(under) => (own.narrow(&under.ceiling.grants), handing::lower(own_limits, &under.ceiling.limits)),
    };
    let missing = |tool: &Candidate, held: &Held| match (components.get(tool.canonical()), served.get(tool.canonical()))
    {
        (Some(component), _) => component.missing(&component.narrow(&held.all)),
        (None, Some(served)) => served.missing(&held.all),
        (None, None) => missing(tool, &held.own),
    };
    let (own, grants) = (own, held.all.clone());
    let mut cut = under.map(|under| cut::cut((&own.all, &grants), (&own_limits, &limits), under)).unwrap_or_default();

    let only = under.and_then(|under| under.ceiling.tools.clone());
    let mut kept = Vec::with_capacity(tools.len());
    for candidate in tools {
        match (missing(candidate, &held), under) {
            (_, Some(under)) if only.as_ref().is_some_and(|only| !only.contains(candidate.canonical())) => {
                let reason = format!(
                    "`{}`, which asks, does not have it, and no agent may have more tools than the one that asks it",
                    under.asked_by
                );
                cut.push(format!("the tool `{}` is not there: {reason}", candidate.name()));
                excluded.push(Excluded { name: candidate.name().to_owned(), reason, rule: None });
            }
            (None, _) => kept.push(candidate.clone()),
            (Some(capability), Some(under)) if missing(candidate, &own).is_none() => {
                let reason = format!("it needs `{capability}`, which `{}`, which asks, does not have", under.asked_by);
                cut.push(format!("the tool `{}` is not there: {reason}", candidate.name()));
                excluded.push(Excluded { name: candidate.name().to_owned(), reason, rule: None });
            }
            (Some(capability), _) => {
                let component = components.get(candidate.canonical()).filter(|own| !own.was_granted(capability));
                let reason = match (component, served.get(candidate.canonical())) {
                    (Some(component), _) => component.not_granted(capability),
                    (None, Some(served)) => served.not_granted(capability),
                    (None, None) => not_granted(capability),
                };
                excluded.push(Excluded { name: candidate.name().to_owned(), reason, rule: None });
            }
        }
    }
    warnings.splice(0..0, self::warnings(agent, &candidates, &kept, &own.all));
    warnings.extend(servers::notes(agent, registry));
    let of_servers: Vec<&Arc<ServerTool>> =
        kept.iter().filter_map(|tool| served.get(tool.canonical()).copied()).collect();
    let tool = |candidate: Candidate| {
        let found = available.iter().find(|tool| tool.candidate == candidate);
        let command = found.and_then(|tool| tool.command.clone());
        let component = found.and_then(|tool| tool.component.clone());
        let server = found.and_then(|tool| tool.server.clone());
        let grants = match (&component, &server) {
            (Some(component), _) => component.narrow(&agent.scope.narrow_for(candidate.canonical(), &held.all)),
            (None, Some(server)) => server.narrow(&held.all, &of_servers),
            (None, None) => {
                let narrowed = agent.scope.narrow_for(candidate.canonical(), &held.own);
                narrowed.narrow(&Grants::asking(&needs(&candidate)))
            }
        };
        let refused = command.as_ref().and_then(|command| command.refused_by(&grants.commands));
        let unavailable = found.and_then(|tool| tool.unavailable.clone()).or(refused);
        EffectiveTool { candidate, grants, unavailable, command, component, server }
    };
    Effective {
        tools: kept.into_iter().map(tool).collect(),
        agent: agent.clone(),
        excluded,
        bound,
        grants,
        limits,
        budget,
        programs: registry.programs().cloned(),
        warnings,
        cut,
        only,
    }
}

/// What an agent has.
#[derive(Clone, Debug)]
struct Held {
    /// For itself and for the tools of this program.
    own: Grants,
    /// The same with what the operator granted to plugins whose tools it has. Only those tools get that: to install
    /// a plugin gives no other tool a host.
    all: Grants,
}

impl Held {
    fn of(
        agent: &Agent,
        tools: &[&Candidate],
        components: &BTreeMap<&str, &Arc<PluginComponent>>,
        ceiling: &Grants,
    ) -> Self {
        let own = grants(agent, tools, components, ceiling);
        // Who says what it is granted has said it.
        if agent.grants.is_some() {
            return Self { all: own.clone(), own };
        }
        let mut all = own.clone();
        for component in components.values() {
            let Grants { http, secrets, storage, .. } = agent.scope.restrict(&component.brings().narrow(ceiling));
            all.http = Reach::new(all.http.iter().chain(http.iter()).cloned());
            all.secrets = Reach::new(all.secrets.iter().chain(secrets.iter()).cloned());
            let most = |grant: Option<StorageGrant>| grant.map(|grant| grant.bytes);
            all.storage = most(all.storage).max(most(storage)).map(|bytes| StorageGrant { bytes });
        }
        Self { own, all }
    }

    /// The same with what tools of servers bring, for them alone.
    fn with(mut self, brought: Grants) -> Self {
        let all = &mut self.all;
        all.http = all.http.iter().chain(brought.http.iter()).cloned().collect();
        all.commands = all.commands.iter().chain(brought.commands.iter()).cloned().collect();
        all.secrets = all.secrets.iter().chain(brought.secrets.iter()).cloned().collect();
        self
    }

    fn narrow(&self, ceiling: &Grants) -> Self {
        Self { own: self.own.narrow(ceiling), all: self.all.narrow(ceiling) }
    }
}

/// What the definition says, or what its tools need; no more than the ceiling, the mode and the
/// rules about paths and hosts leave.
fn grants(
    agent: &Agent,
    tools: &[&Candidate],
    components: &BTreeMap<&str, &Arc<PluginComponent>>,
    ceiling: &Grants,
) -> Grants {
    let own = agent.grants.clone().unwrap_or_else(|| derived(agent, tools, components));
    let own = match agent.permission_mode {
        Some(PermissionMode::Plan) => Grants { files: own.files.read_only(), ..own },
        _ => own,
    };
    let left = agent.scope.restrict(&own.narrow(ceiling));
    if names_only_public_addresses(agent) { Grants { http: left.http.public(), ..left } } else { left }
}

/// Who writes for others to run cannot name an address inside of their network, not even where the file was trusted.
fn names_only_public_addresses(agent: &Agent) -> bool {
    matches!(agent.origin.layer, Layer::Plugin | Layer::Project)
}

/// The grants of a definition that names none: the workspace, read-only unless one of its tools
/// writes (a shell does, unless the definition denies what else would); the hosts that its rules name; other agents if a
/// tool asks them; native programs, as far as they are allowed, if a tool runs them; nothing else, because nothing else was
/// asked for. A tool of a plugin needs what its plugin was granted, and nothing more. It does not say what the agent
/// itself may not be.
fn derived(agent: &Agent, tools: &[&Candidate], components: &BTreeMap<&str, &Arc<PluginComponent>>) -> Grants {
    let needs = |tool: &Candidate| {
        let component = components.get(tool.canonical());
        let is_granted = |capability: &Capability| component.is_none_or(|own| own.was_granted(*capability));
        needs(tool).into_iter().filter(is_granted).collect::<BTreeSet<Capability>>()
    };
    let is_held_back = |tool: &Candidate| RUNNING.contains(&tool.canonical()) && denies_writing(agent);
    let writes = tools.iter().any(|tool| needs(tool).contains(&Capability::FsWrite) && !is_held_back(tool));
    let access = if writes { Access::ReadWrite } else { Access::Read };
    let asks = tools.iter().any(|tool| needs(tool).contains(&Capability::Agents));
    let agents = NamesGrant::from_iter(asks.then(|| "*".parse().ok()).flatten());
    // The program of a server is brought by its tools, and no other comes with it.
    let is_served = |tool: &Candidate| matches!(tool.source, ToolSource::Server(_));
    let runs = tools.iter().any(|tool| needs(tool).contains(&Capability::Exec) && !is_served(tool));
    let native = if runs { Grants::everything() } else { Grants::default() };
    let Grants { commands, env, .. } = native;
    let Grants { outside, .. } = Grants::everything();
    Grants { http: agent.scope.hosts(), agents, commands, env, outside, ..Grants::workspace(access) }
}

/// The host's capabilities among those that a tool names.
fn needs(tool: &Candidate) -> BTreeSet<Capability> {
    tool.capabilities().iter().filter_map(|capability| capability.parse().ok()).collect()
}

/// The first capability without which a tool cannot be linked. A tool that reads and writes can be
/// linked to folders that it may only read.
fn missing(tool: &Candidate, grants: &Grants) -> Option<Capability> {
    let mut held = grants.capabilities();
    held.insert(Capability::Tools);
    if held.contains(&Capability::FsRead) {
        held.insert(Capability::FsWrite);
    }
    // A shell is of use without native programs, and of a plugin's command it is said what would allow it.
    if tool.canonical() != EXEC {
        held.insert(Capability::Exec);
    }
    // Which variables a program gets is no reason not to run it.
    held.insert(Capability::Env);
    needs(tool).into_iter().find(|capability| !held.contains(capability))
}

/// The tool that is nothing without native programs.
const EXEC: &str = "exec";

/// The tools that do what a script or a program says.
const RUNNING: [&str; 2] = [SHELL, EXEC];

/// Whether a definition denies the tools that write: what it runs should not write either.
fn denies_writing(agent: &Agent) -> bool {
    let denied = || agent.scope.disallowed.iter().chain(&agent.scope.permissions.deny);
    let is_denied = |tool: &str| denied().any(|rule| rule.matches_tool(tool) && rule.covers_all_arguments());
    ["write", "edit"].into_iter().all(is_denied)
}

fn not_granted(capability: Capability) -> String {
    let remedy = match capability {
        Capability::Exec => {
            "; `[exec] allow = [\"cargo test:*\"]` in the operator's or the user's configuration, and `commands` where \
             a definition has grants, would allow it"
        }
        Capability::Http => "; `grants: { http: [\"example.com\"] }` or `WebFetch(domain:example.com)` would allow it",
        _ => "",
    };
    format!("it needs `{capability}`, which is not granted{remedy}")
}

/// What each call may use up: what the definition says, where that is less than the standard. What it
/// says in vain is told.
fn limits(own: &CallLimits, warnings: &mut Vec<String>) -> Limits {
    let standard = Limits::STANDARD;
    let mut lower = |name: &str, own: Option<u64>, standard: u64| {
        let wanted = own.unwrap_or(standard);
        if wanted > standard {
            warnings.push(format!("`limits.{name}` is lowered from {wanted} to {standard}, the most a call may have"));
        }
        wanted.min(standard)
    };
    let mut size = |name: &str, own: Option<u64>, standard: usize| {
        usize::try_from(lower(name, own, standard as u64)).unwrap_or(standard)
    };
    let memory = size("memory", own.memory, standard.memory);
    let output = size("output", own.output, standard.output);
    let open_files = size("open_files", own.open_files, standard.open_files);
    let written = lower("written", own.written, standard.written);
    let created = lower("created", own.created, standard.created);
    let call_time = own.call_time.unwrap_or(standard.call_time);
    if call_time > standard.call_time {
        let (own, most) = (call_time.as_secs_f64(), standard.call_time.as_secs_f64());
        warnings.push(format!("`limits.call_time` is lowered from {own} s to {most} s, the most a call may have"));
    }
    let call_time = call_time.min(standard.call_time);
    Limits { memory, call_time, output, written, created, open_files, ..standard }
}

fn warnings(agent: &Agent, candidates: &[Candidate], tools: &[Candidate], grants: &Grants) -> Vec<String> {
    let mut warnings: Vec<String> = without_effect(agent, tools).into_iter().collect();
    // A built-in agent may name tools that this build does not have.
    if !agent.native {
        warnings.extend(
            agent
                .scope
                .unknown(candidates)
                .into_iter()
                .map(|name| format!("there is no tool `{name}`; it is kept, in case a plugin brings it")),
        );
    }
    if !grants.files.writes() {
        let writers = tools
            .iter()
            .filter(|tool| needs(tool).contains(&Capability::FsWrite) && !RUNNING.contains(&tool.canonical()));
        warnings
            .extend(writers.map(|tool| format!("`{}` is in scope, but no folder is granted read-write", tool.name())));
    }
    // A built-in agent may name what an operator could allow.
    let commands = agent.grants.iter().filter(|_| !agent.native).flat_map(|own| own.commands.iter());
    warnings.extend(commands.filter(|command| !grants.commands.covers(command)).map(|command| {
        format!(
            "`commands: [\"{command}\"]` is more than `[exec] allow` in the configuration allows, so it is not granted"
        )
    }));
    let asked = agent.grants.as_ref().map_or_else(|| agent.scope.hosts(), |own| own.http.clone());
    let denied = agent.scope.restrict(&Grants { http: asked.clone(), ..Grants::default() }).http;
    for host in asked.iter().filter(|host| !denied.covers(host)) {
        warnings.push(format!("`{host}` is not granted, because a rule denies it or a host in it"));
    }
    if names_only_public_addresses(agent) {
        let public = asked.public();
        for host in asked.iter().filter(|host| !public.covers(host)) {
            let text = "is not granted: an address that is not public is named by the operator or the user alone";
            warnings.push(format!("`{host}` {text}"));
        }
    }
    if let Some(own) = &agent.grants
        && own.agents.is_empty()
        && agent.scope.has_allow_list()
        && agent.scope.asks_others()
    {
        let text = "its tools name other agents, but its `grants` do not; `agents: [\"*\"]` in them would allow it";
        warnings.push(text.to_owned());
    }
    warnings
}

/// What a definition asks for in vain: commands of a shell that it has not.
fn without_effect(agent: &Agent, tools: &[Candidate]) -> Option<String> {
    let name = agent.exposure.name();
    let has_shell = tools.iter().any(|tool| tool.canonical() == SHELL);
    let plugins = tools.iter().any(|tool| tool.source != ToolSource::Core);
    (agent.exposure != Exposure::Tools && plugins && !has_shell).then(|| {
        let lost = if agent.exposure == Exposure::Skills { "; it has none of them" } else { "" };
        format!("`tool_exposure: {name}` makes tools of plugins commands of `bash`, which it has not{lost}")
    })
}

#[cfg(test)]
mod tests;
