//! What clients of OpenAI and Anthropic are answered with, as far as it says something here.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The agents, as models.
#[derive(Serialize, ToSchema)]
pub(crate) struct Models {
    /// Always `list`.
    object: String,
    data: Vec<Model>,
    has_more: bool,
    first_id: Option<String>,
    last_id: Option<String>,
}

/// An agent, as a model.
#[derive(Serialize, ToSchema)]
pub(crate) struct Model {
    /// The name of the agent.
    id: String,
    /// Always `model`.
    object: String,
    /// Always `model`.
    r#type: String,
    created: u64,
    created_at: String,
    owned_by: String,
    /// What it is for.
    display_name: String,
}

/// The answer of an agent, as a chat completion.
#[derive(Serialize, ToSchema)]
pub(crate) struct Completion {
    /// `chatcmpl-` and the run.
    id: String,
    object: String,
    created: i64,
    model: String,
    choices: Vec<Choice>,
    usage: CompletionUsage,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct Choice {
    index: u32,
    message: Said,
    /// `stop`, or `length` if the agent's budget ran out.
    finish_reason: String,
    logprobs: Option<Value>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CompletionMessage)]
pub(crate) struct Said {
    role: String,
    content: String,
    refusal: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct CompletionUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
}

/// The answer of an agent, as a response.
#[derive(Serialize, ToSchema)]
pub(crate) struct Response {
    /// `resp_` and the run.
    id: String,
    object: String,
    created_at: i64,
    /// `completed`, or `incomplete` if the agent's budget ran out.
    status: String,
    model: String,
    output: Vec<OutputItem>,
    usage: ResponseUsage,
    previous_response_id: Option<String>,
    store: bool,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct OutputItem {
    id: String,
    r#type: String,
    role: String,
    status: String,
    content: Vec<OutputText>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct OutputText {
    r#type: String,
    text: String,
    annotations: Vec<Value>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct ResponseUsage {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: u64,
}

/// The answer of an agent, as a message.
#[derive(Serialize, ToSchema)]
#[schema(as = AnthropicMessage)]
pub(crate) struct Message {
    /// `msg_` and the run.
    id: String,
    r#type: String,
    role: String,
    model: String,
    content: Vec<TextBlock>,
    /// `end_turn`, or `max_tokens` if the agent's budget ran out.
    stop_reason: String,
    stop_sequence: Option<String>,
    usage: MessageUsage,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct TextBlock {
    r#type: String,
    text: String,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct MessageUsage {
    input_tokens: u64,
    output_tokens: u64,
}
