//! What an author is told when something is wrong.

use serde_json::json;

use super::Author;
use crate::world::World;

#[test]
fn a_new_project_never_writes_over_an_old_one() {
    let world = World::empty();
    world.palisade(&["plugins", "new", "hello", "--lang", "c"]).with_code(0);
    world.add("hello/tools/hello.c", "mine");
    let again = world.palisade(&["plugins", "new", "hello", "--lang", "c"]).with_code(1);
    assert!(again.stderr.contains("is there already"), "{again:?}");
    assert_eq!(world.read("hello/tools/hello.c").as_deref(), Some("mine"));
    world.palisade(&["plugins", "new", "other", "--lang", "cobol"]).with_code(2);
    world.palisade(&["plugins", "new", "-x", "--lang", "c"]).with_code(2);
}

#[test]
fn a_folder_that_is_no_project_is_told_what_it_lacks() {
    let world = World::new();
    let nothing = world.palisade(&["plugins", "build"]).with_code(1);
    assert!(nothing.stderr.contains("palisade plugins new"), "{nothing:?}");
    world.add("plugin.json", r#"{ "name": "ferry", "tools": [{ "name": "go", "component": "go.wasm" }] }"#);
    let unsaid = world.palisade(&["plugins", "build"]).with_code(1);
    assert!(unsaid.stderr.contains(r#""build": { "lang": "rust" }"#), "{unsaid:?}");
    world.add("plugin.json", r#"{ "name": "ferry", "build": { "lang": "cobol" } }"#);
    let unknown = world.palisade(&["plugins", "build"]).with_code(1);
    assert!(unknown.stderr.contains("rust, python, javascript, c"), "{unknown:?}");
    world.add("plugin.json", r#"{ "name": "ferry", "build": { "lang": "c" } }"#);
    let empty = world.palisade(&["plugins", "test"]).with_code(1);
    assert!(empty.stderr.contains("there are no cases"), "{empty:?}");
}

/// Nothing is on this path, as on a machine where the language is not installed.
#[test]
fn a_compiler_that_is_not_there_is_answered_with_how_to_get_it() {
    let world = World::empty();
    for (language, remedy) in [
        ("rust", "https://rustup.rs"),
        ("python", "python3-venv"),
        ("javascript", "https://nodejs.org"),
        ("c", "python3-venv"),
    ] {
        world.palisade(&["plugins", "new", language, "--lang", language]).with_code(0);
        let ended = world.palisade_with(&[("PATH", "/nonexistent")], &["plugins", "build", language]).with_code(1);
        assert!(ended.stderr.contains("is not on this machine") && ended.stderr.contains(remedy), "{ended:?}");
    }
}

#[test]
fn what_the_compiler_finds_is_shown_with_its_line() {
    for (language, file, from, to, place) in [
        ("rust", "hello/src/lib.rs", "name: String", "name: Text", "src/lib.rs:6:15"),
        ("c", "hello/tools/hello.c", "if (name == NULL)", "if (other == NULL)", "tools/hello.c:14:9"),
        ("javascript", "hello/tools/hello.js", "call({ name, times }) {", "call({ name, times }) { ]", "hello.js:12"),
        ("python", "hello/tools/hello.py", "name: str,", "name,", "the argument name of hello has no type"),
    ] {
        let Some(author) = Author::of(language) else { continue };
        author.new_project("hello", language);
        author.change(file, from, to);
        let ended = author.palisade(&["plugins", "build", "hello"]).with_code(1);
        assert!(ended.stderr.contains(place), "{language}: no {place} in\n{}", ended.stderr);
        let json = author.palisade(&["plugins", "build", "hello", "--json"]).with_code(1).json();
        assert!(json["printed"].as_str().unwrap().contains(place), "{json}");
    }
}

#[test]
fn what_goes_wrong_in_a_call_is_shown_with_its_line() {
    for (language, file, from, to, places) in [
        (
            "rust",
            "hello/src/lib.rs",
            "Ok(vec!",
            "assert!(name != \"Ada\", \"not her\");\n        Ok(vec!",
            ["panicked at src/lib.rs:10:9", "not her"],
        ),
        (
            "c",
            "hello/tools/hello.c",
            "double times",
            "assert(strcmp(name, \"Ada\") != 0);\n    double times",
            ["Assertion failed: strcmp(name, \"Ada\") != 0", "tools/hello.c: call: 15"],
        ),
        (
            "javascript",
            "hello/tools/hello.js",
            "    return Array",
            "    null.length;\n    return Array",
            ["hello.js:13", "null.length;"],
        ),
        (
            "python",
            "hello/tools/hello.py",
            "    return",
            "    times // 0\n    return",
            ["ZeroDivisionError", "tools/hello.py:11, in hello\n               times // 0"],
        ),
    ] {
        let Some(author) = Author::of(language) else { continue };
        author.new_project("hello", language);
        author.change(file, from, to);
        let ended = author.palisade(&["plugins", "test", "hello", "--only", "greets someone"]).with_code(1);
        for place in places {
            assert!(ended.stdout.contains(place), "{language}: no {place} in\n{}\n{}", ended.stdout, ended.stderr);
        }
    }
}

#[test]
fn a_case_that_does_not_hold_is_shown_with_its_difference() {
    let Some(author) = Author::of("c") else { return };
    author.new_project("hello", "c");
    let cases = json!([
        { "name": "two lines", "tool": "hello", "input": { "name": "Ada", "times": 2 }, "expect": "Hello, Ada!\nAhoy, Ada!" },
        { "name": "no failure", "tool": "hello", "input": { "name": "Ada" }, "expect": { "failure": "denied" } },
        { "name": "leaves a file", "tool": "hello", "input": { "name": "Ada" }, "expect": { "contains": "Ada" },
          "files": { "a/b.txt": "one" }, "leaves": { "a/b.txt": "two", "c": "x", "a": null } },
        { "name": "holds", "tool": "hello", "input": { "name": "Ada" }, "expect": { "contains": "Ada" }, "leaves": { "c": null } },
    ]);
    author.world.add("hello/tests/more.json", cases.to_string());
    let ended = author.palisade(&["plugins", "test", "hello"]).with_code(1);
    for part in [
        "FAILED two lines  (tests/more.json, hello)",
        "- Ahoy, Ada!",
        "+ Hello, Ada!",
        "it should fail (denied), and gave:",
        "a/b.txt should be left otherwise:",
        "c should be there, and is not",
        "ok     holds",
        "4 of 7 as expected",
    ] {
        assert!(ended.stdout.contains(part), "no {part} in\n{}", ended.stdout);
    }
    let json = author.palisade(&["plugins", "test", "hello", "--json", "--only", "two lines"]).with_code(1).json();
    assert_eq!((json[0]["passed"].as_bool(), json.as_array().map(Vec::len)), (Some(false), Some(1)), "{json}");
}

#[test]
fn a_case_that_cannot_be_tried_says_why() {
    let Some(author) = Author::of("c") else { return };
    author.new_project("hello", "c");
    for (case, why) in [
        (json!({ "tool": "hallo", "expect": "" }), "there is no tool `hallo`; there are hello"),
        (json!({ "tool": "hello", "expect": "", "grant": ["exec"] }), "`exec` cannot be granted here"),
        (json!({ "tool": "hello", "expect": "", "files": { "../x": "" } }), "the file ../x"),
        (json!({ "tool": "hello", "expects": "" }), "case 1 of tests/odd.json"),
        (json!({ "tool": "hello", "expect": { "contain": "" } }), "case 1 of tests/odd.json"),
    ] {
        author.world.add("hello/tests/odd.json", case.to_string());
        let ended = author.palisade(&["plugins", "test", "hello"]).with_code(1);
        assert!(ended.stderr.contains(why), "no {why} in\n{}", ended.stderr);
    }
}

/// The sandbox has no files for C; a tool that wants one is told when it is built, not when it is called.
#[test]
fn c_that_opens_files_is_refused_by_the_name_of_what_it_wants() {
    let Some(author) = Author::of("c") else { return };
    author.new_project("hello", "c");
    author.change(
        "hello/tools/hello.c",
        "double times",
        "if (fopen(name, \"r\")) return palisade_output(\"open\");\n    double times",
    );
    let ended = author.palisade(&["plugins", "build", "hello"]).with_code(1);
    assert!(ended.stderr.contains("import `wasi_snapshot_preview1::fd_"), "{}", ended.stderr);
}
