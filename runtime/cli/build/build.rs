//! Puts the sources that `palisade plugins new` writes into the program: templates, what tools import, the contract.
//! Tells the program what it is built from.
#![expect(clippy::disallowed_methods, reason = "a build script reads its sources and writes below OUT_DIR")]

mod provenance;

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// The folders, and what their files are called in the program.
const FOLDERS: [(&str, &str); 3] =
    [("guest-tools/templates", "templates"), ("guest-tools/sdk/src", "sdk/src"), ("wit", "wit")];

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    provenance::tell(&root);
    let mut rust = "&[\n".to_owned();
    for (folder, name) in FOLDERS {
        let folder = root.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        collect(&folder, name, &mut files)?;
        files.sort();
        for (name, path) in files {
            rust += &format!("    ({name:?}, include_str!({:?})),\n", path.canonicalize()?);
        }
    }
    rust += "]\n";
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| io::Error::other("cargo gives no OUT_DIR"))?;
    fs::write(out.join("embedded.rs"), rust)
}

fn collect(folder: &Path, name: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &name, files)?;
        } else {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}
