//! Whether sessions can be kept: where the database is, and whether it is in order.

use palisade_agent::StoreError;
use palisade_store::Examined;

use super::Check;
use crate::{
    config::{Config, StoreUrl},
    database::{self, Database},
    render::words,
    settings::Settings,
};

/// Looks at the database. One that is not there yet is not made.
pub(super) fn examine(config: &Config, settings: &Settings) -> Check {
    let url = match Database::of(config, settings).url() {
        Ok(url) => url,
        Err(error) => return Check::fail("database", format!("{error:#}"), "look at `store.url_command`"),
    };
    if !url.lasts() {
        let remedy = "set HOME, PALISADE_DATA_DIR or `store.url`";
        return Check::warn("database", "memory: sessions end with the program", remedy);
    }
    if url.path().is_some_and(|path| !path.exists() && !path.with_extension("db-wal").exists()) {
        return Check::ok("database", format!("{url} is not there yet; the first run makes it"));
    }
    let runtime = match database::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return Check::fail("database", error.to_string(), "look at `ulimit -u` and `ulimit -n`"),
    };
    match runtime.block_on(palisade_store::examine(url.expose())) {
        Ok(found) => Check::ok("database", in_words(&url, found)),
        Err(error) => {
            let found = format!("{url}: {error}").replace(url.expose(), &url.to_string());
            Check::fail("database", found, remedy(&error))
        }
    }
}

/// `sqlite:/home/me/… in order, version 1, 128 KiB, SQLite 3.51.3 (WAL, …)`
fn in_words(url: &StoreUrl, found: Option<Examined>) -> String {
    let Some(Examined { engine, version, bytes, settings }) = found else { return url.to_string() };
    format!("{url} is in order: version {version}, {}, {engine} ({settings})", words::size(bytes))
}

fn remedy(error: &StoreError) -> &'static str {
    match error {
        StoreError::Corrupt(_) => "docs/sessions.md says how to save what is left; nothing was changed",
        StoreError::Newer { .. } => "use the program that made it, or a newer one; nothing was changed",
        StoreError::Full(_) => "make some space",
        _ => "is it running, may you use it, is `store.url` right? runs with --ephemeral need none",
    }
}
