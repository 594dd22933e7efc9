//! One request that a guest wants to make, and whether it may.

use std::net::IpAddr;

use url::{Position, Url};

use super::{
    Host, HttpGrant, Place, Scheme,
    address::{self, Networks, PermittedAddress},
    methods::Methods,
    name,
};
use crate::{Capability, Denial, NamesGrant};

/// A request as a guest wants to make it: what of it decides whether it may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    word: String,
    methods: Methods,
    name: String,
    place: Place,
}

/// A request that a grant lets through, to a host whose addresses are not known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermittedRequest {
    request: HttpRequest,
    /// The grant names this very host, not only those below a name.
    named: bool,
}

/// Names under which clouds give away the identity of a machine.
const METADATA: [&str; 6] = [
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "instance-data",
    "instance-data.ec2.internal",
    "metadata.azure.internal",
];

impl HttpRequest {
    /// Reads a request from its parts, exactly as they would be sent. Whatever different readers could read
    /// differently is refused.
    pub fn new(method: &str, scheme: &str, authority: &str) -> Result<Self, Denial> {
        let refuse = |rule: &str, remedy: &str| Err(denial("a request", rule.to_owned(), remedy.to_owned()));
        let Some(methods) = Methods::one(method) else {
            return refuse("its method can be granted to nobody", "use GET, POST, PUT, PATCH, DELETE or OPTIONS");
        };
        let scheme = match scheme {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            _ => return refuse("it is neither https nor http", "use https"),
        };
        let (host, port) = name::split_port(authority);
        let port = port.map_or(Some(scheme.port()), name::port);
        match (name::canonical(host), port) {
            (Some(name), Some(port)) => {
                Ok(Self { word: method.to_owned(), methods, name, place: Place { scheme, port } })
            }
            _ => refuse(
                "its authority is no plain host with or without a port",
                "write the host as `api.example.com`, without a user and without escapes",
            ),
        }
    }

    /// Reads a request from an address, as whoever fetches it would.
    pub fn of_url(method: &str, url: &str) -> Result<Self, Denial> {
        let parsed = Url::parse(url).map_err(|_| {
            denial("a request", "its address cannot be read".to_owned(), "write it as `https://host/path`".to_owned())
        })?;
        Self::new(method, parsed.scheme(), &parsed[Position::BeforeUsername..Position::BeforePath])
    }

    /// The host with its port, where that is not the usual one.
    pub fn authority(&self) -> String {
        match self.place.port == self.place.scheme.port() {
            true => self.name.clone(),
            false => format!("{}:{}", self.name, self.place.port),
        }
    }

    /// Method, scheme and host: never a path, which may hold what nobody should read.
    fn shown(&self) -> String {
        format!("{} {}://{}", self.word, self.place.scheme.word(), self.authority())
    }

    /// The grant that would cover it.
    fn as_host(&self) -> Host {
        Host { name: self.name.clone(), below: false, place: Some(self.place), methods: self.methods }
    }
}

impl HttpGrant {
    /// Whether a request may be made.
    pub fn permit(&self, request: HttpRequest) -> Result<PermittedRequest, Denial> {
        let HttpRequest { methods, name, place, .. } = &request;
        let mut covering = self.iter().filter(|host| host.covers(name, *place, *methods)).peekable();
        let is_covered = covering.peek().is_some();
        let named = covering.any(|host| !host.below);
        let remedy =
            || format!("`grants: {{ http: [\"{}\"] }}` in the agent's definition would allow it", request.as_host());
        if !is_covered {
            let same_name = self.iter().any(|host| host.covers_name(name));
            let rule = match same_name {
                true => "the host is granted, but not for this method, scheme and port",
                false => "the host is not granted",
            };
            return Err(denial(&request.shown(), rule.to_owned(), remedy()));
        }
        if METADATA.contains(&name.as_str()) && !named {
            let rule = "a machine's metadata is never meant by a wildcard".to_owned();
            return Err(denial(&request.shown(), rule, remedy()));
        }
        Ok(PermittedRequest { request, named })
    }
}

impl PermittedRequest {
    /// The host's name, or its address as it stands in an authority.
    pub fn host(&self) -> &str {
        &self.request.name
    }

    /// The host's address, if the request names one.
    pub fn literal(&self) -> Option<IpAddr> {
        name::literal(&self.request.name)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.request.place.port
    }

    /// What the `Host` header says.
    pub fn authority(&self) -> String {
        self.request.authority()
    }

    /// Whether it is encrypted.
    pub fn is_secure(&self) -> bool {
        self.request.place.scheme == Scheme::Https
    }

    /// Whether one of the host's addresses may be dialled: one of the public internet, one that the grant names
    /// itself, or one that the operator allows for this host.
    pub fn permit_address(&self, address: IpAddr, networks: &Networks) -> Result<PermittedAddress, Denial> {
        let Some(kind) = address::kept_back(address) else {
            return Ok(PermittedAddress::new(address, self.port()));
        };
        let is_named = self.named && self.literal() == Some(address);
        if is_named || networks.allow(&self.request.name, address) {
            return Ok(PermittedAddress::new(address, self.port()));
        }
        let name = &self.request.name;
        Err(denial(
            &self.request.shown(),
            format!("`{name}` leads to {kind}"),
            format!(
                "`\"{name}\" = [\"…\"]` with that network under `[http.private]` in the operator's or the user's configuration would allow it"
            ),
        ))
    }

    /// Whether a secret may be put into one of its headers: it must be granted, bound to this very host, and
    /// nobody on the way may read it.
    pub fn permit_secret(
        &self,
        granted: &NamesGrant,
        name: &str,
        bound_to: Option<(&Host, &str)>,
        header: &str,
    ) -> Result<(), Denial> {
        let refuse = |rule: String, remedy: String| {
            let asked = format!("the secret `{name}` in {}", self.request.shown());
            Err(Denial { capability: Capability::Secrets, asked, rule, remedy })
        };
        if !granted.iter().any(|word| word.matches(name)) {
            let remedy = format!("`grants: {{ secrets: [\"{name}\"] }}` in the agent's definition would allow it");
            return refuse("the secret is not granted".to_owned(), remedy);
        }
        let Some((host, bound_header)) = bound_to else {
            let remedy =
                format!("`[secrets.{name}]` in the operator's or the user's configuration says where it belongs");
            return refuse("there is no such secret".to_owned(), remedy);
        };
        if !self.is_secure() || host.below || host.name != self.request.name || host.place != Some(self.request.place) {
            return refuse(format!("it belongs to `https://{host}`"), "send it there and nowhere else".to_owned());
        }
        if !header.eq_ignore_ascii_case(bound_header) {
            return refuse(format!("it belongs in the header `{bound_header}`"), "put it there".to_owned());
        }
        Ok(())
    }
}

fn denial(asked: &str, rule: String, remedy: String) -> Denial {
    Denial { capability: Capability::Http, asked: asked.to_owned(), rule, remedy }
}
