//! Definitions are looked at and used for nothing; new ones are written.

use std::path::Path;

use super::*;

/// A18, CF-6
#[test]
fn files_and_folders_can_be_checked_by_path() {
    let stage = Stage::new();
    stage.define("dir/good.md").write("dir/bad.yaml", "name: [").write("one.md", definition("one", "o"));
    stage.write("config.json", r#"{"agents": [{"agentId": "todo"}]}"#).write("p/plugin.json", r#"{"nme": "p"}"#);
    stage.write("notes.txt", "x");
    let paths = ["dir", "one.md", "config.json", "p/plugin.json", "notes.txt"].map(|path| stage.path(path));
    let checked = check_paths(&paths).unwrap();
    let names: Vec<&str> = checked.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!((names.as_slice(), checked.files), (["good", "one", "todo"].as_slice(), 6));
    for file in ["bad.yaml", "plugin.json", "notes.txt"] {
        assert!(says(&checked.notices, &[file, "error"]), "{file}");
    }
    assert!(check_paths(&[stage.path("nothing.md")]).is_err());
}

/// CF-6
#[test]
fn everything_that_was_found_can_be_checked() {
    let stage = Stage::new();
    stage.define("home/.palisade/agents/good.md").write("home/.palisade/agents/bad.md", "x");
    let checked = stage.load().check();
    assert_eq!((checked.agents.len(), checked.files), (6, 2));
    assert!(says(&checked.notices, &["bad.md", "error"]));
}

/// DF-8
#[test]
fn a_new_file_is_written_inside_its_folder_and_over_nothing() {
    let stage = Stage::new();
    let path = Path::new(".palisade/agents/a.md");
    let written = write_new(&stage.path("work"), path, b"a").unwrap();
    assert_eq!(written, stage.path("work").join(path));
    assert!(write_new(&stage.path("work"), path, b"b").is_err());
    assert_eq!(stage.dir.read_to_string("work/.palisade/agents/a.md").unwrap(), "a");
    stage.dir.symlink("../work", "home/.palisade").unwrap();
    assert!(write_new(&stage.path("home"), path, b"a").is_err());
    assert!(write_new(&stage.path("home"), Path::new("../a.md"), b"a").is_err());
}
