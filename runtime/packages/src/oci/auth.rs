//! How a registry is told who asks: by a token that it says where to get, or by name and password.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use url::Url;

/// A name and a password for one registry.
#[derive(Clone)]
pub struct Credentials {
    /// The name.
    pub user: String,
    /// The password, or a token in its place.
    pub password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Finds the credentials for a registry in a file as Docker and others keep it. Programs that such a file may
    /// name are not run.
    pub fn find(config: &[u8], registry: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct File {
            auths: std::collections::BTreeMap<String, Entry>,
        }
        #[derive(Deserialize)]
        struct Entry {
            auth: Option<String>,
        }
        let file: File = serde_json::from_slice(config).ok()?;
        let is_it = |name: &str| name.trim_start_matches("https://").trim_end_matches('/') == registry;
        let (_, entry) = file.auths.iter().find(|(name, _)| is_it(name))?;
        let text = String::from_utf8(STANDARD.decode(entry.auth.as_deref()?).ok()?).ok()?;
        let (user, password) = text.split_once(':')?;
        Some(Self { user: user.to_owned(), password: password.to_owned() })
    }

    pub(super) fn basic(&self) -> String {
        format!("Basic {}", STANDARD.encode(format!("{}:{}", self.user, self.password)))
    }
}

/// What a registry wants to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    Basic,
    /// A token, from this address.
    Bearer(Url),
}

impl Challenge {
    /// Reads `WWW-Authenticate`.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let parameters = parameters(rest);
        let value = |name: &str| parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let mut realm = Url::parse(value("realm")?).ok()?;
        for name in ["service", "scope"] {
            if let Some(value) = value(name) {
                realm.query_pairs_mut().append_pair(name, value);
            }
        }
        Some(Self::Bearer(realm))
    }
}

/// `a="b",c="d"`.
fn parameters(mut text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    while let Some((key, rest)) = text.split_once('=') {
        let key = key.trim_matches([' ', ',']).to_ascii_lowercase();
        let (value, rest) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_once(',').unwrap_or((rest, "")),
        };
        found.push((key, value.to_owned()));
        text = rest;
    }
    found
}

/// What the place that gives tokens answers.
#[derive(Deserialize)]
pub(super) struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Token {
    pub(super) fn bearer(self) -> Option<String> {
        self.token.or(self.access_token).map(|token| format!("Bearer {token}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_says_where_tokens_are() {
        let header = r#"Bearer realm="https://auth.example.com/token",service="registry.example.com",scope="repository:a/b:pull,push""#;
        let Some(Challenge::Bearer(url)) = Challenge::parse(header) else { panic!() };
        assert_eq!(
            url.as_str(),
            "https://auth.example.com/token?service=registry.example.com&scope=repository%3Aa%2Fb%3Apull%2Cpush"
        );
        assert_eq!(Challenge::parse("Basic realm=\"x\""), Some(Challenge::Basic));
        for header in
            ["", "Negotiate", "Bearer", "Bearer realm=", "Bearer realm=\"not an address\"", "=,=\"", "\"\"\"="]
        {
            assert_eq!(Challenge::parse(header), None, "{header}");
        }
    }

    #[test]
    fn credentials_are_those_of_the_registry_and_are_not_shown() {
        let file = br#"{"auths": {"https://r.example": {"auth": "bWU6c2VjcmV0OngK"}, "other": {}}, "credsStore": "x"}"#;
        let found = Credentials::find(file, "r.example").unwrap();
        assert_eq!((found.user.as_str(), found.password.as_str()), ("me", "secret:x\n"));
        assert!(!format!("{found:?}").contains("secret"));
        for registry in ["r.example.com", "other", "example"] {
            assert!(Credentials::find(file, registry).is_none());
        }
        assert!(Credentials::find(b"nonsense", "r.example").is_none());
    }
}
