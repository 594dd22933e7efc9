//! What the tools of plugins kept. It outlives a plugin, and belongs to whoever has its name next.

use palisade_agent::LOCAL_TENANT;
use palisade_store::{Space, Spaces, open_spaces};

use crate::{
    config::{Config, Sources},
    database::{self, Database},
    render::Terminal,
    settings::Settings,
};

/// How many values there are under the name of a plugin; none where no database is.
pub(super) fn count(name: &str, config: &Config, settings: &Settings) -> anyhow::Result<usize> {
    in_spaces(config, settings, async |spaces| Ok(spaces.keys(&space(name), "").await?.len()))
}

/// Takes them away, and says how many there were.
pub(super) fn forget(names: &[String], settings: &Settings, terminal: &Terminal) -> anyhow::Result<usize> {
    let config = Config::load(&Sources::of(settings, None)).accepted(terminal)?;
    in_spaces(&config, settings, async |spaces| {
        let mut gone = 0;
        for space in names.iter().map(|name| space(name)) {
            for key in spaces.keys(&space, "").await? {
                spaces.forget(&space, &key).await?;
                gone += 1;
            }
        }
        Ok(gone)
    })
}

fn space(name: &str) -> Space {
    Space { tenant: LOCAL_TENANT.to_owned(), name: name.to_owned() }
}

fn in_spaces(
    config: &Config,
    settings: &Settings,
    work: impl AsyncFnOnce(&dyn Spaces) -> anyhow::Result<usize>,
) -> anyhow::Result<usize> {
    let url = Database::of(config, settings).url()?;
    // Looking for something makes no database.
    if url.path().is_some_and(|path| !path.exists()) {
        return Ok(0);
    }
    database::runtime()?.block_on(async { work(&*open_spaces(url.expose()).await?).await })
}
