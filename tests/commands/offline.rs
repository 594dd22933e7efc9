//! What `explore` answers without a language model: questions about this repository and about two of
//! its dependencies, through the program and its sandboxed tools.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;
use serde_json::Value;

use crate::world::World;

/// A file of questions in `tests/cases/offline`.
#[derive(Deserialize)]
struct Cases {
    question: Vec<Question>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    ask: String,
    /// One of these is among the first places.
    files: Vec<String>,
    /// Part of a line that the answer quotes.
    line: Option<String>,
    /// Not looked at while the ranking was changed.
    #[serde(default)]
    held: bool,
    /// Known not to be answered yet.
    #[serde(default)]
    missed: bool,
}

/// How many places a reader looks at before giving up.
const FIRST: usize = 3;

/// The places of an answer, in order: path, and the whole line about it.
fn places(answer: &str) -> Vec<(&str, &str)> {
    let list = answer.split_once("## Most relevant places\n\n").map_or("", |(_, list)| list);
    let place = |line| Some((str::strip_prefix(line, "- `")?.split_once('`')?.0.rsplit_once(':')?.0, line));
    list.lines().map_while(place).collect()
}

/// Whether the answer leads to what was asked for.
fn leads(question: &Question, answer: &str) -> bool {
    let places = places(answer);
    let is_wanted = |path: &str| question.files.iter().any(|file| file == path);
    let quotes = |line: &String| places.iter().any(|(path, text)| is_wanted(path) && text.contains(line));
    places.iter().take(FIRST).any(|(path, _)| is_wanted(path)) && question.line.as_ref().is_none_or(quotes)
}

/// Asks all questions of a file about a source tree. Every one that was not held back leads to its
/// file. Gives how many were held back, and which of those do not.
#[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "the cases are read where they lie")]
fn check(cases: &str, tree: &Path) -> (usize, Vec<String>) {
    let file = repository().join("tests/cases/offline").join(cases);
    let cases: Cases = toml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let world = World::empty();
    let (mut held, mut not_answered) = (0, Vec::new());
    for question in &cases.question {
        for file in &question.files {
            assert!(tree.join(file).is_file(), "{file} is no longer there; who answers {:?} now?", question.ask);
        }
        let workspace = tree.to_str().unwrap();
        let ended =
            world.palisade(&["run", "--quiet", "explore", "--workspace", workspace, &question.ask]).with_code(0);
        let leads = leads(question, &ended.stdout);
        if question.held {
            held += 1;
            not_answered.extend((!leads).then(|| question.ask.clone()));
        } else {
            assert_eq!(leads, !question.missed, "{}\n{:#?}\n{}", question.ask, question.files, ended.stdout);
        }
    }
    (held, not_answered)
}

#[expect(clippy::unwrap_used, reason = "a test that cannot find its own sources has failed")]
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Where the sources of the dependencies lie; they are there, because this was built from them.
#[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "cargo knows where it has unpacked what it built")]
fn dependencies() -> BTreeMap<String, PathBuf> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", &target])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let package = |package: &Value| {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        (package["name"].as_str().unwrap().to_owned(), folder.to_owned())
    };
    packages.map(package).collect()
}

#[test]
fn questions_about_this_repository_lead_to_the_file_that_answers_them() {
    let (held, not_answered) = check("palisade.toml", &repository());
    assert!(held >= 5 && 4 * not_answered.len() < held, "of {held} questions that were held back: {not_answered:#?}");
}

#[test]
fn questions_about_source_trees_of_others_do_too() {
    let trees = dependencies();
    check("serde_json.toml", &trees["serde_json"]);
    check("tokio.toml", &trees["tokio"]);
}

#[test]
fn a_map_says_how_large_it_is_and_how_it_is_built() {
    let world = World::empty();
    let workspace = repository();
    let ended = world.palisade(&["run", "--quiet", "explore", "--workspace", workspace.to_str().unwrap()]).with_code(0);
    for expected in
        ["## Palisade (`README.md:1`)", "`just test` (:", "Rust (", "- Largest: `", "`runtime/cli/src/main.rs:"]
    {
        assert!(ended.stdout.contains(expected), "{expected}\n---\n{}", ended.stdout);
    }
}

#[test]
fn the_same_question_has_the_same_answer() {
    let world = World::new();
    let ask = || world.palisade(&["run", "--quiet", "explore", "where are parcels unloaded?"]).with_code(0).stdout;
    assert_eq!(ask(), ask());
}

#[test]
fn every_agent_says_that_no_model_did_the_work_and_how_to_connect_one() {
    let world = World::new();
    for agent in ["explore", "general", "plan", "review", "verification"] {
        let answer = world.palisade(&["run", "--quiet", agent, "review how parcels are unloaded"]).with_code(0).stdout;
        assert!(answer.contains("none of it was done"), "{agent}: {answer}");
        assert!(answer.contains("- `src/harbour.rs:"), "{agent}: {answer}");
        assert!(answer.contains("set `model = \"provider:model\"` in `config.toml`"), "{agent}: {answer}");
    }
}

#[test]
fn tasks_that_are_no_questions_end_in_short_answers_without_failed_calls() {
    let world = World::new();
    world.add("src/noise.bin", (0..=255u8).cycle().take(1 << 16).collect::<Vec<u8>>());
    let garbage: String = (0..4096u32).filter_map(|number| char::from_u32(number * 37 % 0x3000)).collect();
    for task in [
        &"parcels ".repeat(32 * 1024)[..256 * 1024],
        &(0..30_000).map(|number| format!("word{number} ")).collect::<String>()[..256 * 1024],
        &"`".repeat(100_000),
        &"x".repeat(256 * 1024),
        &garbage,
        r"((([[[{{{***+++??? \\ \b(?i:$^ a{1000000} [^] (?<x) \p{Greek} |||",
        "\"(unclosed [group\" `\\` 'a|b' {a,b}/**/*.rs ../../etc/passwd /etc/passwd ~/.ssh",
    ] {
        let ended = world.palisade_reading(&["run", "--quiet", "explore", "-"], task).with_code(0);
        let start: String = task.chars().take(40).collect();
        assert!(ended.stdout.len() <= 8 * 1024, "{start:?}: {} bytes", ended.stdout.len());
        assert!(!ended.stdout.contains("of the calls failed"), "{start:?}: {}", ended.stdout);
    }
}
