//! Whose signatures count.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use palisade_packages::signature::{Key, Verdict};

use super::fetch;
use crate::config::Config;

/// What is said about signatures on the command line.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct Signatures {
    /// Refuse what is not signed by a key of --key or of `plugins.keys` in the configuration.
    #[arg(long)]
    require_signature: bool,
    /// A public key whose signature is required: minisign's, or a P-256 key in PEM as cosign writes it. May be
    /// given several times.
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,
}

/// Whose signatures count, and whether one must be there.
pub(super) struct Policy {
    pub(super) keys: Vec<Key>,
    required: bool,
}

impl Signatures {
    pub(super) fn policy(&self, config: &Config) -> anyhow::Result<Policy> {
        let configured = &config.typed.plugins;
        let mut keys = Vec::new();
        for path in &self.key {
            keys.push(from_file(path)?);
        }
        // Whoever names keys here means these and no others.
        if keys.is_empty() {
            for text in &configured.keys {
                keys.push(Key::parse(text).or_else(|_| from_file(Path::new(text)))?);
            }
        }
        let required = self.require_signature || configured.require_signature || !self.key.is_empty();
        if required && keys.is_empty() {
            bail!("a signature is required, and no key is known; give one with --key FILE or as `plugins.keys`");
        }
        Ok(Policy { keys, required })
    }
}

impl Policy {
    /// Refuses what is not signed by somebody known, where that is required.
    pub(super) fn check(&self, verdict: &Verdict) -> anyhow::Result<()> {
        match verdict {
            Verdict::Unsigned if self.required => bail!("the package is not signed, and a signature is required"),
            Verdict::Unknown if self.required => {
                bail!("the package is signed by nobody whose key is known, or was changed after it was signed")
            }
            _ => Ok(()),
        }
    }
}

fn from_file(path: &Path) -> anyhow::Result<Key> {
    let text = String::from_utf8(fetch::read(path, 64 << 10)?).unwrap_or_default();
    Key::parse(&text).with_context(|| path.display().to_string())
}
