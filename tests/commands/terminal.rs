//! The program on a real pseudo-terminal, which `script` of util-linux makes.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use crate::{glass::Glass, world::World};

const COLUMNS: usize = 100;

/// The program on a terminal.
struct Session {
    child: Child,
    keys: Option<ChildStdin>,
    screen: ChildStdout,
    seen: Vec<u8>,
    /// How far was looked.
    looked: usize,
}

#[expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test starts the program")]
impl Session {
    fn start(world: &World, environment: &[(&str, &str)], arguments: &str) -> Self {
        let program = env!("CARGO_BIN_EXE_palisade");
        let command = format!("stty cols {COLUMNS} rows 30; exec {program} {arguments}");
        let mut child = Command::new("script")
            .args(["--quiet", "--flush", "--return", "--command", &command, "/dev/null"])
            .current_dir(world.workspace())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm-256color")
            .env("HOME", world.home())
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (keys, screen) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { child, keys, screen, seen: Vec::new(), looked: 0 }
    }

    fn press(&mut self, keys: &str) {
        let pipe = self.keys.as_mut().unwrap();
        pipe.write_all(keys.as_bytes()).unwrap();
        pipe.flush().unwrap();
    }

    /// Waits until this is on its way to the screen, after what was waited for before.
    #[track_caller]
    fn wait_for(&mut self, part: &str) {
        let mut buffer = [0; 4096];
        loop {
            let place = self.seen[self.looked..].windows(part.len()).position(|bytes| bytes == part.as_bytes());
            if let Some(place) = place {
                self.looked += place + part.len();
                return;
            }
            let count = self.screen.read(&mut buffer).unwrap();
            assert!(count > 0, "it ended without `{part}`:\n{}", self.raw());
            self.seen.extend_from_slice(&buffer[..count]);
        }
    }

    /// Waits for the end and gives the exit code.
    fn end(&mut self) -> Option<i32> {
        self.screen.read_to_end(&mut self.seen).unwrap();
        self.keys = None;
        self.child.wait().unwrap().code()
    }

    fn raw(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    fn rows(&self) -> String {
        Glass::after(&self.seen, COLUMNS).join("\n")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A test that failed must not leave it running; one that did not has waited for its end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_live_line_is_seen_and_leaves_no_trace() {
    let world = World::new();
    let mut session = Session::start(&world, &[], "run explore 'where are parcels unloaded?'");
    assert_eq!(session.end(), Some(0), "{}", session.raw());
    assert!(session.raw().contains("Ctrl-C to stop"), "{}", session.raw());
    assert!(!session.rows().contains("Ctrl-C to stop"), "{}", session.rows());
    let answer = world.palisade(&["run", "explore", "where are parcels unloaded?", "--quiet"]).stdout;
    let count = |text: &str| text.matches("harbour.rs:4").count();
    assert_eq!(count(&session.rows()), count(&answer), "printed once: {}", session.rows());
}

#[test]
fn markdown_has_styles_on_a_terminal() {
    let world = World::new();
    let mut session = Session::start(&world, &[], "run explore 'where are parcels unloaded?'");
    assert_eq!(session.end(), Some(0), "{}", session.raw());
    assert!(session.raw().contains("\u{1b}[36m"), "code has a colour: {:?}", session.raw());
    assert!(!session.rows().contains("`src/"), "{}", session.rows());
    assert!(!session.rows().contains("## "), "{}", session.rows());
}

#[test]
fn what_a_model_says_in_pieces_is_shown_once() {
    let world = World::new();
    let script = r##"[
        {"text": ["I **will", "** look.\n"], "calls": [{"tool": "ls", "input": {"path": "src"}}]},
        {"text": ["# Par", "cels\n\n- on", "e\n- two\n\n```\nlet  a", ";\n```\n\nEnd", "."]}
    ]"##;
    let model = world.add_outside("script.json", script.as_bytes());
    let mut session = Session::start(&world, &[], &format!("run explore go --model scripted:{model}"));
    assert_eq!(session.end(), Some(0), "{}", session.raw());
    let rows = session.rows();
    assert!(rows.contains("\n\nI will look.\n\n  ls      path=src "), "{rows}");
    assert!(rows.contains("\n\nParcels\n\n• one\n• two\n\n```\nlet  a;\n```\n\nEnd.\n\n2 steps, 1 call, "), "{rows}");
}

#[test]
fn without_colours_there_still_is_a_live_line() {
    let world = World::new();
    let mut session = Session::start(&world, &[("NO_COLOR", "1")], "run explore parcels");
    assert_eq!(session.end(), Some(0), "{}", session.raw());
    assert!(session.raw().contains("Ctrl-C to stop"), "{}", session.raw());
    assert!(!session.raw().contains("\u{1b}[36m") && !session.raw().contains("\u{1b}[1m"), "{:?}", session.raw());
}

#[test]
fn quiet_and_dumb_terminals_have_no_live_line() {
    for (environment, arguments) in
        [(&[][..], "run explore parcels --quiet"), (&[("TERM", "dumb")], "run explore parcels")]
    {
        let world = World::new();
        let mut session = Session::start(&world, environment, arguments);
        assert_eq!(session.end(), Some(0), "{}", session.raw());
        assert!(!session.raw().contains("Ctrl-C to stop"), "{}", session.raw());
        assert!(session.rows().contains("harbour.rs"), "{}", session.rows());
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test makes its files")]
fn one_interrupt_keeps_what_there_is() {
    let world = World::new();
    // A search that takes longer than a call may.
    let file = world.add("pages/0.txt", "All quiet on the river today.\n".repeat(1 << 20));
    for number in 1..2000 {
        fs::hard_link(&file, file.with_file_name(format!("{number}.txt"))).unwrap();
    }
    let mut session = Session::start(&world, &[], "run explore 'where are parcels unloaded?'");
    session.wait_for("limit=5000");
    session.wait_for("running ");
    session.press("\u{3}");
    assert_eq!(session.end(), Some(130), "{}", session.raw());
    let rows = session.rows();
    assert_eq!(rows.matches("Looking where the words occur.").count(), 1, "{rows}");
    assert!(rows.contains("error: the run was cancelled"), "{rows}");
    assert!(!rows.contains("Ctrl-C to stop"), "{rows}");
}

/// L9
#[test]
fn whoever_deletes_a_session_is_asked() {
    let world = World::new();
    world.palisade(&["run", "explore", "parcels", "--session-name", "river"]).with_code(0);
    for (answer, code) in [("\r", 1), ("n\r", 1), ("y\r", 0)] {
        world.palisade(&["sessions", "show", "river"]).with_code(0);
        let mut session = Session::start(&world, &[], "sessions delete river");
        session.wait_for("delete for good?");
        session.press(answer);
        assert_eq!(session.end(), Some(code), "{}", session.raw());
    }
    world.palisade(&["sessions", "show", "river"]).with_code(1);
}

#[test]
fn a_conversation_is_typed() {
    let world = World::new();
    let mut session = Session::start(&world, &[], "chat explore");
    session.wait_for("explore> ");
    session.press("where are parcels \\\r");
    session.press("unloaded?\r");
    // Typed ahead: it is not shown before it is read, and it is not lost.
    session.wait_for("Ctrl-C to stop");
    session.press("/usage\r");
    session.wait_for("harbour.rs:4");
    session.wait_for("not known, or nothing");
    session.wait_for("explore> ");
    // What is typed is thrown away once; on an empty line the conversation ends.
    session.press("nonsense");
    session.wait_for("nonsense");
    session.press("\u{3}");
    session.wait_for("explore> ");
    session.press("\u{3}");
    assert_eq!(session.end(), Some(0), "{}", session.raw());
    let rows = session.rows();
    assert!(rows.contains("harbour.rs:4"), "{rows}");
    assert!(!rows.contains("Ctrl-C to stop"), "{rows}");
    let history = world.home().join(".local/share/palisade/chat-history");
    assert_eq!(history.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let folder = history.parent().unwrap().metadata().unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
}

/// A world with an agent that has to ask before it lists a folder, and a model that does nothing else.
fn asking() -> (World, String) {
    let world = World::new();
    world.add_agent("asks", "---\nname: asks\ndescription: d\ntools: ls\npermissions: { ask: [ls] }\n---\nx\n");
    let call = r#"{"calls": [{"tool": "ls", "input": {"path": "src"}}]}"#;
    let model = world.add_outside("script.json", format!("[{call}, {{\"text\": \"Done.\"}}]").as_bytes());
    (world, model)
}

const QUESTION: &str = "anything else for no:";

#[test]
fn whoever_is_asked_decides() {
    for (key, expected) in [("y\r", "2 steps, 1 call, "), ("n\r", "(1 failed)")] {
        let (world, model) = asking();
        let mut session = Session::start(&world, &[], &format!("run asks go --model scripted:{model}"));
        session.wait_for("may it? ");
        session.wait_for(QUESTION);
        session.press(key);
        assert_eq!(session.end(), Some(0), "{}", session.raw());
        assert!(session.rows().contains(expected), "{}", session.rows());
    }
}

/// A model chooses when somebody is asked, so what was typed before is no answer.
#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let (world, model) = asking();
    let mut session = Session::start(&world, &[], &format!("run asks go --model scripted:{model}"));
    session.press("yes\r");
    session.wait_for("yes");
    session.wait_for(QUESTION);
    session.press("n\r");
    assert_eq!(session.end(), Some(0), "{}", session.raw());
    assert!(session.rows().contains("(1 failed)"), "{}", session.rows());
}

#[test]
fn an_interrupt_at_a_question_ends_the_run_and_gives_the_keys_back() {
    let (world, model) = asking();
    let mut session = Session::start(&world, &[], &format!("run asks go --model scripted:{model}"));
    session.wait_for(QUESTION);
    session.press("\u{3}");
    assert_eq!(session.end(), Some(130), "{}", session.raw());

    let (world, model) = asking();
    let mut session = Session::start(&world, &[], &format!("chat asks --model scripted:{model}"));
    session.wait_for("asks> ");
    session.press("go\r");
    session.wait_for(QUESTION);
    session.press("\u{3}");
    session.wait_for("asks> ");
    // Every key of the next line is read by the conversation.
    session.press("/usage\r");
    session.wait_for("not known, or nothing");
    session.wait_for("asks> ");
    session.press("\u{4}");
    assert_eq!(session.end(), Some(130), "{}", session.raw());
}
