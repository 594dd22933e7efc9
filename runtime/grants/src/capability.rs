//! The closed list of powers a host can lend to a guest.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A kind of power that the host can lend to a guest.
///
/// Each is one word, the same in `wit/`, here, in the sandbox and in the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Capability {
    /// Reading files below the granted folders.
    #[serde(rename = "fs.read")]
    FsRead,
    /// Changing files below the granted folders.
    #[serde(rename = "fs.write")]
    FsWrite,
    /// Sending HTTP requests to the granted hosts.
    #[serde(rename = "net.http")]
    Http,
    /// Running native programs, confined.
    #[serde(rename = "exec")]
    Exec,
    /// Asking other agents.
    #[serde(rename = "agents")]
    Agents,
    /// Calling other tools of the same agent.
    #[serde(rename = "tools")]
    Tools,
    /// Keeping values in a space of the plugin's own.
    #[serde(rename = "storage")]
    Storage,
    /// Reading named environment variables.
    #[serde(rename = "env")]
    Env,
    /// Having a secret inserted into a request to its bound host.
    #[serde(rename = "secrets")]
    Secrets,
    /// Telling a watcher how far the work is; always granted.
    #[serde(rename = "progress")]
    Progress,
}

/// A name that is no capability of the host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no host capability; there are {all}", all = Capability::ALL.map(Capability::name).join(", "))]
pub struct UnknownCapability(pub String);

impl Capability {
    /// Every capability there is.
    pub const ALL: [Self; 10] = [
        Self::FsRead,
        Self::FsWrite,
        Self::Http,
        Self::Exec,
        Self::Agents,
        Self::Tools,
        Self::Storage,
        Self::Env,
        Self::Secrets,
        Self::Progress,
    ];

    /// The word used for it everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::FsRead => "fs.read",
            Self::FsWrite => "fs.write",
            Self::Http => "net.http",
            Self::Exec => "exec",
            Self::Agents => "agents",
            Self::Tools => "tools",
            Self::Storage => "storage",
            Self::Env => "env",
            Self::Secrets => "secrets",
            Self::Progress => "progress",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Capability {
    type Err = UnknownCapability;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|capability| capability.name() == name)
            .ok_or_else(|| UnknownCapability(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capability_is_found_by_its_name_and_no_other() {
        for capability in Capability::ALL {
            assert_eq!(capability.name().parse(), Ok(capability));
        }
        assert_eq!("fs.Write".parse::<Capability>(), Err(UnknownCapability("fs.Write".to_owned())));
    }
}
