//! Which hosts may be asked over HTTP, and how.

mod address;
mod methods;
mod name;
mod request;

#[cfg(test)]
mod tests;

use std::{fmt, net::IpAddr, str::FromStr};

use crate::reach::{BadSpan, Reach, Span};
use methods::Methods;

pub use address::{Networks, PermittedAddress};
pub use request::{HttpRequest, PermittedRequest};

/// The hosts that may be asked over HTTP.
pub type HttpGrant = Reach<Host>;

/// A host by its name, or with `*.` all hosts below a name; `*` alone is everything.
///
/// | written | means |
/// |---|---|
/// | `api.example.com` | reading (GET, HEAD) from it, by https on port 443 |
/// | `*.example.com` | the same of every host below `example.com`, but not of that one |
/// | `api.example.com:8443` | another port |
/// | `api.example.com:*` | any port, with and without encryption |
/// | `http://127.0.0.1:8080` | without encryption; without a port, 80 |
/// | `GET,POST api.example.com` | these methods; `GET` includes HEAD |
/// | `* api.example.com` | all methods |
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host {
    /// In the form that [`name::canonical`] gives; empty in `*`.
    name: String,
    below: bool,
    /// Anywhere, if none.
    place: Option<Place>,
    methods: Methods,
}

/// How a host is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) scheme: Scheme,
    pub(crate) port: u16,
}

/// With encryption or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Scheme {
    Https,
    Http,
}

const SHAPE: &str = "is no host; write `api.example.com` or `*.example.com`, where another port is wanted \
                     `api.example.com:8443`, without encryption `http://127.0.0.1:8080`, to send as well as to read \
                     `GET,POST api.example.com`; no path, and no `https://`, which is meant anyway";

impl Host {
    /// Everything there is: a ceiling that lowers nothing.
    fn everything() -> Self {
        Self { name: String::new(), below: true, place: None, methods: Methods::ALL }
    }

    /// The host of a whole address, to be read from and sent to as a service is: what whoever speaks to it needs. None if
    /// the address is not one of http or https, or has a password in it.
    pub fn of_service(address: &str) -> Option<Self> {
        let url = url::Url::parse(address).ok()?;
        let scheme = match url.scheme() {
            "https" => "",
            "http" => "http://",
            _ => return None,
        };
        if !url.username().is_empty() || url.password().is_some() {
            return None;
        }
        let (host, port) = (url.host_str()?, url.port_or_known_default()?);
        format!("GET,POST,DELETE {scheme}{host}:{port}").parse().ok()
    }

    /// Whether it is every host there is.
    pub fn is_everything(&self) -> bool {
        self.name.is_empty()
    }

    /// Whether it may only be read from.
    pub fn only_reads(&self) -> bool {
        Methods::READING.contain(self.methods)
    }

    /// Whether a secret can belong to it: one host, where it is encrypted.
    pub fn is_for_secrets(&self) -> bool {
        !self.below && self.methods == Methods::READING && self.place.is_some_and(|place| place.scheme == Scheme::Https)
    }

    /// An address that may be read, and the name of its host; none if it may not be read from at all.
    pub fn example(&self) -> Option<(String, String)> {
        let name = match self.below {
            true if self.name.is_empty() => "elsewhere.example".to_owned(),
            true => format!("probe.{}", self.name),
            false => self.name.clone(),
        };
        let usual = Place { scheme: Scheme::Https, port: 443 };
        let Place { scheme, port } = self.place.unwrap_or(usual);
        let port = if port == scheme.port() { String::new() } else { format!(":{port}") };
        let url = format!("{}://{name}{port}/", scheme.word());
        self.methods.contain(Methods::READING).then_some((url, name))
    }

    /// The same host or hosts, wherever and however they are spoken to.
    pub(crate) fn anyhow(self) -> Self {
        Self { place: None, methods: Methods::ALL, ..self }
    }

    /// Whether reading from this host, as a URL parser gives it, is covered where it usually is.
    pub fn matches(&self, host: &str) -> bool {
        let usual = Place { scheme: Scheme::Https, port: 443 };
        let name = name::canonical(host);
        name.is_some_and(|name| self.covers(&name, usual, Methods::READING))
    }

    fn covers(&self, name: &str, place: Place, methods: Methods) -> bool {
        self.covers_name(name) && self.place.is_none_or(|own| own == place) && self.methods.contain(methods)
    }

    fn covers_name(&self, name: &str) -> bool {
        match self.below {
            false => name == self.name,
            true if self.name.is_empty() => !name.is_empty(),
            true => name.strip_suffix(&self.name).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        }
    }

    /// The address that it names, if it is one.
    fn literal(&self) -> Option<IpAddr> {
        if self.below { None } else { name::literal(&self.name) }
    }
}

impl HttpGrant {
    /// The same without addresses that are not of the public internet: nobody who writes for others to run
    /// may name them.
    pub fn public(&self) -> Self {
        let is_public = |host: &&Host| host.literal().is_none_or(|address| address::kept_back(address).is_none());
        Reach::new(self.iter().filter(is_public).cloned())
    }
}

impl Span for Host {
    fn meet(&self, other: &Self) -> Option<Self> {
        let (longer, shorter) = if self.name.len() >= other.name.len() { (self, other) } else { (other, self) };
        let meet = match longer.name == shorter.name {
            // A name alone is not below itself, except that `*` means every host.
            true => longer.below == shorter.below,
            false => shorter.covers_name(&longer.name),
        };
        let place = match (self.place, other.place) {
            (Some(own), Some(theirs)) if own != theirs => return None,
            (own, theirs) => own.or(theirs),
        };
        let methods = self.methods.both(other.methods);
        let host = Self { name: longer.name.clone(), below: longer.below, place, methods };
        (meet && !methods.is_empty()).then_some(host)
    }
}

impl Scheme {
    fn word(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
        }
    }

    fn port(self) -> u16 {
        match self {
            Self::Https => 443,
            Self::Http => 80,
        }
    }
}

impl FromStr for Host {
    type Err = BadSpan;

    fn from_str(text: &str) -> Result<Self, BadSpan> {
        parse(text.trim()).ok_or_else(|| BadSpan { text: text.to_owned(), problem: SHAPE })
    }
}

fn parse(text: &str) -> Option<Host> {
    if text == "*" {
        return Some(Host::everything());
    }
    let (methods, rest) = match text.rsplit_once(' ') {
        Some((methods, rest)) => (Methods::parse(methods)?, rest),
        None => (Methods::READING, text),
    };
    let (scheme, rest) = match rest.strip_prefix("http://") {
        Some(rest) => (Scheme::Http, rest),
        None => (Scheme::Https, rest),
    };
    let (name, port) = name::split_port(rest);
    let place = match port {
        Some("*") if scheme == Scheme::Https => None,
        Some(port) => Some(Place { scheme, port: name::port(port)? }),
        None => Some(Place { scheme, port: scheme.port() }),
    };
    let (name, below) = name.strip_prefix("*.").map_or((name, false), |name| (name, true));
    let name = name::canonical_in_any_script(name)?;
    // Nothing is below an address.
    (!below || name::literal(&name).is_none()).then_some(Host { name, below, place, methods })
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_everything() {
            return f.write_str("*");
        }
        if self.methods != Methods::READING {
            write!(f, "{} ", self.methods)?;
        }
        if self.place.is_some_and(|place| place.scheme == Scheme::Http) {
            f.write_str("http://")?;
        }
        write!(f, "{}{}", if self.below { "*." } else { "" }, self.name)?;
        match self.place {
            None => f.write_str(":*"),
            Some(Place { scheme, port }) if port != scheme.port() => write!(f, ":{port}"),
            Some(_) => Ok(()),
        }
    }
}
