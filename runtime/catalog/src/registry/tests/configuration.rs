//! What the operator's configuration decides.

use palisade_grants::{Access, Grants};

use super::*;

/// CF-1: a file that was named must be there and be right.
#[test]
fn a_configuration_that_cannot_be_used_is_an_error() {
    let stage = Stage::new();
    let places = Places { config: Some(stage.path("none.json")), ..stage.places() };
    let error = Registry::load(&places, &[]).unwrap_err();
    assert!(error.to_string().contains("none.json cannot be read"), "{error}");
    for text in ["{", "[]", r#"{"agents": [{"agentId": "a"}, {"agentId": "a"}]}"#, r#"{"allow_project_agent": false}"#]
    {
        stage.write("config.json", text);
        assert!(matches!(Registry::load(&stage.places(), &[]), Err(LoadError::Rejected(_))), "{text}");
    }
}

/// C23, CF-13
#[test]
fn an_operator_can_keep_agents_to_those_of_the_configuration() {
    let stage = Stage::new();
    stage.write(
        "config.json",
        r#"{"agents": [{"agentId": "todo"}], "allow_user_agents": false, "allow_project_agents": false}"#,
    );
    stage.define("home/.palisade/agents/mine.md").define("work/.palisade/agents/theirs.md");
    stage.define("home/.palisade/agents/explore.md");
    let registry = stage.trust_all().load();
    assert_eq!(own(&registry), ["todo"]);
    let check = |name: &str, setting: &str| {
        let error = registry.find(name).unwrap_err();
        assert!(matches!(&error, FindError::Refused { reason } if reason.contains(setting)), "{error}");
    };
    check("mine", "allow_user_agents: false");
    check("theirs", "allow_project_agents: false");
    check("explore", "allow_user_agents: false");
    let entries = registry.entries();
    assert_eq!(entries.iter().filter(|entry| entry.status == Status::Refused).count(), 3);
}

/// CF-11
#[test]
fn folders_of_two_other_programs_are_looked_at_unless_the_list_says_otherwise() {
    let check = |config: Option<&str>, expected: &[&str]| {
        let stage = Stage::new();
        config.map(|text| stage.write("config.json", text));
        stage.define("home/.claude/agents/claude.md").define("home/.acai/subagents/acai.md");
        stage.define("home/.opencode/agent/opencode.md");
        assert_eq!(own(&stage.load()), expected, "{config:?}");
    };
    check(None, &["acai", "claude"]);
    check(Some("{}"), &["acai", "claude"]);
    check(Some(r#"{"compat_dirs": null}"#), &["acai", "claude"]);
    check(Some(r#"{"compat_dirs": []}"#), &[]);
    check(Some(r#"{"compatDirs": [".opencode/agent"]}"#), &["opencode"]);
}

/// DF-8
#[test]
fn a_folder_of_another_program_is_below_home_and_workspace() {
    let stage = Stage::new();
    stage.define("outside/a.md");
    let outside = stage.path("outside").display().to_string();
    stage.write("config.json", format!(r#"{{"compat_dirs": ["../outside", {outside:?}, "."]}}"#));
    let registry = stage.load();
    assert_eq!(own(&registry), [""; 0]);
    assert_eq!(registry.problems().iter().filter(|it| it.field.as_deref() == Some("compat_dirs")).count(), 3);
}

/// C4
#[test]
fn paths_of_a_configuration_are_meant_from_its_folder_or_from_home() {
    let stage = Stage::new();
    let absolute = stage.path("absolute").display().to_string();
    stage.write(
        "etc/config.json",
        format!(r#"{{"agent_dirs": ["near", "~/far", {absolute:?}], "plugins_dir": "plug"}}"#),
    );
    stage.define("etc/near/a.md").define("home/far/b.md").define("absolute/c.md");
    stage.write("etc/plug/p/plugin.json", r#"{"name": "p"}"#).define("etc/plug/p/agents/d.md");
    let places = Places { config: Some(stage.path("etc/config.json")), plugins_dir: None, ..stage.places() };
    let registry = Registry::load(&places, &[]).unwrap();
    assert_eq!(own(&registry), ["a", "b", "c", "d"]);
    assert_eq!(messages(&registry), [""; 0]);
}

/// CF-1, DEL-01
#[test]
fn a_ceiling_lowers_what_agents_may_touch() {
    let stage = Stage::new();
    stage.define("home/.palisade/agents/mine.md").define("work/.palisade/agents/theirs.md");
    stage.write(
        "config.json",
        r#"{"ceiling": {"files": {".": "read-write"}}, "project_ceiling": {"files": {"src": "read-write"}, "http": ["*.example.com"]}}"#,
    );
    let registry = stage.trust_all().load();
    let ceiling = |name: &str| registry.ceiling_for(registry.find(name).unwrap());
    assert_eq!(ceiling("explore"), Grants::workspace(Access::ReadWrite));
    assert_eq!(ceiling("mine"), Grants::workspace(Access::ReadWrite));
    let project = registry.settings().project_ceiling.clone().unwrap();
    assert_eq!(ceiling("theirs"), project.narrow(&Grants::workspace(Access::ReadWrite)));
    assert_ne!(ceiling("theirs"), ceiling("mine"));
    let everything = Grants::everything();
    let open =
        Grants { commands: Default::default(), env: Default::default(), outside: Default::default(), ..everything };
    assert_eq!(Registry::built_in().ceiling_for(&Agent::new("a", "b")), open, "programs are allowed by name alone");
}

/// A32, C23
#[test]
fn agents_of_the_configuration_need_no_description() {
    let stage = Stage::new();
    stage.write("config.json", r#"{"agents": [{"agentId": "reading-list", "displayName": "Reading List"}]}"#);
    let registry = stage.load();
    let agent = registry.find("reading-list").unwrap();
    assert_eq!(
        (agent.origin.layer, agent.display_name(), agent.description.as_str()),
        (Layer::Configured, "Reading List", "")
    );
    assert_eq!(agent.origin.path, Some(stage.path("config.json").display().to_string()));
}
