//! `/v1/chat/completions`, as clients of OpenAI know it.

use std::convert::Infallible;

use axum::{
    Json,
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::stream;
use palisade_agent::{Conclusion, Ending, Spent};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    conversation::{Asked, Piece, Pieces, Speaker, tokens},
    failure::Dialect,
};
use crate::{
    app::App,
    body,
    description::{
        failures::{Events, OpenAi},
        theirs,
    },
    entry::Caller,
    problem::Problem,
};

/// A request. What is not named here has no meaning for an agent and is passed over, as these clients expect.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = ChatRequest)]
pub(super) struct Request {
    /// The name of an agent.
    #[schema(example = "explore")]
    model: String,
    /// What was said, the last by the user.
    #[schema(example = json!([{ "role": "user", "content": "What is here?" }]))]
    messages: Vec<Message>,
    /// Whether the answer is told as it comes.
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    /// Whether the session stays.
    #[serde(default)]
    store: Option<bool>,
    /// Always 1.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1)]
    n: Option<u32>,
}

#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
pub(super) struct StreamOptions {
    /// Whether a last piece says what was used up.
    #[serde(default)]
    include_usage: bool,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = ChatMessage)]
struct Message {
    /// `system`, `developer`, `user` or `assistant`.
    #[schema(pattern = "^(system|developer|user|assistant)$")]
    role: String,
    #[serde(default)]
    content: Option<Content>,
}

/// A text, or parts of which some are text.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<Value>),
}

impl Content {
    /// The words of it. What is no text is refused: an agent would not see it.
    pub(super) fn text(self) -> Result<String, Problem> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Parts(parts) => {
                let texts = parts.iter().map(|part| {
                    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
                    let text = part.get("text").and_then(Value::as_str);
                    match (kind, text) {
                        ("text" | "input_text" | "output_text", Some(text)) => Ok(text.to_owned()),
                        _ => Err(Problem::invalid(format!("parts of the type `{kind}` are not read; send text"))),
                    }
                });
                Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
            }
        }
    }
}

/// Who a role is.
pub(super) fn speaker(role: &str) -> Result<Speaker, Problem> {
    match role {
        "system" | "developer" => Ok(Speaker::Client),
        "user" => Ok(Speaker::User),
        "assistant" => Ok(Speaker::Agent),
        other => Err(Problem::invalid(format!("nobody has the role `{other}` here; an agent's tools are its own"))),
    }
}

/// Runs an agent and answers with what it says.
#[utoipa::path(
    post,
    path = "/v1/chat/completions",
    operation_id = "complete_chat",
    tag = "compatible",
    request_body = Request,
    responses(
        (
            status = 200,
            description = "The answer, whole or as it comes.",
            content((theirs::Completion = "application/json"), (Events = "text/event-stream"))
        ),
        OpenAi,
    )
)]
pub(super) async fn complete(
    State(app): State<App>,
    caller: Caller,
    body::Json(request): body::Json<Request>,
) -> Result<Response, Problem> {
    if request.n.is_some_and(|n| n != 1) {
        return Err(Problem::invalid("`n` is 1: an agent gives one answer"));
    }
    let said = request.messages.into_iter().map(|message| {
        let text = message.content.map(Content::text).transpose()?.unwrap_or_default();
        Ok((speaker(&message.role)?, text))
    });
    let said = said.collect::<Result<Vec<_>, Problem>>()?;
    let (agent, keeps) = (request.model.clone(), request.store.unwrap_or(false));
    let mut working = Asked { agent, said, session: None, keeps }.begin(&app, &caller).await?;
    if request.stream {
        let usage = request.stream_options.unwrap_or_default().include_usage;
        return Ok(streamed(working.pieces(), request.model, usage).into_response());
    }
    let concluded = working.answer().await?;
    let reason = finish_reason(&concluded)?;
    let (input, output) = tokens(&concluded.usage);
    Ok(Json(json!({
        "id": format!("chatcmpl-{}", working.started.run),
        "object": "chat.completion",
        "created": jiff::Timestamp::now().as_second(),
        "model": request.model,
        "choices": [{
            "index": 0, "message": { "role": "assistant", "content": concluded.answer, "refusal": null },
            "logprobs": null, "finish_reason": reason,
        }],
        "usage": { "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output },
    }))
    .into_response())
}

/// How it ended, in these clients' words; an agent that failed is an error.
fn finish_reason(concluded: &Conclusion) -> Result<&'static str, Problem> {
    match &concluded.ending {
        Ending::Answered => Ok("stop"),
        Ending::Spent(Spent::Time) => Err(Problem::unavailable("the agent ran out of time", 1)),
        Ending::Spent(_) if !concluded.answer.is_empty() => Ok("length"),
        _ => Err(Problem::unprocessable(
            concluded.failure.clone().unwrap_or_else(|| "the agent gave no answer".to_owned()),
        )),
    }
}

fn streamed(pieces: Pieces, model: String, usage: bool) -> impl IntoResponse {
    let (id, created) = (format!("chatcmpl-{}", pieces.run()), jiff::Timestamp::now().as_second());
    let chunk = move |delta: Value, reason: Option<&str>| {
        json!({
            "id": id, "object": "chat.completion.chunk", "created": created, "model": model,
            "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": reason }],
        })
    };
    let first = chunk(json!({ "role": "assistant", "content": "" }), None);
    let stream = stream::unfold((pieces, vec![first], false), move |(mut pieces, mut ready, mut done)| {
        let chunk = chunk.clone();
        async move {
            if let Some(next) = (!ready.is_empty()).then(|| ready.remove(0)) {
                let text = if next.is_null() { "[DONE]".to_owned() } else { next.to_string() };
                return Some((Ok::<_, Infallible>(Event::default().data(text)), (pieces, ready, done)));
            }
            if done {
                return None;
            }
            let next = match pieces.next().await? {
                Piece::Text(text) => chunk(json!({ "content": text }), None),
                Piece::End(ended) => {
                    done = true;
                    match ended.and_then(|concluded| Ok((finish_reason(&concluded)?, concluded))) {
                        Ok((reason, concluded)) => {
                            if usage {
                                let (input, output) = tokens(&concluded.usage);
                                let mut last = chunk(json!({}), None);
                                last["choices"] = json!([]);
                                last["usage"] = json!({
                                    "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
                                });
                                ready.push(last);
                            }
                            ready.push(Value::Null);
                            chunk(json!({}), Some(reason))
                        }
                        Err(problem) => Dialect::OpenAi.failure(&problem),
                    }
                }
            };
            Some((Ok(Event::default().data(next.to_string())), (pieces, ready, done)))
        }
    });
    Sse::new(stream).keep_alive(KeepAlive::default())
}
