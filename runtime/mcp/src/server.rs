//! The server: what it offers, and how a request becomes a call.

use std::{collections::BTreeMap, sync::Arc};

use palisade_agent::{
    Cancellation, DuplicateTool, Event, FailureKind, Tool as AnyTool, ToolCall, ToolOutcome, ToolResult, Toolbox,
    cancellation,
};
use rmcp::{
    ErrorData, Peer, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
        Implementation, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken,
        ServerCapabilities, ServerConfig, Tool,
    },
    service::{RequestContext, ServerInitializeError, serve_server_with_ct},
};
use serde_json::Value;
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Semaphore, mpsc},
};
use tokio_util::sync::CancellationToken;

use crate::{AGENT_PREFIX, AgentOffer, AgentTool, Hints, Runs, lines::Lines};

/// How many calls are made at once; who wants more waits for an answer first.
const CALLS: usize = 64;

/// How many lines about one call may wait to be sent; the others are dropped.
const SAYINGS: usize = 64;

/// What is offered.
pub struct Offer {
    /// The tools of an agent, held to its rules.
    pub tools: Toolbox,
    /// Agents, as tools. They end when the other side has left: nobody would hear what they answer.
    pub agents: Toolbox,
    /// What is told of each by its name; of others, what is safe to assume.
    pub hints: BTreeMap<String, Hints>,
    /// Whose tools these are and where they work, for the model on the other side.
    pub instructions: String,
}

impl Offer {
    /// Agents that work where that one says, and nothing else.
    pub fn of_agents(instructions: &str, agents: &[AgentOffer], runs: &Arc<dyn Runs>) -> Result<Self, DuplicateTool> {
        let none = || Toolbox::new(Vec::new());
        let (tools, instructions) = (none()?, instructions.to_owned());
        Self { tools, agents: none()?, hints: BTreeMap::new(), instructions }.with_agents(agents, runs)
    }

    /// The same, and agents that work where that one says.
    pub fn with_agents(mut self, agents: &[AgentOffer], runs: &Arc<dyn Runs>) -> Result<Self, DuplicateTool> {
        let tools = agents.iter().map(|agent| Arc::new(AgentTool::new(agent, Arc::clone(runs))) as Arc<dyn AnyTool>);
        self.agents = Toolbox::new(tools.collect())?;
        self.hints.extend(agents.iter().map(|agent| (format!("{AGENT_PREFIX}{}", agent.name), agent.hints)));
        Ok(self)
    }
}

/// Serves an offer, to one client or to many.
pub struct Server {
    tools: Arc<Toolbox>,
    agents: Arc<Toolbox>,
    listed: Vec<Tool>,
    instructions: String,
    calls: Semaphore,
    left: Cancellation,
}

/// Why a server ended that was not told to.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The other side began with something that is no beginning.
    #[error("the MCP session did not begin: {0}")]
    Beginning(String),
    /// A fault of this program.
    #[error("the MCP server broke down: {0}")]
    Broken(#[from] tokio::task::JoinError),
}

impl Server {
    /// A server of what is offered. Of two things with one name the agent's own tool is meant.
    pub fn new(offer: Offer) -> Self {
        Self::until(offer, Cancellation::never())
    }

    fn until(Offer { tools, agents, hints, instructions }: Offer, left: Cancellation) -> Self {
        let mut listed: Vec<Tool> = Vec::new();
        for spec in tools.specs().iter().chain(agents.specs()) {
            if listed.iter().any(|other| other.name == spec.name) {
                continue;
            }
            let schema = match &spec.input_schema {
                Value::Object(schema) => schema.clone(),
                _ => serde_json::Map::from_iter([("type".to_owned(), Value::from("object"))]),
            };
            let tool = Tool::new(spec.name.clone(), spec.description.clone(), schema);
            listed.push(match hints.get(&spec.name) {
                Some(hints) => tool.with_annotations(hints.annotations()),
                None => tool,
            });
        }
        let (tools, agents) = (Arc::new(tools), Arc::new(agents));
        Self { tools, agents, listed, instructions, calls: Semaphore::new(CALLS), left }
    }

    /// The tools in the order they are listed in.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.listed.iter().map(|tool| tool.name.as_ref())
    }

    fn has(toolbox: &Toolbox, name: &str) -> bool {
        toolbox.specs().iter().any(|spec| spec.name == name)
    }

    /// Makes a call; while it goes on, the other side is told what it says, if it wants to know.
    async fn call(&self, call: ToolCall, hears: Option<(ProgressToken, Peer<RoleServer>)>) -> ToolResult {
        let (sender, mut sayings) = mpsc::channel(SAYINGS);
        let work = async move {
            let watcher = move |event: Event| {
                if let Event::CallProgress { message, .. } = event {
                    // Who does not keep up is told less.
                    drop(sender.try_send(message));
                }
            };
            if Self::has(&self.tools, &call.tool) {
                return self.tools.call_alone(&call, &watcher).await;
            }
            tokio::select! {
                result = self.agents.call_alone(&call, &watcher) => result,
                () = self.left.cancelled() => ToolResult::failed(FailureKind::Cancelled, "nobody waits for the answer"),
            }
        };
        let tell = async {
            let mut count = 0.0;
            while let Some(message) = sayings.recv().await {
                let Some((token, peer)) = &hears else { continue };
                count += 1.0;
                let said = ProgressNotificationParam::new(token.clone(), count).with_message(message);
                tokio::select! {
                    told = peer.notify_progress(said) => drop(told),
                    // Who has left does not want to know, and nobody says that it was told.
                    () = self.left.cancelled() => break,
                }
            }
        };
        tokio::join!(work, tell).0
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let own = Implementation::new("palisade", env!("CARGO_PKG_VERSION")).with_title("Palisade");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(own)
            .with_instructions(self.instructions.clone())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        match request.and_then(|request| request.cursor) {
            None => Ok(ListToolsResult::with_all_items(self.listed.clone())),
            Some(_) => Err(ErrorData::invalid_params("there is one page and no cursor", None)),
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, .. } = request;
        if !self.names().any(|known| known == name) {
            let (name, known) = (palisade_agent::clip(&name, 128), self.names().collect::<Vec<_>>().join(", "));
            return Err(ErrorData::invalid_params(format!("there is no tool `{name}`; there are {known}"), None));
        }
        let Ok(_permit) = self.calls.try_acquire() else {
            let text = format!("{CALLS} calls are under way; wait for one of them");
            return Ok(CallToolResult::error(vec![ContentBlock::text(text)]).into());
        };
        let input = Value::Object(arguments.unwrap_or_default());
        let call = ToolCall { id: context.id.to_string(), tool: name.into_owned(), input };
        let hears = context.meta.get_progress_token().map(|token| (token, context.peer.clone()));
        tokio::select! {
            biased;
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
            result = self.call(call, hears) => Ok(answer(result).into()),
        }
    }

    /// A request that is none of the protocol, or that does not have the form of the one it is called by.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = palisade_agent::clip(&request.method, 128);
        if WITH_PARAMS.contains(&request.method.as_str()) {
            let text = format!("the params of `{method}` do not have the form that the protocol gives them");
            return Err(ErrorData::invalid_params(text, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{method}`"), None))
    }
}

/// The requests of the protocol that a client sends with params of a form.
const WITH_PARAMS: [&str; 11] = [
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// What the model would read, whether it worked or not.
fn answer(result: ToolResult) -> CallToolResult {
    let content = vec![ContentBlock::text(result.text())];
    match result.outcome {
        ToolOutcome::Done(_) => CallToolResult::success(content),
        ToolOutcome::Failed { .. } => CallToolResult::error(content),
    }
}

/// Serves one client over two streams until it leaves or the server is told to end. Agents end with that; calls of tools
/// that are under way when a client leaves may take a few seconds more.
pub async fn serve<R, W>(offer: Offer, input: R, output: W, told_to_end: Cancellation) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (canceller, left) = cancellation();
    let token = CancellationToken::new();
    let ending = token.clone();
    let watch = async move {
        told_to_end.cancelled().await;
        ending.cancel();
        std::future::pending::<()>().await;
    };
    let lines = Lines::new(input, output, canceller);
    let serving = async {
        match serve_server_with_ct(Server::until(offer, left), lines, token).await {
            Ok(running) => running.waiting().await.map(drop).map_err(ServeError::Broken),
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
            Err(error) => Err(ServeError::Beginning(palisade_agent::clip(&error.to_string(), 512))),
        }
    };
    tokio::select! {
        served = serving => served,
        () = watch => Ok(()),
    }
}
