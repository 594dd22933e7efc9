//! How models are spoken to: one implementation of [`Provider`] per kind of model.
//!
//! [`connect`] speaks to a hosted or local server in one of three dialects; [`Offline`] is there without
//! a key, a network or a configuration; [`Scripted`] replays what a file says. [`CliAgent`] and [`External`]
//! speak to agents outside of the sandbox, where an operator lets them.

mod connection;
mod dialect;
mod directory;
mod external;
mod offline;
mod outside;
mod scripted;
mod secrets;
mod visible;
mod wire;

use std::time::Duration;

use palisade_agent::Provider;

pub use connection::{Connection, Dialect, Patience, Price, ToolMode};
pub use directory::{
    Asker, Choice, Directory, Headers, KeySource, KnownProvider, ModelSettings, OUTSIDE, ProviderSettings, Route,
    Target, UnknownModel,
};
pub use external::{External, ExternalError};
pub use offline::Offline;
pub use outside::{
    BadSessionId, CliAgent, Environment, NotAllowed, Outside, OutsideError, OutsideGrant, PermittedExternal,
    PermittedProgram, Program, SessionId, Unenforceable, UnknownOutsider, suited,
};
pub use scripted::{Recording, ScriptError, Scripted};
pub use secrets::Secrets;
pub use wire::{ConnectError, Probed};

/// Gets ready to speak to a model over HTTP. Nothing is sent before the first reply is asked for.
pub fn connect(connection: Connection) -> Result<Box<dyn Provider>, ConnectError> {
    // The others would leave the tools out without a word.
    if connection.tool_mode == ToolMode::Json && connection.dialect != Dialect::Chat {
        return Err(ConnectError::ToolMode { provider: connection.provider });
    }
    let dialect = speak(connection.dialect);
    Ok(Box::new(wire::Remote::new(connection, dialect)?))
}

/// Asks a server whether it is there and takes the key, without using a model.
pub async fn probe(connection: &Connection, time: Duration) -> Result<Probed, ConnectError> {
    wire::probe(connection, speak(connection.dialect).as_ref(), time).await
}

fn speak(dialect: Dialect) -> Box<dyn dialect::Speak> {
    match dialect {
        Dialect::Anthropic => Box::new(dialect::Anthropic),
        Dialect::Chat => Box::new(dialect::Chat),
        Dialect::Responses => Box::new(dialect::Responses),
    }
}
