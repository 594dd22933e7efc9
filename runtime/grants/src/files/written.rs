//! How a files grant is written: `{".": read-write, "vendor": read, "*.lock": read, ".env": none}`.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Access, FilesGrant};
use crate::{PathPattern, WorkspacePath};

/// What a definition says of a path.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    None,
    Read,
    ReadWrite,
}

impl FilesGrant {
    /// What was granted and what was kept back, in the words of a definition.
    pub fn entries(&self) -> impl Iterator<Item = (String, &'static str)> {
        let folders = self.folders.iter().map(|(path, access)| {
            let word = match access {
                Access::Read => "read",
                Access::ReadWrite => "read-write",
            };
            (path.to_string(), word)
        });
        let frozen = self.frozen.iter().map(|pattern| (pattern.to_string(), "read"));
        let hidden = self.hidden.iter().map(|pattern| (pattern.to_string(), "none"));
        folders.chain(frozen).chain(hidden)
    }
}

impl Serialize for FilesGrant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.entries())
    }
}

impl<'de> Deserialize<'de> for FilesGrant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (mut folders, mut frozen, mut hidden) = (BTreeMap::new(), Vec::new(), Vec::new());
        for (text, word) in BTreeMap::<String, Word>::deserialize(deserializer)? {
            let is_pattern = text.contains(['*', '?', '[']);
            match word {
                Word::ReadWrite if is_pattern => {
                    let problem =
                        format!("`{text}` cannot be read-write: folders are granted, patterns only take away");
                    return Err(de::Error::custom(problem));
                }
                Word::None => hidden.push(pattern(&text)?),
                Word::Read if is_pattern => frozen.push(pattern(&text)?),
                Word::Read => drop(folders.insert(path(&text)?, Access::Read)),
                Word::ReadWrite => drop(folders.insert(path(&text)?, Access::ReadWrite)),
            }
        }
        Ok(Self::new(folders).freezing(frozen).hiding(hidden))
    }
}

fn path<E: de::Error>(text: &str) -> Result<WorkspacePath, E> {
    WorkspacePath::parse(text).map_err(E::custom)
}

fn pattern<E: de::Error>(text: &str) -> Result<PathPattern, E> {
    PathPattern::parse(text).map_err(E::custom)
}
