//! Secrets in requests. A guest writes `{{secret:NAME}}` in a header; the value takes its place here, on the last
//! step to its bound host, and is seen by nobody on this side.

use std::ops::Range;

use http::{HeaderMap, HeaderName, HeaderValue};
use palisade_grants::{Denial, NamesGrant, PermittedRequest};
use secrecy::{ExposeSecret as _, SecretString};
use wasmtime_wasi_http::Error;

use crate::{
    Network,
    network::{Binding, Vault},
};

/// A secret that belongs into a header.
pub(super) struct Wanted {
    name: String,
    header: HeaderName,
    /// Where it belonged when it was permitted.
    binding: Option<Binding>,
}

/// The same with its value.
pub(super) struct Fetched {
    wanted: Wanted,
    pub(super) value: SecretString,
}

const OPENING: &str = "{{secret:";
const CLOSING: &str = "}}";

/// The secrets that a request's headers ask for, all of which may be put there.
pub(super) fn find(
    headers: &HeaderMap,
    permitted: &PermittedRequest,
    granted: &NamesGrant,
    vault: Option<&dyn Vault>,
) -> Result<Vec<Wanted>, Denial> {
    let mut wanted = Vec::new();
    for (header, value) in headers {
        for (_, name) in placeholders(value.to_str().unwrap_or_default()) {
            let binding = vault.and_then(|vault| vault.binding(name));
            let bound_to = binding.as_ref().map(|binding| (&binding.host, binding.header.as_str()));
            permitted.permit_secret(granted, name, bound_to, header.as_str())?;
            wanted.push(Wanted { name: name.to_owned(), header: header.clone(), binding });
        }
    }
    Ok(wanted)
}

/// Asks for the values, now: one that was replaced is not used again, and one that belongs elsewhere by now is not sent.
pub(super) async fn fetch(network: &Network, wanted: Vec<Wanted>) -> Result<Vec<Fetched>, Error> {
    let Some(vault) = network.vault.clone().filter(|_| !wanted.is_empty()) else { return Ok(Vec::new()) };
    let fetching = tokio::task::spawn_blocking(move || {
        let fetch = |wanted: Wanted| {
            let value = vault.value(&wanted.name)?;
            match vault.binding(&wanted.name) == wanted.binding {
                true => Ok(Fetched { wanted, value }),
                false => Err(format!("`{}` belongs elsewhere by now", wanted.name)),
            }
        };
        wanted.into_iter().map(fetch).collect::<Result<Vec<_>, _>>()
    });
    let fetched = fetching.await.map_err(|_| Error::ConfigurationError)?;
    fetched.map_err(|why| Error::InternalError(Some(format!("a secret is not to be had: {why}"))))
}

/// Puts the values in their places.
pub(super) fn insert(headers: &mut HeaderMap, fetched: &[Fetched]) -> Result<(), Error> {
    let is_filled = |header: &HeaderName| fetched.iter().any(|secret| secret.wanted.header == *header);
    for (_, slot) in headers.iter_mut().filter(|(header, _)| is_filled(header)) {
        let Some(filled) = slot.to_str().ok().map(|text| filled(text, fetched)) else { continue };
        *slot = HeaderValue::from_str(&filled).map_err(|_| Error::ConfigurationError)?;
        slot.set_sensitive(true);
    }
    Ok(())
}

/// A text with its placeholders filled; what is in a value is not looked at.
fn filled(text: &str, fetched: &[Fetched]) -> String {
    let (mut filled, mut position) = (String::new(), 0);
    for (place, name) in placeholders(text) {
        let Some(secret) = fetched.iter().find(|secret| secret.wanted.name == name) else { continue };
        filled += text.get(position..place.start).unwrap_or_default();
        filled += secret.value.expose_secret();
        position = place.end;
    }
    filled + text.get(position..).unwrap_or_default()
}

/// The placeholders of a text: where each stands and which secret it names.
fn placeholders(text: &str) -> Vec<(Range<usize>, &str)> {
    let mut found = Vec::new();
    let mut position = 0;
    while let Some(start) = text.get(position..).and_then(|rest| rest.find(OPENING)).map(|at| position + at) {
        let name_start = start + OPENING.len();
        let Some(length) = text.get(name_start..).and_then(|rest| rest.find(CLOSING)) else { break };
        position = name_start + length + CLOSING.len();
        found.extend(text.get(name_start..name_start + length).map(|name| (start..position, name)));
    }
    found
}
