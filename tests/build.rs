//! Builds every guest in `guests/`.

use std::path::{Path, PathBuf};

use palisade_guest_build::{Guests, build, or_explain, rerun_if_changed};
use palisade_guest_embed::embed;

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    rerun_if_changed(&["guests", "../guest-tools/sdk", "../wit"].map(|path| here.join(path)));
    or_explain(guest_names(&here.join("guests")).and_then(|names| {
        let built =
            build(&here.join("../guest-tools"), &Guests::Examples { package: "palisade-test-guests", names: &names })?;
        embed(&built, "guests.rs", "Guest", false)
    }));
}

#[expect(clippy::disallowed_methods, reason = "a build script finds its sources")]
fn guest_names(folder: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let sources = paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let mut names: Vec<String> = sources.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    Ok(names)
}
