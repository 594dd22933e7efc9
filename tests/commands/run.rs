//! `palisade run`.

use serde_json::{Value, json};

use crate::{running::Running, world::World};

/// What is printed when all files were listed, beside the search that takes longer.
const LISTED: &str = "pattern=**/* limit=5000";

#[test]
fn a_question_is_answered_with_places() {
    let ended = World::new().palisade(&["run", "explore", "where are", "parcels unloaded?"]).with_code(0);
    assert!(ended.stdout.contains("src/harbour.rs:4"), "{}", ended.stdout);
    assert!(ended.stderr.contains("explore · offline: deterministic survey, no language model · "), "{}", ended.stderr);
    assert!(ended.stderr.contains("files: . read-only"), "{}", ended.stderr);
    assert!(ended.stderr.contains("  grep "), "{}", ended.stderr);
}

#[test]
fn without_a_task_the_code_base_is_mapped() {
    for agent in ["explore", "general"] {
        let ended = World::new().palisade(&["run", agent]).with_code(0);
        assert!(ended.stdout.contains("Carries parcels across the river"), "{}", ended.stdout);
    }
}

#[test]
fn an_empty_workspace_is_no_error() {
    let world = World::empty();
    world.palisade(&["run", "explore"]).with_code(0);
    world.palisade(&["run", "explore", "where are parcels unloaded?"]).with_code(0);
}

#[test]
fn a_task_can_come_from_standard_input() {
    let ended = World::new().palisade_reading(&["run", "explore", "-"], "where are parcels unloaded?\n").with_code(0);
    assert!(ended.stdout.contains("src/harbour.rs:4"), "{}", ended.stdout);
}

#[test]
fn quiet_prints_the_answer_and_nothing_else() {
    let ended = World::new().palisade(&["run", "--quiet", "explore", "parcels"]).with_code(0);
    assert_eq!(ended.stderr, "");
    assert!(ended.stdout.contains("src/harbour.rs"), "{}", ended.stdout);
}

#[test]
fn json_says_how_it_ended() {
    let world = World::new();
    let report = world.palisade(&["run", "explore", "parcels", "--json", "--transcript"]).with_code(0).json();
    assert_eq!(report["agent"], "explore");
    assert_eq!(report["outcome"], "answered");
    assert_eq!(report["usage"], json!({ "input_tokens": 0, "output_tokens": 0 }));
    assert_eq!(report["transcript"][0], json!({ "entry": "user", "text": "parcels" }));
    assert!(report["answer"].as_str().unwrap().contains("src/harbour.rs"));
    assert!(report["steps"].as_u64().unwrap() > 1);
}

#[test]
fn a_spent_budget_has_an_exit_code_of_its_own() {
    let world = World::new();
    let ended = world.palisade(&["run", "explore", "parcels", "--max-steps", "1"]).with_code(3);
    assert!(ended.stderr.contains("the run has used all of its steps"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    let report = world.palisade(&["run", "explore", "parcels", "--timeout", "0", "--json"]).with_code(3).json();
    assert_eq!((&report["outcome"], &report["answer"]), (&json!("spent"), &json!(null)));
}

#[test]
fn a_flag_cannot_raise_the_budget_of_the_definition() {
    let world = World::new();
    let wide = world.palisade(&["run", "explore", "parcels", "--json", "--max-steps", "4000000000"]).with_code(0);
    let plain = world.palisade(&["run", "explore", "parcels", "--json"]).with_code(0);
    assert_eq!(wide.json()["steps"], plain.json()["steps"]);
}

#[test]
fn a_task_that_is_too_long_is_refused_and_not_cut() {
    let world = World::new();
    // The limit falls into the middle of a character.
    let ended = world.palisade_reading(&["run", "explore", "-"], &format!("x{}", "é".repeat(200_000))).with_code(1);
    assert!(ended.stderr.starts_with("error: standard input has more than the 262144 bytes"), "{}", ended.stderr);
}

#[test]
fn a_script_that_is_no_text_is_an_error_with_its_place() {
    let world = World::new();
    let script = world.add_outside("script.jsonl", b"{\"text\": \"a\"}\n{\"text\": \"\xff\"}\n");
    let ended = world.palisade(&["run", "explore", "--model", &format!("scripted:{script}")]).with_code(1);
    let expected = "line 2 of the script is not UTF-8, from byte 11 of the line on";
    assert_eq!(ended.stderr, format!("error: the script {script}: {expected}\n"));
}

#[test]
fn unknown_names_are_answered_with_the_known_ones() {
    let world = World::new();
    let ended = world.palisade(&["run", "exploer"]).with_code(1);
    assert_eq!(
        ended.stderr,
        "error: there is no agent `exploer`; there are explore, general, plan, review, verification\n"
    );
    let ended = world.palisade(&["run", "explore", "--model", "gpt"]).with_code(1);
    assert_eq!(
        ended.stderr,
        "error: there is no model `gpt`: write `provider:model`, or give it a name with [models.gpt]\n"
    );
    world.palisade(&["run"]).with_code(2);
    world.palisade(&["run", "explore", "--no-such-flag"]).with_code(2);
}

#[test]
fn a_workspace_that_is_no_folder_is_an_error() {
    let world = World::new();
    let ended = world.palisade(&["run", "explore", "--workspace", "missing"]).with_code(1);
    assert!(ended.stderr.starts_with("error: the workspace missing cannot be opened: "), "{}", ended.stderr);
    let ended = world.palisade(&["run", "explore", "--workspace", "README.md"]).with_code(1);
    assert_eq!(ended.stderr, "error: the workspace README.md is not a folder\n");
}

#[test]
fn what_file_names_and_tasks_say_cannot_forge_the_timeline() {
    let world = World::new();
    world.add("src/parcels\u{1b}[31m\u{202e}\nforged line.rs", "// parcels parcels parcels\nfn parcels() {}\n");
    let ended = world.palisade(&["run", "explore", "parcels \u{1b}[2J \"pa\u{9b}rcels\""]).with_code(0);
    assert!(ended.stderr.contains("grep"), "{}", ended.stderr);
    assert!(!ended.stderr.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{:?}", ended.stderr);
    assert!(!ended.stderr.lines().any(|line| line.starts_with("forged")), "{:?}", ended.stderr);
}

#[test]
fn exploring_changes_nothing() {
    let world = World::new();
    let look = || {
        let files = World::files_below(&world.workspace());
        let mut names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        names.sort();
        names
    };
    let before = look();
    world.palisade(&["run", "explore", "parcels", "--ephemeral"]).with_code(0);
    assert_eq!(look(), before);
    assert_eq!(World::files_below(&world.home()), Vec::<std::path::PathBuf>::new());
}

/// A run whose search takes longer than a call may. The rest of the first step is soon done.
fn slow(world: &World, task: &str) -> Running {
    world.fill_for_a_long_search();
    Running::start(world, &["run", "explore", "-", "--json", "--transcript"], task)
}

#[test]
fn an_interrupt_ends_the_run_and_keeps_what_there_is() {
    let world = World::new();
    let mut running = slow(&world, "where are parcels unloaded?");
    running.wait_for_line(LISTED);
    running.interrupt();
    let report: Value = serde_json::from_str(&running.stdout()).unwrap();
    assert_eq!(running.code(), Some(130));
    assert_eq!((&report["outcome"], &report["answer"]), (&json!("cancelled"), &json!(null)));
    assert_eq!(report["said_last"], "Looking where the words occur.");
    let transcript = report["transcript"].as_array().unwrap();
    let calls = transcript[1]["calls"].as_array().unwrap();
    assert_eq!(transcript.len(), 2 + calls.len(), "every call has its result: {transcript:?}");
    let results = transcript[2..].iter().map(|entry| entry.to_string());
    let (cut_off, done): (Vec<String>, Vec<String>) =
        results.partition(|result| result.contains("the run ended before this call did"));
    assert!(done.iter().any(|result| result.contains("src/harbour.rs")), "{done:?}");
    assert!(!cut_off.is_empty(), "{done:?}");
}

#[test]
fn a_second_interrupt_ends_the_program_at_once() {
    let world = World::new();
    // More than a pipe holds, and nobody reads it: the program waits for ever to print what there is.
    let mut running = slow(&world, &format!("where are parcels unloaded?{}", " ".repeat(200_000)));
    running.wait_for_line(LISTED);
    running.interrupt();
    running.wait_for_line("1 step, ");
    running.interrupt();
    assert_eq!(running.code(), Some(130));
    assert!(serde_json::from_str::<Value>(&running.stdout()).is_err(), "it was not in the middle of anything");
}
