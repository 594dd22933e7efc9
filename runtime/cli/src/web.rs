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
    let WebSettings { private, secrets } = &config.typed.web;
    Network::of_this_machine().with_private(private.clone()).with_vault(Arc::new(Keys(secrets.clone())))
}

/// Secrets, read when they are needed and not kept.
struct Keys(BTreeMap<String, SecretSettings>);

impl Vault for Keys {
    fn binding(&self, name: &str) -> Option<Binding> {
        let SecretSettings { host, header, .. } = self.0.get(name)?;
        Some(Binding { host: host.clone()?, header: header.clone().unwrap_or_else(|| "authorization".to_owned()) })
    }

    fn value(&self, name: &str) -> Result<SecretString, String> {
        let source = self.0.get(name).and_then(|secret| secret.source.as_ref());
        let source = source.ok_or_else(|| format!("nobody said where `{name}` comes from"))?;
        key::fetch(source).map_err(|error| error.to_string())
    }
}
