//! A network that leads nowhere: what is looked up, dialled and taken from the vault is written down, and that is all
//! that comes of it.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use palisade_grants::PermittedAddress;
use palisade_sandbox::{Binding, Connection, Connector, Network, Resolver, SecretString, Vault};

/// A network that leads nowhere. Cheap to clone.
#[derive(Clone)]
pub(super) struct Recorder {
    /// What every name leads to.
    answer: IpAddr,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    looked_up: Vec<String>,
    dialled: Vec<SocketAddr>,
    secrets: Vec<String>,
}

/// An address of the public internet, which is not dialled.
pub(super) const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 216, 34));
/// The host that every secret of the proof belongs to.
pub(super) const BOUND_TO: &str = "docs.example";

impl Recorder {
    /// Every name leads to this address.
    pub(super) fn leading_to(answer: IpAddr) -> Self {
        Self { answer, seen: Arc::default() }
    }

    /// What guests reach it through.
    pub(super) fn network(&self) -> Network {
        Network::new(Arc::new(self.clone()), Arc::new(self.clone())).with_vault(Arc::new(self.clone()))
    }

    /// Whether a name was looked up.
    pub(super) fn looked_up(&self, host: &str) -> bool {
        self.seen().looked_up.iter().any(|name| name == host)
    }

    /// Whether anything was looked up or dialled.
    pub(super) fn was_reached(&self) -> bool {
        let seen = self.seen();
        !seen.looked_up.is_empty() || !seen.dialled.is_empty()
    }

    /// The addresses that were dialled.
    pub(super) fn dialled(&self) -> Vec<SocketAddr> {
        self.seen().dialled.clone()
    }

    /// Whether a secret was taken from the vault.
    pub(super) fn handed_out(&self, secret: &str) -> bool {
        self.seen().secrets.iter().any(|name| name == secret)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Resolver for Recorder {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.seen().looked_up.push(host.to_owned());
        Ok(vec![self.answer])
    }
}

#[async_trait]
impl Connector for Recorder {
    async fn connect(&self, to: PermittedAddress) -> io::Result<Box<dyn Connection>> {
        self.seen().dialled.push(to.get());
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

impl Vault for Recorder {
    fn binding(&self, _: &str) -> Option<Binding> {
        BOUND_TO.parse().ok().map(|host| Binding { host, header: "authorization".to_owned() })
    }

    fn value(&self, name: &str) -> Result<SecretString, String> {
        self.seen().secrets.push(name.to_owned());
        Ok(SecretString::from("nothing worth stealing"))
    }
}
