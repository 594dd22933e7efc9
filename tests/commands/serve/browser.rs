//! The page in a real browser: Chromium, driven by the scenarios of `tests/browser`, with a model of their own. `just
//! test` installs what they need; where that cannot be, these tests are skipped, but not in CI.

use std::{
    env,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use serde_json::{Value, json};

use super::Server;
use crate::world::World;

/// A browser, and where the packages are that drive it; none where they are not, which is said, and is an error where
/// everything has to be.
fn installed() -> Option<(PathBuf, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("target/toolchains/browser");
    let lock = |path: &Path| std::fs::read(path).ok();
    let wanted = lock(&root.join("tests/browser/package-lock.json"));
    let path = env::var_os("PATH").unwrap_or_default();
    let browser = env::split_paths(&path)
        .flat_map(|place| ["chromium", "chromium-browser", "google-chrome"].map(|name| place.join(name)))
        .find(|program| program.is_file());
    if let Some(browser) = browser.filter(|_| wanted.is_some() && lock(&folder.join("installed")) == wanted) {
        return Some((browser, folder));
    }
    let why = "SKIPPED: chromium, or what drives it, is not here; `tests/prepare system browser` installs both";
    assert!(env::var_os("CI").is_none_or(|ci| ci != "true"), "{why}");
    #[expect(clippy::print_stderr, reason = "what is not tested must not go unseen")]
    {
        eprintln!("{why}");
    }
    None
}

/// Agents that read and write, that have to ask, and that have others work.
fn world() -> World {
    let world = World::new();
    world.add_outside("outside.txt", b"canary");
    world.add("hostile.md", "<script>window.owned = 1</script><img src=x onerror=\"window.owned = 1\">\n");
    world.add_agent(
        "porter",
        "---\nname: porter\ndescription: Carries.\ntools: [Read, Write]\npermissions:\n  ask: [\"Write(docs/**)\"]\n---\n",
    );
    world.add_agent(
        "coordinator",
        "---\nname: coordinator\ndescription: Asks others.\ntools: [Read, Task, agents_message]\n---\n",
    );
    world.add_agent("worker", "---\nname: worker\ndescription: Writes.\ntools: [Read, Write]\n---\n");
    world
}

/// Has a scenario played in front of a server. The scenario's model comes first, because the server is told of it.
fn play(scenario: &str, world: World, options: &[&str], more: &Value) -> Option<World> {
    let (browser, folder) = installed()?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/browser/drive.mjs");
    let mut driver = Command::new("node")
        .arg(script)
        .args([&folder, &browser])
        .arg(scenario)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = driver.stderr.take().unwrap();
    let said = thread::spawn(move || {
        let mut said = String::new();
        stderr.read_to_string(&mut said).map(|_| said)
    });
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let model = lines.next().unwrap().unwrap();
    world.configure(&format!(
        "model = \"speaker\"\n[models.speaker]\nmodel = \"local:speaker\"\nprice = {{ input = 3.0, output = 15.0 }}\n\
         [providers.local]\ndialect = \"chat\"\nbase_url = \"{model}\"\nretries = 0\n"
    ));
    let mut server = Server::start(world, options);
    let mut given = more.clone();
    given["address"] = json!(server.address);
    let mut input = driver.stdin.take().unwrap();
    writeln!(input, "{given}").unwrap();
    // The one thing that it cannot do by itself.
    for line in lines {
        assert_eq!(line.unwrap(), "kill the server");
        let address = server.address.clone();
        server = Server::start_at(&address, server.kill(), options);
        writeln!(input, "it is there again").unwrap();
    }
    let ended = driver.wait().unwrap();
    assert!(ended.success(), "{scenario}: {}", said.join().unwrap().unwrap());
    Some(std::mem::replace(&mut server.world, World::empty()))
}

/// T1, T3, T4, M9, M10
#[test]
fn a_conversation_comes_in_piece_by_piece_and_every_call_shows_what_the_sandbox_made_of_it() {
    play("chat", world(), &[], &json!({}));
}

#[test]
fn whoever_looks_at_the_page_decides_about_a_call() {
    let Some(world) = play("approve", world(), &[], &json!({})) else { return };
    assert_eq!(world.read("docs/yes.md").as_deref(), Some("x\u{202e}y"));
    assert_eq!((world.read("docs/no.md"), world.read("docs/stopped.md")), (None, None));
}

/// T1, T2, T3, L5, L8, L9, L10, L12
#[test]
fn sessions_are_grouped_pinned_renamed_searched_cleared_and_deleted_on_the_page() {
    play("sessions", world(), &[], &json!({}));
}

/// HTTP-11
#[test]
fn a_page_that_is_loaded_again_goes_on_in_the_middle_of_a_run() {
    play("reload", world(), &[], &json!({}));
}

/// P16: it goes on after a crash, too.
#[test]
fn a_page_goes_on_when_the_server_was_killed_in_the_middle_of_a_run() {
    play("crash", world(), &[], &json!({}));
}

#[test]
fn markdown_is_shown_as_it_is_meant_and_takes_no_longer_than_its_length() {
    play("markdown", world(), &[], &json!({}));
}

/// INJ-01
#[test]
fn nothing_that_a_model_or_a_tool_writes_runs_or_is_fetched() {
    play("hostile", world(), &[], &json!({}));
}

#[test]
fn the_page_can_be_used_with_the_keyboard_alone() {
    let Some(world) = play("keyboard", world(), &[], &json!({})) else { return };
    assert_eq!(world.read("docs/keys.md").as_deref(), Some("x"));
    assert_eq!(world.read("docs/never.md"), None);
}

#[test]
fn the_ceilings_of_agents_that_ask_each_other_are_drawn_with_what_was_cut() {
    let Some(world) = play("scope", world(), &[], &json!({})) else { return };
    assert_eq!(world.read("new.txt"), None);
}

#[test]
fn the_page_is_accessible_in_light_and_dark_wide_and_narrow() {
    play("access", world(), &[], &json!({}));
}

#[test]
fn a_key_stays_in_its_tab_and_shows_only_what_it_is_good_for() {
    if installed().is_none() {
        return;
    }
    let (world, keys) = super::tenants(&["acme", "other"]);
    let reads = world.palisade(&["tenants", "key", "acme", "--scope", "read"]).with_code(0).stdout;
    let keys = json!({ "keys": { "run": keys[0], "read": reads.trim(), "other": keys[1] } });
    play("keys", world, &["--keys"], &keys);
}
