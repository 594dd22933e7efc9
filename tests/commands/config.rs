//! `palisade config` and `palisade models`.
#![expect(clippy::unwrap_used, reason = "a value that is not there fails the test")]

use serde_json::{Value, json};

use crate::world::World;

/// What is listed under this name.
fn named<'a>(list: &'a Value, key: &str, name: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|entry| entry[key] == name).unwrap_or_else(|| panic!("no {name} in {list}"))
}

#[test]
fn every_value_is_shown_with_its_origin() {
    let world = World::empty();
    world.configure("model = \"ollama:qwen3\"\n[budget]\nsteps = 9\n");
    world.add(".palisade/config.toml", "[budget]\nsteps = 5\n");
    let shown = world.palisade(&["config", "show"]).with_code(0).stdout;
    let programs = "exec.memory = \"4GiB\"\nexec.network = false\nexec.time = \"120s\"\n";
    let shown = shown.replace(programs, "");
    let others = "sandbox.apart = false\ntraces.content = false\n";
    assert_eq!(shown, format!("budget.steps = 5\nbudget.time = \"300s\"\nmodel = \"ollama:qwen3\"\n{others}"));
    let shown =
        world.palisade_with(&[("PALISADE_BUDGET_TIME", "7s")], &["config", "show", "--origin"]).with_code(0).stdout;
    let lines: Vec<&str> = shown.lines().filter(|line| !line.starts_with("exec.")).collect();
    assert!(lines[0].starts_with("budget.steps = 5  # project ") && lines[0].ends_with("/.palisade/config.toml:2"));
    assert_eq!(lines[1], "budget.time = \"7s\"  # environment PALISADE_BUDGET_TIME");
    assert!(lines[2].starts_with("model = \"ollama:qwen3\"  # user ") && lines[2].ends_with("/config.toml:1"));
    assert_eq!(lines[3..], ["sandbox.apart = false  # built-in", "traces.content = false  # built-in"]);
    let json = world.palisade(&["config", "show", "--json"]).with_code(0).json();
    assert_eq!((&json["budget.steps"]["value"], &json["budget.steps"]["origin"]), (&json!(5), &json!("project")));
}

#[test]
fn the_files_are_named_the_weakest_first() {
    let world = World::empty();
    world.configure("model = \"offline\"\n");
    let shown = world.palisade(&["config", "path"]).with_code(0).stdout;
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("operator  ") && lines[0].ends_with("(not there)"), "{shown}");
    assert!(lines[1].starts_with("user      ") && lines[1].ends_with(".config/palisade/config.toml"), "{shown}");
    assert!(lines[2].starts_with("project   ") && lines[2].ends_with(".palisade/config.toml  (not there)"), "{shown}");
}

#[test]
fn a_file_that_cannot_be_used_stops_what_needs_it_and_says_all_that_is_wrong() {
    let world = World::new();
    let file = world.configure("modle = \"x\"\n[budget]\nsteps = \"many\"\n");
    for arguments in [&["run", "explore", "parcels"][..], &["models"], &["config", "show"]] {
        let ended = world.palisade(arguments).with_code(1);
        assert_eq!(
            ended.stderr,
            format!(
                "error: {file}:1:1: there is no setting `modle`; did you mean `model`?\n\
                 error: {file}:3:9: `budget.steps` cannot be this text; it is a whole number from 1 to 1000000\n"
            )
        );
        assert_eq!(ended.stdout, "");
    }
}

#[test]
fn the_operator_locks_what_nobody_changes() {
    let world = World::new();
    world.configure_operator("model = \"offline\"\n[locked]\nkeys = [\"model\"]\n");
    world.configure("model = \"ollama:qwen3\"\n");
    let ended = world.palisade(&["run", "explore", "parcels"]).with_code(0);
    assert!(ended.stderr.contains("`model` is locked by the operator, so this is not used"), "{}", ended.stderr);
    assert!(ended.stderr.contains("explore · offline"), "{}", ended.stderr);
    let ended = world.palisade(&["run", "explore", "parcels", "--model", "ollama:qwen3"]).with_code(1);
    assert_eq!(ended.stderr, "error: the operator has locked `model`; leave out --model\n");
}

#[test]
fn the_schema_is_the_one_in_the_docs() {
    let printed = World::empty().palisade(&["config", "schema"]).with_code(0).json();
    let written: Value = serde_json::from_str(include_str!("../../docs/configuration.schema.json")).unwrap();
    assert_eq!(printed, written);
}

#[test]
fn models_show_what_is_configured_and_never_a_key() {
    let world = World::empty();
    world.configure(
        "model = \"sonnet\"\n[models.sonnet]\nmodel = \"anthropic:claude-sonnet-4-5\"\n[providers.mine]\n\
         base_url = \"http://127.0.0.1:1/v1\"\nkey_command = [\"touch\", \"started\"]\n",
    );
    let variables = [("ANTHROPIC_API_KEY", "sk-canary-1234")];
    let list = world.palisade_with(&variables, &["models", "--json"]).with_code(0).json();
    assert_eq!(list["default"]["model"], "anthropic:claude-sonnet-4-5");
    assert_eq!(named(&list["models"], "name", "sonnet")["model"], "anthropic:claude-sonnet-4-5");
    let anthropic = named(&list["providers"], "name", "anthropic");
    assert_eq!((&anthropic["key"], &anthropic["key_present"]), (&json!("ANTHROPIC_API_KEY"), &json!(true)));
    assert_eq!(anthropic["configured"], true);
    assert_eq!(named(&list["providers"], "name", "openai")["key_present"], false);
    assert_eq!(named(&list["providers"], "name", "mine")["key_present"], Value::Null);
    assert_eq!(world.read("started"), None, "a listing starts no program");
    for agent in ["explore", "general", "plan", "verification", "review"] {
        assert_eq!(named(&list["agents"], "by", agent)["model"], "anthropic:claude-sonnet-4-5");
    }
    for arguments in [&["models"][..], &["models", "--json"], &["config", "show", "--origin"], &["doctor", "--offline"]]
    {
        let ended = world.palisade_with(&variables, arguments);
        assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("canary"), "{ended:?}");
    }
}

#[test]
fn a_key_alone_connects_nothing_and_the_setting_that_would_is_named() {
    let world = World::new();
    let variables = [("OPENAI_API_KEY", "sk-canary-1234")];
    let ended = world.palisade_with(&variables, &["models"]).with_code(0);
    assert!(ended.stdout.contains("OPENAI_API_KEY is set; `model = \"openai:MODEL\"` in "), "{}", ended.stdout);
    let ended = world.palisade_with(&variables, &["run", "explore", "parcels"]).with_code(0);
    assert!(ended.stderr.contains("explore · offline"), "{}", ended.stderr);
}
