//! Tenants and their keys: the operator's.

use axum::{Json, extract::State, http::StatusCode};
use jiff::Timestamp;
use palisade_store::{KeyRecord, NewKey, NewTenant, Tenant, TenantChange};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    app::App,
    body,
    entry::{Caller, KeySecret, Scope},
    page::Wanted,
    problem::Problem,
};

/// Which tenants are wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct After {
    after: Option<String>,
    limit: Option<usize>,
}

fn shown(tenant: &Tenant) -> Value {
    json!({
        "id": tenant.id, "name": tenant.name, "settings": tenant.settings, "suspended_at": tenant.suspended_at,
        "created_at": tenant.created_at,
    })
}

/// The tenants, by their ids.
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    body::Query(After { after, limit }): body::Query<After>,
) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Admin)?;
    let (limit, _) = Wanted { limit, offset: None }.span()?;
    let tenants = app.tenants().tenants(after.as_deref(), limit).await?;
    Ok(Json(json!({ "data": tenants.iter().map(shown).collect::<Vec<_>>() })))
}

/// A tenant that is to be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct New {
    id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    settings: Option<Value>,
}

/// Makes a tenant.
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    body::Json(new): body::Json<New>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    caller.may(Scope::Admin)?;
    let settings = app.house().settings(new.settings.unwrap_or_else(|| json!({})))?;
    let name = new.name.unwrap_or_else(|| new.id.clone());
    let tenant = app.tenants().create_tenant(NewTenant { id: new.id, name, settings }).await?;
    Ok((StatusCode::CREATED, Json(shown(&tenant))))
}

/// One tenant.
pub(super) async fn one(
    State(app): State<App>,
    caller: Caller,
    body::Path(tenant): body::Path<String>,
) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Admin)?;
    Ok(Json(shown(&app.tenants().tenant(&tenant).await?)))
}

/// What is to be different.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Changed {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    settings: Option<Value>,
    #[serde(default)]
    suspended: Option<bool>,
}

/// Changes a tenant.
pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    body::Path(tenant): body::Path<String>,
    body::Json(changed): body::Json<Changed>,
) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Admin)?;
    let settings = changed.settings.map(|settings| app.house().settings(settings)).transpose()?;
    let change = TenantChange { name: changed.name, settings, suspended: changed.suspended };
    Ok(Json(shown(&app.tenants().change_tenant(&tenant, change).await?)))
}

/// Removes a tenant with all that it has.
pub(super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    body::Path(tenant): body::Path<String>,
) -> Result<StatusCode, Problem> {
    caller.may(Scope::Admin)?;
    app.tenants().delete_tenant(&tenant).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A key, without its secret.
#[derive(Debug, Serialize)]
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

/// The keys of a tenant.
pub(super) async fn keys(
    State(app): State<App>,
    caller: Caller,
    body::Path(tenant): body::Path<String>,
) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Admin)?;
    app.tenants().tenant(&tenant).await?;
    let keys = app.tenants().keys(&tenant).await?.into_iter().map(|key| Key::of(key, None));
    Ok(Json(json!({ "data": keys.collect::<Vec<_>>() })))
}

/// A key that is to be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wished {
    #[serde(default)]
    label: String,
    #[serde(default)]
    scopes: Option<Vec<String>>,
    #[serde(default)]
    expires_at: Option<Timestamp>,
}

/// Makes a key. Its secret is in this answer and nowhere else.
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
pub(super) async fn revoke(
    State(app): State<App>,
    caller: Caller,
    body::Path((tenant, key)): body::Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    caller.may(Scope::Admin)?;
    app.tenants().revoke_key(&tenant, &key).await?;
    Ok(StatusCode::NO_CONTENT)
}
