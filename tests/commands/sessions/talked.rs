//! Sessions in chats, and what is shown of them.

use super::said;
use crate::world::World;

#[test]
fn a_chat_is_a_session_and_goes_on() {
    let world = World::new();
    let input = "/rename river\nparcels\n/sessions\n";
    let ended = world.palisade_reading(&["chat", "explore"], input).with_code(0);
    assert!(ended.stdout.lines().any(|line| line.starts_with("  > river ")), "{}", ended.stdout);
    assert!(ended.stderr.lines().last().unwrap().starts_with("session "), "{}", ended.stderr);
    let ended = world.palisade_reading(&["chat", "explore", "--continue"], "ferry\n/save talk.json\n").with_code(0);
    assert!(ended.stderr.contains(" (river) goes on after "), "{}", ended.stderr);
    let talk = serde_json::from_str(&world.read("talk.json").unwrap()).unwrap();
    assert_eq!(said(&talk), ["parcels", "ferry"]);
    // From elsewhere it is gone on with where it belongs.
    world.add("inner/README.md", "# Inner\n");
    let session = world.shown("river")["session"].clone();
    let arguments = ["sessions", "resume", "RIVER"];
    let ended = world.palisade_reading(&arguments, "unload_parcels\n/clear\nsea\n").with_code(0);
    assert!(ended.stderr.contains(session["workspace"].as_str().unwrap()), "{}", ended.stderr);
    assert_eq!(said(&world.shown("river")["entries"]), ["sea"]);
    assert_eq!(world.listed(&[]).len(), 1);
}

#[test]
fn nothing_is_kept_of_what_is_ephemeral() {
    let world = World::new();
    let ended = world.palisade(&["run", "explore", "parcels", "--ephemeral"]).with_code(0);
    assert!(!ended.stderr.contains("session "), "{}", ended.stderr);
    let input = "parcels\n/save one.json\n/rename x\n";
    let ended = world.palisade_reading(&["chat", "explore", "--ephemeral"], input).with_code(0);
    assert!(ended.stderr.contains("nothing of this conversation is kept"), "{}", ended.stderr);
    assert_eq!(World::files_below(&world.home()), Vec::<std::path::PathBuf>::new());
    let result = world.palisade(&["run", "explore", "parcels", "--ephemeral", "--json"]).with_code(0).json();
    assert_eq!(result.get("session").or(result.get("run")), None);
    world.palisade(&["run", "explore", "x", "--ephemeral", "--continue"]).with_code(2);
}

#[test]
fn without_a_place_runs_work_and_nothing_lasts() {
    let world = World::new();
    let nowhere = [("HOME", "")];
    let ended = world.palisade_with(&nowhere, &["run", "explore", "parcels"]).with_code(0);
    assert!(!ended.stderr.contains("session ") && !ended.stderr.contains("warning"), "{}", ended.stderr);
    let ended = world.palisade_with(&nowhere, &["sessions", "list"]).with_code(0);
    assert!(ended.stderr.contains("warning: no sessions are kept: there is no place for them"), "{}", ended.stderr);
    world.palisade_with(&nowhere, &["run", "explore", "parcels", "--continue"]).with_code(1);
    let memory = [("PALISADE_STORE", "memory:")];
    world.palisade_with(&memory, &["run", "explore", "parcels"]).with_code(0);
    assert_eq!(World::files_below(&world.home()), Vec::<std::path::PathBuf>::new());
}

#[test]
fn what_is_shown_of_a_session_cannot_forge_anything() {
    let world = World::new();
    let script = "[{\"text\": \"a \\u001b[2J \\u202e b\", \"calls\": [{\"tool\": \"read\", \"input\": \
                  {\"path\": \"x\\u001b[31m\"}}]}, {\"text\": \"c \\u009b d\"}]";
    let model = world.script("hostile.json", script);
    world.asked(&["go \u{1b}]0;title\u{7}", "--model", &model, "--session-name", "river"]);
    for arguments in [&["show", "river"][..], &["show", "river", "--json"], &["list"], &["list", "--json"]] {
        let shown = world.sessions(arguments).with_code(0).stdout;
        assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{9b}', '\u{7}']), "{shown:?}");
    }
    let shown = world.sessions(&["show", "river"]).with_code(0).stdout;
    assert!(shown.contains("> go \\u{1b}]0;title") && shown.contains("last run") && shown.contains("read"), "{shown}");
}
