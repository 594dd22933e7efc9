//! What decides over agents and lies in their workspace: somebody works in the home folder, or keeps
//! definitions in a repository. An agent that could change it would raise its own rights.

use std::path::{Path, PathBuf, absolute};

use palisade_agent::Layer;
use palisade_grants::{FilesGrant, PathPattern};

use super::{places::Places, trust::real_path};
use crate::definition::ConfigSettings;

/// What is taken from every agent, whatever it was granted.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptBack {
    /// The workspace lies in a folder of this program.
    everything: bool,
    hidden: Vec<PathPattern>,
    frozen: Vec<PathPattern>,
}

impl KeptBack {
    /// What these places keep back: what is private is not there for an agent, and where definitions come
    /// from it cannot be changed by one.
    pub(super) fn of(places: &Places, settings: &ConfigSettings, compat: &[String]) -> Self {
        let Some(workspace) = places.workspace.as_deref().map(real_path) else { return Self::default() };
        let private: Vec<PathBuf> = places.private.iter().chain(&places.trust).map(|place| settled(place)).collect();
        let configured = settings.agent_dirs.iter().map(|dir| places.configured(dir));
        let named = configured.chain(places.plugins(settings)).map(|place| settled(&place));
        // What is the user's needs no trust, so that it must not be made by an agent that works in the home folder.
        let folders = places.folders(settings, compat, &mut Vec::new()).into_iter();
        let folders = folders.chain(places.skill_folders(compat)).filter(|folder| folder.layer == Layer::User);
        let named = named.chain(folders.map(|folder| settled(&folder.at)));
        let given = places.agent_dirs.iter().chain(&places.config).chain(&places.deciding).map(|place| settled(place));
        Self {
            everything: private.iter().any(|place| workspace.starts_with(place)),
            hidden: private.iter().filter_map(|place| pattern(&workspace, place)).collect(),
            frozen: named.chain(given).filter_map(|place| pattern(&workspace, &place)).collect(),
        }
    }

    /// What is left of a grant.
    pub(super) fn taken_from(&self, files: FilesGrant) -> FilesGrant {
        match self.everything {
            true => FilesGrant::default(),
            false => files.freezing(self.frozen.iter().cloned()).hiding(self.hidden.iter().cloned()),
        }
    }
}

/// A path with its links resolved as far as it is there: what is not may be made later.
fn settled(path: &Path) -> PathBuf {
    let path = absolute(path).unwrap_or_else(|_| path.to_owned());
    let resolved = path.ancestors().find_map(|there| Some((there.canonicalize().ok()?, there)));
    match resolved.and_then(|(real, there)| Some(real.join(path.strip_prefix(there).ok()?))) {
        Some(settled) => settled,
        None => path,
    }
}

/// The pattern for a place inside of the workspace. A character that means something in a pattern
/// becomes `?`, which fits it, too.
fn pattern(workspace: &Path, place: &Path) -> Option<PathPattern> {
    let below = place.strip_prefix(workspace).ok().filter(|below| !below.as_os_str().is_empty())?;
    let plain = |c: char| if matches!(c, '*' | '?' | '[' | ']' | '\\') || c.is_whitespace() { '?' } else { c };
    let parts =
        below.components().map(|part| part.as_os_str().to_string_lossy().chars().map(plain).collect::<String>());
    PathPattern::parse(&format!("/{}", parts.collect::<Vec<_>>().join("/"))).ok()
}
