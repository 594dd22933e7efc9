//! Sends what a dialect writes and feeds it what comes back. Everything that can go wrong between here
//! and a server is dealt with in this module, once for all dialects: limits of time and size, typed
//! failures, repeated tries, keys that must not be shown.

mod events;
mod exchange;
mod probe;
mod redact;
mod refusal;
mod waits;

use std::net::{IpAddr, Ipv4Addr};

use async_trait::async_trait;
use bytes::Bytes;
use palisade_agent::{Listener, Part, Prompt, Provider, ProviderError, ProviderFailure, Reply};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, Url, redirect};
use secrecy::ExposeSecret as _;
use thiserror::Error;
use tokio::time::Instant;

use crate::Connection;
use crate::dialect::Speak;

pub(crate) use exchange::chain;
pub use probe::Probed;
pub(crate) use probe::probe;
pub(crate) use refusal::is_too_long;

use exchange::{Exchange, Failed};
use redact::Redaction;
use waits::Waits;

/// A model behind HTTP.
pub(crate) struct Remote {
    connection: Connection,
    dialect: Box<dyn Speak>,
    client: Client,
    url: Url,
    headers: HeaderMap,
    secrets: Redaction,
}

/// A connection that cannot be used as it is set.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// The base URL is none.
    #[error("providers.{provider}.base_url is not a URL that begins with http:// or https://")]
    BaseUrl {
        /// The provider's name.
        provider: String,
    },
    /// The proxy is none.
    #[error("providers.{provider}.proxy is not an address such as http://proxy.example.com:8080")]
    Proxy {
        /// The provider's name.
        provider: String,
    },
    /// A header cannot be sent.
    #[error("the {header} of the provider `{provider}` holds characters that cannot be sent in a header")]
    Header {
        /// The provider's name.
        provider: String,
        /// The header's name, or `key`.
        header: String,
    },
    /// Only chat completions have a way to call tools by JSON.
    #[error(
        "the provider `{provider}` cannot be told of tools by JSON; set providers.{provider}.dialect to `chat`, or leave `tools` out"
    )]
    ToolMode {
        /// The provider's name.
        provider: String,
    },
    /// No connection can be encrypted here.
    #[error("connections to the provider `{provider}` cannot be encrypted: {reason}")]
    Encryption {
        /// The provider's name.
        provider: String,
        /// What is missing.
        reason: String,
    },
}

impl Remote {
    /// Gets ready to speak to a model; nothing is sent yet.
    pub(crate) fn new(connection: Connection, dialect: Box<dyn Speak>) -> Result<Self, ConnectError> {
        let url = address(&connection, dialect.path())?;
        let headers = headers(&connection, dialect.as_ref())?;
        let client = client(&connection, &url)?;
        let secrets = Redaction::of(&connection);
        Ok(Self { connection, dialect, client, url, headers, secrets })
    }

    /// One try.
    async fn exchange(&self, body: Bytes, prompt: &Prompt<'_>, listener: &dyn Listener) -> Result<Reply, Failed> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let reader = self.dialect.reader(prompt, &self.connection);
        let exchange = Exchange::new(&self.connection.patience, &self.secrets, prompt.deadline);
        exchange.reply(request, reader, listener).await
    }

    /// The reply as the run gets it.
    fn accept(&self, mut reply: Reply) -> Reply {
        self.secrets.clean(&mut reply);
        if let Some(price) = self.connection.price {
            reply.usage.cost_micros = price.of(reply.usage);
        }
        reply
    }

    /// What went wrong, how often, and what would help.
    fn error(&self, failed: &Failed, tries: u32) -> ProviderError {
        let Connection { provider, model, .. } = &self.connection;
        let tries = if tries > 1 { format!(" ({tries} tries)") } else { String::new() };
        let message = format!("{model}: {}{tries}; {}", failed.said, self.help(failed.kind));
        ProviderError { provider: provider.clone(), kind: failed.kind, message }
    }

    fn help(&self, kind: ProviderFailure) -> String {
        let Connection { provider, base_url, .. } = &self.connection;
        match kind {
            ProviderFailure::Unreachable | ProviderFailure::Malformed => {
                format!("is {} up, and the right providers.{provider}.base_url?", shown(base_url))
            }
            ProviderFailure::Unauthorized if self.connection.key.is_none() => {
                format!("there is no key: set providers.{provider}.key_env, and the variable that it names")
            }
            ProviderFailure::Unauthorized => {
                format!("is the key right? `palisade doctor` tells where the one of `{provider}` comes from")
            }
            ProviderFailure::TimedOut => format!("try again later, or allow more in providers.{provider}.timeouts"),
            ProviderFailure::RateLimited => "try again later, or choose another model".to_owned(),
            ProviderFailure::Broken | ProviderFailure::Cut => "it may work later: try again".to_owned(),
            ProviderFailure::Rejected => {
                format!("does `{provider}` have this model, and does it take these settings? see `palisade models`")
            }
            ProviderFailure::TooLong => "begin a new conversation, or choose a model that can read more".to_owned(),
            ProviderFailure::TooLarge => {
                format!("set max_tokens of the agent, or allow more in providers.{provider}.max_response")
            }
            ProviderFailure::Exhausted => "choose another model".to_owned(),
        }
    }
}

#[async_trait]
impl Provider for Remote {
    fn name(&self) -> &str {
        &self.connection.provider
    }

    fn model(&self) -> &str {
        &self.connection.model
    }

    fn context_window(&self) -> Option<u64> {
        self.connection.context_window
    }

    fn counts_cost(&self) -> bool {
        self.connection.price.is_some()
    }

    async fn reply(&self, prompt: Prompt<'_>, listener: &dyn Listener) -> Result<Reply, ProviderError> {
        let body = Bytes::from(self.dialect.request(&prompt, &self.connection).to_string());
        let mut waits = Waits::new(&self.connection.patience);
        let mut tries = 0;
        loop {
            tries += 1;
            let failed = match self.exchange(body.clone(), &prompt, listener).await {
                Ok(reply) => return Ok(self.accept(reply)),
                Err(failed) => failed,
            };
            let wait = waits.next(failed.retry_after).filter(|_| failed.kind.is_passing());
            // A try after the deadline would be in vain, and so would be the wait for it.
            let left = prompt.deadline.saturating_duration_since(Instant::now());
            let Some(wait) = wait.filter(|wait| *wait < left) else {
                return Err(self.error(&failed, tries));
            };
            listener.hear(Part::Again { why: &failed.said, wait });
            tokio::time::sleep(wait).await;
        }
    }
}

/// Where requests go: the base URL with the dialect's path. A base URL that ends in the first part of
/// that path, as people write it for other programs, means the same.
fn address(connection: &Connection, path: &str) -> Result<Url, ConnectError> {
    let wrong = || ConnectError::BaseUrl { provider: connection.provider.clone() };
    let mut url = Url::parse(connection.base_url.trim()).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong());
    }
    let base = url.path().trim_end_matches('/');
    let base = if path.starts_with("/v1/") { base.strip_suffix("/v1").unwrap_or(base) } else { base };
    url.set_path(&format!("{base}{path}"));
    Ok(url)
}

/// An address as it may be shown: it may hold a password or a token.
pub(crate) fn shown(address: &str) -> String {
    let Ok(url) = Url::parse(address.trim()) else { return "that".to_owned() };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

fn headers(connection: &Connection, dialect: &dyn Speak) -> Result<HeaderMap, ConnectError> {
    let wrong =
        |header: &str| ConnectError::Header { provider: connection.provider.clone(), header: header.to_owned() };
    let mut headers = HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (ACCEPT, HeaderValue::from_static("text/event-stream")),
    ]);
    for (name, value) in dialect.headers() {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let key = connection.key.as_ref().map(|key| dialect.key_header(key.expose_secret().trim()));
    if let Some((name, value)) = key {
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong("key"))?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
    for (name, value) in &connection.headers {
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong(name))?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong(name))?, value);
    }
    Ok(headers)
}

/// The client of a connection.
fn client(connection: &Connection, url: &Url) -> Result<Client, ConnectError> {
    let provider = || connection.provider.clone();
    let mut builder = careful_client(url).connect_timeout(connection.patience.connect);
    if let Some(proxy) = &connection.proxy {
        // Its address may hold a password, and so is not shown.
        builder = builder.proxy(reqwest::Proxy::all(proxy).map_err(|_| ConnectError::Proxy { provider: provider() })?);
    }
    let reason = |error: reqwest::Error| std::error::Error::source(&error).unwrap_or(&error).to_string();
    builder.build().map_err(|error| ConnectError::Encryption { provider: provider(), reason: reason(error) })
}

/// A client that goes nowhere but where it is sent: a redirect or a proxy that somebody set for other programs would
/// take the key and the conversation along, and a request that is repeated unseen would be paid for twice.
pub(crate) fn careful_client(url: &Url) -> ClientBuilder {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may have been faster, with the same one.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
    let builder = Client::builder()
        .user_agent(concat!("palisade/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .retry(reqwest::retry::never());
    match url.scheme() {
        // Nothing is encrypted, so no certificates are needed; not every machine has some.
        "http" => builder.tls_certs_only([]),
        _ => builder,
    }
}

/// The address of this machine that a URL names, if it names one.
pub(crate) fn loopback(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    if host == "localhost" {
        return Some(Ipv4Addr::LOCALHOST.into());
    }
    let address: IpAddr = host.trim_matches(['[', ']']).parse().ok()?;
    address.is_loopback().then_some(address)
}

#[cfg(test)]
mod tests;
