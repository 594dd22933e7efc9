//! `/v1/responses`, as newer clients of OpenAI know it. A response is a run; what follows one goes on in its session.

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
use serde_json::{Value, json};

use super::{
    chat::{Content, speaker},
    conversation::{Asked, Piece, Pieces, Speaker, tokens},
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
#[schema(as = ResponseRequest)]
pub(super) struct Request {
    /// The name of an agent.
    #[schema(example = "explore")]
    model: String,
    /// What was said, the last by the user.
    #[schema(example = "What is here?")]
    input: Input,
    #[serde(default)]
    instructions: Option<String>,
    /// The response that this one follows, in the same session.
    #[serde(default)]
    previous_response_id: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    /// Whether the session stays; it does if this is left out.
    #[serde(default)]
    store: Option<bool>,
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(untagged)]
enum Input {
    Text(String),
    Items(Vec<Item>),
}

#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = InputItem)]
struct Item {
    #[serde(default)]
    r#type: Option<String>,
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    content: Option<Content>,
}

/// What every response is called by.
const MARK: &str = "resp_";

/// Runs an agent and answers with what it says.
#[utoipa::path(
    post,
    path = "/v1/responses",
    operation_id = "create_response",
    tag = "compatible",
    request_body = Request,
    responses(
        (
            status = 200,
            description = "The answer, whole or as it comes.",
            content((theirs::Response = "application/json"), (Events = "text/event-stream"))
        ),
        OpenAi,
    )
)]
pub(super) async fn respond(
    State(app): State<App>,
    caller: Caller,
    body::Json(request): body::Json<Request>,
) -> Result<Response, Problem> {
    let mut said: Vec<(Speaker, String)> = Vec::new();
    said.extend(request.instructions.map(|text| (Speaker::Client, text)));
    match request.input {
        Input::Text(text) => said.push((Speaker::User, text)),
        Input::Items(items) => {
            for item in items {
                said.extend(turn(item)?);
            }
        }
    }
    let session = match &request.previous_response_id {
        Some(id) => {
            let run = id.strip_prefix(MARK).ok_or_else(Problem::not_found)?;
            Some(app.store().run(&caller.tenant, run).await?.session.id)
        }
        None => None,
    };
    let (agent, keeps) = (request.model.clone(), request.store.unwrap_or(true) || session.is_some());
    let mut working = Asked { agent, said, session, keeps }.begin(&app, &caller).await?;
    let about = About {
        id: format!("{MARK}{}", working.started.run),
        item: format!("msg_{}", working.started.run),
        created: jiff::Timestamp::now().as_second(),
        model: request.model,
        previous: request.previous_response_id,
        store: keeps,
    };
    if request.stream == Some(true) {
        return Ok(streamed(working.pieces(), about).into_response());
    }
    let concluded = working.answer().await?;
    refuse_failed(&concluded)?;
    Ok(Json(about.whole(&concluded)).into_response())
}

/// What an item says. Calls of other tools than the agent's own cannot be gone on with.
fn turn(item: Item) -> Result<Option<(Speaker, String)>, Problem> {
    match item.r#type.as_deref() {
        None | Some("message") => {
            let speaker = speaker(item.role.as_deref().unwrap_or("user"))?;
            Ok(Some((speaker, item.content.map(Content::text).transpose()?.unwrap_or_default())))
        }
        Some("reasoning") => Ok(None),
        Some(other) => {
            Err(Problem::invalid(format!("items of the type `{other}` are not read; an agent's tools are its own")))
        }
    }
}

/// An agent that failed is an error.
fn refuse_failed(concluded: &Conclusion) -> Result<(), Problem> {
    match &concluded.ending {
        Ending::Answered | Ending::Spent(_) => Ok(()),
        _ => Err(Problem::unprocessable(concluded.failure.clone().unwrap_or_default())),
    }
}

/// What every form of a response says.
struct About {
    id: String,
    item: String,
    created: i64,
    model: String,
    previous: Option<String>,
    store: bool,
}

impl About {
    fn value(&self, status: &str, output: Value, usage: Value) -> Value {
        json!({
            "id": self.id, "object": "response", "created_at": self.created, "status": status, "model": self.model,
            "output": output, "usage": usage, "error": null, "incomplete_details": null, "instructions": null,
            "metadata": {}, "parallel_tool_calls": false, "temperature": null, "top_p": null, "tool_choice": "none",
            "tools": [], "previous_response_id": self.previous, "store": self.store, "truncation": "disabled",
            "max_output_tokens": null, "reasoning": null, "text": { "format": { "type": "text" } }, "user": null,
        })
    }

    fn part(text: &str) -> Value {
        json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
    }

    fn message(&self, status: &str, content: Vec<Value>) -> Value {
        json!({ "id": self.item, "type": "message", "status": status, "role": "assistant", "content": content })
    }

    fn whole(&self, concluded: &Conclusion) -> Value {
        let (status, details) = match &concluded.ending {
            // The one word that these clients know for it.
            Ending::Spent(_) => ("incomplete", json!({ "reason": "max_output_tokens" })),
            _ => ("completed", Value::Null),
        };
        let (input, output) = tokens(&concluded.usage);
        let usage = json!({
            "input_tokens": input, "output_tokens": output, "total_tokens": input + output,
            "input_tokens_details": { "cached_tokens": concluded.usage.cached_tokens },
            "output_tokens_details": { "reasoning_tokens": 0 },
        });
        let message = self.message(status, vec![Self::part(&concluded.answer)]);
        let mut value = self.value(status, json!([message]), usage);
        value["incomplete_details"] = details;
        value
    }
}

fn streamed(pieces: Pieces, about: About) -> impl IntoResponse {
    let begun = about.value("in_progress", json!([]), Value::Null);
    let ready = VecDeque::from([
        ("response.created", json!({ "response": begun })),
        ("response.in_progress", json!({ "response": begun })),
        ("response.output_item.added", json!({ "output_index": 0, "item": about.message("in_progress", Vec::new()) })),
        (
            "response.content_part.added",
            json!({ "item_id": about.item, "output_index": 0, "content_index": 0, "part": About::part("") }),
        ),
    ]);
    let state = Stream { pieces, about, ready, text: String::new(), number: 0, done: false };
    Sse::new(stream::unfold(state, |mut state| async move {
        let (name, mut value) = state.next().await?;
        value["type"] = name.into();
        value["sequence_number"] = state.number.into();
        state.number += 1;
        Some((Ok::<_, Infallible>(Event::default().event(name).data(value.to_string())), state))
    }))
    .keep_alive(KeepAlive::default())
}

/// A stream under way.
struct Stream {
    pieces: Pieces,
    about: About,
    ready: VecDeque<(&'static str, Value)>,
    text: String,
    number: u64,
    done: bool,
}

impl Stream {
    async fn next(&mut self) -> Option<(&'static str, Value)> {
        if let Some(next) = self.ready.pop_front() {
            return Some(next);
        }
        if self.done {
            return None;
        }
        let at = |more: Value| {
            let mut value = json!({ "item_id": self.about.item, "output_index": 0, "content_index": 0 });
            if let (Some(value), Value::Object(more)) = (value.as_object_mut(), more) {
                value.extend(more);
            }
            value
        };
        match self.pieces.next().await? {
            Piece::Text(text) => {
                let value = at(json!({ "delta": text, "logprobs": [] }));
                self.text.push_str(&text);
                Some(("response.output_text.delta", value))
            }
            Piece::End(Ok(concluded)) if refuse_failed(&concluded).is_ok() => {
                let text = std::mem::take(&mut self.text);
                let concluded = Conclusion { answer: text.clone(), ..concluded };
                let whole = self.about.whole(&concluded);
                let last = match concluded.ending {
                    Ending::Spent(_) => "response.incomplete",
                    _ => "response.completed",
                };
                self.ready.extend([
                    ("response.content_part.done", at(json!({ "part": About::part(&text) }))),
                    ("response.output_item.done", json!({ "output_index": 0, "item": whole["output"][0] })),
                    (last, json!({ "response": whole })),
                ]);
                let value = at(json!({ "text": text, "logprobs": [] }));
                self.done = true;
                Some(("response.output_text.done", value))
            }
            Piece::End(ended) => {
                self.done = true;
                let problem = match ended {
                    Ok(concluded) => Problem::unprocessable(concluded.failure.unwrap_or_default()),
                    Err(problem) => problem,
                };
                let mut failed = self.about.value("failed", json!([]), Value::Null);
                failed["error"] = json!({ "code": "server_error", "message": problem.detail() });
                Some(("response.failed", json!({ "response": failed })))
            }
        }
    }
}
