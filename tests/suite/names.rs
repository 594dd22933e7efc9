//! Names that no sane program uses.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _};

use palisade_sandbox::Failure;
use palisade_tests::world::World;
use serde_json::json;

const OPS: [&str; 14] = [
    "read",
    "write",
    "create",
    "stat",
    "mkdir",
    "rmdir",
    "unlink",
    "list",
    "readlink",
    "set-times",
    "host-read",
    "host-list",
    "host-stat",
    "hash",
];

/// FS-14
#[test]
fn impossible_names_are_errors() {
    let world = World::new();
    let (long, longer) = ("x".repeat(300), "x".repeat(5000));
    let many = "x/".repeat(3000);
    for name in ["", "nul\0nul", "\0", long.as_str(), longer.as_str(), many.as_str()] {
        let came = world.reach(&OPS.map(|op| json!({ "op": op, "path": name, "text": "x" })));
        for (op, came) in OPS.iter().zip(&came) {
            // The empty name is the workspace itself to the host's own interface.
            let own = name.is_empty() && ["host-list", "host-stat"].contains(op);
            assert!(came.is_err() || own, "{op} {:?}: {came:?}", &name[..name.len().min(9)]);
        }
        for step in [
            json!({ "op": "rename", "path": "file", "to": name }),
            json!({ "op": "link", "path": "file", "to": name }),
            json!({ "op": "symlink", "path": name, "text": "file" }),
        ] {
            assert!(world.reach(&[step])[0].is_err());
        }
    }
    world.works_afterwards();
}

/// FS-14
#[test]
fn odd_names_are_names() {
    let world = World::new();
    for name in ["back\\slash", "CON", "new\nline", "..x", "x..", "-rf", "a b", "\u{202e}drow", "~", "$HOME", "%2e%2e"]
    {
        let came = world.reach(&[
            json!({ "op": "write", "path": name, "text": name }),
            json!({ "op": "read", "path": name }),
            json!({ "op": "host-read", "path": name }),
        ]);
        assert_eq!(came, [Ok("done".to_owned()), Ok(name.to_owned()), Ok(name.to_owned())], "{name:?}");
        assert_eq!(world.contents(name), name);
    }
}

/// FS-14
#[test]
fn a_name_that_is_no_text_is_left_out_or_an_error() {
    let world = World::new();
    let odd = OsStr::from_bytes(b"odd\xff\xfe");
    fs::write(world.workspace().join(odd), world.canary()).unwrap();
    fs::create_dir(world.workspace().join(OsStr::from_bytes(b"folder\xff"))).unwrap();
    std::os::unix::fs::symlink(odd, world.inside("link")).unwrap();
    let came = world.reach(&[
        json!({ "op": "readlink", "path": "link" }),
        json!({ "op": "write", "path": "link", "follow": true, "text": "x" }),
        json!({ "op": "host-list", "path": "." }),
    ]);
    assert!(came[0].is_err() && came[1].is_err(), "{came:?}");
    assert_eq!(came[2], Ok("file,folder,link".to_owned()));
    for (tool, input) in [
        ("ls", json!({ "path": "." })),
        ("glob", json!({ "pattern": "**/*" })),
        ("grep", json!({ "pattern": "mine" })),
        ("tree", json!({})),
    ] {
        let outcome = world.call(tool, input).outcome;
        assert!(!matches!(outcome, Err(Failure::Host { .. } | Failure::Trap { .. })), "{tool}: {outcome:?}");
    }
}
