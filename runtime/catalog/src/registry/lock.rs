//! What was installed, and what the operator let it have.
//!
//! A grant is bound to what was looked at when it was made: every file of the package, and of every tool its
//! name, description and schema, which a model reads as instructions. What is no longer that has nothing, and
//! says which command renews it. A file that cannot be read grants nothing to anybody.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Read as _},
    path::Path,
};

use cap_std::fs::Dir;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, Visitor},
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    plugins::{Granted, Plugin},
    private::{self, Held, KeptError, Version},
    read::ReadError,
};
use crate::definition::Notice;

/// Everything that was installed.
#[derive(Clone, Debug, Default)]
pub struct LockedPlugins {
    plugins: BTreeMap<String, Locked>,
    /// Why nothing in the folder is believed.
    damaged: Option<String>,
    notice: Option<Notice>,
}

/// A plugin as it was installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// Which version its manifest says it is.
    pub version: Option<String>,
    /// Where it came from, and where another version is looked for.
    pub source: String,
    /// What the package is known by, as `sha256:…`.
    pub digest: String,
    /// The SHA-256 of each file in hexadecimal, by path.
    #[serde(deserialize_with = "unique")]
    pub files: BTreeMap<String, String>,
    /// [`tool_pin`] of each tool, by name.
    #[serde(deserialize_with = "unique")]
    pub tools: BTreeMap<String, String>,
    /// What it asks for.
    pub asked: Granted,
    /// What the operator let it have.
    pub granted: Granted,
    /// Whose signature was checked.
    pub signer: Option<String>,
    /// Whether it is switched on.
    pub enabled: bool,
    /// What is about to take its place; it is one or the other, whatever happens in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Box<Locked>>,
}

/// What stands in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: Version,
    #[serde(deserialize_with = "unique")]
    plugins: BTreeMap<String, Locked>,
}

/// Longer than any list; what is longer is damaged.
const LARGEST: u64 = 32 << 20;

/// What a model is told of a tool, as one digest: whoever changes a word of it changes the tool.
pub fn tool_pin(name: &str, description: &str, schema: &Value) -> String {
    let mut digest = Sha256::new();
    for part in [name, description, &schema.to_string()] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    hexadecimal(&digest.finalize())
}

impl LockedPlugins {
    /// Reads the list. One that is not there holds nothing; from one that is damaged nothing is taken, and every
    /// plugin beside it is held back.
    pub fn load(path: &Path) -> Self {
        match stored(path) {
            Ok(plugins) => Self { plugins, ..Self::default() },
            Err(why) => {
                let file = path.display().to_string();
                let fix = Some("look at the file and remove it, then install the plugins again".to_owned());
                let notice = Notice { fix, ..Notice::warning(&file, format!("no plugin is used: it {why}")) };
                let damaged = Some(format!("no plugin is used because {file} {why}"));
                Self { damaged, notice: Some(notice), ..Self::default() }
            }
        }
    }

    /// What is wrong with the file.
    pub fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }

    /// A plugin that was installed.
    pub fn get(&self, name: &str) -> Option<&Locked> {
        self.plugins.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Locked)> {
        self.plugins.iter().map(|(name, locked)| (name.as_str(), locked))
    }

    /// Gives a plugin what was granted to it if it is what was installed, and holds it back otherwise.
    pub(super) fn apply(&self, plugin: &mut Plugin) {
        if let Some(why) = &self.damaged {
            plugin.held_back = Some(why.clone());
            return;
        }
        // By its folder: whatever a manifest says, it does not become another plugin.
        let folder = plugin.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(locked) = self.plugins.get(folder) else { return };
        match locked.current(plugin.opened()) {
            Ok(current) => {
                plugin.disabled = !current.enabled;
                plugin.granted = current.granted.clone();
                plugin.pinned = current.files.clone();
                plugin.pinned_tools = current.tools.clone();
            }
            Err(what) => {
                plugin.held_back = Some(format!(
                    "the plugin `{folder}` is not what was installed: {what}; what was granted to it no longer counts. \
                     `palisade plugins update {folder}` fetches it anew, `palisade plugins remove {folder}` removes it"
                ));
            }
        }
    }
}

impl Locked {
    /// The entry that describes what lies in the folder: this one, or while it is being replaced the next.
    pub fn current(&self, folder: &Dir) -> Result<&Self, String> {
        match &self.next {
            // Rarely, and never for long: then every byte is compared.
            Some(next) => match next.differs(folder, true) {
                None => Ok(next),
                Some(_) => self.differs(folder, true).map_or(Ok(self), Err),
            },
            None => self.differs(folder, false).map_or(Ok(self), Err),
        }
    }

    /// What is not as it was installed. Components are compared when they are loaded, by the bytes that are then
    /// compiled; everything else, which is small, now.
    fn differs(&self, folder: &Dir, whole: bool) -> Option<String> {
        let mut found = Vec::new();
        if let Err(error) = list(folder, "", &mut found, 0) {
            return Some(format!("it cannot be read: {error}"));
        }
        for path in &found {
            let Some(pin) = self.files.get(path) else { return Some(format!("`{path}` was not part of it")) };
            if !whole && path.ends_with(".wasm") {
                continue;
            }
            match digest(folder, path) {
                Ok(digest) if digest == *pin => {}
                Ok(_) => return Some(format!("`{path}` was changed")),
                Err(error) => return Some(format!("`{path}` cannot be read: {error}")),
            }
        }
        self.files.keys().find(|path| !found.contains(path)).map(|path| format!("`{path}` is gone"))
    }
}

/// Every file below a folder, and everything else that is no folder, so that it is noticed.
fn list(dir: &Dir, below: &str, found: &mut Vec<String>, depth: usize) -> io::Result<()> {
    const DEPTH: usize = 16;
    const FILES: usize = 4_000;
    for entry in dir.entries()? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|_| io::Error::other("a name is no text"))?;
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if depth > DEPTH || found.len() > FILES {
            return Err(io::Error::other("there is too much in it"));
        }
        match entry.file_type()?.is_dir() {
            true => list(&dir.open_dir(&name)?, &path, found, depth + 1)?,
            false => found.push(path),
        }
    }
    Ok(())
}

fn digest(folder: &Dir, path: &str) -> Result<String, ReadError> {
    let meta = folder.symlink_metadata(path)?;
    if !meta.is_file() {
        return Err(ReadError::NotAFile);
    }
    let mut digest = Sha256::new();
    let mut file = folder.open(path)?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => digest.update(&buffer[..read]),
        }
    }
    Ok(hexadecimal(&digest.finalize()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The list, and nobody else who changes it.
#[derive(Debug)]
pub struct HeldLock {
    held: Held,
    plugins: BTreeMap<String, Locked>,
}

impl HeldLock {
    /// Waits until nobody else changes the list, and reads it.
    pub fn hold(path: &Path) -> Result<Self, KeptError> {
        let held = Held::hold(path)?;
        let plugins = stored(path).map_err(|why| held.damaged(why, "install the plugins again"))?;
        Ok(Self { held, plugins })
    }

    /// A plugin that was installed.
    pub fn get(&self, name: &str) -> Option<&Locked> {
        self.plugins.get(name)
    }

    /// All of them.
    pub fn names(&self) -> Vec<String> {
        self.plugins.keys().cloned().collect()
    }

    /// Changes one entry, or removes it, and makes that durable.
    pub fn set(&mut self, name: &str, locked: Option<Locked>) -> Result<(), KeptError> {
        let mut plugins = self.plugins.clone();
        match locked {
            Some(locked) => drop(plugins.insert(name.to_owned(), locked)),
            None => drop(plugins.remove(name)),
        }
        let written = Written { version: Version, plugins };
        self.held.replace(&written)?;
        self.plugins = written.plugins;
        Ok(())
    }
}

/// What stands in the file, or what is wrong with it.
fn stored(path: &Path) -> Result<BTreeMap<String, Locked>, String> {
    let written: Option<Written> = private::read(path, LARGEST)?;
    Ok(written.map(|written| written.plugins).unwrap_or_default())
}

/// A map that says everything once.
pub(super) fn unique<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, V>, D::Error> {
    struct Unique<V>(std::marker::PhantomData<V>);
    impl<'de, V: Deserialize<'de>> Visitor<'de> for Unique<V> {
        type Value = BTreeMap<String, V>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((key, value)) = entries.next_entry::<String, V>()? {
                if map.contains_key(&key) {
                    return Err(de::Error::custom(format!("`{key}` is there twice")));
                }
                map.insert(key, value);
            }
            Ok(map)
        }
    }
    deserializer.deserialize_map(Unique(std::marker::PhantomData))
}
