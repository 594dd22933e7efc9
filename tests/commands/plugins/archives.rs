//! Archives that would do harm if they were unpacked: refused as a whole, and nothing is left behind.

use std::{collections::BTreeMap, fs, io::Write as _, path::PathBuf};

use flate2::{Compression, write::GzEncoder};
use palisade_tests::guests::guest;
use serde_json::json;
use tar::{EntryType, Header};

use super::Shop;
use crate::world::World;

/// An archive with a sound plugin, and whatever is added to it.
struct Archive(Vec<u8>);

impl Archive {
    fn sound() -> Self {
        let manifest = json!({ "name": "ferry", "tools": [{ "name": "ferry_echo", "component": "echo.wasm" }] });
        Self(Vec::new())
            .file("plugin.json", manifest.to_string().as_bytes())
            .file("echo.wasm", guest("echo").unwrap().wasm)
    }

    fn file(self, path: &str, bytes: &[u8]) -> Self {
        self.entry(path, EntryType::Regular, "", bytes)
    }

    /// An entry as it is given, whatever it says.
    fn entry(mut self, path: &str, kind: EntryType, link: &str, bytes: &[u8]) -> Self {
        let mut header = Header::new_ustar();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        self.0.extend(header.as_bytes());
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    fn packed(mut self) -> Vec<u8> {
        self.0.extend([0; 1024]);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&self.0).unwrap();
        encoder.finish().unwrap()
    }
}

/// Every file of the world with what it holds, but for the cache of compiled components.
fn everything(shop: &Shop) -> BTreeMap<PathBuf, Vec<u8>> {
    let root = shop.world.home().parent().unwrap().to_owned();
    let files =
        World::files_below(&root).into_iter().filter(|path| !path.starts_with(shop.world.home().join(".cache")));
    files.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

/// CFG-02
#[test]
fn an_archive_that_would_write_elsewhere_is_refused_and_leaves_nothing() {
    let shop = Shop::new();
    let path = shop.world.workspace().join("ferry.tar.gz");
    let outside = shop.world.add_outside("outside", b"as it was");
    // The folders that installing makes are there, so that what is compared is what it leaves in them.
    fs::write(&path, Archive::sound().packed()).unwrap();
    shop.plugins(&["install", "ferry.tar.gz", "--yes"]).with_code(0);
    shop.plugins(&["remove", "ferry"]).with_code(0);
    let many = (0..4_100)
        .fold(Archive::sound(), |archive, number| archive.entry(&format!("d{number}/"), EntryType::Directory, "", b""));
    let link = |kind| Archive::sound().entry("way", kind, &outside, b"");
    for (what, archive, expected) in [
        ("a path upwards", Archive::sound().file("../../planted", b"x"), "planted"),
        ("an absolute path", Archive::sound().file(&outside, b"planted"), "outside"),
        ("a link and a file through it", link(EntryType::Symlink).file("way", b"planted"), "a link"),
        (
            "a link to a folder",
            Archive::sound().entry("d", EntryType::Symlink, "../..", b"").file("d/planted", b"x"),
            "a link",
        ),
        ("a hard link", link(EntryType::Link), "a hard link"),
        ("a device", link(EntryType::Char), "a device"),
        ("a pipe", link(EntryType::Fifo), "a pipe"),
        (
            "two sizes",
            Archive::sound().entry("x", EntryType::XHeader, "", b"11 size=99\n").file("a", b"12345"),
            "two sizes",
        ),
        ("a file twice", Archive::sound().file("plugin.json", b"{\"name\": \"other\"}"), "plugin.json"),
        ("a bomb", Archive::sound().file("zeros", &vec![0; 32 << 20]), "100 times the size"),
        ("very many entries", many, "more than 4000 entries"),
        ("machine code", Archive::sound().file("extra.wasm", b"\x7fELF\x02\x01\x01"), "extra.wasm"),
    ] {
        fs::write(&path, archive.packed()).unwrap();
        let before = everything(&shop);
        let ended = shop.plugins(&["install", "ferry.tar.gz", "--yes"]).with_code(1);
        assert!(ended.stderr.contains(expected), "{what}: {}", ended.stderr);
        assert_eq!(everything(&shop).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "{what}");
        assert!(everything(&shop) == before, "{what}: a file was changed");
        assert_eq!(World::files_below(&shop.installed("")), Vec::<PathBuf>::new(), "{what}");
    }
    fs::write(&path, Archive::sound().packed()).unwrap();
    shop.plugins(&["install", "ferry.tar.gz", "--yes"]).with_code(0);
    assert_eq!(shop.listed()["status"], "ok", "the control");
}

/// CFG-02: a new version that is refused leaves the old one as it was.
#[test]
fn a_refused_update_changes_nothing() {
    let shop = Shop::new();
    let path = shop.world.workspace().join("ferry.tar.gz");
    fs::write(&path, Archive::sound().packed()).unwrap();
    shop.plugins(&["install", "ferry.tar.gz", "--yes"]).with_code(0);
    fs::write(&path, Archive::sound().file("../planted", b"x").packed()).unwrap();
    let before = everything(&shop);
    shop.plugins(&["update", "ferry", "--yes"]).with_code(1);
    assert!(everything(&shop) == before);
    let call = ["tools", "call", "ferry_echo", "--input", r#"{"text": "ahoy"}"#, "--json"];
    assert_eq!(shop.world.palisade(&call).with_code(0).json()["output"], "ahoy");
}
