//! The routes that clients of OpenAI and Anthropic know: an agent in the place of a model.
//!
//! A request runs the agent, with its own instructions and its sandboxed tools, and is answered with what it says. What
//! it does on the way stays here. These protocols send the whole conversation each time: what was said before becomes a
//! session of its own, and its last message is what the agent works on.

mod anthropic;
mod chat;
mod conversation;
mod responses;

use axum::{
    Json, Router,
    extract::State,
    routing::{get, post},
};
use serde_json::{Value, json};

use crate::{
    app::App,
    body,
    entry::{Caller, Scope},
    problem::Problem,
};

/// The routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/models", get(models))
        .route("/v1/models/{model}", get(model))
        .route("/v1/chat/completions", post(chat::complete))
        .route("/v1/responses", post(responses::respond))
        .route("/v1/messages", post(anthropic::respond))
}

/// The agents, as models.
async fn models(State(app): State<App>, caller: Caller) -> Result<Json<Value>, chat::Failed> {
    caller.may(Scope::Read)?;
    let agents = app.house().agents(&caller.tenant).await.map_err(Problem::from)?;
    let data: Vec<Value> = agents.iter().map(|agent| shown(&agent.name, &agent.description)).collect();
    Ok(Json(json!({ "object": "list", "data": data, "has_more": false })))
}

async fn model(
    State(app): State<App>,
    caller: Caller,
    body::Path(model): body::Path<String>,
) -> Result<Json<Value>, chat::Failed> {
    caller.may(Scope::Read)?;
    let agents = app.house().agents(&caller.tenant).await.map_err(Problem::from)?;
    let found = agents.iter().find(|agent| agent.name == model).ok_or_else(Problem::not_found)?;
    Ok(Json(shown(&found.name, &found.description)))
}

fn shown(name: &str, description: &str) -> Value {
    json!({ "id": name, "object": "model", "type": "model", "created": 0, "owned_by": "palisade", "display_name": description })
}
