//! Who asks. The tenant of a request comes from its key, and from nothing else in it.

use std::{fmt, sync::Arc, time::Instant};

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, header, request::Parts},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use palisade_agent::LOCAL_TENANT;
use palisade_store::KeyRecord;
use sha2::{Digest as _, Sha256};

use crate::{app::App, house::Quotas, problem::Problem, routes};

/// What every key begins with, so that one that is found somewhere is known for what it is.
const MARK: &str = "pal_";
/// The bytes of a secret.
const BYTES: usize = 32;

/// A key as it is handed out, once. Only its hash is kept.
pub struct KeySecret(String);

impl KeySecret {
    /// A new one.
    pub fn make() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes.iter().fold(MARK.to_owned(), |text, byte| text + &format!("{byte:02x}"))))
    }

    /// What is kept of it.
    pub fn hash(&self) -> [u8; 32] {
        hash(&self.0)
    }

    /// To be shown to whoever it is for.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for KeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeySecret(…)")
    }
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret).into()
}

/// What a key is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Looking at agents, sessions and runs.
    Read,
    /// Having agents work, and changing sessions.
    Run,
    /// Answering what agents ask.
    Approve,
    /// Tenants and their keys: the operator's.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Read, Self::Run, Self::Approve, Self::Admin];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Run => "run",
            Self::Approve => "approve",
            Self::Admin => "admin",
        }
    }

    /// The scope of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// Whoever asks.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Whose things it sees.
    pub(crate) tenant: Arc<str>,
    /// The key; absent: somebody on this machine, where no keys are wanted.
    pub(crate) key: Option<Arc<str>>,
    /// What its tenant may use up.
    pub(crate) quotas: Quotas,
    scopes: Vec<Scope>,
}

impl Caller {
    /// Whoever sits at this machine.
    fn local() -> Self {
        Self { tenant: LOCAL_TENANT.into(), key: None, quotas: Quotas::default(), scopes: Scope::ALL.to_vec() }
    }

    fn of(key: KeyRecord, quotas: Quotas) -> Self {
        let scopes = key.scopes.iter().filter_map(|name| Scope::named(name)).collect();
        Self { tenant: key.tenant.into(), key: Some(key.id.into()), quotas, scopes }
    }

    /// What the key is good for.
    pub(crate) fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// Whether the key is good for something.
    pub(crate) fn may(&self, scope: Scope) -> Result<(), Problem> {
        match self.scopes.contains(&scope) {
            true => Ok(()),
            false => Err(Problem::forbidden(format!("this key has no scope `{}`", scope.name()))),
        }
    }
}

/// Finds out who asks, before any route is looked at; a few paths are for everybody.
pub(crate) async fn enter_where_wanted(State(app): State<App>, mut request: Request, next: Next) -> Response {
    if routes::is_open(request.uri().path()) {
        return next.run(request).await;
    }
    match who(&app, request.headers()).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

async fn who(app: &App, headers: &HeaderMap) -> Result<Caller, Problem> {
    let Some(secret) = secret(headers)? else {
        return match app.settings().wants_keys {
            true => Err(Problem::unauthorized("send `Authorization: Bearer KEY`; `palisade tenants key` makes keys")),
            false => Ok(Caller::local()),
        };
    };
    // What is no key of ours is the same as one that is unknown, and costs no look into the database.
    let unknown = || Problem::unauthorized("this key is unknown, was revoked, or is over");
    if secret.len() != MARK.len() + 2 * BYTES || !secret.starts_with(MARK) {
        return match app.settings().wants_keys {
            true => Err(unknown()),
            // Clients that cannot do without a key send any; here it means nothing.
            false => Ok(Caller::local()),
        };
    }
    let key = app.tenants().key(&hash(secret)).await?.ok_or_else(unknown)?;
    if !key.counts_at(jiff::Timestamp::now()) {
        return Err(unknown());
    }
    let tenant = app.tenants().tenant(&key.tenant).await?;
    if tenant.suspended_at.is_some() {
        return Err(Problem::forbidden("this tenant is suspended"));
    }
    // When a key was last used is good to know and nothing to fail for.
    drop(app.tenants().used_key(&key.tenant, &key.id).await);
    let quotas = app.house().quotas(&tenant.settings)?;
    app.rate().take(&tenant.id, quotas.requests, Instant::now())?;
    Ok(Caller::of(key, quotas))
}

/// The key that a request carries: as a bearer, or as clients of Anthropic send it.
fn secret(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter().chain(headers.get_all("x-api-key"));
    let first = match (given.next(), given.next()) {
        (Some(first), None) => first,
        (None, _) => return Ok(None),
        (Some(_), Some(_)) => return Err(Problem::unauthorized("a request carries one key")),
    };
    let text = first.to_str().map_err(|_| Problem::unauthorized("a key is plain text"))?.trim();
    let bearer = text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    Ok(Some(bearer.map_or(text, |(_, secret)| secret.trim())).filter(|secret| !secret.is_empty()))
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Problem::unauthorized("a key is needed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_hard_to_guess_and_is_not_shown() {
        let (one, other) = (KeySecret::make().unwrap(), KeySecret::make().unwrap());
        assert_ne!(one.expose(), other.expose());
        assert_eq!((one.expose().len(), one.expose().starts_with("pal_")), (68, true));
        assert!(!format!("{one:?}").contains(&one.expose()[4..]));
        assert_eq!(one.hash(), hash(one.expose()));
    }

    #[test]
    fn keys_are_taken_from_one_place() {
        let of = |headers: &[(&'static str, &str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(*name, value.parse().unwrap());
            }
            secret(&map).map(|secret| secret.map(str::to_owned)).map_err(|problem| problem.status().as_u16())
        };
        assert_eq!(of(&[("authorization", "Bearer abc")]), Ok(Some("abc".to_owned())));
        assert_eq!(of(&[("authorization", "bearer  abc ")]), Ok(Some("abc".to_owned())));
        assert_eq!(of(&[("x-api-key", "abc")]), Ok(Some("abc".to_owned())));
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&[("authorization", "Bearer a"), ("authorization", "Bearer b")]), Err(401));
        assert_eq!(of(&[("authorization", "Bearer a"), ("x-api-key", "b")]), Err(401));
        assert_eq!(of(&[("x-api-key", "a"), ("x-api-key", "b")]), Err(401));
    }
}
