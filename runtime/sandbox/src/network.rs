//! How guests reach the network: who finds addresses, who dials, whom to believe, and where secrets are.
//!
//! Each part is given by whoever makes the sandbox, so that a test dials nothing but what it listens on itself.
//! Nothing here reads the environment: no proxy that somebody set for other programs is used.

use std::{
    io,
    net::IpAddr,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use palisade_grants::{Host, Networks, PermittedAddress};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use rustls_platform_verifier::BuilderVerifierExt as _;
use secrecy::SecretString;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::Semaphore,
};

/// Finds the addresses of a host.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// The addresses of a host, the best first. Asked once for each request.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// Dials.
#[async_trait]
pub trait Connector: Send + Sync {
    /// Opens a connection to this very address.
    async fn connect(&self, to: PermittedAddress) -> io::Result<Box<dyn Connection>>;
}

/// An open connection.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// Where secrets are. A value is asked for when a request is about to be sent, each time anew, so that one that
/// was replaced is not used again.
pub trait Vault: Send + Sync {
    /// Where a secret belongs; none if there is no such secret.
    fn binding(&self, name: &str) -> Option<Binding>;

    /// Its value. May block. The error is shown.
    fn value(&self, name: &str) -> Result<SecretString, String>;
}

/// Where a secret belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The host, which is asked by https.
    pub host: Host,
    /// The header.
    pub header: String,
}

/// How guests reach the network. Cheap to clone.
#[derive(Clone)]
pub struct Network {
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) private: Arc<Networks>,
    pub(crate) vault: Option<Arc<dyn Vault>>,
    trusted: Arc<Trusted>,
}

/// Whose word about the name of a host counts.
#[derive(Default)]
struct Trusted {
    /// These authorities; none: those of this machine.
    roots: Option<RootCertStore>,
    /// Made when it is first needed: reading the machine's authorities takes a while.
    config: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl Network {
    /// The network of this machine: its resolver, TCP, its certificate authorities.
    pub fn of_this_machine() -> Self {
        Self::new(Arc::new(System(Semaphore::new(LOOKUPS))), Arc::new(Tcp))
    }

    /// A network with somebody else's addresses or connections.
    pub fn new(resolver: Arc<dyn Resolver>, connector: Arc<dyn Connector>) -> Self {
        Self { resolver, connector, private: Arc::default(), vault: None, trusted: Arc::default() }
    }

    /// The same, where some hosts may lead into networks that are not public.
    #[must_use]
    pub fn with_private(self, private: Networks) -> Self {
        Self { private: Arc::new(private), ..self }
    }

    /// The same with secrets.
    #[must_use]
    pub fn with_vault(self, vault: Arc<dyn Vault>) -> Self {
        Self { vault: Some(vault), ..self }
    }

    /// The same, believing these certificate authorities (PEM) and no others.
    pub fn trusting(self, authorities: &[u8]) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        for authority in CertificateDer::pem_slice_iter(authorities) {
            roots.add(authority.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
        }
        Ok(Self { trusted: Arc::new(Trusted { roots: Some(roots), config: OnceLock::new() }), ..self })
    }

    /// How encrypted connections are made.
    pub(crate) fn tls(&self) -> Result<Arc<ClientConfig>, String> {
        self.trusted.config.get_or_init(|| self.trusted.make().map(Arc::new).map_err(|error| error.to_string())).clone()
    }
}

impl Trusted {
    fn make(&self) -> Result<ClientConfig, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let builder = match &self.roots {
            Some(roots) => builder.with_root_certificates(roots.clone()),
            None => builder.with_platform_verifier()?,
        };
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// Lookups that go on at the same time. Each takes one of the sandbox's threads, and cannot be stopped.
const LOOKUPS: usize = 8;

/// The machine's own resolver.
struct System(Semaphore);

#[async_trait]
impl Resolver for System {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let _turn = self.0.acquire().await.map_err(io::Error::other)?;
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Plain TCP.
struct Tcp;

#[async_trait]
impl Connector for Tcp {
    async fn connect(&self, to: PermittedAddress) -> io::Result<Box<dyn Connection>> {
        Ok(Box::new(TcpStream::connect(to.get()).await?))
    }
}
