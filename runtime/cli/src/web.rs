//! The network that agents' tools reach: that of this machine, with what the operator and the user say about private
//! networks and secrets.

use std::{collections::BTreeMap, sync::Arc};

use palisade_grants::{Host, Networks};
use palisade_model::KeySource;
use palisade_sandbox::{Binding, Network, SecretString, Vault};

use crate::config::{Config, key};

/// What is configured about requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WebSettings {
    /// Networks that are not public, by the hosts that may lead into them.
    pub(crate) private: Networks,
    /// Secrets by their names.
    pub(crate) secrets: BTreeMap<String, SecretSettings>,
}

/// What is said of one secret; never its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SecretSettings {
    pub(crate) host: Option<Host>,
    /// `authorization`, if nothing else is said.
    pub(crate) header: Option<String>,
    pub(crate) source: Option<KeySource>,
}

/// The network that agents' tools reach.
pub(crate) fn network(config: &Config) -> Network {
    let private = config.typed.web.private.clone();
    Network::of_this_machine().with_private(private).with_vault(Arc::new(Keys::of(config)))
}

/// The header that a secret is sent in if nobody says.
pub(crate) const USUAL_HEADER: &str = "authorization";

/// Secrets of the configuration, read when they are needed and not kept.
pub(crate) struct Keys(BTreeMap<String, SecretSettings>);

impl Keys {
    pub(crate) fn of(config: &Config) -> Self {
        Self::from(config.typed.web.secrets.clone())
    }
}

impl From<BTreeMap<String, SecretSettings>> for Keys {
    fn from(secrets: BTreeMap<String, SecretSettings>) -> Self {
        Self(secrets)
    }
}

impl Vault for Keys {
    fn binding(&self, name: &str) -> Option<Binding> {
        let SecretSettings { host, header, .. } = self.0.get(name)?;
        Some(Binding { host: host.clone()?, header: header.clone().unwrap_or_else(|| USUAL_HEADER.to_owned()) })
    }

    fn value(&self, name: &str) -> Result<SecretString, String> {
        let source = self.0.get(name).and_then(|secret| secret.source.as_ref());
        let source = source.ok_or_else(|| format!("nobody said where `{name}` comes from"))?;
        key::fetch(source).map_err(|error| error.to_string())
    }
}
