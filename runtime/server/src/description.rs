//! What every route takes and gives, for programs: `/openapi.json`.
//!
//! Each route is described where it is written, and the table of routes is made of those descriptions, so that there is
//! none without the other. Here is what they have in common.

pub(crate) mod failures;
pub(crate) mod records;
pub(crate) mod theirs;

use utoipa::{
    Modify, OpenApi,
    openapi::{
        self,
        security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

use crate::{
    compat::{AnthropicFailure, OpenAiFailure},
    problem::Problem,
};

/// What is true of all routes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Palisade",
        description = "Agents over HTTP. The tenant of a request comes from its key. Failures are problem documents \
                       (RFC 9457), but where clients of others have words of their own."
    ),
    components(schemas(Problem, OpenAiFailure, AnthropicFailure)),
    security(("bearer" = []), ("api_key" = [])),
    modifiers(&Keys),
    tags(
        (name = "agents", description = "The agents there are, what they may do, and with which tools."),
        (name = "sessions", description = "What was said with which agent."),
        (name = "runs", description = "An agent works on something, is watched, asked about, ended."),
        (name = "usage", description = "What was used up, and what happened."),
        (name = "tenants", description = "Tenants and their keys: the operator's."),
        (name = "compatible", description = "For clients of OpenAI and Anthropic: an agent in the place of a model."),
        (name = "server", description = "The server itself."),
    )
)]
pub(crate) struct Common;

/// How a key is sent.
struct Keys;

impl Modify for Keys {
    fn modify(&self, document: &mut openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
        let header = ApiKeyValue::with_description("x-api-key", "As clients of Anthropic send it.");
        components.add_security_scheme("api_key", SecurityScheme::ApiKey(ApiKey::Header(header)));
    }
}
