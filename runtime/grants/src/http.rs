//! Which hosts may be asked over HTTP.

use std::{fmt, str::FromStr};

use crate::reach::{BadSpan, Reach, Span};

/// The hosts that may be asked over HTTP.
pub type HttpGrant = Reach<Host>;

/// A host by its name, or with `*.` all hosts below a name. `*` alone is every host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host {
    /// Lower case, without a dot at the end; empty in `*`.
    name: String,
    below: bool,
}

const SHAPE: &str = "is no host; write `api.example.com`, `*.example.com` or `*`, without scheme, port or path";

impl Host {
    /// Whether a request to this host, as a URL parser gives it, is covered.
    pub fn matches(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        match self.below {
            false => host == self.name,
            true if self.name.is_empty() => !host.is_empty(),
            true => host.strip_suffix(&self.name).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        }
    }
}

impl Span for Host {
    fn meet(&self, other: &Self) -> Option<Self> {
        let (longer, shorter) = if self.name.len() >= other.name.len() { (self, other) } else { (other, self) };
        if longer.name == shorter.name {
            // A name alone is not below itself, except that `*` means every host.
            return (longer.below == shorter.below).then(|| longer.clone());
        }
        shorter.matches(&longer.name).then(|| longer.clone())
    }
}

impl FromStr for Host {
    type Err = BadSpan;

    fn from_str(text: &str) -> Result<Self, BadSpan> {
        let bad = || BadSpan { text: text.to_owned(), problem: SHAPE };
        let lower = text.trim().to_ascii_lowercase();
        if lower == "*" {
            return Ok(Self { name: String::new(), below: true });
        }
        let (name, below) = lower.strip_prefix("*.").map_or((lower.as_str(), false), |name| (name, true));
        let name = name.strip_suffix('.').unwrap_or(name);
        let label = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        let address = !below
            && name.starts_with('[')
            && name.ends_with(']')
            && name[1..name.len() - 1].parse::<std::net::Ipv6Addr>().is_ok();
        if name.len() > 253 || !(address || name.split('.').all(label)) {
            return Err(bad());
        }
        Ok(Self { name: name.to_owned(), below })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.below, self.name.as_str()) {
            (true, "") => f.write_str("*"),
            (true, name) => write!(f, "*.{name}"),
            (false, name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(hosts: &[&str]) -> HttpGrant {
        Reach::new(hosts.iter().map(|host| host.parse().unwrap()))
    }

    #[test]
    fn a_star_stands_for_hosts_below_and_not_for_the_name_itself() {
        let host: Host = "*.Example.com.".parse().unwrap();
        assert!(host.matches("api.example.com") && host.matches("A.B.EXAMPLE.COM."));
        assert!(
            !host.matches("example.com") && !host.matches("badexample.com") && !host.matches("example.com.evil.org")
        );
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in ["", "https://a.b", "a.b:80", "a b", "*a.com", "a.*.com", "a..b", "a/b", "..", "*."] {
            assert!(text.parse::<Host>().is_err(), "{text}");
        }
    }

    #[test]
    fn two_grants_meet_in_the_narrower_hosts() {
        let own = grant(&["*.example.com", "github.com", "x.org"]);
        let ceiling = grant(&["api.example.com", "*.github.com", "x.org", "y.org"]);
        assert_eq!(own.narrow(&ceiling), grant(&["api.example.com", "x.org"]));
        assert_eq!(own.narrow(&grant(&["*"])), own);
    }
}
