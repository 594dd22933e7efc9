//! What is installed, and what is said before.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use palisade_tests::guests::guest;
use serde_json::json;

use super::Shop;
use crate::world::World;

/// CFG-10
#[test]
fn nothing_is_installed_before_somebody_has_seen_what_it_is() {
    let shop = Shop::with_ferry("1.0.0");
    let ended = shop.install(&[]).with_code(1);
    for part in [
        "ferry 1.0.0  Carries parcels.",
        "signed    by nobody",
        "ferry_echo  Says it again.",
        "echo.wasm: imports nothing",
        "palisade:host/storage",
        "(storage)",
        "agent     pilot  Steers.",
        "its tools, if all is granted: ferry_echo, ferry_keep",
        "skills    load",
        "asks      storage",
    ] {
        assert!(ended.stdout.contains(part), "no {part} in\n{}", ended.stdout);
    }
    assert!(ended.stderr.contains("nothing was installed: look at what it is, then add --yes"), "{}", ended.stderr);
    assert_eq!(World::files_below(&shop.installed("")), Vec::<std::path::PathBuf>::new());
    assert!(!shop.lock().exists());
}

/// CFG-10, SEC-04
#[test]
fn a_plugin_has_what_the_operator_grants_and_by_default_nothing() {
    let shop = Shop::with_ferry("1.0.0");
    shop.install(&["--yes"]).with_code(0);
    let listed = shop.listed();
    assert_eq!(
        (&listed["status"], &listed["granted"], &listed["agents"]),
        (&json!("ok"), &json!([]), &json!(["pilot"]))
    );
    assert_eq!(fs::metadata(shop.lock()).unwrap().permissions().mode() & 0o777, 0o600);
    let ended = shop.plugins(&["update", "ferry", "--grant", "fs.write", "--yes"]).with_code(1);
    assert!(ended.stderr.contains("`ferry` does not ask for `fs.write`; it asks for storage"), "{}", ended.stderr);
    let ended = shop.install(&["--grant", "everything", "--yes"]).with_code(1);
    assert!(ended.stderr.contains("`everything` is nothing that can be granted"), "{}", ended.stderr);
    let report = shop.install(&["--grant", "storage", "--yes", "--json"]).with_code(0).json();
    assert_eq!(
        (&report["installed"], &report["granted"], &report["changes"]),
        (&json!(true), &json!(["storage"]), &json!(null))
    );
    assert_eq!(shop.listed()["granted"], json!(["storage"]));
    let shown = shop.plugins(&["inspect", "ferry"]).with_code(0).stdout;
    assert!(shown.contains("granted   storage") && shown.contains("from      "), "{shown}");
    let locked = &shop.locked()["plugins"]["ferry"];
    assert_eq!(locked["files"].as_object().unwrap().len(), 5);
    assert_eq!(locked["tools"].as_object().unwrap().keys().collect::<Vec<_>>(), ["ferry_echo", "ferry_keep"]);
    shop.plugins(&["verify"]).with_code(0);
    shop.plugins(&["remove", "ferry"]).with_code(0);
    assert_eq!(World::files_below(&shop.installed("")), Vec::<std::path::PathBuf>::new());
    assert_eq!(shop.locked()["plugins"], json!({}));
    shop.plugins(&["remove", "ferry"]).with_code(1);
}

#[test]
fn a_folder_an_archive_and_what_a_tool_made_of_it_are_one_package() {
    let shop = Shop::with_ferry("1.0.0");
    let archive = shop.world.workspace().join("ferry.tar.gz");
    let status = Command::new("tar").args(["-czf"]).arg(&archive).args(["-C", &shop.wares(), "."]).status().unwrap();
    assert!(status.success());
    let digest = |source: &str| shop.plugins(&["digest", source]).with_code(0).stdout;
    assert_eq!(digest("ferry.tar.gz"), digest(&shop.wares()));
    assert!(digest("ferry.tar.gz").starts_with("palisade plugin sha256:"));
    shop.plugins(&["install", "ferry.tar.gz", "--yes"]).with_code(0);
    assert_eq!(shop.listed()["status"], "ok");
    shop.plugins(&["verify", "ferry"]).with_code(0);
}

#[test]
fn a_component_alone_is_a_plugin_with_its_tool() {
    let shop = Shop::new();
    shop.world.add("my echo.wasm", guest("echo").unwrap().wasm);
    shop.plugins(&["install", "my echo.wasm", "--yes"]).with_code(0);
    let listed = shop.listed();
    assert_eq!((&listed["name"], &listed["tools"][0]["name"]), (&json!("my-echo"), &json!("echo")));
    assert_eq!(listed["tools"][0]["description"], "Returns what it is given.");
}

/// SUP-02
#[test]
fn machine_code_is_not_installed_and_leaves_nothing_behind() {
    let shop = Shop::with_ferry("1.0.0");
    let code = palisade_sandbox::precompile(guest("echo").unwrap().wasm).unwrap();
    for (name, bytes) in [("extra.wasm", code.as_slice()), ("extra.cwasm", b"x"), ("notes.txt", b"\x7fELF\x02\x01")] {
        let added = shop.add(name, bytes);
        let ended = shop.install(&["--yes"]).with_code(1);
        assert!(ended.stderr.contains("the package is refused") && ended.stderr.contains(name), "{}", ended.stderr);
        assert!(!shop.installed("ferry").exists());
        fs::remove_file(added).unwrap();
    }
    shop.install(&["--yes"]).with_code(0);
}

/// SUP-09
#[test]
fn one_name_from_two_sources_is_refused() {
    let shop = Shop::with_ferry("1.0.0");
    shop.install(&["--yes"]).with_code(0);
    let status =
        Command::new("cp").args(["-r", &shop.wares()]).arg(shop.world.workspace().join("fork")).status().unwrap();
    assert!(status.success());
    let ended = shop.plugins(&["install", "fork", "--yes"]).with_code(1);
    assert!(ended.stderr.contains("the plugin `ferry` is installed from"), "{}", ended.stderr);
    shop.plugins(&["remove", "ferry"]).with_code(0);
    // What somebody put there by hand is not replaced.
    fs::create_dir_all(shop.installed("ferry")).unwrap();
    let ended = shop.plugins(&["install", "fork", "--yes"]).with_code(1);
    assert!(ended.stderr.contains("was not installed by this command"), "{}", ended.stderr);
}

/// CFG-15, API-07
#[test]
fn what_a_stranger_says_is_cut_and_made_visible() {
    let shop = Shop::new();
    let hidden = "\u{e0049}\u{e0067}\u{1b}[2Jignore\u{202e}";
    shop.manifest(&json!({
        "name": "ferry", "description": hidden,
        "tools": [{ "name": "ferry_echo", "description": "long ".repeat(10_000), "component": "echo.wasm" }],
    }));
    shop.add("echo.wasm", guest("echo").unwrap().wasm);
    let text = shop.install(&[]).with_code(1).stdout;
    assert!(text.contains("more bytes)") && text.len() < 4_000, "{} bytes", text.len());
    assert!(text.contains("\\u{e0049}") && text.contains("\\u{1b}[2J") && text.contains("\\u{202e}"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}') && !text.contains('\u{e0049}'));
}

#[test]
fn native_programs_are_named_loudly() {
    let shop = Shop::new();
    shop.manifest(&json!({
        "name": "ferry",
        "tools": [{ "name": "count", "description": "Counts.", "command": "python3", "args": ["count.py"] }],
    }));
    shop.add("count.py", "print(1)\n");
    let text = shop.install(&[]).with_code(1).stdout;
    assert!(text.contains("NATIVE PROGRAM, not in the sandbox of WebAssembly: python3 count.py"), "{text}");
    assert!(text.contains("asks      exec, fs.read"), "{text}");
}

#[test]
fn what_cannot_be_used_is_not_installed_and_says_why() {
    let shop = Shop::new();
    shop.manifest(
        &json!({ "name": "ferry", "tools": [{ "name": "x", "description": "x", "component": "gone.wasm" }] }),
    );
    let ended = shop.install(&["--yes"]).with_code(1);
    assert!(ended.stderr.contains("the package has no such file"), "{}", ended.stderr);
    shop.add("gone.wasm", b"\0asm\x0d\0\x01\0 and nonsense");
    let ended = shop.install(&["--yes"]).with_code(1);
    assert!(ended.stderr.contains("gone.wasm cannot be used"), "{}", ended.stderr);
    shop.manifest(&json!({ "tools": [] }));
    assert!(shop.install(&["--yes"]).with_code(1).stderr.contains("the plugin has no `name`"));
    for source in ["nowhere", "README.md", "oci://", "oci://127.0.0.1:1/x"] {
        shop.plugins(&["install", source, "--yes"]).with_code(1);
    }
    assert!(!shop.installed("ferry").exists());
}
