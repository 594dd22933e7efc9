//! What the server serves. Implemented where definitions, tools and models meet.

use std::sync::Arc;

use async_trait::async_trait;
use palisade_agent::{Asker, Client, Delegation, Watcher};
use palisade_mcp::{AgentOffer, Offer};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The agents of every tenant, and what they work with.
#[async_trait]
pub trait House: Send + Sync + 'static {
    /// The agents that a tenant sees, by name.
    async fn agents(&self, tenant: &str) -> Result<Vec<AgentCard>, Refused>;

    /// What one of them may do, as `palisade explain --json` says it, when the last of a chain of agents asks it that ask
    /// each other; with what is cut (`cut`), the chain (`chain`) and whom it may ask itself (`asks`).
    async fn explain(&self, tenant: &str, agent: &str, chain: &[String]) -> Result<Value, Refused>;

    /// The tools there are for a tenant's agents.
    async fn tools(&self, tenant: &str) -> Result<Vec<ToolCard>, Refused>;

    /// The plugins of a tenant, as `palisade plugins list --json` has them.
    async fn plugins(&self, tenant: &str) -> Result<Value, Refused>;

    /// The tools of one of a tenant's agents as a run of it would have them, for whoever calls them without one. Nobody is
    /// asked: what somebody would have to allow is refused.
    async fn offered_tools(&self, tenant: &str, agent: &str) -> Result<Offer, Refused>;

    /// The agents of a tenant that can be had work as tools, and what is told of each.
    async fn offered_agents(&self, tenant: &str) -> Result<Vec<AgentOffer>, Refused>;

    /// What a tenant's settings come to, as they are kept: checked, so that nothing is set that is not enforced.
    fn settings(&self, settings: Value) -> Result<Value, Refused>;

    /// What a tenant with these settings may use up.
    fn quotas(&self, settings: &Value) -> Result<Quotas, Refused>;

    /// A tenant's own secrets, by name.
    async fn secrets(&self, tenant: &str) -> Result<Vec<SecretCard>, Refused>;

    /// Keeps a secret of a tenant's own, in the place of an earlier one of this name.
    async fn keep_secret(&self, tenant: &str, name: &str, new: NewSecret) -> Result<SecretCard, Refused>;

    /// Removes one.
    async fn remove_secret(&self, tenant: &str, name: &str) -> Result<(), Refused>;

    /// Forgets a tenant that was deleted, and its secrets.
    fn forget(&self, tenant: &str) -> Result<(), Refused>;

    /// Where the work of a tenant's agents is done.
    async fn hub(&self, tenant: &str) -> Result<Arc<Delegation>, Refused>;

    /// Somebody of a tenant who asks an agent: what that may do at most, and what it may use up.
    async fn client(
        &self,
        tenant: &str,
        agent: &str,
        watcher: Arc<dyn Watcher>,
        asker: Arc<dyn Asker>,
    ) -> Result<Client, Refused>;
}

/// Why the house has nothing to offer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such thing, or not for this tenant.
    #[error("{0}")]
    Unknown(String),
    /// It is there and cannot be used as it is.
    #[error("{0}")]
    Unusable(String),
    /// Something is not right in here. Whoever asks is not told what.
    #[error("{0}")]
    Broken(String),
}

/// An agent as clients see it.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct AgentCard {
    /// What it is called by.
    pub name: String,
    /// What people read.
    pub display_name: String,
    /// What it is for.
    pub description: String,
    /// The model it speaks to, if its definition names one.
    pub model: Option<String>,
    /// Its tools, sorted.
    pub tools: Vec<String>,
    /// What it may touch, in words.
    pub grants: String,
    /// Where its definition comes from: `builtin`, `plugin`, `config`, `user` or `project`.
    pub layer: String,
    /// What is wrong with it; such an agent does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A tool as clients see it.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct ToolCard {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What it needs of the host.
    pub capabilities: Vec<String>,
    /// The plugin that brings it; absent: it is part of this program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
}

/// A secret of a tenant as those see it who manage the tenant: never its value.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Secret)]
pub struct SecretCard {
    /// What agents and tools call it.
    pub name: String,
    /// The one host that it is sent to, by https.
    pub host: String,
    /// The one header that it is sent in.
    pub header: String,
    /// Whether it is what agents get by this name: not if the operator has one so called, and lends it to the tenant.
    pub is_used: bool,
}

/// A secret that is to be kept. It is not shown, nor is its value anywhere else.
#[derive(Debug)]
pub struct NewSecret {
    /// The one host that it may be sent to, by https.
    pub host: String,
    /// The one header that it may be sent in; absent: `authorization`.
    pub header: Option<String>,
    /// What it is.
    pub value: SecretString,
}

/// What a tenant may use up. What is absent is bounded by the machine alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Quotas {
    /// Runs at the same time, and calls over MCP that belong to none; others wait for their turn.
    pub runs: Option<u32>,
    /// Runs that may wait; more are refused.
    pub waiting: Option<u32>,
    /// Requests in a minute.
    pub requests: Option<u32>,
    /// Tools that work at the same time; other calls wait.
    pub sandboxes: Option<u32>,
    /// MiB of memory of all tools that work at the same time; other calls wait.
    pub memory_mib: Option<u32>,
    /// Seconds that its tools may work in every minute, added together; then calls wait for the next.
    pub sandbox_seconds: Option<u32>,
    /// Tokens in a day, in UTC.
    pub tokens: Option<u64>,
    /// Millionths of a dollar in a day, in UTC.
    pub cost_micros: Option<u64>,
}

impl Quotas {
    /// What a tenant has of which nothing else is said: as many tools at work as the machine has cores, so that one
    /// tenant leaves room for the next.
    pub fn usual(cores: u32) -> Self {
        Self {
            runs: Some(16),
            waiting: Some(100),
            requests: Some(600),
            sandboxes: Some(cores.max(1)),
            memory_mib: Some(1024),
            ..Self::default()
        }
    }

    /// These, and where nothing is said the others.
    pub fn or(self, others: Self) -> Self {
        Self {
            runs: self.runs.or(others.runs),
            waiting: self.waiting.or(others.waiting),
            requests: self.requests.or(others.requests),
            sandboxes: self.sandboxes.or(others.sandboxes),
            memory_mib: self.memory_mib.or(others.memory_mib),
            sandbox_seconds: self.sandbox_seconds.or(others.sandbox_seconds),
            tokens: self.tokens.or(others.tokens),
            cost_micros: self.cost_micros.or(others.cost_micros),
        }
    }
}
