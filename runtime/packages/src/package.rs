//! A package: plain files, looked at one by one, with one digest.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::PathBuf,
};

use crate::{
    BadPath, Limits, PackagePath, Sha256, Unwanted, content,
    signature::{self, Enclosed},
};

/// The file that makes a folder a plugin.
pub const MANIFEST: &str = "plugin.json";

/// The plain files of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    files: BTreeMap<PackagePath, Vec<u8>>,
    /// Signatures that came with it; they are none of its files.
    signatures: Vec<Enclosed>,
    left_out: Vec<String>,
    digest: Sha256,
}

/// Why something is no package.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// A path that is none.
    #[error("the package is refused: the path {0}")]
    Path(#[from] BadPath),
    /// A file that no package may hold.
    #[error("the package is refused: {path}: {why}")]
    Unwanted {
        /// The file.
        path: String,
        /// What it is.
        why: Unwanted,
    },
    /// Something other than a file or a folder.
    #[error("the package is refused: {path} is {what}; only plain files and folders are taken")]
    NotPlain {
        /// Where.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// Two files that are one on some systems, or a file that is a folder as well.
    #[error("the package is refused: {0} and {1} would be one file; rename one of them")]
    Collision(String, String),
    /// It is too large.
    #[error("the package is refused: it has {0}")]
    TooLarge(String),
    /// It has no manifest.
    #[error("{0} is no plugin: there is no `plugin.json` in it")]
    NoManifest(String),
    /// The archive is not what archives are.
    #[error("the archive is refused: {0}")]
    Archive(String),
    /// It cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

/// Collects files and refuses what does not belong into a package.
pub(crate) struct Collected {
    limits: Limits,
    files: BTreeMap<PackagePath, Vec<u8>>,
    folded: BTreeMap<String, String>,
    folders: BTreeMap<String, String>,
    left_out: Vec<String>,
    total: u64,
}

impl Collected {
    pub(crate) fn new(limits: Limits) -> Self {
        let (files, folded, folders) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { limits, files, folded, folders, left_out: Vec::new(), total: 0 }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How many bytes the next file may have.
    pub(crate) fn room(&self) -> u64 {
        self.limits.file.min(self.limits.total - self.total)
    }

    /// Says what does not fit, of a file that has more than [`Collected::room`].
    pub(crate) fn too_large(&self, path: &str) -> PackageError {
        PackageError::TooLarge(match self.room() == self.limits.file {
            true => format!("a file, {path}, of more than {} bytes", self.limits.file),
            false => format!("more than {} bytes", self.limits.total),
        })
    }

    /// Notes that something was left out.
    pub(crate) fn leave_out(&mut self, path: &PackagePath) {
        if self.left_out.len() < 20 {
            self.left_out.push(path.to_string());
        }
    }

    pub(crate) fn add(&mut self, path: PackagePath, bytes: Vec<u8>) -> Result<(), PackageError> {
        if bytes.len() as u64 > self.room() {
            return Err(self.too_large(path.as_str()));
        }
        if self.files.len() == self.limits.files {
            return Err(PackageError::TooLarge(format!("more than {} files", self.limits.files)));
        }
        content::check(path.as_str(), &bytes).map_err(|why| PackageError::Unwanted { path: path.to_string(), why })?;
        self.claim(&path)?;
        self.total += bytes.len() as u64;
        self.files.insert(path, bytes);
        Ok(())
    }

    /// Each name once, also for who does not tell capitals from small letters, and nothing both a file and a folder.
    fn claim(&mut self, path: &PackagePath) -> Result<(), PackageError> {
        let collision = |other: &str| PackageError::Collision(path.to_string(), other.to_owned());
        let folded = path.folded();
        if let Some(other) = self.folded.get(&folded).or_else(|| self.folders.get(&folded)) {
            return Err(collision(other));
        }
        for folder in path.folders() {
            let folded = folder.to_ascii_lowercase();
            if let Some(other) = self.folded.get(&folded) {
                return Err(collision(other));
            }
            match self.folders.get(&folded) {
                Some(other) if other != folder => return Err(collision(other)),
                _ => drop(self.folders.insert(folded, folder.to_owned())),
            }
        }
        self.folded.insert(folded, path.to_string());
        Ok(())
    }

    /// The package, without the one folder around it that archives often have.
    pub(crate) fn finish(self, what: &str) -> Result<Package, PackageError> {
        let Self { mut files, left_out, .. } = self;
        if !files.contains_key(MANIFEST) {
            let tops: BTreeSet<&str> =
                files.keys().map(|path| path.as_str().split('/').next().unwrap_or_default()).collect();
            let [top] = Vec::from_iter(tops)[..] else { return Err(PackageError::NoManifest(what.to_owned())) };
            let top = top.to_owned();
            let moved = files.into_iter().map(|(path, bytes)| path.below(&top).map(|path| (path, bytes)));
            files = moved.collect::<Option<_>>().ok_or_else(|| PackageError::NoManifest(what.to_owned()))?;
            if !files.contains_key(MANIFEST) {
                return Err(PackageError::NoManifest(what.to_owned()));
            }
        }
        let mut signatures = Vec::new();
        for (name, kind) in signature::ENCLOSED {
            signatures.extend(files.remove(name).map(|bytes| Enclosed { kind, bytes }));
        }
        let digest = digest(&files);
        Ok(Package { files, signatures, left_out, digest })
    }
}

impl Package {
    /// One component as a package; its manifest is made for it and is not part of its digest.
    pub fn of_component(name: &str, wasm: Vec<u8>, manifest: Vec<u8>) -> Result<Self, PackageError> {
        let limits = Limits::PLUGIN;
        let mut collected = Collected::new(limits);
        collected.add(PackagePath::parse(format!("{name}.wasm").as_bytes(), &limits)?, wasm)?;
        let digest = digest(&collected.files);
        collected.add(PackagePath::parse(MANIFEST.as_bytes(), &limits)?, manifest)?;
        Ok(Self { digest, ..collected.finish(name)? })
    }

    /// Its files by path.
    pub fn files(&self) -> impl Iterator<Item = (&PackagePath, &[u8])> {
        self.files.iter().map(|(path, bytes)| (path, bytes.as_slice()))
    }

    /// One of its files.
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// Its manifest.
    pub fn manifest(&self) -> &[u8] {
        self.file(MANIFEST).unwrap_or_default()
    }

    /// What it is known by: the same for a folder, an archive of it, and what a registry has of it.
    pub fn digest(&self) -> Sha256 {
        self.digest
    }

    /// The digests of its files.
    pub fn pins(&self) -> BTreeMap<String, Sha256> {
        self.files.iter().map(|(path, bytes)| (path.to_string(), Sha256::of(bytes))).collect()
    }

    /// How many bytes its files have.
    pub fn size(&self) -> u64 {
        self.files.values().map(|bytes| bytes.len() as u64).sum()
    }

    /// Some of what lay beside its files and does not belong to a package.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// The signatures that came with it.
    pub fn signatures(&self) -> &[Enclosed] {
        &self.signatures
    }

    /// The same with one more signature, from beside it.
    pub fn signed_by(mut self, signature: Enclosed) -> Self {
        self.signatures.push(signature);
        self
    }
}

/// The digest of a list of all files by path, each with digest and size.
fn digest(files: &BTreeMap<PackagePath, Vec<u8>>) -> Sha256 {
    let mut list = "palisade package 1\n".to_owned();
    for (path, bytes) in files {
        // A path holds no line break, so no two packages have one list.
        list += &format!("{} {} {path}\n", Sha256::of(bytes).hex(), bytes.len());
    }
    Sha256::of(list.as_bytes())
}
