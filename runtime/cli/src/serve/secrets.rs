//! A tenant's secrets: its own, and those of the operator that it is lent.
//!
//! Its own are in `secrets` of its folder, a file for each that nobody but this program's user can read. One is put in
//! its place whole, and read each time anew, so that what was replaced or removed is not used again.
#![expect(
    clippy::disallowed_methods,
    reason = "the one file that keeps secrets of tenants, in a folder of this program"
)]

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use palisade_grants::{Host, NamesGrant};
use palisade_sandbox::{Binding, SecretString, Vault};
use palisade_server::{NewSecret, Refused, SecretCard};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};

use super::TenantSettings;
use crate::{
    config::{Config, is_header, key},
    web::{Keys, USUAL_HEADER},
};

/// A tenant has no more of them.
const MOST: usize = 100;
/// The longest name.
const NAME: usize = 64;
/// What the name of a secret's file ends with.
const ENDING: &str = ".json";
/// No file of a secret is larger.
const LARGEST: u64 = 64 * 1024;

/// The operator's secrets that a tenant is lent: those that its ceiling names.
pub(crate) struct Lent {
    named: NamesGrant,
    keys: Keys,
}

impl Lent {
    pub(crate) fn of(config: &Config, tenant: &TenantSettings) -> Self {
        Self { named: tenant.grants().secrets, keys: Keys::of(config) }
    }

    fn has(&self, name: &str) -> bool {
        self.named.iter().any(|word| word.matches(name)) && self.keys.binding(name).is_some()
    }
}

/// The secrets that are a tenant's own.
#[derive(Clone, Debug)]
pub(crate) struct OwnSecrets {
    folder: PathBuf,
}

/// What stands in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    host: String,
    header: String,
    value: String,
}

impl OwnSecrets {
    /// Those of the tenant with this folder.
    pub(crate) fn below(tenant: &Path) -> Self {
        Self { folder: tenant.join("secrets") }
    }

    /// Their names, sorted, and where each belongs.
    pub(crate) fn list(&self, lent: &Lent) -> Result<Vec<SecretCard>, Refused> {
        let mut cards = Vec::new();
        for name in self.names().map_err(|error| self.broken(&error))? {
            if let Some((Binding { host, header }, _)) = self.read(&name).map_err(|error| self.broken(&error))? {
                cards.push(SecretCard { is_used: !lent.has(&name), name, host: host.to_string(), header });
            }
        }
        Ok(cards)
    }

    /// Their names, sorted.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let file = entry?.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(ENDING)).filter(|name| is_name(name));
            names.extend(name.map(str::to_owned));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Keeps one, in the place of an earlier one of this name.
    pub(crate) fn keep(&self, name: &str, new: &NewSecret, lent: &Lent) -> Result<SecretCard, Refused> {
        let unusable = |why: &str| Err(Refused::Unusable(why.to_owned()));
        if !is_name(name) {
            return unusable("no secret can be called so: 1 to 64 letters, digits, `_`, `-` and `.`");
        }
        if lent.has(name) {
            return Err(Refused::Unusable(format!(
                "`{name}` is one of the operator's secrets, which this tenant may use; take another name"
            )));
        }
        let host = match new.host.parse::<Host>() {
            Ok(host) if host.is_for_secrets() => host.to_string(),
            _ => return unusable("a secret belongs to one host, such as `api.example.com`, which is asked by https"),
        };
        let header = new.header.as_deref().unwrap_or(USUAL_HEADER).to_ascii_lowercase();
        if !is_header(&header) {
            return unusable("letters, digits, `-` and `_` make a header");
        }
        let Some(value) = key::of_bytes(new.value.expose_secret().as_bytes()) else {
            return unusable("the value is empty, longer than 16 KiB, or has characters that no header takes");
        };
        let names = self.names().map_err(|error| self.broken(&error))?;
        if names.len() >= MOST && !names.iter().any(|kept| kept == name) {
            return Err(Refused::Unusable(format!("a tenant has {MOST} secrets at most; remove one first")));
        }
        let written = Written { host: host.clone(), header: header.clone(), value: value.expose_secret().to_owned() };
        self.write(name, &written).map_err(|error| self.broken(&error))?;
        Ok(SecretCard { name: name.to_owned(), host, header, is_used: true })
    }

    /// Removes one.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Refused> {
        let unknown = || Err(Refused::Unknown(format!("there is no secret `{name}`")));
        if !is_name(name) {
            return unknown();
        }
        match fs::remove_file(self.file(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => unknown(),
            removed => removed.map_err(|error| self.broken(&error)),
        }
    }

    /// Removes all of them.
    pub(crate) fn forget(&self) -> Result<(), Refused> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.broken(&error)),
            _ => Ok(()),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{ENDING}"))
    }

    fn write(&self, name: &str, written: &Written) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        // Somebody else may write at the same time; whoever is last has the name.
        let new = self.folder.join(format!("{}.new", uuid::Uuid::new_v4()));
        let made = || {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
            file.write_all(&serde_json::to_vec(written)?)?;
            file.sync_all()?;
            fs::rename(&new, self.file(name))?;
            File::open(&self.folder)?.sync_all()
        };
        // Nothing of it is left behind if it does not come to its end.
        made().inspect_err(|_| drop(fs::remove_file(&new)))
    }

    /// One with its value, if it is there. What is wrong with it is told without what stands in it.
    fn read(&self, name: &str) -> io::Result<Option<(Binding, SecretString)>> {
        if !is_name(name) {
            return Ok(None);
        }
        let file = match File::open(self.file(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes)?;
        let damaged = || io::Error::other(format!("the secret `{name}` is damaged; set it anew"));
        let Written { host, header, value } = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        let host = host.parse::<Host>().ok().filter(Host::is_for_secrets).ok_or_else(damaged)?;
        Ok(Some((Binding { host, header }, SecretString::from(value))))
    }

    fn broken(&self, error: &io::Error) -> Refused {
        Refused::Broken(format!("the secrets in {}: {error}", self.folder.display()))
    }
}

fn is_name(name: &str) -> bool {
    (1..=NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// What the requests of a tenant's tools are given: of the operator's secrets those that it is lent, and its own. One
/// of its own takes the place of none of the operator's.
pub(crate) struct TenantVault {
    lent: Lent,
    own: OwnSecrets,
}

impl TenantVault {
    pub(crate) fn over(lent: Lent, own: OwnSecrets) -> Arc<dyn Vault> {
        Arc::new(Self { lent, own })
    }
}

impl Vault for TenantVault {
    fn binding(&self, name: &str) -> Option<Binding> {
        match self.lent.has(name) {
            true => self.lent.keys.binding(name),
            // What cannot be read is not there for a guest; whoever lists secrets is told why.
            false => self.own.read(name).ok().flatten().map(|(binding, _)| binding),
        }
    }

    fn value(&self, name: &str) -> Result<SecretString, String> {
        if self.lent.has(name) {
            return self.lent.keys.value(name);
        }
        let found = self.own.read(name).map_err(|_| format!("`{name}` cannot be read"))?;
        found.map(|(_, value)| value).ok_or_else(|| format!("`{name}` is not there any more"))
    }
}

#[cfg(test)]
mod tests;
