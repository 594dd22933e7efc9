//! Archives that would write elsewhere, never end, or be two things at once.

use std::io::Write as _;

use flate2::{Compress, Compression, FlushCompress, write::GzEncoder};
use tar::{EntryType, Header};

use crate::{Limits, Package, PackageError, archive::unpack_within, pack, unpack};

const MANIFEST: &[u8] = br#"{"name": "ferry"}"#;

/// Writes archives as nobody's tools would.
struct Maker(Vec<u8>);

impl Maker {
    fn new() -> Self {
        Self(Vec::new()).file("plugin.json", MANIFEST)
    }

    fn file(self, path: &str, bytes: &[u8]) -> Self {
        self.entry(path.as_bytes(), EntryType::Regular, 0o644, b"", bytes)
    }

    /// An entry as it is given, whatever it says.
    fn entry(mut self, path: &[u8], kind: EntryType, mode: u32, link: &[u8], bytes: &[u8]) -> Self {
        let mut header = Header::new_ustar();
        header.as_old_mut().name[..path.len()].copy_from_slice(path);
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link);
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        self.0.extend(header.as_bytes());
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    fn tar(mut self) -> Vec<u8> {
        self.0.extend([0; 1024]);
        self.0
    }

    fn packed(self) -> Vec<u8> {
        gzip(&self.tar())
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn refusal(packed: &[u8]) -> String {
    unpack(packed, "it").unwrap_err().to_string()
}

/// CFG-02, the control.
#[test]
fn a_plain_archive_is_a_package() {
    let packed = Maker::new().file("agents/pilot.md", b"Steer.").file("tool.wasm", b"\0asm\x0d\0\x01\0").packed();
    let package = unpack(&packed, "it").unwrap();
    assert_eq!(package.manifest(), MANIFEST);
    assert_eq!(package.file("agents/pilot.md"), Some(&b"Steer."[..]));
    assert_eq!(package.files().count(), 3);
}

/// CFG-02
#[test]
fn paths_that_lead_elsewhere_are_refused() {
    for path in [
        &b"/etc/passwd"[..],
        b"../outside",
        b"a/../../outside",
        b"a/..",
        b"./../outside",
        b"a//b",
        b"a/./b",
        b"././a",
        b"C:\\windows",
        b"a\\b",
        b"~/a\0",
        b"a\nb",
        b"a\x1b[2Jb",
        b"a\x7fb",
        b"\xff\xfe",
        "a\u{202e}b".as_bytes(),
        "pl\u{fc}gin".as_bytes(),
        b" a",
        b"a/ b /c",
    ] {
        if path.contains(&0) {
            continue;
        }
        let packed = Maker::new().entry(path, EntryType::Regular, 0o644, b"", b"x").packed();
        assert!(matches!(unpack(&packed, "it"), Err(PackageError::Path(_))), "{}", path.escape_ascii());
        let folder = Maker::new().entry(path, EntryType::Directory, 0o755, b"", b"").packed();
        assert!(unpack(&folder, "it").is_err(), "{}", path.escape_ascii());
    }
    let deep = "a/".repeat(40) + "b";
    assert!(refusal(&Maker::new().file(&deep, b"x").packed()).contains("too deep"));
    assert!(unpack(&Maker::new().file("a/b/c/d", b"x").packed(), "it").is_ok(), "the control");
}

/// CFG-02
#[test]
fn links_devices_and_pipes_are_refused() {
    for (kind, word) in [
        (EntryType::Symlink, "a link"),
        (EntryType::Link, "a hard link"),
        (EntryType::Char, "a device"),
        (EntryType::Block, "a device"),
        (EntryType::Fifo, "a pipe"),
        (EntryType::Continuous, "a kind that is not taken"),
        (EntryType::GNUSparse, "cannot be read"),
    ] {
        let packed = Maker::new().entry(b"x", kind, 0o644, b"plugin.json", b"").packed();
        let refusal = refusal(&packed);
        assert!(refusal.contains(word) || kind == EntryType::GNUSparse, "{kind:?}: {refusal}");
    }
    // A link first, then a file through it.
    let through = Maker::new().entry(b"out", EntryType::Symlink, 0o777, b"/tmp", b"").file("out/x", b"x").packed();
    assert!(refusal(&through).contains("a link"));
}

/// CFG-02
#[test]
fn what_runs_as_somebody_else_is_refused() {
    for mode in [0o4755, 0o2755, 0o6755] {
        let packed = Maker::new().entry(b"x", EntryType::Regular, mode, b"", b"#!/bin/sh").packed();
        assert!(refusal(&packed).contains("setuid"), "{mode:o}");
    }
    assert!(unpack(&Maker::new().entry(b"x", EntryType::Regular, 0o755, b"", b"x").packed(), "it").is_ok());
}

/// CFG-02
#[test]
fn one_name_is_one_file() {
    for (one, two) in [("a", "a"), ("a", "A"), ("README.md", "readme.MD"), ("a", "a/b"), ("a/b", "a"), ("A/x", "a/y")] {
        let packed = Maker::new().file(one, b"1").file(two, b"2").packed();
        assert!(matches!(unpack(&packed, "it"), Err(PackageError::Collision(..))), "{one} {two}");
    }
    let twice = Maker::new().file("plugin.json", b"{}").packed();
    assert!(matches!(unpack(&twice, "it"), Err(PackageError::Collision(..))));
    let around = Maker::new().file("./plugin.json", b"{}").packed();
    assert!(matches!(unpack(&around, "it"), Err(PackageError::Collision(..))));
}

fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (key, value) in records {
        let rest = format!(" {key}={value}\n");
        let mut length = rest.len() + 1;
        while length != rest.len() + length.to_string().len() {
            length = rest.len() + length.to_string().len();
        }
        body.extend(format!("{length}{rest}").bytes());
    }
    body
}

/// CFG-02: what two readers would read differently.
#[test]
fn a_file_with_two_sizes_or_two_places_is_refused() {
    let with = |records: &[(&str, &str)]| {
        Maker::new().entry(b"PaxHeaders/x", EntryType::XHeader, 0o644, b"", &pax(records)).file("x", b"12345").packed()
    };
    assert!(unpack(&with(&[("mtime", "1.5"), ("size", "5")]), "it").is_ok(), "the control");
    for records in
        [&[("size", "4")][..], &[("size", "600")], &[("linkpath", "/etc/passwd")], &[("GNU.sparse.major", "1")]]
    {
        assert!(unpack(&with(records), "it").is_err(), "{records:?}");
    }
    for path in ["../x", "/x", "a/../../x"] {
        assert!(matches!(unpack(&with(&[("path", path)]), "it"), Err(PackageError::Path(_))), "{path}");
    }
    assert_eq!(unpack(&with(&[("path", "longer/name")]), "it").unwrap().file("longer/name"), Some(&b"12345"[..]));
    let global = |records: &[(&str, &str)]| {
        Maker::new().entry(b"pax_global_header", EntryType::XGlobalHeader, 0o644, b"", &pax(records)).packed()
    };
    assert!(unpack(&global(&[("comment", "0123abc")]), "it").is_ok(), "what git writes");
    assert!(unpack(&global(&[("path", "x")]), "it").is_err());
}

/// CFG-02
#[test]
fn archives_that_are_cut_or_go_on_are_refused() {
    let whole = Maker::new().file("x", &[7; 4000]).packed();
    for end in [0, 1, 10, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        assert!(unpack(&whole[..end], "it").is_err(), "{end} bytes of {}", whole.len());
    }
    for more in [&b"x"[..], &whole, b"\0"] {
        assert!(unpack(&[&whole[..], more].concat(), "it").is_err());
    }
    let mut tar = Maker::new().tar();
    tar.extend(b"hidden");
    assert!(refusal(&gzip(&tar)).contains("follows its end"));
    for bytes in [&b""[..], b"plain text", b"PK\x03\x04", MANIFEST] {
        assert!(matches!(unpack(bytes, "it"), Err(PackageError::Archive(_))));
    }
}

/// CFG-02
#[test]
fn bombs_are_refused_before_they_are_unpacked() {
    let zeros = vec![0; 32 << 20];
    let bomb = Maker::new().file("zeros", &zeros).packed();
    assert!(bomb.len() < 100_000, "{}", bomb.len());
    assert!(refusal(&bomb).contains("100 times the size of its archive"), "{}", refusal(&bomb));
    // A header that promises more than there may be is not waited for.
    let mut header = Header::new_ustar();
    header.set_path("x").unwrap();
    header.set_size(1 << 40);
    header.set_mode(0o644);
    header.set_cksum();
    let mut tar = Maker::new().0;
    tar.extend(header.as_bytes());
    assert!(refusal(&gzip(&tar)).contains("of more than"), "{}", refusal(&gzip(&tar)));
    let many = (0..5_000).fold(Maker::new(), |maker, number| {
        maker.entry(format!("d{number}/").as_bytes(), EntryType::Directory, 0o755, b"", b"")
    });
    assert!(refusal(&many.packed()).contains("more than 4000 entries"));
    let many = (0..2_500).fold(Maker::new(), |maker, number| maker.file(&format!("f{number}"), b""));
    assert!(refusal(&many.packed()).contains("more than 2000 files"));
    let limits = Limits { total: 1000, file: 600, ..Limits::PLUGIN };
    let two = Maker::new().file("a", &[1; 500]).file("b", &[2; 500]).packed();
    assert!(unpack_within(&two, "it", limits).unwrap_err().to_string().contains("more than 1000 bytes"));
    let one = Maker::new().file("a", &[1; 700]).packed();
    assert!(unpack_within(&one, "it", limits).unwrap_err().to_string().contains("a file, a, of more than 600 bytes"));
}

/// CFG-02: what is compressed well is not unpacked to be counted.
#[test]
fn a_million_entries_are_refused_at_the_limit() {
    let mut compress = Compress::new(Compression::fast(), false);
    let mut packed = b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec();
    let mut add = |bytes: &[u8], flush| {
        let mut out = Vec::with_capacity(bytes.len() + 1024);
        compress.compress_vec(bytes, &mut out, flush).unwrap();
        out
    };
    packed.extend(add(&Maker::new().0, FlushCompress::Full));
    // After a full flush nothing refers back, so that one piece can stand there again and again.
    let names = (0..1000).map(|number| format!("d{number}/"));
    let piece = names
        .fold(Maker(Vec::new()), |maker, name| maker.entry(name.as_bytes(), EntryType::Directory, 0o755, b"", b""));
    let piece = add(&piece.0, FlushCompress::Full);
    for _ in 0..1000 {
        packed.extend(&piece);
    }
    assert!(packed.len() < 64 << 20, "{}", packed.len());
    assert!(refusal(&packed).contains("more than 4000 entries"), "{}", refusal(&packed));
}

/// SUP-02
#[test]
fn machine_code_is_refused_whatever_it_is_called() {
    let elf = std::fs::read("/proc/self/exe").unwrap();
    let mut windows = vec![0; 0x100];
    windows[..2].copy_from_slice(b"MZ");
    windows[0x3c] = 0x80;
    windows[0x80..0x84].copy_from_slice(b"PE\0\0");
    for name in ["tool.wasm", "data.txt", "lib.so", "a/b/c"] {
        for (what, bytes) in [
            ("ELF", &elf[..100]),
            ("PE", &windows),
            ("Mach-O", b"\xcf\xfa\xed\xfe\x07\0\0\x01"),
            ("an archive", b"!<arch>\nx"),
            ("an old compiled module", b"\0wasmtime-aot\0"),
        ] {
            let packed = Maker::new().file(name, bytes).packed();
            assert!(matches!(unpack(&packed, "it"), Err(PackageError::Unwanted { .. })), "{what} as {name}");
        }
    }
    for name in ["tool.cwasm", "TOOL.CWASM"] {
        let packed = Maker::new().file(name, b"\0asm\x0d\0\x01\0").packed();
        assert!(refusal(&packed).contains("compiled component"), "{name}");
    }
    let compiled = [&b"\x7fELF"[..], &[0; 60], b".wasmtime.engine"].concat();
    assert!(refusal(&Maker::new().file("tool.wasm", &compiled).packed()).contains("compiled component"));
    assert!(refusal(&Maker::new().file("tool.wasm", b"(component)").packed()).contains("not WebAssembly"));
    assert!(unpack(&Maker::new().file("MZ.txt", b"MZ is how it begins").packed(), "it").is_ok(), "the control");
}

#[test]
fn a_folder_around_everything_and_what_is_hidden_are_no_part_of_it() {
    let maker = Maker(Vec::new())
        .file("ferry-1.0/plugin.json", MANIFEST)
        .file("ferry-1.0/.git/config", b"x")
        .file("ferry-1.0/node_modules/x/y", b"x")
        .file("ferry-1.0/skills/load/SKILL.md", b"Load.");
    let package = unpack(&maker.packed(), "it").unwrap();
    let paths: Vec<&str> = package.files().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["plugin.json", "skills/load/SKILL.md"]);
    assert_eq!(package.left_out(), ["ferry-1.0/.git/config", "ferry-1.0/node_modules/x/y"]);
    let none = Maker(Vec::new()).file("a/x", b"x").file("b/plugin.json", MANIFEST).packed();
    assert!(matches!(unpack(&none, "it"), Err(PackageError::NoManifest(_))));
}

#[test]
fn a_package_is_packed_and_unpacked_as_it_is() {
    let one = unpack(&Maker::new().file("b/c", b"2").file("a", b"1").packed(), "it").unwrap();
    let two = unpack(&Maker::new().file("a", b"1").file("b/c", b"2").packed(), "it").unwrap();
    assert_eq!((one.digest(), &one), (two.digest(), &two), "the order of an archive says nothing");
    assert_eq!(pack(&one).unwrap(), pack(&two).unwrap());
    let again: Package = unpack(&pack(&one).unwrap(), "it").unwrap();
    assert_eq!(again, one);
    for (path, bytes) in [("a", &b"2"[..]), ("b", b"1"), ("a", b"1 ")] {
        let other = unpack(&Maker::new().file(path, bytes).file("b/c", b"2").packed(), "it").ok();
        assert_ne!(other.map(|other| other.digest()), Some(one.digest()), "{path}");
    }
}

proptest::proptest! {
    /// CFG-14
    #[test]
    fn nothing_that_calls_itself_an_archive_brings_us_down(at in 0_usize..4096, bytes in proptest::collection::vec(0_u8.., 0..64)) {
        let mut tar = Maker::new().file("agents/a.md", b"x").entry(b"b", EntryType::Directory, 0o755, b"", b"").tar();
        let at = at.min(tar.len());
        let end = (at + bytes.len()).min(tar.len());
        tar[at..end].copy_from_slice(&bytes[..end - at]);
        drop(unpack(&gzip(&tar), "it"));
        drop(unpack(&bytes, "it"));
    }
}
