//! Where a plugin comes from, and how it becomes a package.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use anyhow::{Context as _, bail};
use palisade_packages::{
    Limits, Package,
    oci::{Credentials, Found, Reference, Registry},
    signature::{self, Enclosed, Key, Kind, Verdict},
    unpack,
};

use super::bare;
use crate::{
    assemble::Assembly,
    render::{Terminal, words},
    settings::Settings,
};

/// Where a plugin comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Folder(PathBuf),
    Archive(PathBuf),
    Component(PathBuf),
    Registry(Reference),
}

/// A package, and what vouches for it.
pub(super) struct Fetched {
    pub(super) package: Package,
    /// Where it came from, as it is written into the lock.
    pub(super) source: String,
    pub(super) verdict: Verdict,
}

impl Source {
    /// Reads what the user, or the lock, says.
    pub(super) fn parse(given: &str) -> anyhow::Result<Self> {
        if Reference::is_meant(given) {
            return Ok(Self::Registry(given.parse()?));
        }
        let path = Path::new(given).canonicalize().with_context(|| {
            format!("{given} is not there; give a folder, a .tar.gz, a component's .wasm or oci://registry/name")
        })?;
        let name = given.to_ascii_lowercase();
        match () {
            () if path.is_dir() => Ok(Self::Folder(path)),
            () if name.ends_with(".wasm") => Ok(Self::Component(path)),
            () if name.ends_with(".tar.gz") || name.ends_with(".tgz") => Ok(Self::Archive(path)),
            () => bail!("{given} is neither a folder nor a .tar.gz nor a .wasm"),
        }
    }

    /// What the lock says.
    fn written(&self) -> String {
        match self {
            Self::Folder(path) | Self::Archive(path) | Self::Component(path) => path.display().to_string(),
            Self::Registry(reference) => reference.to_string(),
        }
    }

    /// Reads or fetches the package, and checks its signatures.
    pub(super) fn fetch(
        &self,
        keys: &[Key],
        settings: &Settings,
        assembly: &Assembly,
        terminal: &Terminal,
    ) -> anyhow::Result<Fetched> {
        let (package, in_registry) = match self {
            Self::Folder(path) => (beside(Package::of_folder(path)?, path)?, Verdict::Unsigned),
            Self::Archive(path) => {
                let packed = read(path, Limits::PLUGIN.total)?;
                (beside(unpack(&packed, &path.display().to_string())?, path)?, Verdict::Unsigned)
            }
            Self::Component(path) => {
                let wasm = read(path, Limits::PLUGIN.file)?;
                let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("plugin");
                (beside(bare::package(stem, wasm, assembly)?, path)?, Verdict::Unsigned)
            }
            Self::Registry(reference) => pull(reference, keys, settings, assembly, terminal)?,
        };
        let verdict = match signature::verify(&package, keys)? {
            signed @ Verdict::Signed { .. } => signed,
            own => match in_registry {
                Verdict::Unsigned => own,
                in_registry => in_registry,
            },
        };
        Ok(Fetched { package, source: self.written(), verdict })
    }
}

fn pull(
    reference: &Reference,
    keys: &[Key],
    settings: &Settings,
    assembly: &Assembly,
    terminal: &Terminal,
) -> anyhow::Result<(Package, Verdict)> {
    terminal.progress(&format!("fetching {reference}"));
    let registry = Registry::of(reference, credentials(reference, settings))?;
    let runtime = runtime()?;
    let told = AtomicU64::new(0);
    let watch = |bytes: u64, of: Option<u64>| {
        // A line for every few megabytes is enough.
        let step = bytes >> 23;
        if told.swap(step, Ordering::Relaxed) < step {
            let of = of.map(|of| format!(" of {}", words::size(of))).unwrap_or_default();
            terminal.progress(&format!("{}{of}", words::size(bytes)));
        }
    };
    let pulled = runtime.block_on(registry.pull(&watch))?;
    let verdict = match keys.is_empty() {
        true => Verdict::Unsigned,
        false => runtime.block_on(registry.signed(pulled.digest, keys))?,
    };
    let package = match pulled.found {
        Found::Package(package) => package,
        Found::Component(wasm) => {
            let name = reference.repository.rsplit('/').next().unwrap_or("plugin");
            bare::package(name, wasm, assembly)?
        }
    };
    Ok((package, verdict))
}

/// What runs one request after the other.
pub(super) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// The user's name and password for a registry, where other programs keep them.
pub(super) fn credentials(reference: &Reference, settings: &Settings) -> Option<Credentials> {
    let file = settings.home.as_ref()?.join(".docker/config.json");
    Credentials::find(&read(&file, 1 << 20).ok()?, &reference.registry)
}

/// A package with the signatures that lie beside it.
fn beside(mut package: Package, path: &Path) -> anyhow::Result<Package> {
    for kind in [Kind::Minisign, Kind::Ecdsa] {
        let mut name = path.as_os_str().to_owned();
        name.push(kind.ending());
        let path = PathBuf::from(name);
        if path.is_file() {
            package = package.signed_by(Enclosed { kind, bytes: read(&path, 64 << 10)? });
        }
    }
    Ok(package)
}

/// Reads a file that the user named, whole.
#[expect(clippy::disallowed_methods, reason = "the user named the file on the command line or in the configuration")]
pub(super) fn read(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    let unreadable = || format!("{} cannot be read", path.display());
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).with_context(unreadable)?;
    file.take(most + 1).read_to_end(&mut bytes).with_context(unreadable)?;
    if bytes.len() as u64 > most {
        bail!("{} has more than {most} bytes", path.display());
    }
    Ok(bytes)
}
