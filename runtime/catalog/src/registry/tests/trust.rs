//! A project's agents run after somebody has looked at them.

use cap_std::fs::{MetadataExt as _, PermissionsExt as _};

use super::*;

const FILE: &str = "work/.palisade/agents/theirs.md";

fn untrusted(registry: &Registry, name: &str) -> bool {
    matches!(registry.find(name), Err(FindError::Untrusted { .. }))
}

/// CFG-11, CF-13
#[test]
fn an_agent_of_a_project_is_not_used_before_somebody_trusts_it() {
    let stage = Stage::new();
    stage.define(FILE);
    let registry = stage.load();
    let error = registry.find("theirs").unwrap_err();
    let path = stage.path(FILE).display().to_string();
    assert_eq!(
        error.to_string(),
        format!(
            "the agent `theirs` is defined by the project in {path}, which nobody has trusted yet; read the file, then allow it with `palisade agents trust theirs`"
        )
    );
    let FindError::Untrusted { digest, .. } = error else { panic!("not untrusted") };
    assert_eq!(digest, blake3::hash(definition("theirs", FILE).as_bytes()));
    assert_eq!((registry.get("theirs"), registry.len()), (None, 5));
    let entries = registry.entries();
    let entry = entries.iter().find(|entry| entry.name == "theirs").unwrap();
    assert_eq!((entry.status, entry.agent.unwrap().description.as_str()), (Status::Untrusted, FILE));
    assert_eq!(registry.look_up("theirs").unwrap().status, Status::Untrusted);

    let registry = stage.trust_all().load();
    assert_eq!(description(&registry, "theirs"), FILE);
    assert_eq!(registry.look_up("theirs").unwrap().status, Status::Ok);
}

/// CFG-11, DF-19
#[test]
fn an_untrusted_file_lets_no_weaker_agent_through() {
    let stage = Stage::new();
    stage.define("work/.claude/agents/explore.md").define("home/.palisade/agents/mine.md");
    stage.define("work/.palisade/agents/mine.md");
    let registry = stage.load();
    assert!(untrusted(&registry, "explore") && untrusted(&registry, "mine"));
    assert!(!registry.list_visible().iter().any(|agent| agent.name == "explore" || agent.name == "mine"));
}

/// CFG-11: trust is in what a file says.
#[test]
fn a_changed_file_is_untrusted_again() {
    let stage = Stage::new();
    stage.define(FILE).trust_all();
    stage.write(FILE, definition("theirs", "now with bash"));
    let registry = stage.load();
    assert!(registry.find("theirs").unwrap_err().to_string().contains("which has changed since it was trusted"));
    stage.define(FILE);
    assert!(stage.load().exists("theirs"));
}

/// CFG-11: what was looked at in one place is not trusted in another.
#[test]
fn trust_is_for_one_file_of_one_workspace() {
    let stage = Stage::new();
    stage.define(FILE).trust_all();
    let text = definition("theirs", FILE);
    stage
        .write("other/.palisade/agents/theirs.md", &text)
        .write("work/.palisade/agents/copy.md", definition("copy", "c"));
    let places = Places { workspace: Some(stage.path("other")), ..stage.places() };
    assert!(untrusted(&Registry::load(&places, &[]).unwrap(), "theirs"));
    assert!(untrusted(&stage.load(), "copy"));
}

/// CFG-11: by whatever path a workspace is reached.
#[test]
fn trust_knows_a_workspace_by_its_real_path() {
    let stage = Stage::new();
    stage.define(FILE).trust_all();
    stage.dir.symlink("work", "link").unwrap();
    let places = Places { workspace: Some(stage.path("link")), ..stage.places() };
    assert!(Registry::load(&places, &[]).unwrap().exists("theirs"));
}

/// CFG-11
#[test]
fn trust_can_be_withdrawn() {
    let stage = Stage::new();
    stage.define(FILE).define("work/.palisade/agents/other.md").trust_all();
    let mut trust = Trust::load(&stage.path("trust.json"));
    let registry = stage.load();
    let file = registry.project_file("theirs").unwrap();
    assert!(trust.is_trusted(&file.workspace, &file.relative, &file.digest));
    trust.revoke(&stage.path("work"), ".palisade/agents/theirs.md");
    assert!(!trust.is_trusted(&file.workspace, &file.relative, &file.digest));
    assert!(stage.load().exists("theirs"), "nothing was saved yet");
    trust.save(&stage.path("trust.json")).unwrap();
    let registry = stage.load();
    assert!(untrusted(&registry, "theirs") && registry.exists("other"));
}

/// CFG-11: two processes decide at the same time.
#[test]
fn a_decision_does_not_bring_back_one_that_was_withdrawn() {
    let stage = Stage::new();
    stage.define(FILE).trust_all();
    let path = stage.path("trust.json");
    let (mut one, mut other) = (Trust::load(&path), Trust::load(&path));
    one.revoke(&stage.path("work"), ".palisade/agents/theirs.md");
    one.save(&path).unwrap();
    other.trust(&stage.path("work"), ".palisade/agents/new.md", b"new");
    other.save(&path).unwrap();
    assert!(untrusted(&stage.load(), "theirs"));
    let workspace = real_path(&stage.path("work"));
    assert!(Trust::load(&path).is_trusted(&workspace, ".palisade/agents/new.md", &blake3::hash(b"new")));
}

/// CFG-11: only its owner reads and writes the file.
#[test]
fn decisions_are_kept_in_a_private_file() {
    let stage = Stage::new();
    stage.define(FILE).trust_all();
    assert_eq!(stage.dir.metadata("trust.json").unwrap().mode() & 0o777, 0o600);
    stage.dir.set_permissions("trust.json", cap_std::fs::Permissions::from_mode(0o666)).unwrap();
    let registry = stage.load();
    assert!(untrusted(&registry, "theirs"));
    assert!(says(registry.problems(), &["trust.json", "can be written by others than its owner"]));
}

/// CFG-11
#[test]
fn a_damaged_file_of_decisions_trusts_nothing_and_is_not_overwritten() {
    let good = r#"{"workspaces": {"/w": {"a.md": "00"}}}"#;
    for text in ["", "{", "[]", "null", good, r#"{"workspaces": {}, "version": 2}"#, "\u{0}"] {
        let stage = Stage::new();
        stage.define(FILE).write("trust.json", text);
        let registry = stage.load();
        assert!(untrusted(&registry, "theirs"), "{text}");
        assert!(says(registry.problems(), &["trust.json", "nothing of a project is trusted"]), "{text}");
        let mut trust = Trust::load(&stage.path("trust.json"));
        trust.trust(&stage.path("work"), "a.md", b"a");
        assert!(
            matches!(trust.save(&stage.path("trust.json")), Err(TrustError::Kept(KeptError::Damaged { .. }))),
            "{text}"
        );
        assert_eq!(stage.dir.read_to_string("trust.json").unwrap(), text);
    }
}

/// CFG-11: without a place for decisions there are none.
#[test]
fn nothing_is_trusted_without_a_file_of_decisions() {
    let stage = Stage::new();
    stage.define(FILE).trust_all();
    let registry = Registry::load(&Places { trust: None, ..stage.places() }, &[]).unwrap();
    assert!(untrusted(&registry, "theirs"));
    assert_eq!(messages(&registry), [""; 0]);
}

/// CFG-11: a link in the place of the file leads to somebody else's decisions.
#[test]
fn a_file_of_decisions_is_not_a_link_to_elsewhere() {
    let stage = Stage::new();
    stage.define(FILE).trust_all();
    stage.dir.create_dir("data").unwrap();
    stage.dir.symlink("../trust.json", "data/trust.json").unwrap();
    let registry =
        Registry::load(&Places { trust: Some(stage.path("data/trust.json")), ..stage.places() }, &[]).unwrap();
    assert!(untrusted(&registry, "theirs"));
}

/// CFG-12: what was trusted is what is used, whatever the file says by then.
#[test]
fn the_trusted_bytes_are_the_ones_that_were_read() {
    let stage = Stage::new();
    stage.define(FILE).trust_all();
    let registry = stage.load();
    stage.write(FILE, definition("theirs", "swapped"));
    assert_eq!(description(&registry, "theirs"), FILE);
    assert_eq!(registry.project_file("theirs").unwrap().digest, blake3::hash(definition("theirs", FILE).as_bytes()));
}

/// The file is written where nothing was before, and by whoever comes first.
#[test]
fn decisions_are_saved_into_a_new_folder() {
    let stage = Stage::new();
    let path = stage.path("data/palisade/trust.json");
    let mut trust = Trust::load(&path);
    trust.trust(&stage.path("work"), "a.md", b"a");
    trust.save(&path).unwrap();
    assert!(Trust::load(&path).is_trusted(&real_path(&stage.path("work")), "a.md", &blake3::hash(b"a")));
}
