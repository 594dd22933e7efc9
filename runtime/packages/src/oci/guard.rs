//! Where a registry may send us: to the public internet, and to itself.
//!
//! The user named the registry, so it may be anywhere. What it names, in a redirect or as the place that gives
//! tokens, must be encrypted and lead to public addresses: the policy for guests' requests decides.

use std::{net::SocketAddr, sync::Arc};

use palisade_grants::{Grants, HttpRequest, Networks};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Url;

use crate::oci::Reference;

/// The registry that the user named.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    host: String,
    port: u16,
    is_loopback: bool,
}

impl Guard {
    pub(super) fn of(reference: &Reference) -> Self {
        let is_loopback = reference.is_loopback();
        let usual = if is_loopback { 80 } else { 443 };
        let port = reference.registry.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(usual);
        Self { host: reference.host().to_owned(), port, is_loopback }
    }

    /// How the registry is spoken to.
    pub(super) fn scheme(&self) -> &'static str {
        if self.is_loopback { "http" } else { "https" }
    }

    /// Whether an address is the registry itself.
    pub(super) fn is_own(&self, url: &Url) -> bool {
        url.host_str() == Some(self.host.as_str())
            && url.port_or_known_default() == Some(self.port)
            && url.scheme() == self.scheme()
    }

    /// Looks at an address that the registry names before anything is sent there. Names are looked at once more
    /// when they are resolved.
    pub(super) fn check(&self, url: &Url) -> Result<(), String> {
        if self.is_own(url) {
            return Ok(());
        }
        if url.scheme() != "https" {
            return Err(format!("{} is not encrypted", shown(url)));
        }
        let request = HttpRequest::of_url("GET", url.as_str()).map_err(|denial| denial.to_string())?;
        let permitted = Grants::everything().http.permit(request).map_err(|denial| denial.to_string())?;
        match permitted.literal() {
            Some(address) if permitted.permit_address(address, &Networks::default()).is_err() => {
                Err(format!("{} is no public address", shown(url)))
            }
            _ => Ok(()),
        }
    }

    /// Whether a name may lead to an address.
    fn leads_to(&self, name: &str, address: SocketAddr) -> Result<(), String> {
        if name == self.host {
            return Ok(());
        }
        let permitted = HttpRequest::new("GET", "https", name).and_then(|it| Grants::everything().http.permit(it));
        let permitted = permitted.and_then(|it| it.permit_address(address.ip(), &Networks::default()));
        permitted.map(|_| ()).map_err(|_| format!("`{name}` leads to no public address"))
    }
}

/// Never the path, which may hold a signature.
fn shown(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Looks a name up once, and what it leads to is what is dialled.
pub(super) struct Resolver(pub(super) Arc<Guard>);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = Arc::clone(&self.0);
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            for address in &found {
                guard.leads_to(name.as_str(), *address)?;
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(reference: &str) -> Guard {
        Guard::of(&reference.parse().unwrap())
    }

    #[test]
    fn a_registry_sends_us_to_itself_or_to_the_public_internet() {
        let check = |guard: &Guard, url: &str| guard.check(&Url::parse(url).unwrap());
        let public = guard("oci://registry.example.com/x");
        for url in ["https://registry.example.com/v2/", "https://cdn.example.net/blob?sig=1", "https://93.184.215.14/"]
        {
            assert_eq!(check(&public, url), Ok(()), "{url}");
        }
        for url in [
            "http://registry.example.com/v2/",
            "http://cdn.example.net/blob",
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://10.1.2.3/",
            "https://169.254.169.254/latest/meta-data/",
            "https://metadata.google.internal/",
            "https://user:pass@cdn.example.net/",
            "file:///etc/passwd",
        ] {
            assert!(check(&public, url).is_err(), "{url}");
        }
        let local = guard("oci://127.0.0.1:5000/x");
        assert_eq!(check(&local, "http://127.0.0.1:5000/v2/"), Ok(()));
        for url in ["http://127.0.0.1:5001/", "http://127.0.0.2:5000/", "http://localhost:5000/", "https://127.0.0.1/"]
        {
            assert!(check(&local, url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_name_that_leads_into_a_private_network_is_not_dialled() {
        let guard = guard("oci://registry.example.com/x");
        let leads = |name: &str, address: &str| guard.leads_to(name, format!("{address}:0").parse().unwrap());
        assert!(leads("registry.example.com", "10.0.0.1").is_ok(), "the user named it");
        assert!(leads("cdn.example.net", "93.184.215.14").is_ok());
        for address in ["10.0.0.1", "127.0.0.1", "169.254.169.254", "[::1]", "[fd00::1]"] {
            assert!(leads("cdn.example.net", address).is_err(), "{address}");
        }
    }
}
