//! The secrets of a tenant's own: kept and removed by the operator, and shown to nobody.

use axum::{Json, extract::State, http::StatusCode};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    app::App,
    body,
    description::failures::{Absent, Body, Known, Unfit},
    entry::{Caller, Scope},
    house::{NewSecret, SecretCard},
    problem::Problem,
};

/// Secrets, without their values.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Secrets {
    data: Vec<SecretCard>,
}

/// The secrets of a tenant's own, without their values.
#[utoipa::path(
    get,
    path = "/api/tenants/{tenant}/secrets",
    operation_id = "list_secrets",
    tag = "tenants",
    params(("tenant" = String, Path, description = "The id of a tenant.")),
    responses(
        (status = 200, description = "The secrets, without their values.", body = Secrets),
        Known, Absent, Unfit,
    )
)]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    body::Path(tenant): body::Path<String>,
) -> Result<Json<Secrets>, Problem> {
    caller.may(Scope::Admin)?;
    app.tenants().tenant(&tenant).await?;
    Ok(Json(Secrets { data: app.house().secrets(&tenant).await? }))
}

/// A secret that is to be kept.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewSecret)]
pub(super) struct Wished {
    /// The one host that it is sent to, by https.
    #[schema(example = "api.example.com")]
    host: String,
    /// The one header that it is sent in; `authorization` if this is left out.
    #[serde(default)]
    #[schema(example = "authorization")]
    header: Option<String>,
    /// What it is. It is in no answer.
    #[schema(format = Password, write_only, example = "xyz")]
    value: String,
}

impl Wished {
    /// Reads one. What is wrong is told without what was sent, some of which is a secret.
    fn read(body: Value) -> Result<NewSecret, Problem> {
        let wrong =
            |_| Problem::invalid("the body has `host` and `value`, maybe `header`, and nothing else; all are texts");
        let Self { host, header, value } = serde_json::from_value(body).map_err(wrong)?;
        Ok(NewSecret { host, header, value: SecretString::from(value) })
    }
}

/// Keeps a secret of a tenant's own, in the place of an earlier one of this name. It is used from the next request on.
#[utoipa::path(
    put,
    path = "/api/tenants/{tenant}/secrets/{name}",
    operation_id = "keep_secret",
    tag = "tenants",
    params(("tenant" = String, Path, description = "The id of a tenant."), ("name" = String, Path, description = "What agents call the secret.")),
    request_body = Wished,
    responses(
        (status = 200, description = "The secret, without its value.", body = SecretCard),
        Known, Body, Absent, Unfit,
    )
)]
pub(super) async fn keep(
    State(app): State<App>,
    caller: Caller,
    body::Path((tenant, name)): body::Path<(String, String)>,
    body::Json(body): body::Json<Value>,
) -> Result<Json<SecretCard>, Problem> {
    caller.may(Scope::Admin)?;
    let new = Wished::read(body)?;
    app.tenants().tenant(&tenant).await?;
    Ok(Json(app.house().keep_secret(&tenant, &name, new).await?))
}

/// Removes a secret of a tenant's own. It is used no longer, at once.
#[utoipa::path(
    delete,
    path = "/api/tenants/{tenant}/secrets/{name}",
    operation_id = "remove_secret",
    tag = "tenants",
    params(("tenant" = String, Path, description = "The id of a tenant."), ("name" = String, Path, description = "What agents call the secret.")),
    responses(
        (status = 204, description = "It is gone."),
        Known, Absent, Unfit,
    )
)]
pub(super) async fn remove(
    State(app): State<App>,
    caller: Caller,
    body::Path((tenant, name)): body::Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    caller.may(Scope::Admin)?;
    app.tenants().tenant(&tenant).await?;
    app.house().remove_secret(&tenant, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// SEC-03
    #[test]
    fn what_was_sent_is_in_no_error_and_shown_nowhere() {
        const CANARY: &str = "sk-canary";
        for body in [
            json!(CANARY),
            json!({ "host": "a.example", "value": [CANARY] }),
            json!({ "host": "a.example", "value": { CANARY: 1 } }),
            json!({ "host": "a.example", "value": CANARY, CANARY: 1 }),
            json!({ "host": [CANARY], "value": "x" }),
        ] {
            let problem = Wished::read(body).unwrap_err();
            assert_eq!(problem.status(), StatusCode::BAD_REQUEST);
            assert!(!format!("{problem:?}").contains(CANARY), "{problem:?}");
        }
        let kept = Wished::read(json!({ "host": "a.example", "value": CANARY })).unwrap();
        assert!(!format!("{kept:?}").contains(CANARY), "{kept:?}");
    }
}
