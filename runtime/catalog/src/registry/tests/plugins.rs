//! Plugins and the agents they bring.

use super::*;

fn manifest(stage: &Stage, plugin: &str, agents: &str) {
    stage.write(&format!("plugins/{plugin}/plugin.json"), format!(r#"{{"name": "{plugin}", "agents": {agents}}}"#));
}

/// D16, D17, D9, D10, D11, C35
#[test]
fn the_agents_of_a_plugin_are_loaded_and_belong_to_it() {
    let stage = Stage::new();
    manifest(&stage, "database", r#"[{"name": "sql", "description": "d", "system_prompt_file": "prompts/sql.md"}]"#);
    stage.write("plugins/database/prompts/sql.md", definition("called-otherwise", "from the file"));
    stage.define("plugins/database/agents/schema.md");
    let registry = stage.load();
    assert_eq!(own(&registry), ["schema", "sql"]);
    for name in ["sql", "schema", "database/sql", "database/schema"] {
        assert_eq!(registry.find(name).unwrap().origin.plugin.as_deref(), Some("database"));
    }
    assert_eq!(description(&registry, "sql"), "d");
    assert_eq!(registry.find("sql").unwrap().prompt.as_deref(), Some("Do it."));
    assert_eq!(messages(&registry), [""; 0]);
}

/// D4, D12, D19, V1
#[test]
fn a_plugin_needs_no_agents_and_hardly_anything_else() {
    let stage = Stage::new();
    stage.write("plugins/a/plugin.json", r#"{"name": "a", "version": "1.0.0", "description": "d", "tools": []}"#);
    manifest(&stage, "b", "[]");
    manifest(&stage, "c", r#"[{"name": "only", "system_prompt_file": "only.md"}]"#);
    stage.write("plugins/c/only.md", "You are the only one.");
    let registry = stage.load();
    assert_eq!(own(&registry), ["only"]);
    let plugins: Vec<&str> = registry.plugins().iter().map(|plugin| plugin.name.as_str()).collect();
    assert_eq!(plugins, ["a", "b", "c"]);
    assert_eq!(registry.plugins()[0].version.as_deref(), Some("1.0.0"));
    assert_eq!(registry.plugins()[0].description.as_deref(), Some("d"));
}

/// D5, D6, DF-10, Q3
#[test]
fn entries_that_cannot_be_used_are_left_out_with_a_warning() {
    let stage = Stage::new();
    let agents = r#"[
        {"name": "sql", "description": "first", "system_prompt_file": "sql.md"},
        {"name": "sql", "description": "second", "system_prompt_file": "sql.md"},
        {"name": "nofile"}, {"system_prompt_file": "sql.md"}, {"system_prompt_file": "sql.md"}]"#;
    manifest(&stage, "p", agents);
    stage.write("plugins/p/sql.md", definition("sql", "d"));
    let registry = stage.load();
    assert_eq!(own(&registry), ["sql"]);
    assert_eq!(description(&registry, "sql"), "first");
    assert!(says(registry.problems(), &["Duplicate agent name 'sql' in plugin 'p'"]));
    let missing = "Invalid agent in plugin 'p': missing required fields";
    assert_eq!(messages(&registry).iter().filter(|message| message.contains(missing)).count(), 3);
}

/// D7, DF-2, Q3
#[test]
fn an_agent_whose_file_is_missing_or_broken_leaves_the_others_alone() {
    let stage = Stage::new();
    let agents = r#"[
        {"name": "gone", "system_prompt_file": "gone.md"},
        {"name": "bad", "system_prompt_file": "bad.md"},
        {"name": "good", "system_prompt_file": "good.md"}]"#;
    manifest(&stage, "p", agents);
    stage.write("plugins/p/bad.md", "---\nname: [\n---\n").write("plugins/p/good.md", "Be good.");
    let registry = stage.load();
    assert_eq!(own(&registry), ["good"]);
    assert!(says(registry.problems(), &["Failed to parse agent file 'bad.md'"]));
    assert!(says(registry.problems(), &["Failed to read agent file 'gone.md'"]));
}

/// CFG-01, DF-8
#[test]
fn the_file_of_an_agent_stays_inside_its_plugin() {
    let stage = Stage::new();
    stage.write("secret.md", "secret").write("plugins/secret.md", "secret");
    let outside = stage.path("secret.md").display().to_string();
    let files = [
        "../secret.md",
        "../../secret.md",
        &outside,
        "link.md",
        "~/secret.md",
        "$HOME/secret.md",
        "folder",
        "pipe.md",
        "huge.md",
        "",
    ];
    let agents: Vec<String> = files
        .iter()
        .enumerate()
        .map(|(number, file)| format!(r#"{{"name": "a{number}", "system_prompt_file": {file:?}}}"#))
        .collect();
    manifest(&stage, "p", &format!("[{}]", agents.join(",")));
    let dir = stage.dir.open_dir("plugins/p").unwrap();
    dir.symlink("../secret.md", "link.md").unwrap();
    dir.create_dir("folder").unwrap();
    rustix::fs::mkfifoat(&dir, "pipe.md", rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    dir.create("huge.md").unwrap().set_len(1 << 30).unwrap();
    let registry = stage.load();
    assert_eq!(own(&registry), [""; 0]);
    assert!(registry.problems().len() >= files.len(), "{:#?}", messages(&registry));
    assert!(!messages(&registry).join("").contains("secret\n"));
}

/// D8: the entry of the manifest is the agent, and its file is no second one.
#[test]
fn the_manifest_goes_before_the_files_of_the_folder() {
    let stage = Stage::new();
    let agents = r#"[
        {"name": "sql", "description": "entry", "system_prompt_file": "./agents/sql.md", "tools": ["read"]},
        {"name": "other", "description": "entry", "system_prompt_file": "other.md"},
        {"name": "broken", "system_prompt_file": "agents/../agents/x.md"}]"#;
    manifest(&stage, "p", agents);
    stage.write("plugins/p/agents/sql.md", definition("sql-unrestricted", "file"));
    stage.define("plugins/p/agents/other.md").write("plugins/p/other.md", "Other.");
    let registry = stage.load();
    assert_eq!(own(&registry), ["other", "sql"]);
    assert_eq!((description(&registry, "sql"), description(&registry, "other")), ("entry", "entry"));
    assert!(says(registry.problems(), &["agents/other.md", "this file is not used"]));
}

/// D10, DF-2
#[test]
fn one_bad_plugin_does_not_stop_the_others() {
    let stage = Stage::new();
    stage.write("plugins/bad/plugin.json", "{").write("plugins/nameless/plugin.json", "{}");
    stage.write("plugins/evil/plugin.json", r#"{"name": "../up"}"#).write("plugins/readme.txt", "x");
    stage.write("plugins/empty/readme.txt", "x").write("plugins/.hidden/plugin.json", "{");
    manifest(&stage, "good", "[]");
    stage.define("plugins/good/agents/a.md");
    let registry = stage.load();
    assert_eq!(own(&registry), ["a"]);
    let broken: Vec<&str> =
        registry.plugins().iter().filter(|it| it.broken.is_some()).map(|it| it.name.as_str()).collect();
    assert_eq!(broken, ["bad", "evil", "nameless"]);
    assert!(matches!(registry.find("bad/a"), Err(FindError::Broken(_))));
}

/// C26
#[test]
fn the_agents_of_a_plugin_stay_in_memory() {
    let stage = Stage::new();
    manifest(&stage, "p", r#"[{"name": "a", "system_prompt_file": "a.md"}]"#);
    stage.write("plugins/p/a.md", "Be a.");
    let mut registry = stage.load();
    stage.dir.remove_dir_all("plugins").unwrap();
    assert_eq!(registry.find("a").unwrap().prompt.as_deref(), Some("Be a."));
    registry.refresh().unwrap();
    assert!(!registry.exists("a"));
}

/// D18: also what a weaker layer has is there again.
#[test]
fn nothing_of_a_disabled_plugin_is_loaded() {
    let stage = Stage::new();
    stage.write("config.json", r#"{"disabled_plugins": ["p", "bad"]}"#);
    stage.write("plugins/p/plugin.json", r#"{"name": "p", "tools": [{"name": "query"}]}"#);
    stage.define("plugins/p/agents/explore.md").write("plugins/bad/plugin.json", "{");
    let registry = stage.load();
    assert!(registry.find("explore").unwrap().native);
    assert!(registry.plugins().iter().all(|plugin| plugin.disabled && plugin.tools.is_empty()));
    assert!(matches!(registry.find("p/explore"), Err(FindError::Refused { .. })));
    assert_eq!(messages(&registry), [""; 0]);
}

/// CFG-09, CF-22: a plugin does not become another one by what it says of itself.
#[test]
fn of_two_folders_that_claim_a_name_the_one_called_so_has_it() {
    let stage = Stage::new();
    for folder in ["aaa", "database", "zzz"] {
        stage.write(&format!("plugins/{folder}/plugin.json"), r#"{"name": "database"}"#);
        stage.define(&format!("plugins/{folder}/agents/sql.md"));
    }
    let registry = stage.load();
    assert_eq!(description(&registry, "database/sql"), "plugins/database/agents/sql.md");
    assert!(registry.shadows("sql").is_empty());
    assert!(says(registry.problems(), &["aaa", "the plugin `database` is already there"]));
}

/// DF-8: a plugin's folder may not be somewhere else either.
#[test]
fn a_plugin_that_is_a_link_out_of_the_folder_is_not_loaded() {
    let stage = Stage::new();
    stage.write("elsewhere/plugin.json", r#"{"name": "elsewhere"}"#).write("plugins/readme", "x");
    stage.dir.symlink("../elsewhere", "plugins/linked").unwrap();
    let registry = stage.load();
    assert!(registry.plugins().is_empty());
    assert!(says(registry.problems(), &["linked", "it leads out of its folder"]));
}
