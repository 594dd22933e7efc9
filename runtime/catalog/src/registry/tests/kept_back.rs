use palisade_grants::{Access, FilesGrant, WorkspacePath};

use super::*;

/// What an agent may do with files in a workspace where this program keeps something, too.
fn left(stage: &Stage, workspace: &str, change: impl FnOnce(&mut Places)) -> FilesGrant {
    let mut places = Places { workspace: Some(stage.path(workspace)), ..stage.places() };
    places.private = [".config/palisade", ".local/share/palisade"].map(|folder| stage.path("home").join(folder)).into();
    change(&mut places);
    let registry = Registry::load(&places, &[]).unwrap();
    registry.ceiling_for(&Agent::new("a", "b")).files
}

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

/// Whoever works in the home folder does not lend an agent what decides over agents.
#[test]
fn what_this_program_keeps_is_not_there_for_an_agent() {
    let stage = Stage::new();
    // One of the folders is there, the other may be made later.
    stage.write("home/.local/share/palisade/artifact.key", "key");
    let files = left(&stage, "home", |_| ());
    for hidden in [".local/share/palisade/artifact.key", ".config/palisade/config.toml", ".CONFIG/Palisade"] {
        assert!(files.hides(&path(hidden)) && files.permit_write(&path(hidden)).is_err(), "{hidden}");
    }
    // Nor can it be moved out of the way.
    assert!(files.permit_move(&path(".config"), true).is_err());
    assert_eq!(files.access(&path(".config/other")), Some(Access::ReadWrite));
    assert_eq!(left(&stage, "work", |_| ()), FilesGrant::workspace(Access::ReadWrite));
}

#[test]
fn links_do_not_hide_where_it_lies() {
    let stage = Stage::new();
    stage.write("home/dotfiles/settings/x", "");
    stage.dir.symlink("dotfiles/settings", "home/.config").unwrap();
    let files = left(&stage, "home", |_| ());
    assert!(files.hides(&path("dotfiles/settings/palisade/config.toml")));
    assert!(!files.hides(&path("dotfiles/settings/x")));
}

#[test]
fn names_with_marks_of_patterns_are_kept_back_as_well() {
    let stage = Stage::new();
    let files = left(&stage, "home", |places| places.private = vec![stage.path("home/a[1] *{b}!")]);
    assert!(files.hides(&path("a[1] *{b}!/artifact.key")));
    assert!(!files.hides(&path("a1/artifact.key")));
}

#[test]
fn inside_of_what_this_program_keeps_there_is_nothing_for_an_agent() {
    let stage = Stage::new();
    stage.write("home/.local/share/palisade/artifact.key", "key");
    assert_eq!(left(&stage, "home/.local/share/palisade", |_| ()), FilesGrant::default());
}

#[test]
fn an_agent_does_not_change_where_definitions_come_from() {
    let stage = Stage::new();
    stage.write("work/team/a.md", "").write("work/brought/x", "");
    let files = left(&stage, "work", |places| {
        places.agent_dirs = vec![stage.path("work/team")];
        places.plugins_dir = Some(stage.path("work/brought"));
        places.deciding = vec![stage.path("work/palisade.toml")];
    });
    for frozen in ["team/a.md", "team/new.md", "brought/x", "palisade.toml"] {
        assert_eq!(files.access(&path(frozen)), Some(Access::Read), "{frozen}");
        assert!(files.permit_write(&path(frozen)).is_err(), "{frozen}");
    }
    assert_eq!(files.access(&path("src")), Some(Access::ReadWrite));
}

/// What is the user's is used without being asked about.
#[test]
fn an_agent_in_the_home_folder_makes_no_skill_and_no_agent_of_the_users() {
    let stage = Stage::new();
    stage.write("config.json", r#"{ "compat_dirs": [".team/agents"] }"#).write("home/dotfiles/palisade/x", "");
    stage.dir.symlink("dotfiles/palisade", "home/.palisade").unwrap();
    let files = left(&stage, "home", |_| ());
    for kept in [".team/agents/a.md", ".team/skills/s/SKILL.md", "dotfiles/palisade/skills/s/SKILL.md"] {
        assert!(files.permit_write(&path(kept)).is_err() && !files.hides(&path(kept)), "{kept}");
    }
    assert!(files.permit_write(&path(".team/x")).is_ok());
}
