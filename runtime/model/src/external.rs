//! Agents of `type: external`: a program elsewhere is sent a message and answers later.
//!
//! The message goes to the definition's `inputUrl`, the answer comes to an address below its
//! `callbackBaseUrl`. As long as there is no server of ours, the provider itself listens there while it
//! waits, and so only on this machine.

mod callback;
mod instant;

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use palisade_agent::{
    Entry, Kept, Listener, Part, Prompt, Provider, ProviderError, ProviderFailure, Reply, Transcript,
};
use reqwest::{Client, Url, header::CONTENT_TYPE};
use serde_json::json;
use thiserror::Error;

use crate::{PermittedExternal, SessionId, dialect::Fault, wire};
use callback::{Address, Callback};

/// How long the message may take to be accepted. It is sent once: who took it may have begun to work.
const ACCEPTED_WITHIN: Duration = Duration::from_secs(5);

/// An agent elsewhere.
pub struct External {
    agent: String,
    input: Url,
    callback: Address,
    session: Option<SessionId>,
    client: Client,
}

/// Shows no address: it may hold a key.
impl fmt::Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("External").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// Why an agent elsewhere cannot be spoken to.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExternalError {
    /// The address that messages go to is none.
    #[error("`inputUrl` is no address that a message can be sent to: {0}; use https://, or http:// on this machine")]
    Input(String),
    /// The address that answers come to is none.
    #[error("`callbackBaseUrl` is no address to listen on: {0}; it looks like http://127.0.0.1:4100")]
    Callback(String),
    /// Answers would come from elsewhere.
    #[error(
        "`callbackBaseUrl` is {0}, and answers can only be taken on this machine, such as on http://127.0.0.1:4100; \
         taking them from elsewhere will be the work of `palisade serve`"
    )]
    Elsewhere(String),
    /// The part that speaks TLS cannot be started.
    #[error("connections cannot be made: {0}")]
    Connections(String),
}

impl External {
    /// What it is called as a provider.
    pub const NAME: &str = "external";

    /// The agent of this name at these addresses. The session is the one given, the one of the
    /// conversation so far, or a new one, in this order.
    pub fn new(
        _: PermittedExternal,
        agent: &str,
        input_url: &str,
        callback_base_url: &str,
        session: Option<SessionId>,
    ) -> Result<Self, ExternalError> {
        let input = Url::parse(input_url).map_err(|error| ExternalError::Input(error.to_string()))?;
        let is_safe = match input.scheme() {
            "https" => true,
            // The conversation would cross a network in the clear.
            "http" => wire::loopback(&input).is_some(),
            _ => false,
        };
        if !is_safe {
            return Err(ExternalError::Input(wire::shown(input_url)));
        }
        let callback = Address::parse(callback_base_url)?;
        let client = wire::careful_client(&input).timeout(ACCEPTED_WITHIN).build();
        let client = client.map_err(|error| ExternalError::Connections(error.to_string()))?;
        Ok(Self { agent: agent.to_owned(), input, callback, session, client })
    }

    async fn exchange(&self, transcript: &Transcript) -> Result<Reply, Fault> {
        let session = match self.session.clone().or_else(|| session_of(transcript)) {
            Some(session) => session,
            None => SessionId::random()?,
        };
        // Listening first: the answer may be there before the message is said to be taken.
        let callback = Callback::listen(&self.callback, &session).await?;
        let body = json!({
            "sessionId": session,
            "agentId": self.agent,
            "callbackUrl": callback.url(),
            "message": {
                "type": "user",
                "text": asked(transcript),
                "createdAt": instant::written(SystemTime::now()),
            },
        });
        let (answer, sent) = (callback.answer(), self.send(body.to_string()));
        tokio::pin!(answer, sent);
        let text = tokio::select! {
            biased;
            answer = &mut answer => answer?,
            sent = &mut sent => {
                sent?;
                answer.await?
            }
        };
        let kept = Some(Kept { by: Self::NAME.to_owned(), value: json!({ "session": session }) });
        Ok(Reply { text, kept, ..Reply::default() })
    }

    async fn send(&self, body: String) -> Result<(), Fault> {
        let request = self.client.post(self.input.clone()).header(CONTENT_TYPE, "application/json").body(body);
        let response = request.send().await.map_err(|error| {
            let (kind, what) = match error.is_timeout() {
                true => (ProviderFailure::TimedOut, "was not accepted within 5 s"),
                false => (ProviderFailure::Unreachable, "could not be sent"),
            };
            Fault { kind, message: format!("the message {what}: {}", wire::chain(&error)) }
        })?;
        let status = response.status();
        match status.is_success() {
            true => Ok(()),
            false => Err(Fault {
                kind: if status.is_server_error() { ProviderFailure::Broken } else { ProviderFailure::Rejected },
                message: format!("the message was answered with status {}", status.as_u16()),
            }),
        }
    }
}

/// The session of the conversation so far.
fn session_of(transcript: &Transcript) -> Option<SessionId> {
    transcript.entries().iter().rev().find_map(|entry| match entry {
        Entry::Reply { kept: Some(kept), .. } if kept.by == External::NAME => {
            serde_json::from_value(kept.value["session"].clone()).ok()
        }
        _ => None,
    })
}

/// What was asked last. The agent elsewhere remembers the rest.
fn asked(transcript: &Transcript) -> String {
    let asked = transcript.entries().iter().rev().find_map(|entry| match entry {
        Entry::User { text } => Some(text.clone()),
        Entry::Reply { .. } | Entry::Result { .. } | Entry::Notice { .. } | Entry::Summary { .. } => None,
    });
    asked.unwrap_or_default()
}

#[async_trait]
impl Provider for External {
    fn name(&self) -> &str {
        Self::NAME
    }

    async fn reply(&self, prompt: Prompt<'_>, listener: &dyn Listener) -> Result<Reply, ProviderError> {
        let late = || Fault {
            kind: ProviderFailure::TimedOut,
            message: "no answer came before the run's time was over".to_owned(),
        };
        let exchange = tokio::time::timeout_at(prompt.deadline, self.exchange(prompt.transcript));
        let reply = exchange.await.unwrap_or_else(|_| Err(late()));
        let reply = reply.map_err(|fault| ProviderError {
            provider: Self::NAME.to_owned(),
            kind: fault.kind,
            message: fault.message,
        })?;
        listener.hear(Part::Text(&reply.text));
        Ok(reply)
    }
}
