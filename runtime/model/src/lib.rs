//! How models are spoken to: one implementation of [`Provider`] per kind of model.
//!
//! [`Offline`] is there without a key, a network or a configuration; [`Scripted`] replays what a file says.

mod connection;
mod dialect;
mod offline;
mod scripted;

use palisade_agent::Provider;
use thiserror::Error;

pub use connection::{Connection, Dialect, Patience, Price, ToolMode};
pub use offline::Offline;
pub use scripted::{ScriptError, Scripted};

/// Gives the provider of that name; without a name, the offline one.
pub fn connect(name: Option<&str>) -> Result<Box<dyn Provider>, UnknownProvider> {
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
            let connected = connect(name).map(|provider| provider.name().to_owned()).map_err(|error| error.to_string());
            assert_eq!(connected, expected.map(str::to_owned).map_err(str::to_owned));
        };
        check(None, Ok("offline"));
        check(Some("offline"), Ok("offline"));
        check(Some("gpt"), Err("there is no model provider `gpt` in this version; there is: offline"));
    }
}
