//! A connection that is quick to give up, and one question asked over it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use palisade_agent::{Part, Prompt, Provider, ProviderError, ProviderFailure, Reply, ReplySettings, Transcript};
use palisade_model::{Connection, Dialect, Patience, ToolMode, connect};
use tokio::time::Instant;

use super::recorded::{RECORDED, Recorded};
use super::server::{Answer, Server};

/// The key that no error may show.
pub(crate) const KEY: &str = "sk-canary-0123456789abcdef";

/// Long enough for anything on loopback that is not meant to be late.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// No second try, and no limit that is met by chance.
pub(crate) const PATIENCE: Patience = Patience {
    connect: LONG,
    first_byte: LONG,
    idle: LONG,
    total: LONG,
    bytes: 1 << 20,
    retries: 0,
    longest_wait: Duration::from_millis(5),
};

/// A connection to a server on loopback.
pub(crate) fn connection(dialect: Dialect, url: &str, patience: Patience) -> Connection {
    Connection {
        provider: "mock".into(),
        model: "test-model".into(),
        dialect,
        base_url: format!("{url}/v1/"),
        proxy: None,
        key: Some(KEY.into()),
        headers: BTreeMap::new(),
        tool_mode: ToolMode::Native,
        context_window: None,
        max_tokens: None,
        price: None,
        patience,
    }
}

/// What came of a question.
pub(crate) struct Asked {
    pub(crate) reply: Result<Reply, ProviderError>,
    /// Every second try that the listener was told of: why, and after how long.
    pub(crate) again: Vec<(String, Duration)>,
    pub(crate) took: Duration,
}

impl Asked {
    /// The kind of failure and the message; there must have been one.
    pub(crate) fn failure(&self) -> (ProviderFailure, &str) {
        let error = self.reply.as_ref().unwrap_err();
        (error.kind, &error.message)
    }
}

/// Asks over a connection.
pub(crate) async fn ask(connection: Connection) -> Asked {
    ask_until(connection, Instant::now() + 2 * LONG).await
}

/// Asks over a connection; the run is over at the deadline.
pub(crate) async fn ask_until(connection: Connection, deadline: Instant) -> Asked {
    ask_provider(&*connect(connection).unwrap(), deadline).await
}

/// Asks a provider; the run is over at the deadline.
pub(crate) async fn ask_provider(provider: &dyn Provider, deadline: Instant) -> Asked {
    let (mut transcript, settings) = (Transcript::new(), ReplySettings::default());
    transcript.record_user("What is in the file?");
    let again = Mutex::new(Vec::new());
    let listener = |part: Part<'_>| {
        if let Part::Again { why, wait } = part {
            again.lock().unwrap().push((why.to_owned(), wait));
        }
    };
    let begun = Instant::now();
    let prompt = Prompt { deadline, ..Prompt::new("Be brief.", &[], &transcript, &settings) };
    let reply = provider.reply(prompt, &listener).await;
    Asked { reply, took: begun.elapsed(), again: again.into_inner().unwrap() }
}

/// Asks a server with this script in every dialect, and gives what came of each.
pub(crate) async fn in_every_dialect(
    patience: Patience,
    script: impl Fn(Recorded) -> Vec<Answer>,
) -> Vec<(Asked, Server)> {
    let mut all = Vec::new();
    for recorded in RECORDED {
        let server = Server::start(script(*recorded)).await;
        all.push((ask(connection(recorded.dialect, &server.url, patience)).await, server));
    }
    all
}
