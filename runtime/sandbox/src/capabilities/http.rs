//! `wasi:http`, and `palisade:host/http` over it: requests to the hosts that are granted, and to no other.
//!
//! The interface is in a guest's linker only if its grants hold a host. There is one way to send, and it is
//! written here: the grant is asked about method, scheme, host and port as they will be sent; the host's addresses
//! are looked up once and looked at; what is dialled is an address that was looked at. Redirects are answers like
//! any other: a guest that follows one makes another request.

mod body;
mod exchange;
pub(crate) mod one_step;
mod patient;
mod scrub;
mod secrets;
mod spent;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use http::{HeaderName, Request, header, uri::Scheme};
use palisade_grants::{Denial, HttpGrant, HttpRequest, NamesGrant, PermittedRequest};
use wasmtime::component::Linker;
use wasmtime_wasi_http::{
    DEFAULT_FORBIDDEN_HEADERS, Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView,
    WasiHttpHooks, WasiHttpView, p2, p2::bindings::http::types::ErrorCode,
};

use crate::{
    Limits, Network,
    host::Host,
    runner::{Remote, distant},
};
pub(crate) use exchange::Response;
use exchange::{Exchange, Way};
pub(crate) use spent::Spent;

/// What one tool of an agent reaches over the network.
#[derive(Clone, Default)]
pub(crate) struct Web {
    pub(crate) hosts: HttpGrant,
    pub(crate) secrets: NamesGrant,
    pub(crate) network: Option<Network>,
}

/// The same for one call of it.
pub(crate) struct Http {
    context: WasiHttpCtx,
    hooks: Hooks,
}

struct Hooks {
    /// The host, if this is the process that guests run in: it decides, and it has the network.
    asked: Option<Remote>,
    web: Web,
    limits: Limits,
    deadline: Instant,
    spent: Arc<Spent>,
    denials: Denials,
}

/// What was refused; some of it while the guest did something else.
#[derive(Clone, Default)]
pub(crate) struct Denials(Arc<Mutex<Vec<Denial>>>);

/// Headers that belong to a connection, and not to a request. Nobody but the host sets them.
const OF_THE_CONNECTION: [HeaderName; 3] = [header::TE, header::TRAILER, header::EXPECT];
/// No wait is shorter.
const SHORTEST: Duration = Duration::from_millis(1);

pub(crate) fn link(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    p2::add_only_http_to_linker_async(linker)?;
    one_step::link(linker)
}

impl WasiHttpView for Host {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        // A tool that is being described has the interface and nothing behind it.
        let (limits, deadline) = (self.meter.limits(), self.deadline);
        let http = self.http.get_or_insert_with(|| Box::new(Http::new(Web::default(), limits, deadline, None)));
        let Http { context, hooks } = &mut **http;
        WasiHttpCtxView { hooks, table: &mut self.table, ctx: context }
    }
}

impl Http {
    pub(crate) fn new(web: Web, limits: Limits, deadline: Instant, asked: Option<Remote>) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(limits.header);
        let spent = Arc::new(Spent::new(&limits));
        Self { context, hooks: Hooks { asked, web, limits, deadline, spent, denials: Denials::default() } }
    }

    /// Spends from what another call has left, too.
    pub(crate) fn share(&mut self, caller: &Self) {
        self.hooks.spent = Arc::clone(&caller.hooks.spent);
    }

    /// Makes a request for a guest that runs elsewhere, if it may.
    pub(crate) fn send(
        &mut self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> impl Future<Output = Result<Response, Error>> + Send + use<> {
        let prepared = self.hooks.prepare(request, Some(options));
        async move { prepared?.run().await }
    }

    /// What was refused.
    pub(crate) fn denials(&self) -> Vec<Denial> {
        self.hooks.denials.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Denials {
    fn note(&self, denial: Denial) {
        Host::deny(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), denial);
    }
}

impl Hooks {
    /// All that can be decided before anything is looked up or sent.
    fn prepare(&self, request: Request<WasiBody>, options: Option<RequestOptions>) -> Result<Exchange, Error> {
        let Some(network) = self.web.network.clone() else {
            return Err(Error::ConfigurationError);
        };
        let permitted = self.permit(&request).map_err(|denial| self.refuse(denial))?;
        let (mut parts, body) = request.into_parts();
        check_headers(&parts.headers, self.limits.header)?;
        let secrets = secrets::find(&parts.headers, &permitted, &self.web.secrets, network.vault.as_deref())
            .map_err(|denial| self.refuse(denial))?;
        if !secrets.is_empty() {
            // What comes back is searched for the secret, so it must be readable and in one piece.
            for header in [header::ACCEPT_ENCODING, header::RANGE, header::IF_RANGE] {
                parts.headers.remove(header);
            }
        }
        self.spent.request().map_err(|()| Error::ConnectionLimitReached)?;
        let wanted = options.unwrap_or_default();
        let left = self.deadline.saturating_duration_since(Instant::now());
        let most = self.limits.request_time.min(left).max(SHORTEST);
        let wait = |wanted: Option<Duration>| wanted.unwrap_or(most).clamp(SHORTEST, most);
        Ok(Exchange {
            way: Way { permitted, network, denials: self.denials.clone() },
            parts,
            body,
            secrets,
            connect: wait(wanted.connect_timeout),
            first_byte: wait(wanted.first_byte_timeout),
            between_bytes: wait(wanted.between_bytes_timeout),
            header: self.limits.header,
            spent: Arc::clone(&self.spent),
        })
    }

    fn permit(&self, request: &Request<WasiBody>) -> Result<PermittedRequest, Denial> {
        let uri = request.uri();
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let request = HttpRequest::new(request.method().as_str(), uri.scheme_str().unwrap_or_default(), authority)?;
        self.web.hosts.permit(request)
    }

    fn refuse(&self, denial: Denial) -> Error {
        self.denials.note(denial);
        Error::HttpRequestDenied
    }
}

/// A request has one length and no header of the connection; the interface sees to that, and so do we.
fn check_headers(headers: &http::HeaderMap, most: usize) -> Result<(), Error> {
    if headers.keys().any(is_forbidden) || headers.get_all(header::CONTENT_LENGTH).iter().count() > 1 {
        return Err(Error::HttpProtocolError);
    }
    let size: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if size > most {
        return Err(Error::HttpRequestHeaderSectionSize(u32::try_from(size).ok()));
    }
    Ok(())
}

fn is_forbidden(name: &HeaderName) -> bool {
    DEFAULT_FORBIDDEN_HEADERS.contains(name) || OF_THE_CONNECTION.contains(name)
}

impl WasiHttpHooks for Hooks {
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(is_forbidden)
    }

    /// Any: the grant decides, so that a refusal is told like every other.
    fn is_supported_scheme(&mut self, _: &Scheme) -> bool {
        true
    }

    /// It is set from what was permitted.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Result<Response, Error>> + Send> {
        if let Some(host) = &self.asked {
            return Box::new(distant::send(host.clone(), request, options.unwrap_or_default()));
        }
        match self.prepare(request, options) {
            Ok(exchange) => Box::new(exchange.run()),
            Err(error) => Box::new(std::future::ready(Err(error))),
        }
    }

    fn p2_error_from_hyper(&mut self, error: &hyper::Error) -> ErrorCode {
        match said_by_hyper(error) {
            Error::HttpResponseHeaderSectionSize(size) => ErrorCode::HttpResponseHeaderSectionSize(size),
            Error::HttpResponseTimeout => ErrorCode::HttpResponseTimeout,
            Error::HttpResponseIncomplete => ErrorCode::HttpResponseIncomplete,
            _ => ErrorCode::HttpProtocolError,
        }
    }

    fn p2_error_from_connect(&mut self, error: &std::io::Error) -> ErrorCode {
        match error.kind() {
            std::io::ErrorKind::TimedOut => ErrorCode::ConnectionTimeout,
            _ => ErrorCode::ConnectionRefused,
        }
    }

    fn p2_error_from_tls(&mut self, error: &std::io::Error) -> ErrorCode {
        match is_about_certificates(error) {
            true => ErrorCode::TlsCertificateError,
            false => ErrorCode::TlsProtocolError,
        }
    }
}

/// The same error without what only this process has of it.
pub(crate) fn in_words(error: Error) -> Error {
    match error {
        Error::Hyper(error) => said_by_hyper(&error),
        Error::Connect(error) if error.kind() == std::io::ErrorKind::TimedOut => Error::ConnectionTimeout,
        Error::Connect(_) => Error::ConnectionRefused,
        Error::Tls(error) if is_about_certificates(&error) => Error::TlsCertificateError,
        Error::Tls(_) => Error::TlsProtocolError,
        error => error,
    }
}

fn said_by_hyper(error: &hyper::Error) -> Error {
    match () {
        () if error.is_parse_too_large() => Error::HttpResponseHeaderSectionSize(None),
        () if error.is_timeout() => Error::HttpResponseTimeout,
        () if error.is_incomplete_message() => Error::HttpResponseIncomplete,
        () => Error::HttpProtocolError,
    }
}

fn is_about_certificates(error: &std::io::Error) -> bool {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    matches!(cause, Some(rustls::Error::InvalidCertificate(_)))
}
