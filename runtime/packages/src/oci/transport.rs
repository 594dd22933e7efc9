//! One request after the other, each bounded, to a place that was looked at.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::{
    Client, Method, Response, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, LOCATION, WWW_AUTHENTICATE},
    redirect,
};
use url::Url;

use crate::oci::{
    OciError, Reference,
    auth::{Challenge, Credentials, Token},
    guard::{Guard, Resolver},
};

/// What speaks to one registry.
pub(super) struct Transport {
    client: Client,
    guard: Arc<Guard>,
    registry: String,
    base: Url,
    credentials: Option<Credentials>,
    /// What was wanted from us before.
    authorization: Mutex<Option<String>>,
}

/// What is sent.
pub(super) struct Sent<'a> {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) accept: &'a str,
    pub(super) kind: Option<&'a str>,
    pub(super) body: Vec<u8>,
}

/// What came back.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Tells how many bytes there are, and of how many if that is known.
pub(super) type Watch<'a> = &'a (dyn Fn(u64, Option<u64>) + Sync);

const CONNECT: Duration = Duration::from_secs(15);
/// Between two pieces of an answer.
const IDLE: Duration = Duration::from_secs(60);
/// For one answer.
const TOTAL: Duration = Duration::from_secs(15 * 60);
const REDIRECTS: usize = 4;
/// Of answers that are no blobs.
pub(super) const SMALL: u64 = 4 << 20;

impl Transport {
    pub(super) fn new(reference: &Reference, credentials: Option<Credentials>) -> Result<Self, OciError> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Another thread may have been faster, with the same one.
            drop(rustls::crypto::ring::default_provider().install_default());
        }
        let guard = Arc::new(Guard::of(reference));
        let mut client = Client::builder()
            .user_agent(concat!("palisade/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT)
            .read_timeout(IDLE)
            .timeout(TOTAL)
            // A proxy would look names up itself, and where they lead could not be looked at.
            .no_proxy()
            .dns_resolver(Resolver(Arc::clone(&guard)));
        if reference.is_loopback() {
            // Nothing is encrypted, so no certificates are needed; not every machine has some.
            client = client.tls_certs_only([]);
        }
        let client = client.build().map_err(|error| OciError::NoClient(reason(&error)))?;
        let base = format!("{}://{}/v2/{}/", guard.scheme(), reference.registry, reference.repository);
        let base = Url::parse(&base).map_err(|error| OciError::NoClient(error.to_string()))?;
        let registry = reference.registry.clone();
        Ok(Self { client, guard, registry, base, credentials, authorization: Mutex::new(None) })
    }

    /// An address of the package in its registry, such as `manifests/latest`.
    pub(super) fn url(&self, path: &str) -> Result<Url, OciError> {
        self.base.join(path).map_err(|error| self.nonsense(&error.to_string()))
    }

    /// The address that an answer names, if it is one of the registry itself.
    pub(super) fn location(&self, answer: &Answer) -> Result<Url, OciError> {
        let url = self.named(&self.base, &answer.headers)?;
        match self.guard.is_own(&url) {
            true => Ok(url),
            false => Err(self.astray("what we publish goes to the registry alone".to_owned())),
        }
    }

    pub(super) fn nonsense(&self, reason: &str) -> OciError {
        OciError::Nonsense { registry: self.registry.clone(), reason: reason.to_owned() }
    }

    fn astray(&self, reason: String) -> OciError {
        OciError::Astray { registry: self.registry.clone(), reason }
    }

    /// Reads something small.
    pub(super) async fn get(&self, path: &str, accept: &str) -> Result<Answer, OciError> {
        let url = self.url(path)?;
        let sent = Sent { method: Method::GET, url, accept, kind: None, body: Vec::new() };
        self.send(sent, SMALL, &|_, _| {}).await
    }

    /// Reads something of at most so many bytes; an answer that is no success is an error.
    pub(super) async fn get_blob(&self, path: &str, most: u64, watch: Watch<'_>) -> Result<Vec<u8>, OciError> {
        let url = self.url(path)?;
        let sent = Sent { method: Method::GET, url, accept: "*/*", kind: None, body: Vec::new() };
        Ok(self.succeeded(self.send(sent, most, watch).await?)?.body)
    }

    /// An answer that says yes.
    pub(super) fn succeeded(&self, answer: Answer) -> Result<Answer, OciError> {
        if answer.status.is_success() {
            return Ok(answer);
        }
        Err(OciError::Refused {
            registry: self.registry.clone(),
            status: answer.status.as_u16(),
            detail: detail(&answer.body),
        })
    }

    /// Sends something: to the registry with what it wants to see from us, and where it sends us on without that.
    pub(super) async fn send(&self, sent: Sent<'_>, most: u64, watch: Watch<'_>) -> Result<Answer, OciError> {
        let mut response = self.once(&sent, &sent.url).await?;
        if response.status() == StatusCode::UNAUTHORIZED && self.authorize(response.headers()).await? {
            response = self.once(&sent, &sent.url).await?;
        }
        let mut url = sent.url.clone();
        for _ in 0..REDIRECTS {
            if !response.status().is_redirection() {
                return self.answer(response, most, watch).await;
            }
            if sent.method != Method::GET && sent.method != Method::HEAD {
                return Err(self.astray("what we publish goes to the registry alone".to_owned()));
            }
            url = self.named(&url, response.headers())?;
            self.guard.check(&url).map_err(|reason| self.astray(reason))?;
            response = self.once(&sent, &url).await?;
        }
        Err(self.astray("it sends us on and on".to_owned()))
    }

    async fn once(&self, sent: &Sent<'_>, url: &Url) -> Result<Response, OciError> {
        let mut request = self.client.request(sent.method.clone(), url.clone()).header(ACCEPT, sent.accept);
        if let Some(kind) = sent.kind {
            request = request.header(CONTENT_TYPE, kind).body(sent.body.clone());
        } else if sent.method != Method::GET && sent.method != Method::HEAD {
            request = request.body(Vec::new());
        }
        // Who we are is the registry's business alone.
        if let Some(authorization) = self.authorization().clone().filter(|_| self.guard.is_own(url)) {
            request = request.header(AUTHORIZATION, authorization);
        }
        request.send().await.map_err(|error| self.failed(&error))
    }

    async fn answer(&self, mut response: Response, most: u64, watch: Watch<'_>) -> Result<Answer, OciError> {
        let too_large = || OciError::TooLarge { what: format!("an answer of {}", self.registry), most };
        let announced = response.content_length();
        if announced.is_some_and(|length| length > most) && response.status().is_success() {
            return Err(too_large());
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(&error))? {
            if body.len() as u64 + chunk.len() as u64 > most {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
            watch(body.len() as u64, announced);
        }
        Ok(Answer { status: response.status(), headers: response.headers().clone(), body })
    }

    /// Does what the registry wants before it answers; `false` if nothing can be done.
    async fn authorize(&self, headers: &HeaderMap) -> Result<bool, OciError> {
        let wanted = headers.get(WWW_AUTHENTICATE).and_then(|header| header.to_str().ok()).and_then(Challenge::parse);
        let authorization = match wanted {
            None => None,
            Some(Challenge::Basic) => self.credentials.as_ref().map(Credentials::basic),
            Some(Challenge::Bearer(url)) => {
                self.guard.check(&url).map_err(|reason| self.astray(reason))?;
                let mut request = self.client.get(url);
                if let Some(credentials) = &self.credentials {
                    request = request.header(AUTHORIZATION, credentials.basic());
                }
                let response = request.send().await.map_err(|error| self.failed(&error))?;
                let answer = self.succeeded(self.answer(response, SMALL, &|_, _| {}).await?)?;
                let token: Token = serde_json::from_slice(&answer.body)
                    .map_err(|_| self.nonsense("what should be a token is none"))?;
                token.bearer()
            }
        };
        let is_new = authorization.is_some();
        *self.authorization() = authorization;
        Ok(is_new)
    }

    /// The address that headers name, read from where we are.
    fn named(&self, from: &Url, headers: &HeaderMap) -> Result<Url, OciError> {
        let location = headers.get(LOCATION).and_then(|header| header.to_str().ok());
        let location = location.ok_or_else(|| self.nonsense("it sends us on and does not say where"))?;
        from.join(location).map_err(|_| self.nonsense("it sends us to what is no address"))
    }

    fn failed(&self, error: &reqwest::Error) -> OciError {
        match error.is_timeout() {
            true => OciError::TooSlow(self.registry.clone()),
            false => OciError::Unreachable { registry: self.registry.clone(), reason: reason(error) },
        }
    }

    fn authorization(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.authorization.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The innermost reason; the outer ones hold the address.
fn reason(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// What a registry says about a refusal, in short.
fn detail(body: &[u8]) -> String {
    let value: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let message = value["errors"][0]["message"].as_str().unwrap_or_default();
    message.chars().take(200).collect()
}
