//! The tools of MCP servers.
//!
//! Which there are, and what a model is told of them, is what a server said when it was met ([`meet`]); a run starts a
//! server when the first of its tools is called, and holds what it says then against that. What a server may touch is
//! worked out with the rights of the agent ([`crate::effective`]) and nowhere else.

mod link;
mod meet;
mod posting;
mod tool;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use palisade_agent::{Agent, PermissionMode};
use palisade_grants::{Candidate, Capability, Command, CommandsGrant, Grants, Host, HttpGrant, NamesGrant, ToolSource};
use serde_json::Value;

use crate::{
    Available, PinnedTool, Registry, Server,
    definition::Connection,
    plugin_tools::{told_schema, told_text},
};

pub use meet::{Met, meet};
pub(crate) use {link::Link, tool::ServedTool};

/// A tool of a server, as it was when the server was met.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerTool {
    /// Whose it is.
    pub server: Arc<Server>,
    /// What the server calls it.
    pub own: String,
    /// What the server said of it.
    pub pinned: PinnedTool,
    /// What a model is told that it does.
    pub description: String,
    /// What a model is told of its input.
    pub schema: Value,
    /// Whether the operator or the user says that it only reads.
    pub reads: bool,
}

/// The tools of all servers that were met and can be used.
pub(crate) fn available(registry: &Registry) -> Vec<Available> {
    let mut seen = BTreeSet::new();
    let usable = registry.servers().iter().filter(|server| server.refused.is_none());
    let tools = usable.flat_map(|server| {
        let pinned = registry.pinned(server).into_iter().flat_map(|pinned| &pinned.tools);
        pinned.filter(|(name, _)| is_name(name)).map(|(name, tool)| one(server, name, tool))
    });
    // Of two whose names differ in nothing that counts, neither could be told from the other.
    tools.filter(|tool| seen.insert(tool.candidate.canonical().to_owned())).collect()
}

/// Whether a tool can be called so. Models' servers take no other names.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn one(server: &Arc<Server>, name: &str, pinned: &PinnedTool) -> Available {
    let (schema, unavailable) = match told_schema(&pinned.schema.to_string()) {
        Ok(schema) => (schema, None),
        Err(failure) => (Value::Null, Some(failure.to_string())),
    };
    let tool = ServerTool {
        server: Arc::clone(server),
        own: name.to_owned(),
        pinned: pinned.clone(),
        description: told_text(&pinned.description),
        schema,
        reads: server.only_reads(name),
    };
    let capabilities = tool.capabilities().into_iter().map(|capability| capability.name().to_owned());
    let source = ToolSource::Server(server.name.clone());
    let candidate = Candidate::new(format!("mcp__{}__{name}", server.name), capabilities, source);
    Available { unavailable, server: Some(Arc::new(tool)), ..Available::new(candidate) }
}

impl ServerTool {
    /// Any tool of a server that nobody has met.
    pub(crate) fn unknown_of(server: &Server) -> Self {
        Self {
            server: Arc::new(server.clone()),
            own: String::new(),
            pinned: PinnedTool { description: String::new(), schema: Value::Null },
            description: String::new(),
            schema: Value::Null,
            reads: true,
        }
    }

    /// What the host has to give to whoever carries it out. Nobody knows what a program does with files, so one writes
    /// unless the operator or the user says that it does not.
    pub(crate) fn capabilities(&self) -> BTreeSet<Capability> {
        match &self.server.connection {
            Some(Connection::Program { .. }) => {
                let writes = (!self.reads).then_some(Capability::FsWrite);
                [Capability::Exec, Capability::FsRead].into_iter().chain(writes).collect()
            }
            Some(Connection::Http { headers, .. }) => {
                let secrets = (!secrets(headers).is_empty()).then_some(Capability::Secrets);
                [Capability::Http].into_iter().chain(secrets).collect()
            }
            None => BTreeSet::new(),
        }
    }

    /// The widest that its server may touch beside files: its own program, or its own host.
    pub(crate) fn brings(&self) -> Grants {
        match &self.server.connection {
            Some(Connection::Program { .. }) => {
                let commands = self.server.command().parse::<Command>().into_iter();
                Grants { commands: commands.collect(), ..Grants::default() }
            }
            Some(Connection::Http { url, headers }) => {
                let http: HttpGrant = Host::of_service(url).into_iter().collect();
                // Who writes for others to run cannot name an address inside of their network.
                let http = if self.server.is_of_project { http.public() } else { http };
                Grants { http, secrets: secrets(headers), ..Grants::default() }
            }
            None => Grants::default(),
        }
    }

    /// What its server may touch of an agent's grants, if these are its tools that the agent has: all of them are
    /// carried out by one process.
    pub(crate) fn narrow(&self, agent: &Grants, tools: &[&Arc<Self>]) -> Grants {
        let together = tools.iter().filter(|other| other.server == self.server);
        let capabilities: BTreeSet<Capability> = together.flat_map(|other| other.capabilities()).collect();
        let Grants { files, .. } = Grants::everything();
        agent.narrow(&Grants { files, ..self.brings() }).narrow(&Grants::asking(&capabilities))
    }

    /// The capability without which it cannot be carried out, if that is not granted.
    pub(crate) fn missing(&self, held: &Grants) -> Option<Capability> {
        let brought = self.brings();
        let is_program = matches!(self.server.connection, Some(Connection::Program { .. }));
        match is_program {
            true => (!brought.commands.iter().all(|own| held.commands.covers(own))).then_some(Capability::Exec),
            false => {
                let has_host = !brought.http.is_empty() && brought.http.iter().all(|own| held.http.covers(own));
                (!has_host).then_some(Capability::Http)
            }
        }
    }

    /// What would let an agent have it.
    pub(crate) fn not_granted(&self, capability: Capability) -> String {
        let brought = self.brings();
        let words = match capability {
            Capability::Exec => brought.commands.iter().map(|own| format!("commands: [\"{own}\"]")).next(),
            _ => brought.http.iter().map(|own| format!("http: [\"{own}\"]")).next(),
        };
        match words {
            Some(words) => {
                format!("it needs `{capability}`, which is not granted; `grants: {{ {words} }}` would allow it")
            }
            None => "its address is not public; such a server is configured by the operator or the user".to_owned(),
        }
    }

    /// What makes it another one: its server, and each word that was said of it.
    pub(crate) fn identity(&self) -> String {
        format!("{} {}", self.server.key(), self.pinned.pin(&self.own))
    }

    /// Why an agent that only reads does not have it.
    pub(crate) fn not_for_readers(&self) -> String {
        let (server, tool) = (&self.server.name, &self.own);
        format!(
            "it may change something, and this agent only reads; `[mcp.{server}] read_only = [\"{tool}\"]` in the \
             operator's or the user's configuration would say that it does not"
        )
    }
}

/// Whether an agent's definition says that it changes nothing. One that names a tool that may is not such an agent.
pub(crate) fn only_reads(agent: &Agent, denies_writing: bool) -> bool {
    agent.permission_mode == Some(PermissionMode::Plan)
        || agent.grants.as_ref().is_some_and(Grants::only_read)
        || denies_writing
}

/// What an agent has for the sake of its tools of servers. Where a definition names grants, it has of them what names
/// servers: nobody else could have meant that.
pub(crate) fn brought(agent: &Agent, tools: &BTreeMap<&str, &Arc<ServerTool>>, registry: &Registry) -> Grants {
    let ceiling = registry.configured_ceiling_for(agent);
    match &agent.grants {
        Some(own) => {
            let commands = registry.servers().iter().filter_map(|server| server.command().parse::<Command>().ok());
            let commands: CommandsGrant = commands.collect();
            Grants { commands: commands.narrow(&own.commands).narrow(&ceiling.commands), ..Grants::default() }
        }
        None => tools.values().fold(Grants::default(), |all, tool| {
            let Grants { http, commands, secrets, .. } = agent.scope.restrict(&tool.brings().narrow(&ceiling));
            Grants {
                http: all.http.iter().chain(http.iter()).cloned().collect(),
                commands: all.commands.iter().chain(commands.iter()).cloned().collect(),
                secrets: all.secrets.iter().chain(secrets.iter()).cloned().collect(),
                ..all
            }
        }),
    }
}

/// What an agent under a ceiling lacks to have any tool of a server, in words. Without it there is no reason to meet
/// the server.
pub(crate) fn lacking(agent: &Agent, server: &Server, registry: &Registry, ceiling: &Grants) -> Option<String> {
    let tool = Arc::new(ServerTool::unknown_of(server));
    let brought = brought(agent, &BTreeMap::from([("", &tool)]), registry);
    let http = match &agent.grants {
        Some(own) => agent.scope.restrict(&own.narrow(&registry.ceiling_for(agent))).http,
        None => brought.http,
    };
    let held = Grants { http, ..brought }.narrow(ceiling);
    tool.missing(&held).map(|capability| tool.not_granted(capability))
}

/// What the author of an agent should know about the servers that it names.
pub(crate) fn notes(agent: &Agent, registry: &Registry) -> Vec<String> {
    let named = registry.servers().iter().filter(|server| agent.scope.names_server(&server.name));
    let note = |server: &Arc<Server>| {
        let name = &server.name;
        match (&server.refused, registry.pinned(server)) {
            (Some(why), _) => Some(format!("the MCP server `{name}` is not used: {why}")),
            (None, None) => Some(match lacking(agent, server, registry, &Grants::everything()) {
                Some(why) => format!("the MCP server `{name}` is not used: {why}"),
                None => format!(
                    "the tools of the MCP server `{name}` are not known yet: it is met when the agent is run, or with \
                     `palisade mcp trust {name}`"
                ),
            }),
            (None, Some(_)) => None,
        }
    };
    named.filter_map(note).collect()
}

/// The secrets that headers ask for.
fn secrets(headers: &BTreeMap<String, String>) -> NamesGrant {
    let names = headers.values().flat_map(|value| value.split("{{secret:").skip(1));
    names.filter_map(|rest| rest.split_once("}}")?.0.parse().ok()).collect()
}

#[cfg(test)]
mod tests;
