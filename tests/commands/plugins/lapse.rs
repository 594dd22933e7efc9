//! When what was granted no longer counts.

use std::fs;

use serde_json::json;

use super::Shop;
use crate::world::World;

/// SUP-03, SUP-06
#[test]
fn a_plugin_that_was_changed_has_nothing_until_it_is_renewed() {
    let shop = Shop::with_ferry("1.0.0");
    shop.install(&["--grant", "storage", "--yes"]).with_code(0);
    for (path, bytes) in [
        ("plugin.json", "{\"name\": \"ferry\", \"description\": \"Another word.\"}"),
        ("agents/pilot.md", "---\nname: pilot\ndescription: Obeys.\n---\nObey.\n"),
        ("agents/second.md", "---\nname: second\ndescription: New.\n---\nNew.\n"),
        ("skills/load/SKILL.md", "---\nname: load\ndescription: x\n---\nLight ones first.\n"),
    ] {
        fs::write(shop.installed("ferry").join(path), bytes).unwrap();
        let listed = shop.listed();
        assert_eq!((&listed["status"], &listed["granted"]), (&json!("held back"), &json!([])), "{path}");
        let reason = listed["reason"].as_str().unwrap();
        assert!(reason.contains(path) && reason.contains("`palisade plugins update ferry`"), "{reason}");
        // What it says now nobody has looked at.
        let agents = shop.world.palisade(&["agents", "list", "--json"]).with_code(0).json();
        let of_plugin = agents.as_array().unwrap().iter().filter(|agent| agent["plugin"] == "ferry");
        assert!(of_plugin.clone().all(|agent| agent["status"] == "refused"), "{path}: {agents}");
        let skills = shop.world.palisade(&["skills", "list", "--json"]).with_code(0).json();
        assert!(!skills.to_string().contains("ferry"), "{path}: {skills}");
        shop.plugins(&["verify"]).with_code(1);
        shop.plugins(&["update", "ferry", "--yes"]).with_code(0);
        assert_eq!(shop.listed()["granted"], json!(["storage"]), "{path}");
        shop.plugins(&["verify"]).with_code(0);
    }
}

/// CFG-10, SUP-03: what was granted is what a call has, and another component has nothing.
#[test]
fn tools_run_within_what_was_granted_as_long_as_they_are_what_was_installed() {
    let shop = Shop::with_ferry("1.0.0");
    shop.install(&["--yes"]).with_code(0);
    let call = |tool: &str, input: &str| shop.world.palisade(&["tools", "call", tool, "--input", input, "--json"]);
    let echo = |code: i32| call("ferry_echo", r#"{"text": "ahoy"}"#).with_code(code).json();
    let keep = |code: i32| call("ferry_keep", r#"{"op": "set", "key": "a", "value": "b"}"#).with_code(code).json();
    assert_eq!(echo(0)["output"], "ahoy");
    assert!(keep(1).to_string().contains("storage"), "nothing was granted");
    shop.plugins(&["update", "ferry", "--grant", "storage", "--yes"]).with_code(0);
    assert_eq!(keep(0)["output"], "kept");
    // One component in the place of another: its bytes are not those that were looked at.
    let [echo_file, keep_file] = ["ferry/echo.wasm", "ferry/keeper.wasm"].map(|path| shop.installed(path));
    let sound = fs::read(&keep_file).unwrap();
    fs::copy(&echo_file, &keep_file).unwrap();
    keep(1);
    assert_eq!(echo(0)["output"], "ahoy", "its neighbour is what it was");
    fs::write(&keep_file, sound).unwrap();
    assert_eq!(keep(0)["output"], "kept", "the control");
    fs::write(shop.installed("ferry/notes.txt"), "x").unwrap();
    let refused = call("ferry_echo", r#"{"text": "ahoy"}"#).with_code(1);
    let said = refused.stdout + &refused.stderr;
    assert!(said.contains("palisade plugins update ferry"), "{said}");
}

/// SUP-03
#[test]
fn another_component_is_noticed_by_its_bytes() {
    let shop = Shop::with_ferry("1.0.0");
    shop.install(&["--grant", "storage", "--yes"]).with_code(0);
    World::damage(&shop.installed("ferry/echo.wasm"));
    let ended = shop.plugins(&["verify", "--json"]).with_code(1).json();
    assert!(ended[0]["wrong"].as_str().unwrap().contains("ferry/echo.wasm is not what was installed"), "{ended}");
    shop.plugins(&["inspect", "ferry"]).with_code(1);
}

/// SUP-06
#[test]
fn a_version_that_asks_for_more_is_granted_anew_or_not_at_all() {
    let shop = Shop::with_ferry("1.0.0");
    shop.install(&["--grant", "storage", "--yes"]).with_code(0);
    shop.manifest(&json!({
        "name": "ferry", "version": "1.0.0", "description": "Carries parcels.",
        "tools": [
            { "name": "ferry_echo", "description": "Says it again, and sends it.", "component": "echo.wasm",
              "capabilities": ["net.http"], "hosts": ["api.example.com"] },
            { "name": "ferry_new", "description": "Is new.", "component": "keeper.wasm" },
        ],
    }));
    let before = shop.locked();
    let ended = shop.plugins(&["update", "ferry", "--yes"]).with_code(1);
    for part in [
        "asks for more: net.http:api.example.com",
        "new tools: ferry_new",
        "tools that say something else (name, description or schema): ferry_echo",
        "tools that are gone: ferry_keep",
        "other files: plugin.json",
    ] {
        assert!(ended.stdout.contains(part), "no {part} in\n{}", ended.stdout);
    }
    assert!(ended.stderr.contains("it asks for more than before (net.http:api.example.com)"), "{}", ended.stderr);
    assert_eq!(shop.locked(), before, "nothing was changed");
    assert_eq!(shop.listed()["granted"], json!(["storage"]));
    shop.plugins(&["update", "ferry", "--grant", "net.http:api.example.com", "--yes"]).with_code(0);
    assert_eq!(shop.listed()["granted"], json!(["net.http:api.example.com"]));
    // One that asks for less keeps what it still asks for, and a changed word alone is said.
    shop.ferry("1.0.0");
    let report = shop.plugins(&["update", "ferry", "--yes", "--json"]).with_code(0).json();
    assert_eq!((&report["granted"], &report["changes"]["tools_changed"]), (&json!([]), &json!(["ferry_echo"])));
}

/// SUP-07: an older version is not taken for a new one.
#[test]
fn an_earlier_version_is_installed_only_if_that_is_meant() {
    let shop = Shop::with_ferry("1.10.0");
    shop.install(&["--yes"]).with_code(0);
    shop.ferry("1.9.0");
    let ended = shop.plugins(&["update", "ferry", "--yes"]).with_code(1);
    assert!(ended.stdout.contains("1.10.0 → 1.9.0, which is OLDER") && ended.stderr.contains("--older"), "{ended:?}");
    assert_eq!(shop.listed()["version"], "1.10.0");
    shop.plugins(&["update", "ferry", "--yes", "--older"]).with_code(0);
    assert_eq!(shop.listed()["version"], "1.9.0");
}

/// SUP-06
#[test]
fn a_damaged_list_grants_nothing_to_anybody() {
    let shop = Shop::with_ferry("1.0.0");
    shop.install(&["--grant", "storage", "--yes"]).with_code(0);
    let sound = fs::read_to_string(shop.lock()).unwrap();
    let twice = sound.replacen("\"ferry\":", "\"ferry\": {}, \"ferry\":", 1);
    let misspelt = sound.replace("\"granted\"", "\"grantde\"");
    let wider = sound.replace("\"storage\"", "\"everything\"");
    for (what, text) in [
        ("cut", &sound[..sound.len() / 2]),
        ("empty", ""),
        ("nonsense", "null"),
        ("twice", &twice),
        ("misspelt", &misspelt),
        ("wider", &wider),
        ("newer", &sound.replace("\"version\": 1,", "\"version\": 2,")),
    ] {
        fs::write(shop.lock(), text).unwrap();
        let listed = shop.listed();
        assert_eq!((&listed["status"], &listed["granted"]), (&json!("held back"), &json!([])), "{what}");
        for command in [&["install", "../wares/ferry", "--yes"][..], &["remove", "ferry"], &["verify"]] {
            let ended = shop.plugins(command).with_code(1);
            assert!(ended.stderr.contains("plugins.lock"), "{what}: {}", ended.stderr);
        }
    }
    fs::write(shop.lock(), &sound).unwrap();
    assert_eq!(shop.listed()["granted"], json!(["storage"]), "the control");
    World::open_to_all(&shop.installed(""));
    assert!(shop.install(&["--yes"]).with_code(1).stderr.contains("can be written by others"));
}

#[test]
fn a_plugin_is_switched_off_and_on_and_keeps_what_it_has() {
    let shop = Shop::with_ferry("1.0.0");
    shop.install(&["--grant", "storage", "--yes"]).with_code(0);
    shop.plugins(&["disable", "ferry"]).with_code(0);
    assert_eq!(shop.listed()["status"], "disabled");
    let agents = shop.world.palisade(&["agents", "list", "--json"]).with_code(0).stdout;
    assert!(!agents.contains("pilot"), "{agents}");
    // An update does not switch it on.
    shop.plugins(&["update", "ferry", "--yes"]).with_code(0);
    assert_eq!(shop.listed()["status"], "disabled");
    shop.plugins(&["enable", "ferry"]).with_code(0);
    let listed = shop.listed();
    assert_eq!((&listed["status"], &listed["granted"]), (&json!("ok"), &json!(["storage"])));
    shop.plugins(&["disable", "nobody"]).with_code(1);
}

/// A plugin elsewhere does not have what one of its name was granted.
#[test]
fn what_was_granted_counts_only_where_it_was_installed() {
    let shop = Shop::with_ferry("1.0.0");
    shop.install(&["--grant", "storage", "--yes"]).with_code(0);
    let elsewhere = shop.world.workspace().join("../wares").canonicalize().unwrap().display().to_string();
    let listed = shop.plugins(&["list", "--json", "--plugins-dir", &elsewhere]).with_code(0).json();
    assert_eq!((&listed[0]["name"], &listed[0]["granted"]), (&json!("ferry"), &json!([])));
    // Nor does a copy under another name, or one that says it is another.
    fs::rename(shop.installed("ferry"), shop.installed("copy")).unwrap();
    assert_eq!(shop.listed()["granted"], json!([]));
}

/// SUP-09: whoever has the name next has what was kept under it, so that is said, and can be taken away.
#[test]
fn what_a_plugin_kept_is_not_handed_to_the_next_one_unseen() {
    let shop = Shop::with_ferry("1.0.0");
    let install = || shop.install(&["--grant", "storage", "--yes"]).with_code(0).stderr;
    let keep = |op: &str| {
        let input = json!({ "op": op, "key": "a", "value": "b" }).to_string();
        shop.world.palisade(&["tools", "call", "ferry_keep", "--input", &input]).with_code(0).stdout
    };
    assert!(!install().contains("was here before"));
    keep("set");
    shop.plugins(&["remove", "ferry"]).with_code(0);
    let warned = install();
    assert!(warned.contains("was here before and kept 1 value(s)") && warned.contains("--forget"), "{warned}");
    let removed = shop.plugins(&["remove", "ferry", "--forget", "--json"]).with_code(0).json();
    assert_eq!(removed, json!({ "removed": ["ferry"], "forgotten": 1 }));
    assert!(!install().contains("was here before"));
}
