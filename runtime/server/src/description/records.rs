//! Values of other crates as programs find them in answers. Those crates do not know how to describe themselves; a test
//! holds what they write against this.
#![expect(dead_code, reason = "these are described and never made")]

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// What is known of a session.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Session {
    /// A UUID, or what somebody chose.
    session_id: String,
    /// The agent it is held with.
    agent_id: String,
    /// What somebody called it.
    name: Option<String>,
    /// When it was pinned.
    pinned_at: Option<Timestamp>,
    /// When it began.
    created_at: Timestamp,
    /// When something was last said or changed.
    updated_at: Timestamp,
    /// The beginning of the last thing that was said.
    last_snippet: Option<String>,
    /// What plugins and clients keep with it.
    #[serde(default)]
    attributes: BTreeMap<String, Value>,
    /// How many entries it has.
    entries: u64,
    /// The folder that is worked in.
    workspace: Option<String>,
    /// The session of the agent that delegated, if one did.
    parent: Option<String>,
    /// The agents above it, the outermost first.
    #[serde(default)]
    chain: Vec<String>,
    /// What every run of it may do at most.
    #[schema(value_type = Option<Object>)]
    ceiling: Option<Value>,
}

/// Something the user has open.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Panel {
    /// Which panel; no two alike.
    #[schema(min_length = 1, max_length = 128, example = "p1")]
    id: String,
    /// What it shows.
    #[schema(min_length = 1, max_length = 64, example = "lists")]
    kind: String,
    /// The item that is chosen in it, as words.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200, example = "Shopping (l1)")]
    active: Option<String>,
    /// Whether the user is in it.
    #[serde(default)]
    selected: bool,
    /// The line that the client would put before a message about it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 1024)]
    context: Option<String>,
}

/// Something that was said or done.
#[derive(Serialize, ToSchema)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub(crate) enum Entry {
    /// What the user asked.
    User {
        /// The words.
        text: String,
    },
    /// What the model said and wanted to be called.
    Reply {
        /// The words.
        text: String,
        /// What it thought, as far as it is known.
        #[serde(default)]
        thinking: String,
        /// The calls.
        calls: Vec<Call>,
        /// What the provider wants back unchanged.
        kept: Option<Kept>,
    },
    /// What came of one call.
    Result {
        /// The id of the call.
        id: String,
        /// The outcome: `done` with the output, or `failed`.
        result: Outcome,
    },
    /// What the host tells the model in between.
    Notice {
        /// The words.
        text: String,
    },
    /// The model reads this in place of what came before.
    Summary {
        /// The words.
        text: String,
        /// How many of the first entries it stands for.
        covers: u64,
    },
}

/// A call that a model wants to be made.
#[derive(Serialize, ToSchema)]
pub(crate) struct Call {
    id: String,
    tool: String,
    input: Value,
}

/// What a provider wants back unchanged.
#[derive(Serialize, ToSchema)]
pub(crate) struct Kept {
    by: String,
    value: Value,
}

/// What came of a call.
#[derive(Serialize, ToSchema)]
pub(crate) struct Outcome {
    /// Its output.
    done: Option<String>,
    /// Why there is none.
    failed: Option<Failure>,
    cost: Cost,
    /// What was refused on the way.
    #[serde(default)]
    denials: Vec<String>,
    /// Where the whole output is kept, if the text is only a part of it.
    artifact: Option<String>,
}

/// Why a call has no output.
#[derive(Serialize, ToSchema)]
pub(crate) struct Failure {
    /// Which kind of failure it is, such as `denied`.
    kind: String,
    text: String,
}

/// What a call used up.
#[derive(Serialize, ToSchema)]
pub(crate) struct Cost {
    /// Wall time, in millionths of a second.
    micros: u64,
    /// The most memory it held at once, in bytes.
    peak_memory: u64,
}

/// How a run ended.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
    /// With an answer.
    Answered,
    /// With nothing left of the budget.
    Spent(Spent),
    /// With a model that did nothing but repeat itself.
    Circling,
    /// From outside.
    Cancelled,
    /// The provider gave no reply.
    Failed(String),
    /// The answer does not have the form it should have.
    Unfit(String),
    /// What was done could not be written down.
    Unwritten(String),
}

/// What a run has no more of.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Spent {
    Steps,
    Tokens,
    Calls,
    Cost,
    Reply,
    Time,
    Day,
    Depth,
}

/// What was used up.
#[derive(Serialize, ToSchema)]
pub(crate) struct Spending {
    /// Model replies.
    steps: u32,
    /// Tool calls.
    calls: u64,
    usage: Usage,
    /// Wall time, in millionths of a second.
    micros: u64,
}

/// Tokens and money.
#[derive(Serialize, ToSchema)]
pub(crate) struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default)]
    cached_tokens: u64,
    #[serde(default)]
    cache_written_tokens: u64,
    /// Millionths of a dollar.
    #[serde(default)]
    cost_micros: u64,
}

/// What some runs used up.
#[derive(Serialize, ToSchema)]
pub(crate) struct UsageRow {
    /// The agent, the session or the day; empty for all sessions that were deleted.
    of: String,
    /// How many runs.
    runs: u64,
    /// How many of them answered.
    answered: u64,
    spending: Spending,
}

/// What an agent may do, as `palisade explain --json` says it, and what is only known of a server.
#[derive(Serialize, ToSchema)]
pub(crate) struct Explanation {
    /// The agent.
    agent: String,
    /// What was taken from it, and by whom.
    cut: Vec<String>,
    /// The agents that ask, the outermost first.
    chain: Vec<String>,
    /// The agents that it may ask.
    asks: Vec<String>,
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

/// The plugins of a tenant.
#[derive(Serialize, ToSchema)]
pub(crate) struct Plugins {
    data: Vec<Plugin>,
}

/// A plugin.
#[derive(Serialize, ToSchema)]
pub(crate) struct Plugin {
    name: String,
    version: Option<String>,
    description: Option<String>,
    /// Its tools.
    tools: Vec<String>,
    /// What the operator granted it.
    granted: Vec<String>,
    /// Why its tools do not run, if they do not.
    held_back: Option<String>,
}

/// A call that somebody has to decide about.
#[derive(Serialize, ToSchema)]
pub(crate) struct Waiting {
    /// Always `approval_wanted`.
    event: String,
    /// What the decision is known by.
    approval: String,
    /// The call.
    call: String,
    /// The tool.
    tool: String,
    /// What it is called with.
    input: Value,
    /// Which rule wants somebody to decide.
    why: String,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use palisade_agent as agent;
    use serde_json::json;

    use super::*;

    /// Holds a value against what is said of its kind; nothing may be in it that is not said.
    #[track_caller]
    fn holds(kind: &str, value: &impl Serialize) {
        let document = serde_json::to_value(crate::routes::table().into_openapi()).unwrap();
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$ref": format!("#/components/schemas/{kind}"),
            "unevaluatedProperties": false,
            "components": document["components"],
        });
        let (schema, value) = (jsonschema::validator_for(&schema).unwrap(), serde_json::to_value(value).unwrap());
        let wrong: Vec<String> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{kind}: {value}: {wrong:?}");
    }

    #[test]
    fn sessions_are_what_they_are_said_to_be() {
        let now = Timestamp::now();
        let origin = agent::SessionOrigin {
            workspace: Some("/srv".to_owned()),
            parent: Some("above".to_owned()),
            chain: vec!["general".to_owned()],
            ceiling: Some(agent::Ceiling::open()),
        };
        let whole = agent::Session {
            tenant: "acme".to_owned(),
            id: "one".to_owned(),
            agent: "explore".to_owned(),
            name: Some("river".to_owned()),
            pinned_at: Some(now),
            created_at: now,
            updated_at: now,
            last_snippet: Some("It carries".to_owned()),
            attributes: BTreeMap::from([("client".to_owned(), json!({ "any": 1 }))]),
            entries: 7,
            origin,
        };
        holds("Session", &whole);
        let bare = agent::Session {
            name: None,
            pinned_at: None,
            last_snippet: None,
            attributes: BTreeMap::new(),
            origin: agent::SessionOrigin::default(),
            ..whole
        };
        holds("Session", &bare);
    }

    /// M11
    #[test]
    fn panels_are_what_they_are_said_to_be() {
        let bare = agent::Panel { id: "p1".to_owned(), kind: "lists".to_owned(), ..agent::Panel::default() };
        holds("Panel", &bare);
        let (active, context) = (Some("Shopping".to_owned()), Some("<context id=\"l1\" />".to_owned()));
        holds("Panel", &agent::Panel { active, selected: true, context, ..bare });
    }

    #[test]
    fn entries_are_what_they_are_said_to_be() {
        let call = agent::ToolCall { id: "1".to_owned(), tool: "read".to_owned(), input: json!({ "path": "x" }) };
        let kept = agent::Kept { by: "anthropic".to_owned(), value: json!([1]) };
        let text = || "words".to_owned();
        let failed = agent::ToolResult {
            denials: vec!["no".to_owned()],
            artifact: Some("artifact".to_owned()),
            ..agent::ToolResult::failed(agent::FailureKind::Denied, "refused")
        };
        for entry in [
            agent::Entry::User { text: text() },
            agent::Entry::Reply { text: text(), thinking: text(), calls: vec![call], kept: Some(kept) },
            agent::Entry::Reply { text: text(), thinking: String::new(), calls: Vec::new(), kept: None },
            agent::Entry::Result { id: "1".to_owned(), result: agent::ToolResult::done("output") },
            agent::Entry::Result { id: "1".to_owned(), result: failed },
            agent::Entry::Notice { text: text() },
            agent::Entry::Summary { text: text(), covers: 3 },
        ] {
            holds("Entry", &entry);
        }
    }

    #[test]
    fn endings_and_what_was_used_up_are_what_they_are_said_to_be() {
        use agent::{Ending, Spent};
        let spent = [
            Spent::Steps,
            Spent::Tokens,
            Spent::Calls,
            Spent::Cost,
            Spent::Reply,
            Spent::Time,
            Spent::Day,
            Spent::Depth,
        ];
        let endings = [Ending::Answered, Ending::Circling, Ending::Cancelled];
        let texts = [Ending::Failed, Ending::Unfit, Ending::Unwritten].map(|ending| ending("why".to_owned()));
        for ending in endings.into_iter().chain(texts).chain(spent.map(Ending::Spent)) {
            holds("Ending", &ending);
        }
        let usage = agent::Usage {
            input_tokens: 1,
            output_tokens: 2,
            cached_tokens: 3,
            cache_written_tokens: 4,
            cost_micros: 5,
        };
        let spending = agent::Spending { steps: 1, calls: 2, usage, time: Duration::from_millis(3) };
        holds("Spending", &spending);
        holds("UsageRow", &agent::UsageRow { of: "explore".to_owned(), runs: 1, answered: 1, spending });
        holds("UsageRow", &agent::UsageRow::default());
    }
}
