//! Compiled code kept between runs, sealed with a key of this installation.
//!
//! Whoever can write into the cache directory could otherwise have any machine code run. So an
//! entry is `seal ‖ code`, the seal being a keyed hash over the compiler's fingerprint, the
//! component's digest and the code; the key lives elsewhere. What does not verify is never loaded: it is told to
//! whoever wants to know, and compiled again.

use std::{
    io::{self, Read as _, Write as _},
    path::Path,
};

use cap_std::fs::{Dir, MetadataExt as _, OpenOptions, OpenOptionsExt as _, PermissionsExt as _};

use crate::{Artifact, Engine, artifact, component::Digest};

/// Sealed machine code on disk.
pub struct ArtifactCache {
    entries: Dir,
    key: [u8; 32],
    told: Option<Box<Told>>,
}

type Told = dyn Fn(RefusedEntry) + Send + Sync;

/// An entry that was there and was not used. What it was for is made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedEntry {
    /// Its name in the cache directory.
    pub name: String,
    /// What is wrong with it.
    pub wrong: WrongEntry,
}

/// What is wrong with an entry of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongEntry {
    /// It is something else than a file.
    #[error("it is not a file but a link, a folder or a pipe")]
    NotAFile,
    /// Nothing that we keep is as large.
    #[error("it is larger than anything that is kept")]
    TooLarge,
    /// There is not even a seal.
    #[error("it is cut off")]
    Cut,
    /// Its seal is not that of what it holds.
    #[error("its seal is not one of this installation for what it holds")]
    Seal,
    /// It cannot be read.
    #[error("it cannot be read ({0})")]
    Unreadable(io::ErrorKind),
}

impl WrongEntry {
    /// The same in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotAFile => "not_a_file",
            Self::TooLarge => "too_large",
            Self::Cut => "cut",
            Self::Seal => "seal",
            Self::Unreadable(_) => "unreadable",
        }
    }
}

/// Why the cache is not used. The program works without it, only slower.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Somebody else could write into it.
    #[error("{0} can be written by others (or belongs to somebody else); run `chmod 700` on it or remove it")]
    Exposed(&'static str),
    /// The key file is not a key.
    #[error("the key file is damaged; remove it and the cache is rebuilt")]
    BadKey,
    /// It cannot be read or written.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// What happened.
        error: io::Error,
    },
}

const SEAL: usize = 32;

/// What an entry holds. The seal says it, too, so that none is taken for the other.
#[derive(Clone, Copy)]
enum Kind {
    Code,
    /// What a tool said of itself.
    Said,
}

impl Kind {
    fn context(self) -> &'static [u8] {
        match self {
            Self::Code => b"palisade compiled component v1",
            Self::Said => b"palisade described component v1",
        }
    }

    /// What the name of an entry ends with.
    fn ending(self) -> &'static str {
        match self {
            Self::Code => "",
            Self::Said => ".said",
        }
    }

    /// Larger than anything we would keep; a larger file is not read at all.
    fn most(self) -> u64 {
        match self {
            Self::Code => 256 << 20,
            Self::Said => 4 << 20,
        }
    }
}

impl ArtifactCache {
    /// Opens (or makes) the cache directory and the key in the data directory. Both must belong to
    /// this user and be writable by nobody else.
    pub fn open(cache: &Path, data: &Path) -> Result<Self, CacheError> {
        let entries = private_dir(cache, "the cache directory")?;
        let data = private_dir(data, "the data directory")?;
        Ok(Self { entries, key: key(&data)?, told: None })
    }

    /// The same; `told` hears of every entry that is there and not used. It is called on whatever thread looks.
    #[must_use]
    pub fn telling(self, told: impl Fn(RefusedEntry) + Send + Sync + 'static) -> Self {
        Self { told: Some(Box::new(told)), ..self }
    }

    /// Looks an entry up. Anything but a sound entry is as good as none.
    pub fn find(&self, engine: &Engine, digest: [u8; 32]) -> Option<Artifact> {
        self.sound(Kind::Code, engine, &digest).map(|code| Artifact::trusted(digest, code))
    }

    /// Adds an entry, whole or not at all.
    pub fn add(&self, engine: &Engine, artifact: &Artifact) -> Result<(), CacheError> {
        self.keep(Kind::Code, engine, &artifact.digest(), artifact.code())
    }

    /// What a component said of itself, if it was kept.
    pub(crate) fn find_said(&self, engine: &Engine, digest: &Digest) -> Option<Vec<u8>> {
        self.sound(Kind::Said, engine, digest)
    }

    /// Keeps what a component said of itself.
    pub(crate) fn add_said(&self, engine: &Engine, digest: &Digest, said: &[u8]) -> Result<(), CacheError> {
        self.keep(Kind::Said, engine, digest, said)
    }

    /// What an entry holds, if it is there and sound.
    fn sound(&self, kind: Kind, engine: &Engine, digest: &Digest) -> Option<Vec<u8>> {
        self.read(kind, engine, digest).unwrap_or_else(|wrong| {
            if let Some(told) = &self.told {
                told(RefusedEntry { name: name(kind, engine, digest), wrong });
            }
            None
        })
    }

    fn read(&self, kind: Kind, engine: &Engine, digest: &Digest) -> Result<Option<Vec<u8>>, WrongEntry> {
        let unreadable = |error: io::Error| WrongEntry::Unreadable(error.kind());
        let mut options = OpenOptions::new();
        // Opening a pipe waits for its writer unless told not to.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.read(true).custom_flags(flags.bits().cast_signed());
        let mut file = match self.entries.open_with(name(kind, engine, digest), &options) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                return Err(WrongEntry::NotAFile);
            }
            Err(error) => return Err(unreadable(error)),
        };
        let meta = file.metadata().map_err(unreadable)?;
        if !meta.is_file() {
            return Err(WrongEntry::NotAFile);
        }
        if meta.len() > kind.most() {
            return Err(WrongEntry::TooLarge);
        }
        let mut entry = Vec::with_capacity(usize::try_from(meta.len()).map_err(|_| WrongEntry::TooLarge)?);
        std::io::Read::by_ref(&mut file).take(kind.most()).read_to_end(&mut entry).map_err(unreadable)?;
        let (seal, kept) = entry.split_at_checked(SEAL).ok_or(WrongEntry::Cut)?;
        let expected = self.seal(kind, engine, digest, kept);
        // `blake3::Hash` compares in constant time.
        let is_ours = expected == blake3::Hash::from_slice(seal).map_err(|_| WrongEntry::Cut)?;
        if is_ours { Ok(Some(kept.to_vec())) } else { Err(WrongEntry::Seal) }
    }

    fn keep(&self, kind: Kind, engine: &Engine, digest: &Digest, kept: &[u8]) -> Result<(), CacheError> {
        let name = name(kind, engine, digest);
        let temporary = format!(".{name}.{}", blake3::Hash::from_bytes(random()?).to_hex());
        let seal = self.seal(kind, engine, digest, kept);
        let written = self
            .write(&temporary, seal.as_bytes(), kept)
            .and_then(|()| self.entries.rename(&temporary, &self.entries, &name));
        written.map_err(|error| {
            drop(self.entries.remove_file(&temporary));
            CacheError::Io { what: "a compiled component cannot be kept in the cache", error }
        })
    }

    fn write(&self, name: &str, seal: &[u8], kept: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = self.entries.open_with(name, &options)?;
        file.write_all(seal)?;
        file.write_all(kept)?;
        file.sync_all()
    }

    fn seal(&self, kind: Kind, engine: &Engine, digest: &Digest, kept: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(kind.context()).update(&artifact::fingerprint(engine.wasm())).update(digest).update(kept);
        hasher.finalize()
    }
}

fn name(kind: Kind, engine: &Engine, digest: &Digest) -> String {
    let fingerprint = blake3::Hash::from_bytes(artifact::fingerprint(engine.wasm())).to_hex();
    format!("{}-{}{}", blake3::Hash::from_bytes(*digest).to_hex(), &fingerprint[..16], kind.ending())
}

#[expect(clippy::disallowed_methods, reason = "opens the directories the operator named, once")]
fn private_dir(path: &Path, what: &'static str) -> Result<Dir, CacheError> {
    let io = |error| CacheError::Io { what, error };
    std::fs::create_dir_all(path).map_err(io)?;
    let dir = Dir::open_ambient_dir(path, cap_std::ambient_authority()).map_err(io)?;
    let meta = dir.dir_metadata().map_err(io)?;
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(CacheError::Exposed(what));
    }
    match meta.mode() & 0o077 {
        0 => {}
        open if open & 0o022 == 0 => {
            dir.set_permissions(".", cap_std::fs::Permissions::from_mode(0o700)).map_err(io)?;
        }
        _ => return Err(CacheError::Exposed(what)),
    }
    Ok(dir)
}

/// Reads the key of this installation, or makes it.
fn key(data: &Dir) -> Result<[u8; 32], CacheError> {
    const NAME: &str = "artifact.key";
    let io = |error| CacheError::Io { what: "the key file", error };
    match data.read(NAME) {
        Ok(bytes) => bytes.try_into().map_err(|_| CacheError::BadKey),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key = random()?;
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            match data.open_with(NAME, &options).and_then(|mut file| file.write_all(&key)) {
                Ok(()) => Ok(key),
                // Another process made it in the meantime.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    data.read(NAME).map_err(io)?.try_into().map_err(|_| CacheError::BadKey)
                }
                Err(error) => Err(io(error)),
            }
        }
        Err(error) => Err(io(error)),
    }
}

fn random() -> Result<[u8; 32], CacheError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| CacheError::Io { what: "randomness", error: error.into() })?;
    Ok(bytes)
}
