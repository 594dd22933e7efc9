//! A tool as it is in the process that guests run in: linked to what the host told of it.

use std::sync::Arc;

use palisade_grants::{Capability, FilesGrant, Grants, StorageGrant};

use super::{LinkedTool, Shape, hollow, link, number, preopens_for};
use crate::{
    Compiled, Engine, Entry, Failure, Limits, Storage,
    capabilities::{commands::Commands, http::Web, preopens::Preopens, shell::Session, storage::StorageSpace},
    runner::Remote,
};

/// What a tool has in the process that guests run in. All else is the host's.
pub(crate) struct Mirrored<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) compiled: Compiled,
    pub(crate) entry: Entry,
    /// What the scope's folders were opened as.
    pub(crate) preopens: &'a Preopens,
    pub(crate) files: FilesGrant,
    pub(crate) storage: Option<StorageGrant>,
    pub(crate) process: bool,
    pub(crate) http: bool,
    /// The plugin whose folder it sees.
    pub(crate) package: Option<String>,
    pub(crate) limits: Limits,
}

impl LinkedTool {
    /// The tool in the process that guests run in: folders of its own, and a host to ask for the rest.
    pub(crate) fn mirrored(told: Mirrored<'_>) -> Result<Self, Failure> {
        let Mirrored { engine, compiled, entry, preopens, files, storage, process, http, package, limits } = told;
        let shape = Shape {
            files: package.is_some() || !files.is_empty() || hollow(&compiled, Capability::FsRead),
            storage: storage.is_some(),
            process,
            http,
            toolbox: compiled.needs().toolbox.clone(),
        };
        Ok(Self {
            code: link(engine, &compiled, &entry, shape)?,
            entry,
            limits,
            engine: engine.clone(),
            number: number(),
            preopens: preopens_for(&compiled, preopens, &files, package.as_deref()),
            package,
            compiled,
            grants: Grants { files, storage, ..Grants::default() },
            storage: None,
            native: None,
            session: Session::default(),
            commands: Commands::default(),
            web: http.then(Web::default),
            gate: None,
            apart: None,
        })
    }

    /// The space that a call keeps values in. In the process that guests run in, the host has it.
    pub(super) fn storage(&self, asked: Option<&Remote>) -> Option<StorageSpace> {
        let Some(host) = asked else { return self.storage.clone() };
        let storage: Arc<dyn Storage> = Arc::new(host.clone());
        self.grants.storage.map(|grant| StorageSpace { storage, space: "".into(), grant })
    }
}
