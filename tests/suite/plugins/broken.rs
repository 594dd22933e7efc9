//! Components that are none, and files that are not what they were.

use std::os::unix::fs::symlink;

use palisade_sandbox::precompile;

use super::*;

/// What is said when a component with these bytes is called; its neighbours work.
fn refused(place: impl FnOnce(&Stage)) -> String {
    let stage = Stage::new();
    neighbour(&stage).plugin("bad", json!([told("bad", "bad.wasm", &[])]));
    place(&stage);
    let equipped = stage.agent(&stage.load(), "tools: [bad, good, read]");
    let result = call(&equipped, "bad", json!({}));
    let (kind, text) = failed(&result);
    assert_eq!(kind, FailureKind::Crashed, "{text}");
    assert!(text.starts_with("`bad` of the plugin `bad` cannot be used: "), "{text}");
    neighbours_work(&equipped);
    text.to_owned()
}

fn with(bytes: impl AsRef<[u8]>) -> String {
    refused(|stage| {
        stage.put("bad/bad.wasm", bytes);
    })
}

/// Machine code is never taken from a file, whatever it is called.
#[test]
fn what_is_no_component_is_refused_as_what_it_is() {
    let said = |text: String, what: &str| assert!(text.contains(what), "{text}");
    said(with(""), "something else");
    said(with("#!/bin/sh\nrm -rf /\n"), "something else");
    said(with(b"\0asm\x01\0\0\0"), "a core module");
    said(with(b"\x7fELF\x02\x01\x01\0rest"), "machine code");
    said(with(precompile(&small()).unwrap()), "machine code");
    let whole = small();
    said(with(&whole[..whole.len() / 2]), "does not compile");
    let mut damaged = whole.clone();
    damaged.truncate(8);
    damaged.extend([0xff; 64]);
    said(with(damaged), "does not compile");
}

#[test]
fn a_file_that_is_missing_elsewhere_or_no_file_is_refused() {
    let said = |text: String, what: &str| assert!(text.contains(what), "{text}");
    said(refused(|_| {}), "its component `bad.wasm` cannot be read");
    said(
        refused(|stage| {
            fs::write(stage.folder.path().join("outside.wasm"), small()).unwrap();
            symlink("../../outside.wasm", stage.path("bad/bad.wasm")).unwrap();
        }),
        "it leads out of its folder",
    );
    said(refused(|stage| fs::create_dir(stage.path("bad/bad.wasm")).unwrap()), "it is not a file");
    said(
        refused(|stage| {
            let pipe = stage.path("bad/bad.wasm");
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &pipe,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
                0,
            )
            .unwrap();
        }),
        "it is not a file",
    );
    said(
        refused(|stage| {
            let file = fs::File::create(stage.path("bad/bad.wasm")).unwrap();
            file.set_len(1 << 40).unwrap();
        }),
        "is the most that is read",
    );
}

/// A link inside of the plugin's own folder is its own business.
#[test]
fn a_link_that_stays_inside_is_followed() {
    let stage = Stage::new();
    stage.plugin("p", json!([told("mine", "link.wasm", &[])])).put("p/real.wasm", small());
    symlink("real.wasm", stage.path("p/link.wasm")).unwrap();
    let equipped = stage.agent(&stage.load(), "tools: [mine]");
    assert_eq!(done(&call(&equipped, "mine", json!({}))), "ok");
}
