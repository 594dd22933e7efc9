//! The routes that clients of OpenAI and Anthropic know: an agent in the place of a model.
//!
//! A request runs the agent, with its own instructions and its sandboxed tools, and is answered with what it says. What
//! it does on the way stays here. These protocols send the whole conversation each time: what was said before becomes a
//! session of its own, and its last message is what the agent works on.

mod anthropic;
mod chat;
mod conversation;
mod failure;
mod responses;

use axum::{Json, extract::State};
use serde_json::{Value, json};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    body,
    description::{failures::Either, theirs},
    entry::{Caller, Scope},
    problem::Problem,
};

pub(crate) use failure::{AnthropicFailure, OpenAiFailure, in_their_words};

/// The routes.
pub(crate) fn table() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(models))
        .routes(routes!(model))
        .routes(routes!(chat::complete))
        .routes(routes!(responses::respond))
        .routes(routes!(anthropic::respond))
}

/// The agents, as models.
#[utoipa::path(
    get,
    path = "/v1/models",
    operation_id = "list_models",
    tag = "compatible",
    responses(
        (status = 200, description = "The agents.", body = theirs::Models),
        Either,
    )
)]
async fn models(State(app): State<App>, caller: Caller) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Read)?;
    let agents = app.house().agents(&caller.tenant).await?;
    let data: Vec<Value> = agents.iter().map(|agent| shown(&agent.name, &agent.description)).collect();
    let [first, last] = [agents.first(), agents.last()].map(|agent| agent.map(|agent| agent.name.as_str()));
    Ok(Json(json!({ "object": "list", "data": data, "has_more": false, "first_id": first, "last_id": last })))
}

/// One agent, as a model.
#[utoipa::path(
    get,
    path = "/v1/models/{model}",
    operation_id = "show_model",
    tag = "compatible",
    params(("model" = String, Path, description = "The name of an agent.", example = "explore")),
    responses(
        (status = 200, description = "The agent.", body = theirs::Model),
        Either,
    )
)]
async fn model(
    State(app): State<App>,
    caller: Caller,
    body::Path(model): body::Path<String>,
) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Read)?;
    let agents = app.house().agents(&caller.tenant).await?;
    let found = agents.iter().find(|agent| agent.name == model).ok_or_else(Problem::not_found)?;
    Ok(Json(shown(&found.name, &found.description)))
}

fn shown(name: &str, description: &str) -> Value {
    // When an agent was made is not known, and these clients want to know it.
    json!({
        "id": name, "object": "model", "type": "model", "created": 0, "created_at": "1970-01-01T00:00:00Z",
        "owned_by": "palisade", "display_name": description,
    })
}
