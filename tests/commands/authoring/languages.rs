//! Each language, end to end.

use serde_json::json;

use super::Author;

#[test]
fn a_tool_in_rust_is_built_tried_and_called() {
    end_to_end("rust");
}

#[test]
fn a_tool_in_python_is_built_tried_and_called() {
    end_to_end("python");
}

#[test]
fn a_tool_in_javascript_is_built_tried_and_called() {
    end_to_end("javascript");
}

#[test]
fn a_tool_in_c_is_built_tried_and_called() {
    end_to_end("c");
}

/// The template as it is: it builds, passes its own cases, asks for nothing, and can be called.
#[track_caller]
fn end_to_end(language: &str) {
    let Some(author) = Author::of(language) else { return };
    let name = format!("hello-{language}");
    let tool = format!("hello_{language}");
    author.new_project(&name, language);
    let built = author.palisade(&["plugins", "build", &name, "--json"]).with_code(0).json();
    let described = &built["tools"][0];
    assert_eq!((&described["name"], &described["capabilities"]), (&json!(tool), &json!([])), "{built}");
    assert_eq!(described["description"], "Greets someone by name.");
    assert_eq!(described["input_schema"]["required"], json!(["name"]));
    assert_eq!(described["input_schema"]["properties"]["name"]["description"], "Who to greet.");
    // Whatever is imported carries no authority.
    for import in described["imports"].as_array().unwrap() {
        let import = import.as_str().unwrap();
        let plain = ["wasi:cli/", "wasi:clocks/", "wasi:io/", "wasi:random/"];
        assert!(plain.iter().any(|plain| import.starts_with(plain)), "{import}");
    }
    let cases = author.palisade(&["plugins", "test", &name]).with_code(0);
    assert!(cases.stdout.contains("3 of 3 as expected"), "{cases:?}");
    let component = format!("{name}/dist/{tool}.wasm");
    let call = |input: &str| {
        author.palisade(&["tools", "call", &component, "--agent", "explore", "--input", input, "--json"]).json()
    };
    assert_eq!(call(r#"{"name":"Ada \"the\" Ünicode\n🦀"}"#)["output"], "Hello, Ada \"the\" Ünicode\n🦀!");
    assert_eq!(call("{}")["outcome"], "invalid-input");
    assert_eq!(call(r#"{"name":"Ada"}"#)["output"], "Hello, Ada!");
}

/// Nothing to an installed tool that was called: these four commands and no others.
#[test]
fn from_nothing_to_a_called_tool_in_four_commands() {
    for language in ["rust", "javascript", "c"] {
        let Some(author) = Author::of(language) else { continue };
        author.new_project("hello", language);
        author.palisade(&["plugins", "build", "hello"]).with_code(0);
        author.palisade(&["plugins", "install", "hello/dist", "--yes"]).with_code(0);
        let called = author.palisade(&["tools", "call", "hello", "--input", r#"{"name":"Ada"}"#]).with_code(0);
        assert_eq!(called.stdout, "Hello, Ada!\n", "{language}");
    }
}

/// A second tool is a second file, or crate, and an entry in the manifest.
#[test]
fn a_project_has_several_tools() {
    let Some(author) = Author::of("rust") else { return };
    author.new_project("pair", "rust");
    let manifest = author.world.read("pair/Cargo.toml").unwrap();
    let own = manifest.split("[profile").next().unwrap();
    author
        .world
        .add("pair/tools/second/Cargo.toml", own.replace("\"pair\"", "\"second\"").replace("\"sdk\"", "\"../../sdk\""));
    author.change("pair/Cargo.toml", "[workspace]\n", "[workspace]\nmembers = [\"tools/*\"]\n");
    let source = author.world.read("pair/src/lib.rs").unwrap();
    author.world.add("pair/tools/second/src/lib.rs", source.replace("fn pair", "fn second").replace("Hello", "Ahoy"));
    author.change(
        "pair/plugin.json",
        r#"{ "name": "pair", "component": "pair.wasm" }"#,
        r#"{ "name": "pair", "component": "pair.wasm" }, { "name": "second", "component": "parts/second.wasm" }"#,
    );
    let case = json!({ "tool": "second", "input": { "name": "Ada" }, "expect": "Ahoy, Ada!" });
    author.world.add("pair/tests/second.json", case.to_string());
    let cases = author.palisade(&["plugins", "test", "pair"]).with_code(0);
    assert!(cases.stdout.contains("4 of 4 as expected"), "{cases:?}");
    assert!(author.world.workspace().join("pair/dist/parts/second.wasm").is_file());
}

/// What is installed is what was named, and nothing of the sources.
#[test]
fn only_what_belongs_to_the_plugin_is_in_dist() {
    let Some(author) = Author::of("c") else { return };
    author.new_project("hello", "c");
    author.world.add("hello/agents/greeter.md", "---\nname: greeter\ndescription: Greets.\n---\nGreet.\n");
    author.world.add("hello/skills/greet/SKILL.md", "---\nname: greet\ndescription: Greets.\n---\nGreet.\n");
    author.world.add("hello/notes.txt", "mine");
    author.palisade(&["plugins", "build", "hello"]).with_code(0);
    let dist = author.world.workspace().join("hello/dist");
    let mut files: Vec<String> = crate::world::World::files_below(&dist)
        .into_iter()
        .map(|path| path.strip_prefix(&dist).unwrap().display().to_string())
        .collect();
    files.sort();
    assert_eq!(files, ["README.md", "agents/greeter.md", "hello.wasm", "plugin.json", "skills/greet/SKILL.md"]);
}
