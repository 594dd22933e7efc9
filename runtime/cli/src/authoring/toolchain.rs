//! Compilers that come from PyPI and npm: each in one version, installed once for all projects.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::{files, program::Program};
use crate::{
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// A compiler from a registry.
#[derive(Clone, Copy)]
pub(super) struct Package {
    pub(super) name: &'static str,
    /// Another version makes other components, so there is only this one.
    pub(super) version: &'static str,
    pub(super) registry: Registry,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Registry {
    /// Installed by pip into an environment of its own.
    Pypi,
    /// Installed by npm into a folder of its own.
    Npm,
}

pub(super) const PYTHON: &str =
    "install Python 3.10 or newer with pip and venv (on Debian: apt install python3 python3-venv)";
pub(super) const NODE: &str =
    "install Node.js 18 or newer with npm (https://nodejs.org; on Debian: apt install nodejs npm)";

impl Package {
    /// Where it is installed. It is fetched first if it is not there.
    pub(super) fn folder(&self, settings: &Settings, terminal: &Terminal) -> anyhow::Result<PathBuf> {
        let Some(all) = &settings.toolchains else {
            bail!("there is no place for compilers; set HOME, or PALISADE_TOOLCHAINS");
        };
        let (name, version) = (self.name, self.version);
        let folder = all.join(format!("{}-{version}", name.replace('/', "-")));
        let done = folder.join("installed");
        let is_there = || files::read_text(&done).is_ok_and(|text| text.trim() == version);
        if is_there() {
            return Ok(folder);
        }
        files::make_folder(all).with_context(|| format!("{} cannot be made", all.display()))?;
        let _lock = lock(&all.join(format!("{}.lock", name.replace('/', "-"))))?;
        // Somebody else may have been quicker.
        if is_there() {
            return Ok(folder);
        }
        let note = format!("installing {name} {version}, once for all projects …");
        terminal.note(&Line::new().add(Style::Dim, &note));
        files::clear(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        self.install(&folder)?;
        files::write(&done, version.as_bytes())?;
        Ok(folder)
    }

    fn install(&self, folder: &Path) -> anyhow::Result<()> {
        let (name, version) = (self.name, self.version);
        let what = format!("{name} {version} cannot be installed");
        match self.registry {
            Registry::Pypi => {
                let venv = Program::new("python3", PYTHON).arguments(["-m", "venv"]).arguments([folder]);
                venv.without("PYTHONHOME").run(&what)?;
                let wanted = format!("{name}=={version}");
                let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", &wanted];
                Program::new(folder.join("bin/python"), PYTHON).arguments(pip).run(&what)?;
            }
            Registry::Npm => {
                let wanted = format!("{name}@{version}");
                let npm = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel", "error", "--prefix"];
                Program::new("npm", NODE).arguments(npm).arguments([folder]).arguments([wanted]).run(&what)?;
            }
        }
        Ok(())
    }
}

/// One installs, the others wait.
#[expect(clippy::disallowed_methods, reason = "a file of our own in the user's cache")]
fn lock(path: &Path) -> anyhow::Result<std::fs::File> {
    let file = std::fs::File::create(path).with_context(|| format!("{} cannot be made", path.display()))?;
    file.lock().with_context(|| format!("{} cannot be locked", path.display()))?;
    Ok(file)
}
