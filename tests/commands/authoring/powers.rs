//! What tools in each language can have of the host.

use palisade_tests::web::{Certificate, listen, plain};
use serde_json::{Value, json};

use super::Author;

const PYTHON: &str = r#"
from palisade import files, http, storage, tool


@tool()
def hello(what: str, where: str = "") -> dict:
    """Does what it is told.

    what: What.
    where: Where.
    """
    if what == "read":
        return {"text": files.read_text(where), "bytes": len(files.read(where))}
    if what == "list":
        return {"names": [f"{entry.name} {entry.kind}" for entry in files.list(where)]}
    if what == "stat":
        status = files.stat(where)
        return {"kind": status.kind, "size": status.size}
    if what == "count":
        count = int(storage.get("count") or 0) + 1
        storage.set("count", str(count))
        return {"count": count, "keys": storage.keys("co")}
    if what == "forget":
        storage.delete("count")
        return {"keys": storage.keys()}
    answer = http.send(where, headers={"x-own": "mine"})
    return {"status": answer.status, "type": answer.headers["content-type"], "text": answer.text()}
"#;

const JAVASCRIPT: &str = r#"
import { files, http, storage, tool } from "../palisade.js";

export default tool({
  name: "hello",
  description: "Does what it is told.",
  input: { what: { type: "string" }, where: { type: "string", default: "" } },
  call({ what, where }) {
    if (what === "read") return { text: files.readText(where), bytes: files.read(where).length };
    if (what === "list") return { names: files.list(where).map(({ name, kind }) => `${name} ${kind}`) };
    if (what === "stat") {
      const { kind, size } = files.stat(where);
      return { kind, size };
    }
    if (what === "count") {
      const count = Number(storage.getText("count") ?? 0) + 1;
      storage.set("count", String(count));
      return { count, keys: storage.keys("co") };
    }
    if (what === "forget") {
      storage.delete("count");
      return { keys: storage.keys() };
    }
    const answer = http.send(where, { headers: { "x-own": "mine" } });
    return { status: answer.status, type: answer.headers["content-type"], text: answer.text() };
  },
});
"#;

#[test]
fn a_tool_in_python_has_what_it_declares_and_is_granted() {
    has_powers("python", "py", PYTHON);
}

#[test]
fn a_tool_in_javascript_has_what_it_declares_and_is_granted() {
    has_powers("javascript", "js", JAVASCRIPT);
}

fn declare(author: &Author, more: &Value) {
    let mut manifest: Value = serde_json::from_str(&author.world.read("hello/plugin.json").unwrap()).unwrap();
    let tool = manifest["tools"][0].as_object_mut().unwrap();
    tool.extend(more.as_object().unwrap().clone());
    author.world.add("hello/plugin.json", manifest.to_string());
}

#[track_caller]
fn has_powers(language: &str, ending: &str, source: &str) {
    let Some(author) = Author::of(language) else { return };
    let server = listen(Certificate::None, |asked, out| plain(out, asked.header("x-own").unwrap_or("-")));
    author.new_project("hello", language);
    author.world.add(&format!("hello/tools/hello.{ending}"), source);
    declare(&author, &json!({ "capabilities": ["fs.read", "storage"], "hosts": [format!("http://{server}")] }));
    let built = author.palisade(&["plugins", "build", "hello", "--json"]).with_code(0).json();
    let imports = ["palisade:host/files@0.1.0", "palisade:host/http@0.1.0", "palisade:host/storage@0.1.0"];
    let mut imported: Vec<&str> =
        built["tools"][0]["imports"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    imported.sort_unstable();
    assert_eq!(imported, imports, "{built}");

    author.world.add("notes/grüße.txt", "Grüße 🦀\n");
    let call = |input: Value| {
        let input = input.to_string();
        author.palisade(&["tools", "call", "hello", "--input", &input, "--json"])
    };
    let said = |input: Value| {
        let report = call(input).with_code(0).json();
        serde_json::from_str::<Value>(report["output"].as_str().unwrap()).unwrap()
    };
    let host = format!("net.http:http://{server}");
    let install = |more: &[&str]| {
        author.palisade(&[&["plugins", "install", "hello/dist", "--yes"], more].concat()).with_code(0);
    };
    install(&["--grant", "fs.read", "--grant", "storage", "--grant", &host]);
    let file = "notes/grüße.txt";
    assert_eq!(said(json!({ "what": "read", "where": file })), json!({ "text": "Grüße 🦀\n", "bytes": 13 }));
    assert_eq!(said(json!({ "what": "list", "where": "notes" })), json!({ "names": ["grüße.txt file"] }));
    assert_eq!(said(json!({ "what": "stat", "where": file })), json!({ "kind": "file", "size": 13 }));
    for count in 1..=2 {
        assert_eq!(said(json!({ "what": "count" })), json!({ "count": count, "keys": ["count"] }));
    }
    assert_eq!(said(json!({ "what": "forget" })), json!({ "keys": [] }));
    let asked = said(json!({ "what": "ask", "where": format!("http://{server}/") }));
    assert_eq!(asked, json!({ "status": 200, "type": "text/plain", "text": "mine" }));

    let refused = |input: Value, outcome: &str| {
        let report = call(input.clone()).with_code(1).json();
        assert_eq!(report["outcome"], outcome, "{input}: {report}");
    };
    refused(json!({ "what": "read", "where": "../outside" }), "refused");
    refused(json!({ "what": "read", "where": "notes/none" }), "failed");
    refused(json!({ "what": "list", "where": file }), "failed");
    refused(json!({ "what": "ask", "where": "http://127.0.0.1:9/" }), "refused");
    refused(json!({ "what": "ask", "where": "nonsense" }), "invalid-input");

    // It was built for all of them, so that it runs with all of them or not at all, but for files.
    install(&["--grant", "storage", "--grant", &host]);
    refused(json!({ "what": "read", "where": file }), "refused");
    install(&["--grant", "fs.read", "--grant", &host]);
    let ended = call(json!({ "what": "count" })).with_code(1);
    assert!(ended.stderr.contains("--grant storage"), "{ended:?}");
}

/// What nobody declared is not in the component, and saying so is up to what makes a function a tool.
#[test]
fn a_power_that_was_not_declared_is_not_there() {
    for (language, ending, source) in [("python", "py", PYTHON), ("javascript", "js", JAVASCRIPT)] {
        let Some(author) = Author::of(language) else { continue };
        author.new_project("hello", language);
        author.world.add(&format!("hello/tools/hello.{ending}"), source);
        let cases = json!([
            { "tool": "hello", "input": { "what": "read", "where": "a" }, "files": { "a": "1" },
              "grant": ["fs.read", "storage"], "expect": { "failure": "failed", "contains": "fs.read" } },
            { "tool": "hello", "input": { "what": "count" }, "grant": ["fs.read", "storage"],
              "expect": { "failure": "failed", "contains": "\"capabilities\": [\"storage\"]" } },
            { "tool": "hello", "input": { "what": "ask", "where": "https://example.com/" },
              "expect": { "failure": "failed", "contains": "net.http" } },
        ]);
        author.world.add("hello/tests/greets.json", cases.to_string());
        let ended = author.palisade(&["plugins", "test", "hello"]).with_code(0);
        assert!(ended.stdout.contains("3 of 3 as expected"), "{language}: {ended:?}");
    }
}

/// Before a compiler is looked for.
#[test]
fn a_power_that_a_language_lacks_is_refused() {
    for (language, power, said) in [
        (
            "python",
            "fs.write",
            "tools in Python can have fs.read, storage, net.http, secrets; those in Rust can have it",
        ),
        ("javascript", "exec", "tools in JavaScript can have fs.read, storage, net.http, secrets"),
        ("c", "fs.read", "tools in C can have no powers; those in Rust can have it"),
    ] {
        let world = crate::world::World::empty();
        world.palisade(&["plugins", "new", "hello", "--lang", language]).with_code(0);
        let manifest = world.read("hello/plugin.json").unwrap();
        let declared = format!(r#""component": "hello.wasm", "capabilities": ["{power}"]"#);
        world.add("hello/plugin.json", manifest.replace(r#""component": "hello.wasm""#, &declared));
        let ended = world.palisade_with(&[("PATH", "/nonexistent")], &["plugins", "build", "hello"]).with_code(1);
        assert!(ended.stderr.contains(&format!("`hello` cannot have `{power}`: {said}")), "{}", ended.stderr);
    }
}
