//! Files that are links, pipes, too long or not to be read.

use super::*;

const AGENTS: &str = "work/.palisade/agents";

/// CFG-01, CFG-11, DF-8
#[test]
fn a_link_out_of_its_folder_is_not_followed() {
    let stage = Stage::new();
    stage.define("outside/secret.md").define("work/docs/inside.md").define(&format!("{AGENTS}/good.md"));
    let dir = stage.dir.open_dir(AGENTS).unwrap();
    dir.symlink_contents(stage.path("outside/secret.md"), "absolute.md").unwrap();
    dir.symlink("../../../outside/secret.md", "relative.md").unwrap();
    dir.symlink("../../docs/inside.md", "workspace.md").unwrap();
    dir.symlink("../../../outside", "folder").unwrap();
    stage.trust_all();
    let registry = stage.load();
    assert_eq!(own(&registry), ["good"]);
    for name in ["absolute.md", "relative.md", "workspace.md", "folder"] {
        assert!(says(registry.problems(), &[name, "the link was not followed: it leads out of its folder"]), "{name}");
    }
}

/// A link inside a folder is an ordinary file, and a circle of folders ends.
#[test]
fn a_link_inside_its_folder_is_followed() {
    let stage = Stage::new();
    stage.write(&format!("{AGENTS}/shared/text.txt"), "---\ndescription: d\n---\n");
    let dir = stage.dir.open_dir(AGENTS).unwrap();
    dir.create_dir("sub").unwrap();
    dir.symlink("../shared/text.txt", "sub/linked.md").unwrap();
    dir.symlink("..", "sub/circle").unwrap();
    stage.trust_all();
    let registry = stage.load();
    assert_eq!(own(&registry), ["linked"]);
    assert_eq!(messages(&registry), [""; 0]);
}

/// CFG-11
#[test]
fn a_palisade_folder_that_is_a_link_out_of_the_workspace_is_not_followed() {
    let stage = Stage::new();
    stage.define("outside/agents/evil.md");
    stage.dir.symlink("../outside", "work/.palisade").unwrap();
    let registry = stage.load();
    assert_eq!((registry.len(), registry.exists("evil")), (5, false));
    assert!(says(registry.problems(), &["Failed to read agent directory: it leads out of its folder"]));
    assert!(!registry.entries().iter().any(|entry| entry.name == "evil"));
}

/// CFG-01: opening a pipe would wait forever.
#[test]
fn pipes_are_neither_waited_for_nor_read() {
    let stage = Stage::new();
    stage.define(&format!("{AGENTS}/good.md"));
    let dir = stage.dir.open_dir(AGENTS).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(&dir, "pipe.md", mode).unwrap();
    dir.symlink("pipe.md", "link.md").unwrap();
    stage.trust_all();
    assert_eq!(own(&stage.load()), ["good"]);
    assert!(matches!(read::read(&dir, "pipe.md"), Err(read::ReadError::NotAFile)));
    assert!(matches!(read::read_named(&stage.path(AGENTS).join("pipe.md")), Err(read::ReadError::NotAFile)));
}

/// CFG-03, CFG-15
#[test]
fn a_file_over_the_limit_is_refused_before_it_is_read() {
    let stage = Stage::new();
    stage.define("home/.palisade/agents/good.md").define("home/.palisade/agents/huge.md");
    let huge = stage.dir.open_with("home/.palisade/agents/huge.md", cap_std::fs::OpenOptions::new().write(true));
    // A terabyte that takes no room: reading it whole would end this test.
    huge.unwrap().set_len(1 << 40).unwrap();
    let registry = stage.load();
    assert_eq!(own(&registry), ["good"]);
    assert!(says(registry.problems(), &["huge.md", "Failed to read agent file: it has 1099511627776 bytes"]));
    assert!(matches!(registry.find("huge"), Err(FindError::Broken(_))));
}

/// C18, Q5
#[test]
fn a_file_that_cannot_be_read_is_reported_and_the_rest_loads() {
    let stage = Stage::new();
    stage.define("home/.palisade/agents/good.md");
    stage.dir.symlink("circle.md", "home/.palisade/agents/circle.md").unwrap();
    stage.dir.symlink("gone.md", "home/.palisade/agents/dangling.md").unwrap();
    let registry = stage.load();
    assert_eq!(own(&registry), ["good"]);
    assert!(says(registry.problems(), &["circle.md", "Failed to read agent file: "]));
    assert!(says(registry.problems(), &["dangling.md", "Failed to read agent file: "]));
}

/// C18, Q5
#[test]
fn a_file_that_vanishes_or_turns_into_something_else_is_reported() {
    let stage = Stage::new();
    stage.dir.create_dir("folder").unwrap();
    for (path, reason) in
        [("nothing.md", "No such file"), ("folder", "it is not a file"), ("../x", "out of its folder")]
    {
        let error = read::read(&stage.dir, path).err().unwrap();
        assert!(error.to_string().contains(reason), "{path}: {error}");
    }
}

/// DF-8, CFG-01
#[test]
fn a_path_in_a_file_stays_below_its_folder() {
    let check = |path: &str, expected: Option<&str>| assert_eq!(read::inside(path).ok().as_deref(), expected, "{path}");
    check("a.md", Some("a.md"));
    check("./agents//a.md", Some("agents/a.md"));
    check("~/a.md", Some("~/a.md"));
    check("$HOME/a.md", Some("$HOME/a.md"));
    for path in ["../a.md", "a/../../b.md", "a/../b.md", "/etc/passwd", "", ".", "a\\..\\b.md", "a\0b"] {
        check(path, None);
    }
}

/// Names that are not text cannot be shown or trusted.
#[test]
fn a_name_that_is_not_text_is_reported() {
    use std::os::unix::ffi::OsStrExt as _;
    let stage = Stage::new();
    stage.define("home/.palisade/agents/good.md");
    let dir = stage.dir.open_dir("home/.palisade/agents").unwrap();
    dir.write(std::ffi::OsStr::from_bytes(b"bad\xff.md"), definition("bad", "b")).unwrap();
    let registry = stage.load();
    assert_eq!(own(&registry), ["good"]);
    assert!(says(registry.problems(), &["is not valid text"]));
}
