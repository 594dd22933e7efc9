//! The three ways in which hosted and local servers are spoken to. Each is one file and does no I/O:
//! a prompt becomes a request body, and the events of a stream become a reply.
//!
//! `wire` sends what they write and feeds them what comes back.

mod anthropic;
mod chat;
mod complaint;
mod input;
mod json_mode;
mod names;
mod responses;
mod schema;
mod turns;

use palisade_agent::{Listener, Prompt, ProviderFailure, Reply};
use serde_json::Value;

use crate::Connection;

pub(crate) use anthropic::Anthropic;
pub(crate) use chat::{Chat, effort};
pub(crate) use complaint::complaint;
pub(crate) use input::call_input;
pub(crate) use names::Names;
pub(crate) use responses::Responses;
pub(crate) use turns::{Said, Told, Turn, turns};

/// A way to write requests and to read replies.
pub(crate) trait Speak: Send + Sync {
    /// The path below the base URL that requests go to, such as `/v1/messages`.
    fn path(&self) -> &'static str;

    /// The header that carries the key, as name and value; the value is marked as sensitive.
    fn key_header(&self, key: &str) -> (&'static str, String);

    /// Headers that every request has, besides the key and `content-type`.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The body of a request that streams its reply.
    fn request(&self, prompt: &Prompt<'_>, connection: &Connection) -> Value;

    /// Reads one reply.
    fn reader(&self, prompt: &Prompt<'_>, connection: &Connection) -> Box<dyn Reader>;
}

/// Reads one reply from its events. Fed the same events it gives the same reply, whatever pieces the
/// network cut them into.
pub(crate) trait Reader: Send {
    /// Takes one server-sent event: its name (`message` if it has none) and its data.
    fn event(&mut self, name: &str, data: &str, listener: &dyn Listener) -> Result<Progress, Fault>;

    /// Whether the reply is whole if the stream ends here, though no event said that it is complete: some
    /// servers just stop after they have said everything.
    fn may_end(&self) -> bool {
        false
    }

    /// The reply, once it is complete. A call exists only if it was written to its end.
    fn finish(self: Box<Self>) -> Result<Reply, Fault>;
}

/// Who understands what is kept of a reply: nobody but the model that wrote it, at the provider that signed
/// or encrypted it. Another one would refuse it, and with it the whole conversation.
fn keeper(dialect: &str, connection: &Connection) -> String {
    format!("{dialect}/{}/{}", connection.provider, connection.model)
}

/// How far a reply has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There is more to come.
    More,
    /// It is complete; nothing after this is read.
    Complete,
}

/// What is wrong with a reply, or what the provider says is wrong with the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: ProviderFailure,
    pub(crate) message: String,
}
