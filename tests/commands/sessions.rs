//! Sessions: conversations that last, on the command line.
#![expect(clippy::unwrap_used, reason = "a value that is not there fails the test")]

mod broken;
mod carried;
mod talked;

use std::{collections::BTreeSet, fs, time::Instant};

use serde_json::{Value, json};

use crate::{
    running::Running,
    world::{Ended, World},
};

impl World {
    /// A run whose result is JSON.
    fn asked(&self, arguments: &[&str]) -> Value {
        self.palisade(&[&["run", "explore", "--json"], arguments].concat()).with_code(0).json()
    }

    /// What is known of sessions.
    fn listed(&self, arguments: &[&str]) -> Vec<Value> {
        let list = self.palisade(&[&["sessions", "list", "--json"], arguments].concat()).with_code(0).json();
        list["sessions"].as_array().unwrap().clone()
    }

    /// A session and what was said in it.
    fn shown(&self, session: &str) -> Value {
        self.palisade(&["sessions", "show", session, "--json"]).with_code(0).json()
    }

    fn sessions(&self, arguments: &[&str]) -> Ended {
        self.palisade(&[&["sessions"], arguments].concat())
    }
}

/// What the user said, in order.
fn said(entries: &Value) -> Vec<&str> {
    let entries = entries.as_array().unwrap().iter().map(|entry| entry.get("at").map_or(entry, |_| &entry["entry"]));
    entries.filter(|entry| entry["entry"] == "user").map(|entry| entry["text"].as_str().unwrap()).collect()
}

fn id(value: &Value) -> &str {
    value["session"].as_str().unwrap()
}

/// The model answers at once.
const ANSWERS: &str =
    r#"[{"text": "All is well.", "usage": {"input_tokens": 40, "output_tokens": 2, "cost_micros": 700}}]"#;

/// L1, L2, L3, L16
#[test]
fn a_session_goes_on_after_its_answer() {
    let world = World::new();
    let first = world.asked(&["parcels"]);
    let second = world.asked(&["--continue", "ferry", "--transcript"]);
    assert_eq!(id(&first), id(&second));
    assert_ne!(first["run"], second["run"]);
    assert_eq!(said(&second["transcript"]), ["parcels", "ferry"]);
    assert_eq!(said(&world.shown(id(&first))["entries"]), ["parcels", "ferry"]);
    // Without a flag another one begins, and from then on that is the latest.
    let other = world.asked(&["river"]);
    assert_ne!(id(&other), id(&first));
    assert_eq!(id(&world.asked(&["--session", "latest", "more"])), id(&other));
    assert_eq!(id(&world.asked(&["--session", &id(&first)[..8], "more"])), id(&first));
    assert_eq!(id(&world.asked(&["--session", "latest-or-create", "more"])), id(&first));
    let sessions = world.listed(&[]);
    let fields: BTreeSet<&str> = sessions[0].as_object().unwrap().keys().map(String::as_str).collect();
    let expected = ["agentId", "createdAt", "entries", "lastSnippet", "sessionId", "updatedAt", "workspace"];
    assert_eq!(fields, BTreeSet::from(expected));
    assert_eq!((sessions.len(), &sessions[0]["agentId"]), (2, &json!("explore")));
}

/// J21, L15: what one folder or agent said is no other's.
#[test]
fn there_is_nothing_to_continue_for_another_folder_or_agent() {
    let world = World::new();
    world.add("inner/README.md", "# Inner\n");
    let first = world.asked(&["parcels", "--session-name", "river"]);
    let inner = ["run", "explore", "more", "--workspace", "inner"];
    let ended = world.palisade(&[&inner[..], &["--continue"]].concat()).with_code(1);
    assert!(ended.stderr.starts_with("error: there is no session of `explore` in "), "{}", ended.stderr);
    let ended = world.palisade(&["run", "plan", "more", "--continue"]).with_code(1);
    assert!(ended.stderr.starts_with("error: there is no session of `plan` in "), "{}", ended.stderr);
    let ended = world.palisade(&["run", "plan", "more", "--session", id(&first)]).with_code(1);
    assert!(ended.stderr.contains("is held with `explore`, not with `plan`"), "{}", ended.stderr);
    let ended = world.palisade(&["run", "explore", "more", "--session", "nobody"]).with_code(1);
    assert_eq!(ended.stderr, "error: there is no session `nobody`; `palisade sessions list` shows those there are\n");
    world.palisade(&[&inner[..], &["--session", "latest-or-create"]].concat()).with_code(0);
    assert_eq!(world.listed(&["--workspace", "inner"]).len(), 1);
    // Whoever names the folder means it; whoever does not is told.
    world.palisade(&[&inner[..], &["--session", "river"]].concat()).with_code(0);
}

/// STO-03: what was called is called again only if that does no harm, and nothing that was done is lost.
#[test]
fn a_run_that_was_killed_in_the_middle_of_a_call_goes_on_at_once() {
    let world = World::new();
    world.fill_for_a_long_search();
    let script = r#"[{"text": "I will look.", "calls": [
        {"tool": "ls", "input": {"path": "src"}}, {"tool": "grep", "input": {"pattern": "parcels"}}
    ], "usage": {"input_tokens": 10, "output_tokens": 1}}]"#;
    let model = world.script("looks.json", script);
    let mut running = Running::start(&world, &["run", "explore", "go", "--model", &model], "");
    running.wait_for_line("path=src");
    running.kill();
    let left = world.shown(world.listed(&[])[0]["sessionId"].as_str().unwrap());
    assert_eq!((&left["lastRun"]["state"], said(&left["entries"]).len()), (&json!("open"), 1));
    #[expect(clippy::disallowed_methods, reason = "the test's own files")]
    fs::remove_dir_all(world.workspace().join("pages")).unwrap();

    let model = world.script("answers.json", ANSWERS);
    let started = Instant::now();
    let result = world.asked(&["--continue", "--model", &model, "--transcript"]);
    assert!(started.elapsed().as_secs() < 20, "nobody waits for a process that is gone");
    assert_eq!((&result["answer"], &result["run"]), (&json!("All is well."), &left["lastRun"]["runId"]));
    let entries: Vec<&str> =
        result["transcript"].as_array().unwrap().iter().map(|entry| entry["entry"].as_str().unwrap()).collect();
    assert_eq!(entries, ["user", "reply", "result", "result", "reply"]);
    let stats = world.palisade(&["stats", "--json"]).with_code(0).json();
    let total = &stats["total"];
    assert_eq!((&total["runs"], &total["answered"], &total["steps"]), (&json!(1), &json!(1), &json!(2)));
    assert_eq!(total["usage"]["input_tokens"], 50);
}

/// DEL-05: a run that goes on has what is left of its budget.
#[test]
fn a_run_that_was_killed_does_not_get_its_steps_again() {
    let world = World::new();
    world.fill_for_a_long_search();
    let script =
        r#"[{"calls": [{"tool": "ls", "input": {}}]}, {"calls": [{"tool": "grep", "input": {"pattern": "parcels"}}]}]"#;
    let model = world.script("looks.json", script);
    let mut running = Running::start(&world, &["run", "explore", "go", "--max-steps", "2", "--model", &model], "");
    running.wait_for_line("ls ");
    // The second step has begun when it is written down that it will search.
    let has_begun = || {
        let session = world.listed(&[])[0]["sessionId"].as_str().unwrap().to_owned();
        world.shown(&session)["entries"].as_array().unwrap().len() == 4
    };
    while !has_begun() {}
    running.kill();
    #[expect(clippy::disallowed_methods, reason = "the test's own files")]
    fs::remove_dir_all(world.workspace().join("pages")).unwrap();
    let model = world.script("answers.json", ANSWERS);
    let ended = world.palisade(&["run", "explore", "--continue", "--model", &model]).with_code(3);
    assert!(ended.stderr.contains("the run has used all of its steps"), "{}", ended.stderr);
    // A new turn is a new run.
    world.palisade(&["run", "explore", "--continue", "again", "--model", &model]).with_code(0);
}

/// STO-12
#[test]
fn a_session_that_is_in_use_is_refused() {
    let world = World::new();
    world.fill_for_a_long_search();
    let script = r#"[{"calls": [{"tool": "ls", "input": {}}, {"tool": "grep", "input": {"pattern": "parcels"}}]}]"#;
    let model = world.script("looks.json", script);
    let arguments = ["run", "explore", "go", "--session-name", "river", "--model", &model];
    let mut running = Running::start(&world, &arguments, "");
    running.wait_for_line("ls ");
    for more in [&["again"][..], &[]] {
        let arguments = [&["run", "explore", "--continue", "--model", &model], more].concat();
        let ended = world.palisade(&arguments).with_code(1);
        assert!(ended.stderr.contains("is in use by process "), "{}", ended.stderr);
        assert!(!ended.stderr.contains("1 step"), "no model was asked: {}", ended.stderr);
    }
    for change in [&["clear", "river"][..], &["delete", "river", "--yes"]] {
        let ended = world.sessions(change).with_code(1);
        assert!(ended.stderr.contains("is in use by "), "{}", ended.stderr);
    }
    // Its name is no part of what the run writes.
    world.sessions(&["rename", "river", "sea"]).with_code(0);
    running.interrupt();
    assert_eq!(running.code(), Some(130));
    // What was cancelled goes on when nothing new is said.
    let model = world.script("answers.json", ANSWERS);
    world.palisade(&["run", "explore", "--continue", "--model", &model]).with_code(0);
    assert_eq!(said(&world.shown("sea")["entries"]), ["go"]);
}

#[test]
fn what_was_answered_is_not_continued_without_a_word() {
    let world = World::new();
    world.asked(&["parcels"]);
    let ended = world.palisade(&["run", "explore", "--continue"]).with_code(1);
    assert!(ended.stderr.contains("nothing is left unfinished in session "), "{}", ended.stderr);
    let model = world.script("fails.json", r#"[{"error": {"kind": "unreachable", "message": "the line is dead"}}]"#);
    world.palisade(&["run", "explore", "ferry", "--continue", "--model", &model]).with_code(4);
    let model = world.script("answers.json", ANSWERS);
    let result = world.asked(&["--continue", "--model", &model, "--transcript"]);
    assert_eq!(said(&result["transcript"]), ["parcels", "ferry"]);
}

/// L10, DF-15
#[test]
fn names_are_unique_for_an_agent_whatever_their_case() {
    let world = World::new();
    let first = world.asked(&["parcels", "--session-name", "River"]);
    let ended = world.palisade(&["run", "explore", "x", "--session-name", "river"]).with_code(1);
    assert!(ended.stderr.contains("another session of this agent is called `river`"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("step"), "no model was asked: {}", ended.stderr);
    world.palisade(&["run", "plan", "parcels", "--session-name", "river"]).with_code(0);
    let second = world.asked(&["ferry"]);
    let ended = world.sessions(&["rename", id(&second), "RIVER"]).with_code(1);
    assert!(ended.stderr.contains("another session of this agent is called"), "{}", ended.stderr);
    assert_eq!(id(&world.asked(&["more", "--session", "rIVER"])), id(&first));
    // With two agents a name alone is not enough.
    let ended = world.sessions(&["show", "river"]).with_code(1);
    assert!(ended.stderr.contains("may be any of"), "{}", ended.stderr);
    world.sessions(&["show", "river", "--agent", "plan"]).with_code(0);
    let renamed = world.sessions(&["rename", "river", "--agent", "explore", "sea", "--json"]).with_code(0).json();
    assert_eq!((&renamed["name"], &renamed["sessionId"]), (&json!("sea"), &first["session"]));
    // It is free again, and what was renamed is the latest: that counts as an update.
    assert_eq!(id(&world.asked(&["more", "--continue"])), id(&first));
    world.sessions(&["rename", id(&second), "river"]).with_code(0);
    world.sessions(&["rename", "sea", "latest"]).with_code(1);
    world.palisade(&["run", "explore", "x", "--continue", "--session-name", "y"]).with_code(2);
}

/// L8, L9, L6
#[test]
fn what_is_cleared_is_empty_and_what_is_deleted_is_gone() {
    let world = World::new();
    world.asked(&["parcels", "--session-name", "river"]);
    world.asked(&["parcels", "--session-name", "sea"]);
    let before = world.shown("river")["session"].clone();
    let cleared = world.sessions(&["clear", "river", "--json"]).with_code(0).json();
    for kept in ["sessionId", "agentId", "name", "createdAt", "workspace"] {
        assert_eq!(cleared[kept], before[kept], "{kept}");
    }
    assert_eq!((&cleared["entries"], cleared.get("lastSnippet")), (&json!(0), None));
    assert_ne!(cleared["updatedAt"], before["updatedAt"]);
    let again = world.asked(&["ferry", "--session", "river", "--transcript"]);
    assert_eq!(said(&again["transcript"]), ["ferry"]);
    // Nobody can be asked, so nothing is deleted.
    let ended = world.sessions(&["delete", "river"]).with_code(2);
    assert!(ended.stderr.contains("add --yes"), "{}", ended.stderr);
    let gone = world.sessions(&["delete", "river", "sea", "RIVER", "--yes", "--json"]).with_code(0).json();
    assert_eq!(gone["deleted"].as_array().unwrap().len(), 2);
    world.sessions(&["show", "river"]).with_code(1);
    assert_eq!(world.listed(&[]), Vec::<Value>::new());
    assert_eq!(id(&world.asked(&["ferry", "--session-name", "river"])).len(), 36);
}

/// L4, L5, L12, CF-29
#[test]
fn what_is_pinned_stands_first_and_is_not_preferred() {
    let world = World::new();
    for name in ["one", "two", "three"] {
        world.asked(&["parcels", "--session-name", name]);
    }
    world.palisade(&["run", "plan", "parcels", "--session-name", "planned"]).with_code(0);
    world.sessions(&["pin", "one"]).with_code(0);
    let pinned = world.sessions(&["pin", "two", "--json"]).with_code(0).json();
    assert_eq!(pinned["pinnedAt"], pinned["updatedAt"]);
    world.asked(&["more", "--session", "three"]);
    let names = |sessions: Vec<Value>| -> Vec<String> {
        sessions.iter().map(|session| session["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(world.listed(&[])), ["two", "one", "three", "planned"]);
    assert_eq!(names(world.listed(&["--limit", "2", "--offset", "1"])), ["one", "three"]);
    assert_eq!(names(world.listed(&["--agent", "plan"])), ["planned"]);
    let list = world.sessions(&["list"]).with_code(0).stdout;
    let rows: Vec<&str> = list.lines().map(|line| line.get(..8).unwrap_or(line).trim_end()).collect();
    assert_eq!(rows, ["explore", "  * two", "  * one", "    thre", "plan", "    plan"]);
    assert_eq!(id(&world.asked(&["more", "--continue"])), id(&world.asked(&["x", "--session", "three"])));
    world.sessions(&["unpin", "two"]).with_code(0);
    assert_eq!(names(world.listed(&["--agent", "explore"])), ["one", "two", "three"]);
}

/// S9
#[test]
fn stats_add_up_what_runs_used() {
    let world = World::new();
    let model = world.script("answers.json", ANSWERS);
    for _ in 0..2 {
        world.asked(&["parcels", "--model", &model]);
    }
    world.palisade(&["run", "plan", "x", "--model", &model]).with_code(0);
    let fails = world.script("fails.json", r#"[{"error": {"kind": "unreachable", "message": "the line is dead"}}]"#);
    world.palisade(&["run", "plan", "x", "--model", &fails]).with_code(4);
    world.palisade(&["run", "plan", "x", "--model", &model, "--ephemeral"]).with_code(0);
    let stats = |arguments: &[&str]| world.palisade(&[&["stats", "--json"], arguments].concat()).with_code(0).json();
    let by_agent = stats(&[]);
    let usage = |runs: u64| json!({ "input_tokens": 40 * runs, "output_tokens": 2 * runs, "cost_micros": 700 * runs });
    let row = |agent: &str| {
        let rows = by_agent["rows"].as_array().unwrap();
        rows.iter().find(|row| row["agent"] == agent).unwrap().clone()
    };
    assert_eq!((&row("explore")["runs"], &row("explore")["answered"]), (&json!(2), &json!(2)));
    assert_eq!((&row("plan")["runs"], &row("plan")["answered"]), (&json!(2), &json!(1)));
    assert_eq!((&row("explore")["usage"], &row("plan")["usage"]), (&usage(2), &usage(1)));
    assert_eq!((&by_agent["total"]["runs"], &by_agent["total"]["usage"]), (&json!(4), &usage(3)));
    assert_eq!(stats(&["--by", "session"])["rows"].as_array().unwrap().len(), 4);
    let by_day = stats(&["--by", "day", "--agent", "plan", "--since", "1h"]);
    assert_eq!((by_day["rows"].as_array().unwrap().len(), &by_day["total"]["runs"]), (1, &json!(2)));
    assert_eq!(stats(&["--since", "2999-01-01"])["total"]["runs"], 0);
    let table = world.palisade(&["stats"]).with_code(0).stdout;
    assert!(table.contains("explore") && table.contains("$0.0014") && table.contains("together"), "{table}");
    world.palisade(&["stats", "--since", "soon"]).with_code(2);
}

#[test]
fn sessions_are_completed_and_said_at_the_end_of_a_run() {
    let world = World::new();
    let ended = world.palisade(&["run", "explore", "parcels"]).with_code(0);
    let last = ended.stderr.lines().last().unwrap();
    let short = last.strip_prefix("session ").unwrap();
    assert_eq!(short.len(), 8, "{last}");
    let variables = [("PALISADE_COMPLETE", "bash"), ("_CLAP_COMPLETE_INDEX", "3"), ("_CLAP_IFS", "\n")];
    let words = ["--", "palisade", "sessions", "show", ""];
    let completed = world.palisade_with(&variables, &words).with_code(0).stdout;
    assert_eq!(completed.lines().filter(|line| !line.starts_with('-')).collect::<Vec<_>>(), [short]);
}
