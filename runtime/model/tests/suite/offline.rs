//! The offline planner, driven through the real loop over small trees of files.

use super::tree::{Tree, ask, tree};
use palisade_agent::{Entry, Transcript};

const TOOLS: &[&str] = &["read", "ls", "tree", "glob", "grep", "think"];

fn runtime() -> Tree {
    tree(&[
        (
            "src/run.rs",
            "//! The loop.\n\npub fn run() {\n    // call the tool, record its result\n    call(tool);\n}\n",
        ),
        (
            "src/sandbox.rs",
            "//! Where untrusted code runs: every tool call gets a sandbox of its own.\n\nuse crate::Limits;\n\n\
             /// One live guest. It serves one call and is dropped.\npub struct Sandbox {\n    limits: Limits,\n}\n\n\
             impl Sandbox {\n    /// Calls the tool in a fresh store.\n    pub fn call(&self, tool: &Tool) {}\n}\n\n\
             #[cfg(test)]\nmod tests {\n    fn sandbox_call_tool_test() {}\n}\n",
        ),
        ("src/main.rs", "//! The command line.\n\nfn main() {\n    run();\n}\n"),
        ("tests/sandbox_tool_call.rs", "fn sandboxed_tool_call() { sandbox(tool.call()) }\n"),
        ("CHANGELOG.md", "# Changes\n\n- sandbox: tool call in a sandbox\n- sandbox: tool call again\n"),
        ("Cargo.lock", "name = \"sandbox-tool-call\"\nname = \"sandbox-tool-call-two\"\n"),
        ("target/sandbox.rs", "pub struct Sandbox; // tool call sandbox\n"),
        ("README.md", "# Fence\n\nRuns tools behind a fence.\nAlways.\n\nMore.\n"),
        ("Cargo.toml", "[package]\nname = \"fence\"\ndescription = \"Fences tools in\"\n"),
        ("justfile", "set shell := [\"bash\"]\n\n# Runs the tests\ntest *args:\n    cargo test\n\nci: test\n"),
    ])
}

fn cited_first(answer: &str) -> &str {
    answer.split("- `").nth(1).and_then(|rest| rest.split('`').next()).unwrap_or_default()
}

/// Every cited line was in the output of some tool, with that number and that text.
fn assert_citations_were_seen(answer: &str, tree: &Tree) {
    for line in answer.lines().filter(|line| line.starts_with("- `")) {
        let Some((place, rest)) = line[3..].split_once("` — `") else { continue };
        let Some((path, number)) = place.rsplit_once(':') else { continue };
        let (quoted, _) = rest.split_once('`').unwrap();
        let (_, text) = tree.iter().find(|(other, _)| other == path).unwrap();
        assert_eq!(text.lines().nth(number.parse::<usize>().unwrap() - 1).unwrap().trim(), quoted);
    }
}

fn calls_per_step(transcript: &Transcript) -> Vec<usize> {
    let calls = |entry: &Entry| match entry {
        Entry::Reply { calls, .. } => Some(calls.len()),
        _ => None,
    };
    transcript.entries().iter().filter_map(calls).collect()
}

#[tokio::test]
async fn a_question_leads_to_the_file_that_answers_it() {
    let tree = runtime();
    let (answer, transcript) = ask(&tree, TOOLS, "how is a tool call sandboxed?").await;
    assert!(cited_first(&answer).starts_with("src/sandbox.rs:"), "{answer}");
    assert!(answer.starts_with("Looked for `tool`, `call`, `sandboxed` in 10 files."), "{answer}");
    assert!(answer.contains("without a language model: places to look, not an interpretation"), "{answer}");
    assert!(
        answer.contains("- `src/sandbox.rs:1` — Where untrusted code runs: every tool call gets a sandbox of its own."),
        "{answer}"
    );
    let excerpt = "`src/sandbox.rs:11-14`\n\n```rs\n    /// Calls the tool in a fresh store.\n    pub fn call(";
    assert!(answer.contains(excerpt), "{answer}");
    assert!(answer.contains("- Runs tools behind a fence. Always. (`README.md:3`)"), "{answer}");
    assert!(answer.contains("- Entry points: `src/main.rs"), "{answer}");
    assert_citations_were_seen(&answer, &tree);
    let steps = calls_per_step(&transcript);
    assert!(steps.len() <= 5 && steps.iter().all(|calls| *calls <= 24), "{steps:?}");
}

#[tokio::test]
async fn changelogs_come_last_and_built_files_not_at_all() {
    let (answer, _) = ask(&runtime(), TOOLS, "how is a tool call sandboxed?").await;
    let at = |path: &str| answer.find(&format!("- `{path}:")).unwrap_or(usize::MAX);
    assert!(at("src/sandbox.rs") < at("src/run.rs") && at("src/run.rs") < at("CHANGELOG.md"), "{answer}");
    assert_eq!([at("Cargo.lock"), at("target/sandbox.rs")], [usize::MAX; 2], "{answer}");
}

#[tokio::test]
async fn the_definition_of_a_named_thing_comes_first() {
    let tree = tree(&[
        ("a/uses.py", "from store import open_store\n\nopen_store()\nopen_store()\nopen_store()\n"),
        ("b/store.py", "\"\"\"Keeps things.\"\"\"\n\nimport os\n\ndef open_store():\n    pass\n"),
    ]);
    let (answer, _) = ask(&tree, TOOLS, "where is `open_store` defined?").await;
    assert_eq!(cited_first(&answer), "b/store.py:5", "{answer}");
}

#[tokio::test]
async fn how_to_do_something_is_answered_by_documents_first() {
    let tree = tree(&[
        ("src/plugin.rs", "//! Plugins.\n\npub fn add(plugin: Plugin) {\n    let new = plugin.new();\n}\n"),
        ("src/list.rs", "fn new() -> Plugin {\n    plugins.add(Plugin::new());\n}\n"),
        ("GUIDE.md", "# Guide\n\nWords.\n\n## Adding a new plugin\n\nWrite it, then list it.\n"),
    ]);
    let (answer, _) = ask(&tree, TOOLS, "how do I add a new plugin?").await;
    assert_eq!(cited_first(&answer), "GUIDE.md:5", "{answer}");
}

#[tokio::test]
async fn another_word_for_the_same_thing_is_found_too() {
    let tree = tree(&[
        ("src/a.rs", "//! Numbers.\n\nfn add() {}\n"),
        ("src/b.rs", "//! Opens a directory and looks at every file in it.\n\nfn walk() {}\n"),
    ]);
    let (answer, _) = ask(&tree, TOOLS, "who looks into a folder?").await;
    assert_eq!(cited_first(&answer), "src/b.rs:1", "{answer}");
}

#[tokio::test]
async fn a_short_word_is_not_found_inside_a_longer_one() {
    let tree = tree(&[
        ("src/permit.rs", "//! Permits, forms and terms of the runtime.\n\nfn permit() {}\nfn form() {}\n"),
        ("src/commands.rs", "//! What a shell does.\n\nfn remove() {\n    run(\"rm\");\n}\n"),
    ]);
    let (answer, _) = ask(&tree, TOOLS, "where is rm run?").await;
    assert_eq!(cited_first(&answer), "src/commands.rs:4", "{answer}");
    assert!(!answer.contains("- `src/permit.rs:"), "{answer}");
}

#[tokio::test]
async fn the_same_question_has_the_same_answer() {
    let first = ask(&runtime(), TOOLS, "how is a tool call sandboxed?").await;
    let second = ask(&runtime(), TOOLS, "how is a tool call sandboxed?").await;
    assert_eq!(first, second);
}

#[tokio::test]
async fn without_a_task_the_repository_is_mapped() {
    for task in ["", "  \n", "how does it work?"] {
        let (answer, transcript) = ask(&runtime(), TOOLS, task).await;
        for expected in [
            "A map of this repository of 10 files.",
            "## Fence (`README.md:1`)\n\nRuns tools behind a fence. Always. (`README.md:3`)",
            "- `src/` — 3 files, mostly Rust: `main.rs`, `run.rs`, `sandbox.rs`",
            "- `justfile`: `just test` (:4), `just ci` (:7)",
            "- `Cargo.toml`: by convention `cargo build` and `cargo test`",
            "- Entry points: `src/main.rs:3`",
            "- Tests: 1 file, in `tests/`",
            "- Size: 10 files, ",
            "## Hot spots\n\n- Largest: `src/sandbox.rs` (18 lines), ",
            "## Changed last\n\n`src/run.rs`, `src/sandbox.rs`, `src/main.rs`",
        ] {
            assert!(answer.contains(expected), "{expected}\n---\n{answer}");
        }
        assert!(!answer.contains("`target/`"), "{answer}");
        assert!(calls_per_step(&transcript).iter().all(|calls| *calls <= 24));
    }
}

#[tokio::test]
async fn a_map_says_what_packages_say_of_themselves() {
    let tree = tree(&[
        ("crates/one/Cargo.toml", "[package]\ndescription = \"The first.\"\n"),
        ("crates/one/src/lib.rs", "//! Not asked.\n"),
        ("crates/two/src/lib.rs", "//! The second. It has more to say.\n"),
        (
            "web/package.json",
            "{\n  \"description\": \"The page\",\n  \"scripts\": {\n    \"build\": \"vite\"\n  }\n}\n",
        ),
        ("tool/__init__.py", "#!/usr/bin/python\n\"\"\"Python part.\"\"\"\n"),
    ]);
    let (answer, _) = ask(&tree, TOOLS, "").await;
    for expected in [
        "  - `crates/one` — The first. (`crates/one/Cargo.toml:2`)",
        "  - `crates/two` — The second. (`crates/two/src/lib.rs:1`)",
        "- `web/` — 1 file, mostly configuration: The page (`web/package.json:2`)",
        "- `tool/` — 1 file, mostly Python: Python part. (`tool/__init__.py:2`)",
        "- `web/package.json`: `npm run build` (:4)",
    ] {
        assert!(answer.contains(expected), "{expected}\n---\n{answer}");
    }
}

#[tokio::test]
async fn a_map_says_what_each_of_many_packages_is() {
    let files =
        (0..20).map(|number| (format!("p{}/c{number}/src/lib.rs", number % 4), format!("//! Part number {number}.\n")));
    let (answer, transcript) = ask(&Tree::new(files.collect()), TOOLS, "").await;
    assert_eq!(calls_per_step(&transcript), [3, 4, 20, 0]);
    for number in 0..20 {
        assert!(answer.contains(&format!("/c{number}` — Part number {number}. (")), "{number}\n---\n{answer}");
    }
}

#[tokio::test]
async fn nothing_to_find_is_said_plainly() {
    let (answer, _) = ask(&tree(&[]), TOOLS, "").await;
    assert!(answer.starts_with("There are no files here."), "{answer}");
    let (answer, _) = ask(&runtime(), TOOLS, "quantum chromodynamics").await;
    assert!(answer.starts_with("Looked for `quantum`, `chromodynamics` in 10 files and found nothing."), "{answer}");
}

#[tokio::test]
async fn it_does_what_its_tools_allow() {
    for (tools, task, expected) in [
        (&[][..], "", "This agent has no tool to list files with"),
        (&[], "sandbox", "this agent has no tool to search or list files with"),
        (&["think", "read"], "sandbox", "this agent has no tool to search or list files with"),
        (&["glob"], "sandbox", "## Files that may matter\n\n- `src/sandbox.rs`"),
        (&["tree"], "sandbox", "## Files that may matter\n\n- `src/sandbox.rs`"),
        (&["ls"], "readme", "## Files that may matter\n\n- `README.md`"),
        (&["glob", "read"], "sandbox", "- `src/sandbox.rs:6` — `pub struct Sandbox {` — definition: `sandbox`"),
        (&["tree", "read"], "sandbox", "- `src/sandbox.rs:6` — `pub struct Sandbox {` — definition: `sandbox`"),
        (&["grep"], "sandbox", "- `src/sandbox.rs:"),
        (&["tree"], "", "- `src/` — 3 files, mostly Rust"),
        (&["tree", "read"], "", "Runs tools behind a fence. Always. (`README.md:3`)"),
        (&["glob"], "", "- `src/` — 3 files, mostly Rust"),
        (&["ls"], "", "## Layout\n\n- `src/`\n"),
        (&["broken", "ls"], "", "A map of this repository of more than 5 files"),
    ] {
        let (answer, _) = ask(&runtime(), tools, task).await;
        assert!(answer.contains(expected), "{tools:?} {task:?}\n---\n{answer}");
        assert!(answer.ends_with("`palisade models` what can be set._\n"), "{answer}");
    }
}

#[tokio::test]
async fn work_that_takes_a_model_is_surveyed_and_not_pretended() {
    for task in ["Fix the sandbox", "please review the sandbox", "plan how to split the sandbox", "write a test for it"]
    {
        let (answer, _) = ask(&runtime(), TOOLS, task).await;
        assert!(
            answer.contains("The task asks for work that takes a language model; none of it was done."),
            "{answer}"
        );
    }
    let (answer, _) = ask(&runtime(), TOOLS, "where is the sandbox fixed?").await;
    assert!(!answer.contains("none of it was done"), "{answer}");
}

#[tokio::test]
async fn what_files_say_cannot_break_the_report() {
    let hostile = "//! sandbox \u{1b}]0;owned\u{7} ``` **sandbox**\n```\nfn sandbox() {}\n\u{1b}[2J sandbox `a``b`\n";
    let tree =
        tree(&[("a.rs", hostile), ("we`ird (sandbox).rs", "sandbox"), ("README.md", "# \u{1b}[31mred\n\n\u{7}bell\n")]);
    for task in ["sandbox", ""] {
        let (answer, _) = ask(&tree, TOOLS, task).await;
        assert!(!answer.chars().any(|c| c.is_control() && c != '\n'), "{answer:?}");
    }
}

#[tokio::test]
async fn a_large_repository_gives_a_small_answer() {
    let text = "sandbox tool call ".repeat(50);
    let files: Vec<(String, String)> = (0..3000)
        .map(|number| {
            (format!("packages/deep/part{number}/sandbox{number}.rs"), format!("//! {text}\nfn sandbox() {{}}\n"))
        })
        .chain([("packages/README.md".to_owned(), "x".repeat(100_000))])
        .collect();
    let tree = Tree::new(files);
    for task in [
        "how is a tool call sandboxed?",
        "",
        &"word ".repeat(5000),
        "((([[[{{{***",
        "\"<a> (b\" a->b ../../etc/passwd /etc/hosts x.y",
    ] {
        let (answer, _) = ask(&tree, TOOLS, task).await;
        assert!(answer.len() <= 8 * 1024 && !answer.contains("of the calls failed"), "{answer}");
    }
}
