//! What is read in a folder, and what is passed over.

use super::*;

const AGENTS: &str = "home/.palisade/agents";

/// C15, C17, C31
#[test]
fn definitions_are_read_and_everything_else_is_passed_over_in_silence() {
    let stage = Stage::new();
    stage.write("config.json", r#"{"agent_dirs": ["dir"]}"#);
    stage.write("dir/agent1.yaml", "name: yaml-agent\ndescription: y\n");
    stage.write("dir/agent2.md", definition("md-agent", "m"));
    stage.write("dir/agent3.yml", "name: yml-agent\ndescription: y\n");
    stage.write("dir/broken.yaml", "name: [unclosed\n");
    stage.write("dir/notes.txt", "text").write("dir/without", "x").write("dir/.hidden.md", "x");
    stage.write("dir/.git/config.md", "x").write("dir/backup.md~", "x");
    stage.dir.create_dir("dir/folder.md").unwrap();
    let registry = stage.load();
    assert_eq!(own(&registry), ["md-agent", "yaml-agent", "yml-agent"]);
    assert_eq!(registry.problems().len(), 1, "{:?}", messages(&registry));
}

/// C18, C19, Q5
#[test]
fn a_broken_file_is_reported_with_path_and_cause_and_the_others_load() {
    let stage = Stage::new();
    stage.write(&format!("{AGENTS}/broken.yaml"), "name: [unclosed\n").define(&format!("{AGENTS}/good.md"));
    let registry = stage.load();
    assert_eq!(own(&registry), ["good"]);
    let path = stage.path(AGENTS).join("broken.yaml").display().to_string();
    assert!(says(registry.problems(), &[&format!("Failed to parse agent file {path}: Failed to parse agent YAML: ")]));
}

/// C16, Q5
#[test]
fn a_folder_that_is_none_is_reported_and_empty() {
    let stage = Stage::new();
    stage.write(AGENTS, "a file").write("config.json", r#"{"agent_dirs": ["config.json"]}"#);
    let registry = stage.load();
    assert_eq!(registry.len(), 5);
    assert!(says(registry.problems(), &[AGENTS, "Failed to read agent directory: "]));
    assert!(says(registry.problems(), &["config.json", "Failed to read agent directory: "]));
}

/// C32
#[test]
fn a_folder_that_is_not_there_is_empty() {
    let registry = Stage::new().load();
    assert_eq!((registry.len(), registry.problems().len()), (5, 0));
}

/// C32: somebody named it, so it is worth a word.
#[test]
fn a_configured_folder_that_is_not_there_is_reported() {
    let stage = Stage::new();
    stage.write("config.json", r#"{"agent_dirs": ["dri"]}"#);
    let registry = stage.load();
    assert!(says(registry.problems(), &["dri", "Failed to read agent directory: it is not there"]));
}

/// C15: folders in folders, and what lies too deep.
#[test]
fn nested_folders_are_read_to_a_depth() {
    let stage = Stage::new();
    stage.define(&format!("{AGENTS}/team/review/strict.md"));
    stage.define(&format!("{AGENTS}/1/2/3/4/5/6/7/8/deep.md")).define(&format!("{AGENTS}/1/2/3/4/5/6/7/8/9/deeper.md"));
    let registry = stage.load();
    assert_eq!(own(&registry), ["deep", "strict"]);
    assert!(says(registry.problems(), &["7/8/9", "more than 8 folders deep"]));
}

/// B35, CF-10
#[test]
fn in_a_folder_of_subagents_a_file_is_called_like_its_agent() {
    let stage = Stage::new();
    stage.write("home/.acai/subagents/file.md", definition("other", "x"));
    stage.write("home/.claude/agents/file2.md", definition("other2", "x"));
    stage.write(&format!("{AGENTS}/subagents/file3.md"), definition("other3", "x"));
    let registry = stage.load();
    assert_eq!(own(&registry), ["other2"]);
    assert!(matches!(registry.find("other"), Err(FindError::Broken(_))));
    assert!(matches!(registry.find("other3"), Err(FindError::Broken(_))));
    assert!(!registry.entries().iter().find(|entry| entry.name == "other2").unwrap().warnings.is_empty());
}

/// CF-10: in the user's folders Markdown may be called like its file; a configured folder wants names.
#[test]
fn an_unnamed_file_is_called_like_its_file_where_that_is_usual() {
    let stage = Stage::new();
    let unnamed = "---\ndescription: d\n---\nDo it.\n";
    stage.write("config.json", r#"{"agent_dirs": ["dir"]}"#);
    stage.write(&format!("{AGENTS}/helper.md"), unnamed).write("dir/other.md", unnamed);
    stage.write("dir/named.md", definition("differently", "d"));
    let registry = stage.load();
    assert_eq!(own(&registry), ["differently", "helper"]);
    assert!(matches!(registry.find("other"), Err(FindError::Broken(_))));
    assert!(says(registry.warnings(), &["named.md", "not called like its file"]));
}

/// CF-1, CFG-09: chance must not decide, nor a file that was added later.
#[test]
fn two_files_of_one_folder_with_one_name_are_both_wrong() {
    let stage = Stage::new();
    stage.define(&format!("{AGENTS}/explore.md"));
    stage.write(&format!("{AGENTS}/a/other.md"), definition("explore", "another"));
    let registry = stage.load();
    let Err(FindError::Broken(rejected)) = registry.find("explore") else { panic!("not broken") };
    assert!(says(&rejected.notices, &["agents/explore.md", "the name `explore` is also that of", "a/other.md"]));
    assert!(says(&rejected.notices, &["a/other.md", "the name `explore` is also that of", "agents/explore.md"]));
}

/// The same text under one name twice says one thing.
#[test]
fn two_files_that_say_the_same_are_one_agent() {
    let stage = Stage::new();
    let text = definition("twin", "t");
    stage.write(&format!("{AGENTS}/a/twin.md"), &text).write(&format!("{AGENTS}/b/twin.md"), &text);
    let registry = stage.load();
    assert_eq!(own(&registry), ["twin"]);
    assert!(says(registry.warnings(), &["a/twin.md", "b/twin.md", "which says the same"]));
}

/// What is found does not depend on the order in which the file system lists it.
#[test]
fn the_order_is_that_of_paths() {
    let stage = Stage::new();
    for name in ["c", "a", "b"] {
        stage.write(&format!("{AGENTS}/{name}.md"), "broken");
    }
    let registry = stage.load();
    let files: Vec<&str> = registry.problems().iter().map(|notice| notice.file.rsplit('/').next().unwrap()).collect();
    assert_eq!(files, ["a.md", "b.md", "c.md"]);
}

/// A folder of more entries than anybody writes is not read in part.
#[test]
fn a_folder_with_too_many_entries_is_refused_as_a_whole() {
    let stage = Stage::new();
    stage.define(&format!("{AGENTS}/a.md"));
    let dir = stage.dir.open_dir(AGENTS).unwrap();
    (0..20_000).for_each(|number| drop(dir.create(format!("{number}")).unwrap()));
    let registry = stage.load();
    assert_eq!(own(&registry), [""; 0]);
    assert!(says(registry.problems(), &["more than 20000 entries"]));
}
