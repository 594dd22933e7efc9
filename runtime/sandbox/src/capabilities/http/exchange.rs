//! One request and its answer: look up once, look at every address, dial one that was looked at.

use std::{net::IpAddr, sync::Arc, time::Duration};

use http::{HeaderValue, Uri, header, request::Parts, uri::PathAndQuery};
use http_body_util::BodyExt as _;
use hyper::client::conn::http1;
use palisade_grants::{PermittedAddress, PermittedRequest};
use rustls::pki_types::ServerName;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use wasmtime_wasi_http::{Error, WasiBody, io::TokioIo};

use super::{
    Denials,
    body::{Outgoing, Received},
    patient::Patient,
    scrub::Scrubber,
    secrets::{self, Wanted},
    spent::Spent,
};
use crate::{Network, network::Connection};

/// A request that may be made.
pub(super) struct Exchange {
    pub(super) way: Way,
    pub(super) parts: Parts,
    pub(super) body: WasiBody,
    /// The secrets that belong into its headers.
    pub(super) secrets: Vec<Wanted>,
    /// How long each part of it may take.
    pub(super) connect: Duration,
    pub(super) first_byte: Duration,
    pub(super) between_bytes: Duration,
    /// The most bytes of headers.
    pub(super) header: usize,
    pub(super) spent: Arc<Spent>,
}

/// The way to the host of a request.
pub(super) struct Way {
    pub(super) permitted: PermittedRequest,
    pub(super) network: Network,
    pub(super) denials: Denials,
}

/// An answer, and what goes on behind it until it is read.
pub(crate) type Response = (http::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>);

/// Addresses that are looked at; nobody needs more.
const ADDRESSES: usize = 16;
/// The fewest bytes of headers that can be read.
const LEAST_BUFFER: usize = 8192;
/// Headers of an answer.
const HEADERS: usize = 128;

impl Exchange {
    pub(super) async fn run(mut self) -> Result<Response, Error> {
        let values = secrets::fetch(&self.way.network, std::mem::take(&mut self.secrets)).await?;
        let opening = timeout(self.connect, self.way.open());
        let connection = opening.await.map_err(|_| Error::ConnectionTimeout)??;
        let mut builder = http1::Builder::new();
        builder.max_headers(HEADERS).max_buf_size(self.header.max(LEAST_BUFFER));
        let (mut sender, driver) = builder.handshake(TokioIo::new(connection)).await?;
        // Ends with the answer that it brings.
        let driver = wasmtime_wasi::runtime::spawn(async move { driver.await.map_err(Error::from) });

        self.make_ready()?;
        secrets::insert(&mut self.parts.headers, &values)?;
        let body = Outgoing { body: self.body, spent: Arc::clone(&self.spent) };
        let request = http::Request::from_parts(self.parts, body);
        let answer = timeout(self.first_byte, sender.send_request(request)).await;
        let answer = answer.map_err(|_| Error::ConnectionReadTimeout)??;
        if answer.status() == http::StatusCode::SWITCHING_PROTOCOLS {
            return Err(Error::HttpUpgradeFailed);
        }
        let (mut parts, body) = answer.into_parts();
        let scrubber = Scrubber::of(&values);
        if let Some(scrubber) = &scrubber {
            if let Some(coding) = parts.headers.get(header::CONTENT_ENCODING).filter(|coding| *coding != "identity") {
                return Err(Error::HttpResponseContentCoding(coding.to_str().ok().map(str::to_owned)));
            }
            scrubber.clean(&mut parts.headers);
        }
        let body = Received::new(body, self.spent, scrubber, self.between_bytes);
        Ok((http::Response::from_parts(parts, body.boxed_unsync()), Box::new(driver)))
    }

    /// Puts the request into the form that goes over the connection: the path alone, and who is meant as a header.
    fn make_ready(&mut self) -> Result<(), Error> {
        let path = self.parts.uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        let path = match path.as_str() {
            query if query.starts_with('?') => format!("/{query}"),
            path => path.to_owned(),
        };
        self.parts.uri = path.parse::<Uri>().map_err(|_| Error::HttpRequestUriInvalid)?;
        self.parts.version = http::Version::HTTP_11;
        let host = HeaderValue::try_from(self.way.permitted.authority()).map_err(|_| Error::HttpRequestUriInvalid)?;
        self.parts.headers.insert(header::HOST, host);
        Ok(())
    }
}

impl Way {
    /// Opens a connection to the first address that may be dialled and answers.
    async fn open(&self) -> Result<Box<dyn Connection>, Error> {
        let mut failed = Error::DestinationIpProhibited;
        for address in self.addresses().await? {
            let connection = self.network.connector.connect(address).await;
            match connection.map(|connection| Box::new(Patient::new(connection))) {
                Ok(connection) if self.permitted.is_secure() => return self.encrypt(connection).await,
                Ok(connection) => return Ok(connection),
                Err(error) => failed = Error::Connect(error),
            }
        }
        Err(failed)
    }

    /// The addresses of the host that may be dialled. There is one lookup, and what it says is what counts.
    async fn addresses(&self) -> Result<Vec<PermittedAddress>, Error> {
        let found: Vec<IpAddr> = match self.permitted.literal() {
            Some(address) => vec![address],
            None => self.network.resolver.resolve(self.permitted.host()).await.map_err(|_| no_such_name())?,
        };
        if found.is_empty() {
            return Err(no_such_name());
        }
        let mut permitted = Vec::new();
        for address in found.into_iter().take(ADDRESSES) {
            match self.permitted.permit_address(address, &self.network.private) {
                Ok(address) => permitted.push(address),
                Err(denial) => self.denials.note(denial),
            }
        }
        Ok(permitted)
    }

    async fn encrypt(&self, connection: Box<dyn Connection>) -> Result<Box<dyn Connection>, Error> {
        let config = self.network.tls().map_err(|_| Error::ConfigurationError)?;
        let name = match self.permitted.literal() {
            Some(address) => ServerName::from(address),
            None => ServerName::try_from(self.permitted.host().to_owned()).map_err(|_| Error::TlsCertificateError)?,
        };
        let stream = TlsConnector::from(config).connect(name, connection).await.map_err(Error::Tls)?;
        Ok(Box::new(stream))
    }
}

fn no_such_name() -> Error {
    Error::DnsError { rcode: None, info_code: None }
}
