//! For which host a request is meant, and from which page it comes: before anything else is looked at.
//!
//! A page anywhere on the web can have a browser send requests to this machine. It cannot choose the `Host` that its
//! own name resolves to, nor hide its `Origin`.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};

use crate::problem::Problem;

/// The names that this server answers to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(Vec<String>);

/// Names of this machine as seen from itself.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl Names {
    /// Itself, and what the operator says it is called.
    pub(crate) fn with(named: &[String]) -> Self {
        let named = named.iter().map(|name| name.to_ascii_lowercase());
        Self(LOCAL.into_iter().map(str::to_owned).chain(named).collect())
    }

    fn has(&self, authority: &str) -> bool {
        self.0.iter().any(|name| name.eq_ignore_ascii_case(host(authority)))
    }

    fn check(&self, authority: Option<&str>, headers: &HeaderMap) -> Result<(), Problem> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next().map(|host| host.to_str()), hosts.next()) {
            (Some(Ok(host)), None) => Some(host),
            (None, None) => None,
            _ => return Err(Problem::forbidden("a request names one host")),
        };
        let Some(named) = host.or(authority) else { return Err(Problem::forbidden("a request names its host")) };
        if !self.has(named) || authority.is_some_and(|authority| !self.has(authority)) {
            let detail = "this server is not called so; `--allowed-host` adds a name";
            return Err(Problem::forbidden(detail));
        }
        let origin = headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or("?"));
        // Another server on this machine has another port, and its pages are others' pages. A name of the operator's is
        // this server's on every port: whoever speaks TLS in front of it may name it otherwise.
        let own = |origin: &str| {
            let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            rest.is_some_and(|rest| rest.eq_ignore_ascii_case(named) || (self.has(rest) && !is_local(rest)))
        };
        if origin.is_some_and(|origin| !own(origin)) {
            return Err(Problem::forbidden("pages of other servers may not use this one"));
        }
        match headers.get("sec-fetch-site").map(|site| site.as_bytes()) {
            None | Some(b"same-origin" | b"none") => Ok(()),
            Some(_) => Err(Problem::forbidden("pages of other servers may not use this one")),
        }
    }
}

/// The host of an authority, without a port.
fn host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        // The colons of an address in brackets are not those before a port.
        Some((host, port)) if !port.ends_with(']') && port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

fn is_local(authority: &str) -> bool {
    LOCAL.iter().any(|name| name.eq_ignore_ascii_case(host(authority)))
}

/// Lets a request in that is meant for this server.
pub(crate) async fn guard(State(names): State<Names>, request: Request, next: Next) -> Response {
    let authority = request.uri().authority().map(|authority| authority.as_str());
    match names.check(authority, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(headers: &[(&'static str, &str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        Names::with(&["agents.example.com".to_owned()]).check(None, &map).is_ok()
    }

    /// HTTP-06
    #[test]
    fn only_names_of_this_server_are_answered_to() {
        for host in ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "[::1]", "Agents.Example.com:443"] {
            assert!(checked(&[("host", host)]), "{host}");
        }
        for host in
            ["evil.test", "evil.test:8080", "localhost.evil.test", "127.0.0.1.evil.test", "[::2]", "", "a@localhost"]
        {
            assert!(!checked(&[("host", host)]), "{host}");
        }
        assert!(!checked(&[]));
        assert!(!checked(&[("host", "localhost"), ("host", "evil.test")]));
    }

    /// HTTP-05
    #[test]
    fn pages_of_others_are_refused() {
        let from = |name: &'static str, value: &str| checked(&[("host", "localhost:8080"), (name, value)]);
        assert!(from("origin", "http://localhost:8080") && from("sec-fetch-site", "same-origin"));
        assert!(from("origin", "https://agents.example.com"), "whoever is in front of it");
        for origin in [
            "https://evil.test",
            "http://localhost:3000",
            "http://localhost",
            "http://127.0.0.1:8080",
            "null",
            "http://localhost.evil.test",
            "file://",
            "http://localhost@evil.test",
        ] {
            assert!(!from("origin", origin), "{origin}");
        }
        assert!(!from("sec-fetch-site", "cross-site") && !from("sec-fetch-site", "same-site"));
    }
}
