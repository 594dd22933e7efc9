//! What an agent may do, for people and programs to read. The JSON is a contract:
//! `docs/explain.schema.json` describes it, and a test holds the two together.

use palisade_agent::Origin;
use palisade_grants::{Call, Candidate, Decision, Excluded, Grants, Surroundings, ToolSource, Verdict, canonical_tool};
use palisade_sandbox::Limits;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{Effective, OwnSkill, OwnSkills, PluginComponent, registry::Shadowed};

/// What an agent may do.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Its name.
    pub agent: String,
    /// Which layer its definition is from: `builtin`, `plugin`, `configured`, `user` or `project`.
    pub source: String,
    /// The plugin that brought it.
    pub plugin: Option<String>,
    /// The file of its definition.
    pub path: Option<String>,
    /// Definitions of the same name that this one is used instead of.
    pub shadows: Vec<Value>,
    /// What its model is told beside the base rules.
    pub prompt: Option<String>,
    /// The model it speaks to; absent: its parent's.
    pub model: Option<String>,
    /// The tools it has.
    pub tools: Vec<Value>,
    /// The tools it has not.
    pub excluded: Vec<Excluded>,
    /// The skills it has.
    pub skills: Vec<Value>,
    /// The skills it has not.
    pub skills_excluded: Vec<Excluded>,
    /// What it may touch.
    pub grants: Value,
    /// What each of its calls may use up.
    pub limits: Value,
    /// What one run may use up.
    pub budget: Value,
    /// What it is called in the pool.
    pub base_key: String,
    /// The same, with its prompt and its tools.
    pub pool_key: String,
    /// What its author should know.
    pub warnings: Vec<String>,
    /// What would become of the calls that were asked about.
    pub calls: Vec<ExplainedCall>,
}

/// What would become of one call.
#[derive(Clone, Debug, Serialize)]
pub struct ExplainedCall {
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Value,
    /// Whether it would be made.
    pub decision: Decision,
    /// Why.
    pub reason: String,
    /// The rule that decided.
    pub rule: Option<String>,
}

impl Explanation {
    /// Explains an agent with its skills, and what would become of some calls.
    pub fn new(
        effective: &Effective,
        skills: &OwnSkills,
        shadows: &[Shadowed],
        warnings: Vec<String>,
        calls: &[(String, Value)],
    ) -> Self {
        let agent = &effective.agent;
        let Origin { layer, plugin, path } = agent.origin.clone();
        let tools: Vec<&str> = effective.tools.iter().map(|tool| tool.candidate.name()).collect();
        Self {
            agent: agent.name.clone(),
            source: layer.to_string(),
            plugin,
            path,
            shadows: shadows
                .iter()
                .map(|shadow| json!({ "source": shadow.origin.to_string(), "path": shadow.origin.path }))
                .collect(),
            prompt: agent.prompt.clone(),
            model: agent.model.as_ref().map(ToString::to_string),
            pool_key: agent.pool_key(tools.iter().copied()),
            base_key: agent.base_key(),
            tools: effective.tools.iter().map(|own| tool(effective, own)).collect(),
            excluded: effective.excluded.clone(),
            skills: skills
                .known
                .iter()
                .map(|own| skill(own, "in the prompt"))
                .chain(skills.readable.iter().map(|own| skill(own, "to be read")))
                .collect(),
            skills_excluded: skills.excluded.clone(),
            grants: grants(&effective.grants),
            limits: limits(&effective.limits),
            budget: json!(effective.budget),
            warnings: warnings.into_iter().chain(effective.warnings.iter().chain(&skills.warnings).cloned()).collect(),
            calls: calls.iter().map(|(tool, input)| call(effective, tool, input)).collect(),
        }
    }
}

impl Effective {
    /// What would become of a call.
    pub fn decide(&self, tool: &str, input: &Value) -> Verdict {
        let name = canonical_tool(tool);
        if self.tools.iter().any(|tool| tool.candidate.canonical() == name) {
            return self.agent.scope.decide(&Call::new(tool, input));
        }
        if let Some(excluded) = self.excluded.iter().find(|other| canonical_tool(&other.name) == name) {
            let reason = format!("the agent has no such tool: {}", excluded.reason);
            return Verdict { decision: Decision::Deny, rule: excluded.rule.clone(), reason };
        }
        // A tool that may come with a plugin or a server: what the lists and rules would say of it.
        let candidate = [Candidate::new(tool, [], ToolSource::Core)];
        let (identity, native) = (self.agent.identity(), self.agent.native);
        let around = Surroundings { identity: &identity, native, may_delegate: true, binding_overrides: &[] };
        let verdict = match self.agent.scope.resolve(&candidate, &around).excluded.pop() {
            Some(Excluded { reason, rule, .. }) => Verdict { decision: Decision::Deny, rule, reason },
            None => self.agent.scope.decide(&Call::new(tool, input)),
        };
        Verdict { reason: format!("{}; there is no tool `{tool}` here yet", verdict.reason), ..verdict }
    }
}

fn call(effective: &Effective, tool: &str, input: &Value) -> ExplainedCall {
    let Verdict { decision, rule, reason } = effective.decide(tool, input);
    ExplainedCall { tool: tool.to_owned(), input: input.clone(), decision, reason, rule }
}

fn tool(effective: &Effective, tool: &crate::EffectiveTool) -> Value {
    let source = match &tool.candidate.source {
        ToolSource::Core => "core".to_owned(),
        ToolSource::Plugin(plugin) => format!("plugin:{plugin}"),
        ToolSource::Server(server) => format!("server:{server}"),
    };
    let mut value = json!({
        "name": tool.candidate.name(),
        "capabilities": tool.candidate.capabilities(),
        "source": source,
    });
    if let Some(component) = &tool.component {
        value["grants"] = grants(&tool.grants);
        let lacks = component.lacks();
        if !lacks.is_empty() {
            let reason = PluginComponent::remedy(&lacks);
            value["not_granted"] = json!({ "words": lacks, "remedy": reason });
        }
    }
    if let Some(served) = &tool.server {
        value["grants"] = grants(&tool.grants);
        value["read_only"] = served.reads.into();
    }
    if let Some(unavailable) = &tool.unavailable {
        value["unavailable"] = unavailable.as_str().into();
    } else if effective.commands().any(|(command, _)| command == tool) {
        value["command"] = true.into();
    } else if !effective.is_shown(tool) {
        value["unavailable"] = "it would be a command of `bash`, which the agent or its skill lists leave out".into();
    }
    value
}

fn skill(own: &OwnSkill, given: &str) -> Value {
    let Origin { layer, plugin, path } = &own.skill.origin;
    json!({
        "name": own.name,
        "given": given,
        "description": own.skill.description,
        "source": layer.name(),
        "plugin": plugin,
        "path": path,
    })
}

fn grants(grants: &Grants) -> Value {
    let files = grants.files.entries().map(|(path, access)| json!({ "path": path, "access": access }));
    let mut value = Map::new();
    value.insert("files".to_owned(), files.collect());
    value.insert("http".to_owned(), json!(grants.http));
    value.insert("commands".to_owned(), json!(grants.commands));
    value.insert("agents".to_owned(), json!(grants.agents));
    value.insert("env".to_owned(), json!(grants.env));
    value.insert("secrets".to_owned(), json!(grants.secrets));
    value.insert("outside".to_owned(), json!(grants.outside));
    value.insert("storage".to_owned(), json!(grants.storage));
    value.into()
}

fn limits(limits: &Limits) -> Value {
    json!({
        "memory": limits.memory,
        "table_elements": limits.table_elements,
        "instances": limits.instances,
        "stack": limits.stack,
        "call_time_ms": u64::try_from(limits.call_time.as_millis()).unwrap_or(u64::MAX),
        "output": limits.output,
        "host_call": limits.host_call,
        "handles": limits.handles,
        "open_files": limits.open_files,
        "written": limits.written,
        "created": limits.created,
        "depth": limits.depth,
        "requests": limits.requests,
        "header": limits.header,
        "sent": limits.sent,
        "received": limits.received,
        "request_time_ms": u64::try_from(limits.request_time.as_millis()).unwrap_or(u64::MAX),
    })
}
