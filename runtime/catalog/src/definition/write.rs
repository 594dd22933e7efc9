//! An agent as text: what is read back is the same agent.
//!
//! Fields are written under their own names and in the order of the canonical list; what an agent
//! does not say is left out.

use palisade_agent::{Agent, CallLimits, ModelName, RunLimits, Runtime};
use palisade_grants::{Lists, Policy, Rule};
use serde_json::{Map, Value, json};

use super::{
    fields::{Field, Meaning, meaning},
    text::is_invisible,
    units::{write_dollars, write_size, write_time},
};

/// Writes an agent as Markdown with settings in front; its prompt is the body.
pub fn to_markdown(agent: &Agent) -> String {
    let mut settings = settings(agent);
    let prompt = agent.prompt.as_deref().map(str::trim).filter(|prompt| !prompt.is_empty());
    let body = match prompt {
        // A body cannot hold every character as it is, a quoted field can.
        Some(prompt) if !prompt.chars().all(is_plain) => {
            settings.insert(Field::Prompt.name().to_owned(), json!(prompt));
            String::new()
        }
        Some(prompt) => format!("\n{prompt}\n"),
        None => String::new(),
    };
    format!("---\n{}---\n{body}", yaml(&settings))
}

/// Writes an agent as YAML.
pub fn to_yaml(agent: &Agent) -> String {
    let mut settings = settings(agent);
    if let Some(prompt) = agent.prompt.as_deref().map(str::trim).filter(|prompt| !prompt.is_empty()) {
        settings.insert(Field::Prompt.name().to_owned(), json!(prompt));
    }
    yaml(&settings)
}

fn is_plain(character: char) -> bool {
    matches!(character, '\n' | '\t') || !character.is_control() && !is_invisible(character)
}

fn yaml(settings: &Map<String, Value>) -> String {
    // A map of plain values cannot fail to be written; if it ever did, an empty text is no agent.
    serde_yaml::to_string(settings).unwrap_or_default()
}

fn settings(agent: &Agent) -> Map<String, Value> {
    let mut settings = Settings(Map::new());
    settings.put(Field::Name, Some(agent.name.trim()).filter(|name| !name.is_empty()));
    settings.put(Field::DisplayName, text(agent.display_name.as_deref()));
    settings.put(Field::Description, text(Some(&agent.description)));
    settings.put(Field::Model, agent.model.as_ref().map(model));
    settings.put(Field::Temperature, agent.temperature);
    settings.put(Field::ReasoningEffort, agent.reasoning_effort.map(|effort| effort.name()));
    settings.put(Field::MaxTokens, agent.max_tokens);
    settings.put(Field::Tools, agent.scope.tools.as_deref().map(rules));
    settings.put(Field::DisallowedTools, some(&agent.scope.disallowed).map(rules));
    settings.put(Field::Permissions, permissions(&agent.scope.permissions));
    settings.put(Field::PermissionMode, agent.permission_mode.map(|mode| mode.name()));
    settings.lists(&agent.scope.names, Field::ToolAllowlist, Field::ToolDenylist);
    settings.lists(&agent.scope.capabilities, Field::CapabilityAllowlist, Field::CapabilityDenylist);
    settings.lists(&agent.skill_lists, Field::SkillAllowlist, Field::SkillDenylist);
    settings.lists(&agent.peers, Field::AgentAllowlist, Field::AgentDenylist);
    settings.put(Field::Skills, some(&agent.skills));
    settings.put(Field::ToolExposure, Some(agent.exposure).filter(|it| *it != Default::default()).map(|it| it.name()));
    settings.run_limits(&agent.budget);
    settings.put(Field::Grants, agent.grants.as_ref().and_then(|grants| serde_json::to_value(grants).ok()));
    settings.put(Field::Limits, call_limits(&agent.limits));
    settings.put(Field::Hidden, agent.hidden.then_some(true));
    settings.put(Field::UiVisible, (!agent.ui_visible).then_some(false));
    settings.put(Field::ApiExposed, agent.api_exposed.then_some(true));
    settings.runtime(&agent.runtime);
    settings.put(Field::CreatedAt, text(agent.created_at.as_deref()));
    settings.put(Field::UpdatedAt, text(agent.updated_at.as_deref()));
    // What has a meaning of its own was said above, or must not be said by a file.
    let plain = agent.extra.iter().filter(|(key, _)| matches!(meaning(key), Meaning::Foreign | Meaning::Unknown));
    settings.0.extend(plain.map(|(key, value)| (key.clone(), value.clone())));
    settings.0
}

struct Settings(Map<String, Value>);

impl Settings {
    fn put(&mut self, field: Field, value: Option<impl serde::Serialize>) {
        if let Some(value) = value.and_then(|value| serde_json::to_value(value).ok()) {
            self.0.insert(field.name().to_owned(), value);
        }
    }

    fn lists(&mut self, lists: &Lists, allow: Field, deny: Field) {
        let texts = |patterns: &[palisade_grants::Pattern]| -> Vec<String> {
            patterns.iter().map(|pattern| pattern.as_str().to_owned()).collect()
        };
        self.put(allow, lists.allow.as_deref().map(texts));
        self.put(deny, some(&lists.deny).map(texts));
    }

    /// The short forms, and a block for what they cannot say.
    fn run_limits(&mut self, limits: &RunLimits) {
        self.put(Field::MaxSteps, limits.steps);
        let seconds = limits.time.filter(|time| time.subsec_nanos() == 0).map(|time| time.as_secs());
        self.put(Field::Timeout, seconds);
        let time = limits.time.filter(|_| seconds.is_none()).map(write_time);
        let budget = block([
            ("tokens", json!(limits.tokens)),
            ("calls", json!(limits.calls)),
            ("cost", json!(limits.cost.map(write_dollars))),
            ("time", json!(time)),
            ("depth", json!(limits.depth)),
        ]);
        self.put(Field::Budget, budget);
    }

    fn runtime(&mut self, runtime: &Runtime) {
        match runtime {
            Runtime::Unsaid => {}
            Runtime::Chat { provider, settings } => {
                self.put(Field::Type, Some("chat"));
                let mut chat = block([("provider", json!(provider))]).unwrap_or_default();
                chat.extend(settings.iter().map(|(key, value)| (key.clone(), value.clone())));
                self.put(Field::Chat, Some(chat).filter(|chat| !chat.is_empty()));
            }
            Runtime::External { input_url, callback_base_url } => {
                self.put(Field::Type, Some("external"));
                self.put(
                    Field::External,
                    Some(json!({ "input_url": input_url, "callback_base_url": callback_base_url })),
                );
            }
        }
    }
}

/// The entries that are there.
fn block<const N: usize>(entries: [(&str, Value); N]) -> Option<Map<String, Value>> {
    let given = entries.into_iter().filter(|(_, value)| !value.is_null());
    let block: Map<String, Value> = given.map(|(key, value)| (key.to_owned(), value)).collect();
    Some(block).filter(|block| !block.is_empty())
}

fn some<T>(list: &[T]) -> Option<&[T]> {
    Some(list).filter(|list| !list.is_empty())
}

fn text(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// In one text where that is read back as the same, else as a map.
fn model(model: &ModelName) -> Value {
    let short = model.to_string();
    if ModelName::parse(&short).as_ref() == Some(model) {
        return json!(short);
    }
    Value::Object(block([("provider", json!(model.provider)), ("model", json!(model.model))]).unwrap_or_default())
}

fn rules(rules: &[Rule]) -> Vec<String> {
    rules.iter().map(Rule::to_string).collect()
}

fn permissions(policy: &Policy) -> Option<Map<String, Value>> {
    block([
        ("allow", json!(policy.allow.as_deref().map(rules))),
        ("ask", json!(some(&policy.ask).map(rules))),
        ("deny", json!(some(&policy.deny).map(rules))),
        ("default", json!(policy.default)),
    ])
}

fn call_limits(limits: &CallLimits) -> Option<Map<String, Value>> {
    block([
        ("memory", json!(limits.memory.map(write_size))),
        ("call_time", json!(limits.call_time.map(write_time))),
        ("output", json!(limits.output.map(write_size))),
        ("written", json!(limits.written.map(write_size))),
        ("created", json!(limits.created)),
        ("open_files", json!(limits.open_files)),
    ])
}
