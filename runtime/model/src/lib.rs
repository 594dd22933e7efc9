//! How models are spoken to: one implementation of [`Provider`] per kind of model.
//!
//! [`connect`] speaks to a hosted or local server in one of three dialects; [`Offline`] is there without
//! a key, a network or a configuration; [`Scripted`] replays what a file says.

mod connection;
mod dialect;
mod directory;
mod external;
mod offline;
mod outside;
mod scripted;
mod secrets;
mod wire;

use std::time::Duration;

use palisade_agent::Provider;
use thiserror::Error;

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

/// Gives the provider of that name that needs no connection; without a name, the offline one.
pub fn built_in(name: Option<&str>) -> Result<Box<dyn Provider>, UnknownProvider> {
    match name {
        None | Some(Offline::NAME) => Ok(Box::new(Offline)),
        Some(name) => Err(UnknownProvider { name: name.to_owned() }),
    }
}

/// No provider has that name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no model provider `{name}` in this version; there is: offline")]
pub struct UnknownProvider {
    /// The name that was asked for.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offline_is_the_default_and_unknown_names_are_refused() {
        let check = |name, expected: Result<&str, &str>| {
            let connected =
                built_in(name).map(|provider| provider.name().to_owned()).map_err(|error| error.to_string());
            assert_eq!(connected, expected.map(str::to_owned).map_err(str::to_owned));
        };
        check(None, Ok("offline"));
        check(Some("offline"), Ok("offline"));
        check(Some("gpt"), Err("there is no model provider `gpt` in this version; there is: offline"));
    }
}
