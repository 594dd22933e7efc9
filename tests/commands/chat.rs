//! `palisade chat` without a terminal.

use serde_json::Value;

use crate::world::World;

#[test]
fn each_line_is_a_message_and_each_answer_is_printed() {
    let ended =
        World::new().palisade_reading(&["chat", "explore"], "where are parcels unloaded?\n\nferry\n").with_code(0);
    assert!(ended.stdout.contains("src/harbour.rs:4"), "{}", ended.stdout);
    assert!(ended.stdout.contains("Cargo.toml"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("explore>"), "{}", ended.stdout);
    assert!(ended.stderr.starts_with("explore · offline: "), "{}", ended.stderr);
    assert!(!ended.stderr.contains('\u{1b}'), "{:?}", ended.stderr);
}

#[test]
fn what_was_said_before_is_known_and_can_be_saved_and_forgotten() {
    let world = World::new();
    let input = "parcels\n/save one.json\nferry\n/save two.json\n/clear\n/save three.json\n/save one.json\n";
    let ended = world.palisade_reading(&["chat", "explore"], input).with_code(0);
    let users = |file: &str| -> Vec<String> {
        let transcript: Value = serde_json::from_str(&world.read(file).unwrap()).unwrap();
        let entries = transcript.as_array().unwrap().iter().filter(|entry| entry["entry"] == "user");
        entries.map(|entry| entry["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(users("one.json"), ["parcels"]);
    assert_eq!(users("two.json"), ["parcels", "ferry"]);
    assert_eq!(users("three.json"), [""; 0]);
    assert!(ended.stderr.contains("error: `one.json` cannot be written: "), "{}", ended.stderr);
    use std::os::unix::fs::PermissionsExt as _;
    let mode = world.workspace().join("one.json").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn commands_are_for_the_program() {
    let input = "/help\n/tools\n/explain\n/model\n/usage\n/nonsense\n/save\n/quit\nnever read\n";
    let ended = World::new().palisade_reading(&["chat", "explore"], input).with_code(0);
    for part in ["/save FILE", "read-only", "Budget of a run", "offline: deterministic survey", "0 tokens"] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    let errors = [
        "error: there is no command `/nonsense`; /help lists them\n",
        "error: `/save` needs the name of a file, such as `/save talk.json`\n",
    ];
    assert!(errors.iter().all(|error| ended.stderr.contains(error)), "{}", ended.stderr);
    assert!(!ended.stderr.contains("grep"), "no message was sent: {}", ended.stderr);
}

#[test]
fn without_a_terminal_nothing_is_remembered() {
    let world = World::new();
    world.palisade_reading(&["chat", "explore"], "/help\n").with_code(0);
    assert_eq!(World::files_below(&world.home()), Vec::<std::path::PathBuf>::new());
}

#[test]
fn the_agent_is_general_unless_one_is_named() {
    let ended = World::new().palisade_reading(&["chat"], "/quit\n").with_code(0);
    assert!(ended.stderr.starts_with("general · "), "{}", ended.stderr);
    let ended = World::new().palisade_reading(&["chat", "nobody"], "").with_code(1);
    assert!(ended.stderr.starts_with("error: there is no agent `nobody`"), "{}", ended.stderr);
}
