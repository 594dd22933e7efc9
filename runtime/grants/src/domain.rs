//! What a `WebFetch(domain:…)` rule says about one address.

use url::{Host, Url};

/// A host name, or `*.` and a host name for every name below it, or `*` for all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DomainPattern {
    text: String,
    names: Names,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Names {
    All,
    One(String),
    Below(String),
}

/// Why a text is no domain pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no host name; write `domain:example.com` or `domain:*.example.com`")]
pub struct BadDomain(pub String);

impl DomainPattern {
    /// Parses what stands behind `domain:`.
    pub fn parse(text: &str) -> Result<Self, BadDomain> {
        let text = text.trim();
        let host = |name: &str| {
            let host = Host::parse(name).map_err(|_| BadDomain(text.to_owned()))?;
            Ok(without_dot(&host.to_string()).to_owned())
        };
        let names = match text.strip_prefix("*.") {
            _ if text == "*" => Names::All,
            Some(above) => Names::Below(host(above)?),
            None => Names::One(host(text)?),
        };
        Ok(Self { text: text.to_owned(), names })
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether every host fits.
    pub fn is_universal(&self) -> bool {
        self.names == Names::All
    }

    /// Whether a host fits, as [`host_of`] gives it.
    pub(crate) fn matches(&self, host: &str) -> bool {
        match &self.names {
            Names::All => true,
            Names::One(name) => name == host,
            Names::Below(above) => host.strip_suffix(above.as_str()).is_some_and(|rest| rest.ends_with('.')),
        }
    }
}

/// The host that an address leads to, as the one who fetches it would find it: user names, ports,
/// upper case, other scripts and backslashes resolved. `None` if it is no address of the web.
pub(crate) fn host_of(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = without_dot(url.host_str()?).to_owned();
    (!host.is_empty()).then_some(host)
}

/// `example.com.` is `example.com`.
fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}
