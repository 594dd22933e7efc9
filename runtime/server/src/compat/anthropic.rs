//! `/v1/messages`, as clients of Anthropic know it.

use std::{collections::VecDeque, convert::Infallible};

use axum::{
    Json,
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::stream;
use palisade_agent::{Conclusion, Ending};
use serde::Deserialize;
use serde_json::json;

use super::{
    chat::Content,
    conversation::{Asked, Piece, Pieces, Speaker, tokens},
    failure::Dialect,
};
use crate::{
    app::App,
    body,
    description::{
        failures::{Anthropic, Events},
        theirs,
    },
    entry::Caller,
    problem::Problem,
};

/// A request. What is not named here has no meaning for an agent and is passed over, as these clients expect.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = MessageRequest)]
pub(super) struct Request {
    /// The name of an agent.
    #[schema(example = "explore")]
    model: String,
    /// What was said, the last by the user; `system` is whoever wrote the client.
    #[schema(example = json!([{ "role": "user", "content": "What is here?" }]))]
    messages: Vec<Message>,
    #[serde(default)]
    system: Option<Content>,
    /// Whether the answer is told as it comes.
    #[serde(default)]
    stream: bool,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = MessageTurn)]
struct Message {
    role: Role,
    content: Content,
}

#[derive(Clone, Copy, Debug, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
    System,
}

/// Runs an agent and answers with what it says.
#[utoipa::path(
    post,
    path = "/v1/messages",
    operation_id = "create_message",
    tag = "compatible",
    request_body = Request,
    responses(
        (
            status = 200,
            description = "The answer, whole or as it comes.",
            content((theirs::Message = "application/json"), (Events = "text/event-stream"))
        ),
        Anthropic,
    )
)]
pub(super) async fn respond(
    State(app): State<App>,
    caller: Caller,
    body::Json(request): body::Json<Request>,
) -> Result<Response, Problem> {
    let mut said: Vec<(Speaker, String)> = Vec::new();
    if let Some(system) = request.system {
        said.push((Speaker::Client, system.text()?));
    }
    for message in request.messages {
        let speaker = match message.role {
            Role::User => Speaker::User,
            Role::Assistant => Speaker::Agent,
            Role::System => Speaker::Client,
        };
        said.push((speaker, message.content.text()?));
    }
    let asked = Asked { agent: request.model.clone(), said, session: None, keeps: false };
    let mut working = asked.begin(&app, &caller).await?;
    let id = format!("msg_{}", working.started.run);
    if request.stream {
        return Ok(streamed(working.pieces(), id, request.model).into_response());
    }
    let concluded = working.answer().await?;
    let reason = stop_reason(&concluded)?;
    let (input, output) = tokens(&concluded.usage);
    Ok(Json(json!({
        "id": id, "type": "message", "role": "assistant", "model": request.model,
        "content": [{ "type": "text", "text": concluded.answer }],
        "stop_reason": reason, "stop_sequence": null,
        "usage": { "input_tokens": input, "output_tokens": output },
    }))
    .into_response())
}

fn stop_reason(concluded: &Conclusion) -> Result<&'static str, Problem> {
    match &concluded.ending {
        Ending::Answered => Ok("end_turn"),
        Ending::Spent(_) if !concluded.answer.is_empty() => Ok("max_tokens"),
        _ => Err(Problem::unprocessable(concluded.failure.clone().unwrap_or_default())),
    }
}

fn streamed(pieces: Pieces, id: String, model: String) -> impl IntoResponse {
    let message = json!({
        "id": id, "type": "message", "role": "assistant", "model": model, "content": [], "stop_reason": null,
        "stop_sequence": null, "usage": { "input_tokens": 0, "output_tokens": 0 },
    });
    let block = json!({ "type": "text", "text": "" });
    let ready = VecDeque::from([
        ("message_start", json!({ "message": message })),
        ("content_block_start", json!({ "index": 0, "content_block": block })),
    ]);
    Sse::new(stream::unfold((pieces, ready, false), |(mut pieces, mut ready, mut done)| async move {
        let (name, mut value) = match ready.pop_front() {
            Some(next) => next,
            None if done => return None,
            None => match pieces.next().await? {
                Piece::Text(text) => {
                    ("content_block_delta", json!({ "index": 0, "delta": { "type": "text_delta", "text": text } }))
                }
                Piece::End(ended) => {
                    done = true;
                    match ended.and_then(|concluded| Ok((stop_reason(&concluded)?, concluded))) {
                        Ok((reason, concluded)) => {
                            let (input, output) = tokens(&concluded.usage);
                            let delta = json!({
                                "delta": { "stop_reason": reason, "stop_sequence": null },
                                "usage": { "input_tokens": input, "output_tokens": output },
                            });
                            ready.extend([("message_delta", delta), ("message_stop", json!({}))]);
                            ("content_block_stop", json!({ "index": 0 }))
                        }
                        Err(problem) => ("error", Dialect::Anthropic.failure(&problem)),
                    }
                }
            },
        };
        value["type"] = name.into();
        Some((Ok::<_, Infallible>(Event::default().event(name).data(value.to_string())), (pieces, ready, done)))
    }))
    .keep_alive(KeepAlive::default())
}
