//! What the operator says of a tenant.

use std::path::PathBuf;

use palisade_grants::{Access, Grants};
use palisade_server::{Quotas, Refused};
use serde::Deserialize;
use serde_json::Value;

/// What the operator says of a tenant. What is not said is little.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TenantSettings {
    /// The folder that its agents work in; absent: one of its own in the data folder.
    pub(crate) workspace: Option<PathBuf>,
    /// What its agents may do at most, as in a definition; absent: change files of the workspace, and ask each other.
    pub(crate) grants: Option<Grants>,
    /// What it may use up.
    pub(crate) quotas: Quotas,
}

impl TenantSettings {
    /// Reads settings; what is unknown or cannot be is an error.
    pub(crate) fn read(settings: &Value) -> Result<Self, Refused> {
        let unusable = |why: String| Refused::Unusable(format!("the settings of the tenant cannot be used: {why}"));
        let read: Self = serde_json::from_value(settings.clone()).map_err(|error| unusable(error.to_string()))?;
        if read.workspace.as_ref().is_some_and(|folder| !folder.is_absolute()) {
            return Err(unusable("`workspace` is no absolute path".to_owned()));
        }
        Ok(read)
    }

    /// What it may use up; where nothing is said, what is usual on this machine.
    pub(crate) fn quotas(&self) -> Quotas {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        self.quotas.or(Quotas::usual(u32::try_from(cores).unwrap_or(u32::MAX)))
    }

    /// What its agents may do at most.
    pub(crate) fn grants(&self) -> Grants {
        self.grants.clone().unwrap_or_else(|| Grants {
            agents: Grants::everything().agents,
            storage: Grants::everything().storage,
            ..Grants::workspace(Access::ReadWrite)
        })
    }
}
