//! Plugins whose tools are components that were not written for Palisade.

use palisade_tests::{
    guests::guest,
    web::{Certificate, listen, plain},
};
use serde_json::{Value, json};

use super::Shop;
use crate::world::Ended;

fn call(shop: &Shop, tool: &str, input: &Value) -> Ended {
    shop.world.palisade(&["tools", "call", tool, "--input", &input.to_string(), "--json"])
}

/// CF-15
#[test]
fn a_tool_can_be_a_function_of_a_component_of_somebody_else() {
    let shop = Shop::new();
    shop.manifest(&json!({
        "name": "ferry",
        "tools": [
            { "name": "peek", "component": "files.wasm", "function": "read-file", "capabilities": ["fs.read"] },
            { "name": "put", "description": "Writes.", "component": "files.wasm", "function": "write-file" },
            { "name": "moment", "component": "time.wasm", "function": "guests:clock/time#get-moment" },
            { "name": "get-current-time", "component": "time.wasm" },
            { "name": "never", "component": "time.wasm", "function": "guests:clock/time#get-year" },
        ],
    }));
    shop.add("files.wasm", guest("foreign_files").unwrap().wasm);
    shop.add("time.wasm", guest("foreign_time").unwrap().wasm);
    let installed = shop.install(&["--grant", "fs.read", "--yes"]).with_code(0);
    for said in [
        "`never` cannot be called: this is not a usable tool component: it has no function",
        "wasi:filesystem",
        "asks      fs.read",
    ] {
        assert!(installed.stdout.contains(said), "no {said} in\n{}", installed.stdout);
    }
    assert!(!installed.stdout.contains("`moment` cannot be called"), "{}", installed.stdout);
    assert!(!installed.stdout.contains("`get-current-time` cannot be called"), "{}", installed.stdout);
    let listed = shop.listed();
    let peek = &listed["tools"][0];
    assert_eq!((&peek["name"], &peek["description"]), (&json!("peek"), &json!("")), "{listed}");

    let file = json!({ "path": "src/harbour.rs" });
    let report = call(&shop, "peek", &file).with_code(0).json();
    assert!(report["output"].as_str().unwrap().contains("unload_parcels"), "{report}");
    let report = call(&shop, "peek", &json!({ "path": 7 })).with_code(1).json();
    assert_eq!(report["outcome"], "invalid-input", "{report}");
    let moment: Value =
        serde_json::from_str(call(&shop, "moment", &json!({})).with_code(0).json()["output"].as_str().unwrap())
            .unwrap();
    assert!(moment["seconds"].as_u64().unwrap() > 1_700_000_000, "{moment}");
    let report = call(&shop, "get-current-time", &json!({})).with_code(0).json();
    assert!(report["output"].as_str().unwrap().ends_with("seconds since 1970"), "{report}");
    // The plugin was not granted writing, so that there is nothing to write to.
    call(&shop, "put", &json!({ "path": "new.txt", "contents": "" })).with_code(1);
    assert_eq!(shop.world.read("new.txt"), None);
    let ended = call(&shop, "never", &json!({})).with_code(1);
    assert!(format!("{}{}", ended.stdout, ended.stderr).contains("`function` in the manifest may be"), "{ended:?}");

    // What was granted goes no further than the agent that uses it.
    shop.world.add_agent(
        "blind",
        "---\nname: blind\ndescription: d\ntools: [peek]\ngrants: { files: { \"docs\": read } }\n---\nLook.\n",
    );
    let input = file.to_string();
    let ended = shop.world.palisade(&["tools", "call", "peek", "--agent", "blind", "--input", &input]).with_code(1);
    assert!(!ended.stdout.contains("unload_parcels"), "{ended:?}");
}

/// CFG-10, NET-01: a component cannot say which hosts it asks, so whoever installs it does, one by one.
#[test]
fn a_component_alone_asks_the_hosts_that_it_is_granted() {
    let server = listen(Certificate::None, |_, out| plain(out, "high water"));
    let shop = Shop::new();
    shop.world.add("browser.wasm", guest("foreign_fetch").unwrap().wasm);
    let install = |more: &[&str]| shop.plugins(&[&["install", "browser.wasm", "--yes"], more].concat());
    let fetch = |url: String| call(&shop, "fetch", &json!({ "url": url }));

    let shown = install(&[]).with_code(0).stdout;
    assert!(shown.contains("--grant net.http:HOST for each that it may ask"), "{shown}");
    let report = fetch(format!("http://{server}/")).with_code(1).json();
    assert!(report["error"].as_str().unwrap().contains("HttpRequestDenied"), "{report}");

    install(&["--grant", "net.http:*"]).with_code(1);
    install(&["--grant", "storage"]).with_code(1);
    install(&["--grant", &format!("net.http:http://{server}")]).with_code(0);
    let report = fetch(format!("http://{server}/tides")).with_code(0).json();
    assert_eq!(report["output"], "200 high water");
    let report = fetch("http://127.0.0.1:9/".to_owned()).with_code(1).json();
    assert!(report["error"].as_str().unwrap().contains("HttpRequestDenied"), "{report}");
    // Installing it again without a word leaves it what it had.
    install(&[]).with_code(0);
    fetch(format!("http://{server}/tides")).with_code(0);
    install(&["--grant", "none"]).with_code(0);
    fetch(format!("http://{server}/tides")).with_code(1);
}

#[test]
fn every_function_of_a_component_alone_is_a_tool() {
    let shop = Shop::new();
    shop.world.add("shapes.wasm", guest("foreign_shapes").unwrap().wasm);
    shop.plugins(&["install", "shapes.wasm", "--yes"]).with_code(0);
    let listed = shop.listed();
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    for name in ["describe", "count", "last_letter", "checked", "surroundings", "say"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let report = call(&shop, "last_letter", &json!({ "text": "tide" })).with_code(0).json();
    assert_eq!(report["output"], "\"e\"");
}
