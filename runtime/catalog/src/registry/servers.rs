//! The MCP servers there are: those that the operator and the user configured, and those of the project, if its file was
//! looked at and is trusted as it is. Nothing is started here.

mod pins;

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use cap_std::fs::Dir;
use palisade_agent::Agent;
use palisade_grants::{Grants, Host, Pattern};
use palisade_sandbox::Programs;

use super::{
    Registry,
    places::Places,
    private::KeptError,
    read,
    trust::{Trust, real_path},
};
use crate::{
    definition::{Connection, Notice, WrittenServer, parse_servers},
    servers,
};

pub use pins::{PinnedServer, PinnedTool, ServerPins};

/// The file in which a project names servers.
pub const PROJECT_SERVERS: &str = ".mcp.json";

/// Looks up a variable.
pub type ServerVariables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What the operator and the user say about servers. Without it there are none.
#[derive(Clone, Default)]
pub struct ServerSettings {
    /// Servers, and what is said about servers of projects.
    pub configured: Vec<ConfiguredServer>,
    /// What programs that are servers find.
    pub programs: Option<Programs>,
    /// The variables that a project's file may name.
    pub variables: Option<ServerVariables>,
}

/// What the operator and the user say about one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfiguredServer {
    /// What it is called.
    pub name: String,
    /// How it is spoken to; nothing if it is the project's.
    pub connection: Option<Connection>,
    /// Further folders that its program may read.
    pub read: Vec<PathBuf>,
    /// Whether its program may use the network, all of it; if nobody says, as all native programs.
    pub network: Option<bool>,
    /// Tools that only read. The server is not asked about that.
    pub read_only: Vec<Pattern>,
    /// How long it may take to begin, and likewise each call.
    pub time: Option<Duration>,
    /// Where that is said.
    pub place: String,
}

/// An MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// What it is called.
    pub name: String,
    /// How it is spoken to; of one that cannot be used, nothing.
    pub connection: Option<Connection>,
    /// Who says that there is one.
    pub place: String,
    /// Whether the project does.
    pub is_of_project: bool,
    /// Why it cannot be used.
    pub refused: Option<String>,
    /// What its program finds.
    pub programs: Option<Arc<Programs>>,
    /// How long it may take to begin, and likewise each call.
    pub time: Option<Duration>,
    read_only: Vec<Pattern>,
}

/// The project's file, and whether it is trusted.
#[derive(Clone, Debug)]
pub struct ServersFile {
    /// The workspace, as decisions know it.
    pub workspace: PathBuf,
    /// The digest of its bytes.
    pub digest: blake3::Hash,
    /// Whether somebody trusts it as it is.
    pub trusted: bool,
    /// Whether somebody trusted it as it was.
    pub changed: bool,
    bytes: Vec<u8>,
}

/// All that is known about servers.
#[derive(Clone, Debug, Default)]
pub(super) struct Servers {
    settings: Option<ServerSettings>,
    file: Option<ServersFile>,
    pub(super) pins: ServerPins,
    list: Vec<Arc<Server>>,
    notices: Vec<Notice>,
}

impl Servers {
    /// Looks for the project's file and for what was kept.
    pub(super) fn load(places: &Places, problems: &mut Vec<Notice>) -> Self {
        let pins = places.server_pins.as_deref().map(ServerPins::load).unwrap_or_default();
        Self { file: project_file(places, problems), pins, ..Self::default() }
    }

    /// The same, as those who decide about servers let it be.
    pub(super) fn allowed(mut self, settings: Option<ServerSettings>) -> Self {
        self.settings = settings;
        (self.list, self.notices) = match &self.settings {
            Some(settings) => self.gather(settings),
            None => Default::default(),
        };
        self
    }

    pub(super) fn into_settings(self) -> Option<ServerSettings> {
        self.settings
    }

    fn gather(&self, settings: &ServerSettings) -> (Vec<Arc<Server>>, Vec<Notice>) {
        let mut notices = Vec::new();
        let mut list: Vec<Server> =
            settings.configured.iter().filter_map(|own| self.configured(own, settings)).collect();
        let variables = |name: &str| settings.variables.as_ref().and_then(|variables| variables(name));
        let unset = |_: &str| Some(String::new());
        let written = match &self.file {
            // Before it is trusted nothing of the environment is looked up for it.
            Some(file) if !file.trusted => parse_servers(&file.bytes, &unset),
            Some(file) => parse_servers(&file.bytes, &variables),
            None => Ok(Vec::new()),
        };
        for written in written.unwrap_or_else(|why| {
            notices.push(Notice::warning(PROJECT_SERVERS, format!("no server of it is used: {why}")));
            Vec::new()
        }) {
            if let Some(other) = list.iter().find(|other| other.name.eq_ignore_ascii_case(&written.name)) {
                let text = format!("the server `{}` is not used: {} has one of that name", written.name, other.place);
                notices.push(Notice::warning(PROJECT_SERVERS, text));
                continue;
            }
            list.push(self.of_project(written, settings));
        }
        list.sort_by(|one, other| one.name.cmp(&other.name));
        (list.into_iter().map(Arc::new).collect(), notices)
    }

    fn configured(&self, own: &ConfiguredServer, settings: &ServerSettings) -> Option<Server> {
        let connection = own.connection.clone()?;
        Some(self.checked(Server {
            name: own.name.clone(),
            connection: Some(connection),
            place: own.place.clone(),
            is_of_project: false,
            refused: None,
            programs: found(settings, own),
            time: own.time,
            read_only: own.read_only.clone(),
        }))
    }

    fn of_project(&self, written: WrittenServer, settings: &ServerSettings) -> Server {
        let own = settings.configured.iter().find(|own| own.connection.is_none() && own.name == written.name);
        let own = own.cloned().unwrap_or_default();
        let (connection, wrong) = match written.connection {
            Ok(connection) => (Some(connection), None),
            Err(why) => (None, Some(why)),
        };
        let untrusted = self.file.as_ref().filter(|file| !file.trusted).map(|file| {
            let how = if file.changed { "was changed since it was trusted" } else { "is not trusted" };
            format!("{PROJECT_SERVERS} {how}; `palisade mcp trust {}` shows what it starts and trusts it", written.name)
        });
        self.checked(Server {
            name: written.name,
            connection,
            place: PROJECT_SERVERS.to_owned(),
            is_of_project: true,
            refused: untrusted.or(wrong),
            programs: found(settings, &own),
            time: own.time,
            read_only: own.read_only,
        })
    }

    fn checked(&self, mut server: Server) -> Server {
        let damaged = self.pins.damaged().map(|why| format!("no server is used, because {why}"));
        let no_host = match &server.connection {
            Some(Connection::Http { url, .. }) if Host::of_service(url).is_none() => {
                Some("its `url` is no address of http or https without a password".to_owned())
            }
            _ => None,
        };
        server.refused = server.refused.or(damaged).or(no_host);
        server
    }
}

/// What a program that is a server finds.
fn found(settings: &ServerSettings, own: &ConfiguredServer) -> Option<Arc<Programs>> {
    let mut programs = settings.programs.clone()?;
    programs.network = own.network.unwrap_or(programs.network);
    programs.read.extend(own.read.iter().cloned());
    Some(Arc::new(programs))
}

fn project_file(places: &Places, problems: &mut Vec<Notice>) -> Option<ServersFile> {
    let workspace = places.workspace.as_deref()?;
    let dir = Dir::open_ambient_dir(workspace, cap_std::ambient_authority()).ok()?;
    let bytes = match read::read_unlinked(&dir, PROJECT_SERVERS) {
        Ok(contents) => contents.bytes,
        Err(error) if error.is_missing() => return None,
        Err(error) => {
            problems.push(Notice::warning(PROJECT_SERVERS, format!("no server of it is used: {error}")));
            return None;
        }
    };
    let (workspace, digest) = (real_path(workspace), blake3::hash(&bytes));
    let trust = places.trust.as_deref().map(Trust::load).unwrap_or_default();
    let decided = trust.decided(&workspace, PROJECT_SERVERS);
    let (trusted, changed) = (decided == Some(digest), decided.is_some_and(|decided| decided != digest));
    Some(ServersFile { workspace, digest, trusted, changed, bytes })
}

impl Server {
    /// What it is known by where it is kept what it said: another command or address is another server.
    pub fn key(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut part = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        part(&self.name);
        match &self.connection {
            Some(Connection::Program { program, arguments, .. }) => {
                part("program");
                part(program);
                arguments.iter().for_each(|argument| part(argument));
            }
            Some(Connection::Http { url, .. }) => {
                part("http");
                part(url);
            }
            None => {}
        }
        hasher.finalize().to_hex().to_string()
    }

    /// What has to be granted to run its program, among the commands.
    pub fn command(&self) -> String {
        format!("mcp__{}", self.name)
    }

    /// Whether the operator or the user says that a tool of it only reads.
    pub fn only_reads(&self, tool: &str) -> bool {
        self.read_only.iter().any(|pattern| pattern.matches(tool))
    }
}

impl Registry {
    /// Lets there be servers. Only the operator and the user say so; what is not said stays as it is.
    pub fn allow_servers(&mut self, settings: ServerSettings) {
        self.servers = std::mem::take(&mut self.servers).allowed(Some(settings));
        self.warnings.extend(self.servers.notices.iter().cloned());
    }

    /// The servers, by name.
    pub fn servers(&self) -> &[Arc<Server>] {
        &self.servers.list
    }

    /// The project's file of servers.
    pub fn servers_file(&self) -> Option<&ServersFile> {
        self.servers.file.as_ref()
    }

    /// What a server said when it was met; nothing if it never was.
    pub fn pinned(&self, server: &Server) -> Option<&PinnedServer> {
        self.servers.pins.get(&server.key())
    }

    /// Servers that an agent names, that it can use under a ceiling, and that nobody has met: their tools are not known.
    pub fn unmet(&self, agent: &Agent, ceiling: &Grants) -> Vec<Arc<Server>> {
        let named = self.servers().iter().filter(|server| agent.scope.names_server(&server.name));
        let unmet = named.filter(|server| server.refused.is_none() && self.pinned(server).is_none());
        unmet.filter(|server| servers::lacking(agent, server, self, ceiling).is_none()).cloned().collect()
    }

    /// Keeps what a server says of its tools.
    pub fn pin(&mut self, server: &Server, pinned: PinnedServer, anew: bool) -> Result<PinnedServer, KeptError> {
        let path = self.loaded_from.as_ref().and_then(|from| from.places.server_pins.clone());
        let Some(path) = path else {
            let error = std::io::Error::other("there is no place to keep it; set HOME or PALISADE_DATA_DIR");
            return Err(KeptError::Io { path: PathBuf::from("mcp.lock"), error });
        };
        let kept = ServerPins::keep(&path, &server.key(), pinned, anew)?;
        self.servers.pins = ServerPins::load(&path);
        Ok(kept)
    }
}

impl fmt::Debug for ServerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSettings").field("configured", &self.configured).finish_non_exhaustive()
    }
}
