//! Tenants and their keys: the operator's.

use axum::{Json, extract::State, http::StatusCode};
use jiff::Timestamp;
use palisade_store::{KeyRecord, NewKey, NewTenant, Tenant, TenantChange};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    app::App,
    body,
    description::failures::{Absent, Body, Invalid, Known, Taken, Unfit},
    entry::{Caller, KeySecret, Scope},
    page::Wanted,
    problem::Problem,
};

/// Which tenants are wanted.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct After {
    /// The id that they come after: the last of the page before.
    after: Option<String>,
    /// At most so many, 1 to 200; 50 if this is left out.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

/// A tenant.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Tenant)]
pub(super) struct Shown {
    id: String,
    name: String,
    /// Its workspace, grants and quotas.
    #[schema(value_type = Object)]
    settings: Value,
    suspended_at: Option<Timestamp>,
    created_at: Timestamp,
}

/// Tenants, by their ids.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Tenants {
    data: Vec<Shown>,
}

fn shown(tenant: Tenant) -> Shown {
    let Tenant { id, name, settings, suspended_at, created_at, .. } = tenant;
    Shown { id, name, settings, suspended_at, created_at }
}

/// The tenants, by their ids.
#[utoipa::path(
    get,
    path = "/api/tenants",
    operation_id = "list_tenants",
    tag = "tenants",
    params(After),
    responses(
        (status = 200, description = "Tenants, by their ids.", body = Tenants),
        Known, Invalid,
    )
)]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    body::Query(After { after, limit }): body::Query<After>,
) -> Result<Json<Tenants>, Problem> {
    caller.may(Scope::Admin)?;
    let (limit, _) = Wanted { limit, offset: None }.span()?;
    let tenants = app.tenants().tenants(after.as_deref(), limit).await?;
    Ok(Json(Tenants { data: tenants.into_iter().map(shown).collect() }))
}

/// A tenant that is to be.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTenant)]
pub(super) struct New {
    /// What it is known by, for as long as it is there.
    #[schema(pattern = "^[a-z0-9][a-z0-9_-]{0,63}$", example = "ferry")]
    id: String,
    /// What people call it.
    #[serde(default)]
    name: Option<String>,
    /// Its workspace, grants and quotas.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    settings: Option<Value>,
}

/// Makes a tenant.
#[utoipa::path(
    post,
    path = "/api/tenants",
    operation_id = "add_tenant",
    tag = "tenants",
    request_body = New,
    responses(
        (
            status = 201,
            description = "The tenant.",
            body = Shown,
            links(
                ("show_tenant" = (operation_id = "show_tenant", parameters(("tenant" = "$response.body#/id")))),
                ("change_tenant" = (operation_id = "change_tenant", parameters(("tenant" = "$response.body#/id")))),
                ("list_keys" = (operation_id = "list_keys", parameters(("tenant" = "$response.body#/id")))),
                ("add_key" = (operation_id = "add_key", parameters(("tenant" = "$response.body#/id")))),
                ("list_secrets" = (operation_id = "list_secrets", parameters(("tenant" = "$response.body#/id")))),
                ("keep_secret" = (operation_id = "keep_secret", parameters(("tenant" = "$response.body#/id")))),
                ("delete_tenant" = (operation_id = "delete_tenant", parameters(("tenant" = "$response.body#/id")))),
            )
        ),
        Known, Body, Taken, Unfit,
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    body::Json(new): body::Json<New>,
) -> Result<(StatusCode, Json<Shown>), Problem> {
    caller.may(Scope::Admin)?;
    let settings = app.house().settings(new.settings.unwrap_or_else(|| json!({})))?;
    let name = new.name.unwrap_or_else(|| new.id.clone());
    let tenant = app.tenants().create_tenant(NewTenant { id: new.id, name, settings }).await?;
    Ok((StatusCode::CREATED, Json(shown(tenant))))
}

/// One tenant.
#[utoipa::path(
    get,
    path = "/api/tenants/{tenant}",
    operation_id = "show_tenant",
    tag = "tenants",
    params(("tenant" = String, Path, description = "The id of a tenant.")),
    responses(
        (status = 200, description = "The tenant.", body = Shown),
        Known, Absent,
    )
)]
pub(super) async fn one(
    State(app): State<App>,
    caller: Caller,
    body::Path(tenant): body::Path<String>,
) -> Result<Json<Shown>, Problem> {
    caller.may(Scope::Admin)?;
    Ok(Json(shown(app.tenants().tenant(&tenant).await?)))
}

/// What is to be different.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ChangedTenant)]
pub(super) struct Changed {
    /// What people call it.
    #[serde(default)]
    name: Option<String>,
    /// Its workspace, grants and quotas, in the place of what was set.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    settings: Option<Value>,
    /// Whether it is served no longer, for now.
    #[serde(default)]
    suspended: Option<bool>,
}

/// Changes a tenant.
#[utoipa::path(
    patch,
    path = "/api/tenants/{tenant}",
    operation_id = "change_tenant",
    tag = "tenants",
    params(("tenant" = String, Path, description = "The id of a tenant.")),
    request_body = Changed,
    responses(
        (status = 200, description = "The tenant as it is now.", body = Shown),
        Known, Body, Absent, Unfit,
    )
)]
pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    body::Path(tenant): body::Path<String>,
    body::Json(changed): body::Json<Changed>,
) -> Result<Json<Shown>, Problem> {
    caller.may(Scope::Admin)?;
    let settings = changed.settings.map(|settings| app.house().settings(settings)).transpose()?;
    let change = TenantChange { name: changed.name, settings, suspended: changed.suspended };
    Ok(Json(shown(app.tenants().change_tenant(&tenant, change).await?)))
}

/// Removes a tenant with all that it has, but for its folder on the server.
#[utoipa::path(
    delete,
    path = "/api/tenants/{tenant}",
    operation_id = "delete_tenant",
    tag = "tenants",
    params(("tenant" = String, Path, description = "The id of a tenant.")),
    responses(
        (status = 204, description = "It is gone."),
        Known, Absent, Taken, Unfit,
    )
)]
pub(super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    body::Path(tenant): body::Path<String>,
) -> Result<StatusCode, Problem> {
    caller.may(Scope::Admin)?;
    app.tenants().delete_tenant(&tenant).await?;
    app.house().forget(&tenant)?;
    Ok(StatusCode::NO_CONTENT)
}

/// A key, without its secret.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Key {
    id: String,
    label: String,
    scopes: Vec<String>,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
    last_used_at: Option<Timestamp>,
    /// Shown once.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

impl Key {
    fn of(key: KeyRecord, secret: Option<&KeySecret>) -> Self {
        let KeyRecord { id, label, scopes, created_at, expires_at, revoked_at, last_used_at, .. } = key;
        let secret = secret.map(|secret| secret.expose().to_owned());
        Self { id, label, scopes, created_at, expires_at, revoked_at, last_used_at, secret }
    }
}

/// Keys, without their secrets.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Keys {
    data: Vec<Key>,
}

/// The keys of a tenant.
#[utoipa::path(
    get,
    path = "/api/tenants/{tenant}/keys",
    operation_id = "list_keys",
    tag = "tenants",
    params(("tenant" = String, Path, description = "The id of a tenant.")),
    responses(
        (status = 200, description = "The keys, without their secrets.", body = Keys),
        Known, Absent,
    )
)]
pub(super) async fn keys(
    State(app): State<App>,
    caller: Caller,
    body::Path(tenant): body::Path<String>,
) -> Result<Json<Keys>, Problem> {
    caller.may(Scope::Admin)?;
    app.tenants().tenant(&tenant).await?;
    let keys = app.tenants().keys(&tenant).await?.into_iter().map(|key| Key::of(key, None));
    Ok(Json(Keys { data: keys.collect() }))
}

/// A key that is to be.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewKey)]
pub(super) struct Wished {
    /// What people call it.
    #[serde(default)]
    label: String,
    /// Of `read`, `run`, `approve` and `admin`; the first three if this is left out.
    #[serde(default)]
    #[schema(example = json!(["read"]))]
    scopes: Option<Vec<String>>,
    /// When it counts no longer.
    #[serde(default)]
    expires_at: Option<Timestamp>,
}

/// Makes a key. Its secret is in this answer and nowhere else.
#[utoipa::path(
    post,
    path = "/api/tenants/{tenant}/keys",
    operation_id = "add_key",
    tag = "tenants",
    params(("tenant" = String, Path, description = "The id of a tenant.")),
    request_body = Option<Wished>,
    responses(
        (status = 201, description = "The key with its secret, which is shown once.", body = Key),
        Known, Body, Absent, Unfit,
    )
)]
pub(super) async fn add_key(
    State(app): State<App>,
    caller: Caller,
    body::Path(tenant): body::Path<String>,
    body::Optional(wished): body::Optional<Wished>,
) -> Result<(StatusCode, Json<Key>), Problem> {
    caller.may(Scope::Admin)?;
    let wished = wished.unwrap_or(Wished { label: String::new(), scopes: None, expires_at: None });
    let usual = || [Scope::Read, Scope::Run, Scope::Approve].map(|scope| scope.name().to_owned()).to_vec();
    let scopes = wished.scopes.unwrap_or_else(usual);
    if let Some(unknown) = scopes.iter().find(|name| Scope::named(name).is_none()) {
        return Err(Problem::unprocessable(format!(
            "there is no scope `{unknown}`; there are read, run, approve, admin"
        )));
    }
    app.tenants().tenant(&tenant).await?;
    let secret = KeySecret::make().map_err(|error| Problem::broken(&error))?;
    let id = uuid::Uuid::new_v4().to_string();
    let new = NewKey { id, label: wished.label, hash: secret.hash(), scopes, expires_at: wished.expires_at };
    let key = app.tenants().add_key(&tenant, new).await?;
    Ok((StatusCode::CREATED, Json(Key::of(key, Some(&secret)))))
}

/// Makes a key worthless, at once.
#[utoipa::path(
    delete,
    path = "/api/tenants/{tenant}/keys/{key}",
    operation_id = "revoke_key",
    tag = "tenants",
    params(("tenant" = String, Path, description = "The id of a tenant."), ("key" = String, Path, description = "The id of a key.")),
    responses(
        (status = 204, description = "It is worthless."),
        Known, Absent,
    )
)]
pub(super) async fn revoke(
    State(app): State<App>,
    caller: Caller,
    body::Path((tenant, key)): body::Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    caller.may(Scope::Admin)?;
    app.tenants().revoke_key(&tenant, &key).await?;
    Ok(StatusCode::NO_CONTENT)
}
