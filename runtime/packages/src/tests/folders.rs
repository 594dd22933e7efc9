//! Folders that somebody else filled.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use crate::{Limits, Package, PackageError, pack, unpack};

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    add(folder.path(), "plugin.json", br#"{"name": "ferry"}"#);
    for (path, bytes) in files {
        add(folder.path(), path, bytes);
    }
    folder
}

fn add(folder: &Path, path: &str, bytes: &[u8]) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_folder_and_an_archive_of_it_are_one_package() {
    let folder = folder(&[("agents/pilot.md", b"Steer."), ("tool.wasm", b"\0asm\x0d\0\x01\0"), ("a/b/c", b"")]);
    let package = Package::of_folder(folder.path()).unwrap();
    assert_eq!(unpack(&pack(&package).unwrap(), "it").unwrap().digest(), package.digest());
    // What tools of the system make of it is the same, too.
    let archive = folder.path().join("../ferry.tar.gz");
    for arguments in
        [vec!["-C", folder.path().to_str().unwrap(), "."], vec!["-C", "/", &folder.path().to_str().unwrap()[1..]]]
    {
        let status = std::process::Command::new("tar").arg("-czf").arg(&archive).args(arguments).status().unwrap();
        assert!(status.success());
        let packed = fs::read(&archive).unwrap();
        fs::remove_file(&archive).unwrap();
        if let Ok(unpacked) = unpack(&packed, "it") {
            assert_eq!(unpacked.digest(), package.digest());
        }
    }
}

/// The digest of one package, written down: another one would make every signature and every grant lapse.
#[test]
fn a_package_has_the_digest_it_always_had() {
    let folder = folder(&[("a/b.txt", b"x\n")]);
    let package = Package::of_folder(folder.path()).unwrap();
    let list = "palisade package 1\n\
        73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac 2 a/b.txt\n";
    let manifest = crate::Sha256::of(br#"{"name": "ferry"}"#).hex();
    let list = format!("{list}{manifest} 17 plugin.json\n");
    assert_eq!(package.digest(), crate::Sha256::of(list.as_bytes()));
}

/// CFG-02
#[test]
fn links_in_a_folder_are_refused() {
    for target in ["/etc/passwd", "plugin.json", "../..", "nowhere"] {
        let folder = folder(&[]);
        symlink(target, folder.path().join("link")).unwrap();
        assert!(matches!(Package::of_folder(folder.path()), Err(PackageError::NotPlain { .. })), "{target}");
    }
    let linked = folder(&[]);
    fs::remove_file(linked.path().join("plugin.json")).unwrap();
    symlink("/etc/hostname", linked.path().join("plugin.json")).unwrap();
    assert!(Package::of_folder(linked.path()).is_err());
}

/// CFG-02
#[test]
fn pipes_and_what_runs_as_somebody_else_are_refused() {
    let piped = folder(&[]);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        piped.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    assert!(matches!(Package::of_folder(piped.path()), Err(PackageError::NotPlain { .. })));
    let raised = folder(&[("tool.sh", b"#!/bin/sh\n")]);
    fs::set_permissions(raised.path().join("tool.sh"), fs::Permissions::from_mode(0o4755)).unwrap();
    assert!(Package::of_folder(raised.path()).unwrap_err().to_string().contains("setuid"));
}

/// SUP-02, CFG-02
#[test]
fn machine_code_and_too_much_of_anything_are_refused() {
    let code = folder(&[("tool.wasm", b"\x7fELF\x02\x01\x01")]);
    assert!(matches!(Package::of_folder(code.path()), Err(PackageError::Unwanted { .. })));
    let small = Limits { files: 3, file: 100, total: 150, depth: 2, ..Limits::PLUGIN };
    let refused = |files: &[(&str, &[u8])]| {
        Package::of_folder_within(folder(files).path(), small).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(refused(&[("a", b"1"), ("b/c", b"2")]), Ok(()), "the control");
    assert!(refused(&[("a", b"1"), ("b", b"2"), ("c", b"3")]).unwrap_err().contains("more than 3 files"));
    assert!(refused(&[("a", &[1; 101])]).unwrap_err().contains("a file, a, of more than 100 bytes"));
    assert!(refused(&[("a", &[1; 90]), ("b", &[1; 90])]).unwrap_err().contains("more than 150 bytes"));
    assert!(refused(&[("a/b/c", b"1")]).unwrap_err().contains("too deep"));
    assert!(matches!(Package::of_folder(Path::new("/usr/bin")), Err(PackageError::NoManifest(_))));
}

#[test]
fn a_component_alone_is_known_by_its_bytes() {
    let wasm = b"\0asm\x0d\0\x01\0".to_vec();
    let one = Package::of_component("x", wasm.clone(), b"{}".to_vec()).unwrap();
    let two = Package::of_component("x", wasm.clone(), b"{ }".to_vec()).unwrap();
    assert_eq!(one.digest(), two.digest(), "what was made for it is not part of it");
    assert_eq!(one.file("x.wasm"), Some(&wasm[..]));
    assert_eq!(one.pins().len(), 2);
    assert!(Package::of_component("x", b"\x7fELF".to_vec(), b"{}".to_vec()).is_err());
}
