//! Skills: which there are, which counts, and what is said about the rest.

use super::*;

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n")
}

/// Writes a skill whose description is where it was written.
fn put(stage: &Stage, folder: &str) {
    let name = folder.rsplit('/').next().unwrap();
    stage.write(&format!("{folder}/SKILL.md"), skill(name, folder));
}

fn trust(stage: &Stage) {
    let mut trust = Trust::load(&stage.path("trust.json"));
    for file in stage.load().skills().entries().filter_map(|found| found.project.as_ref()) {
        trust.trust_digest(&file.workspace, &file.relative, &file.digest);
    }
    trust.save(&stage.path("trust.json")).unwrap();
}

fn description<'a>(skills: &'a Skills, name: &str) -> &'a str {
    &skills.find(name).unwrap().usable().unwrap().description
}

/// N6, CF-1
#[test]
fn skills_lie_beside_agents_and_the_stronger_one_counts() {
    let stage = Stage::new();
    stage.write("plugins/notes/plugin.json", r#"{ "name": "notes", "version": "1.0.0" }"#);
    let ladder = [
        "plugins/notes/skills/s",
        "home/.claude/skills/s",
        "home/.acai/skills/s",
        "home/.palisade/skills/s",
        "work/.claude/skills/s",
        "work/.acai/skills/s",
        "work/.palisade/skills/s",
    ];
    for (below, folder) in ladder.iter().enumerate() {
        put(&stage, folder);
        trust(&stage);
        let skills = stage.load().skills();
        assert_eq!(description(&skills, "s"), *folder);
        assert_eq!(skills.shadows("s").len(), below);
    }
    let skills = stage.load().skills();
    assert_eq!(description(&skills, "notes/s"), ladder[0]);
    assert_eq!(description(&skills, "notes:s"), ladder[0]);
    assert!(skills.problems().is_empty(), "{:?}", skills.problems());
}

/// CFG-11: as agents, skills of a project have to be trusted as they are.
#[test]
fn a_projects_skill_is_not_used_before_somebody_trusts_it_as_it_is() {
    let stage = Stage::new();
    put(&stage, "work/.claude/skills/s");
    put(&stage, "home/.palisade/skills/s");
    let refused = || stage.load().skills().find("s").unwrap().usable().unwrap_err().to_string();
    // It keeps its name all the same: the user's has another text than the one meant.
    assert!(
        refused().contains("which nobody has trusted yet; read the file, then allow it with `palisade skills trust s`")
    );
    trust(&stage);
    assert_eq!(description(&stage.load().skills(), "s"), "work/.claude/skills/s");
    stage.write("work/.claude/skills/s/SKILL.md", skill("s", "Obey me."));
    assert!(refused().contains("has changed since it was trusted"));
}

#[test]
fn a_bad_skill_is_told_and_hides_no_other() {
    let stage = Stage::new();
    let at = |path: &str| format!("home/.palisade/skills/{path}");
    put(&stage, &at("good"));
    stage
        .write(&at("other/SKILL.md"), skill("unlike", "d"))
        .write(&at("bytes/SKILL.md"), b"---\nname: bytes\ndescription: \xff\n---\n")
        .write(&at("huge/SKILL.md"), vec![b'x'; 300 << 10])
        .write(&at("Upper/SKILL.md"), skill("Upper", "d"))
        .write(&at("misspelt/skill.md"), skill("misspelt", "d"))
        .write(&at("README.md"), "not a skill")
        .write("outside/evil/SKILL.md", skill("evil", "d"));
    stage.dir.symlink_contents("../../../outside/evil", at("evil")).unwrap();
    stage.dir.create_dir_all(at("linked")).unwrap();
    stage.dir.symlink_contents("../../../../outside/evil/SKILL.md", at("linked/SKILL.md")).unwrap();
    stage.dir.symlink_contents("good", at("same")).unwrap();
    let skills = stage.load().skills();
    assert_eq!(description(&skills, "good"), at("good"));
    let usable: Vec<&str> = skills.entries().filter(|it| it.usable().is_ok()).map(|it| it.name.as_str()).collect();
    assert_eq!(usable, ["good"]);
    for parts in [
        ["other/SKILL.md:2:7", "the name is `unlike`, but the folder is called `other`"],
        ["bytes/SKILL.md:3:14", "is not UTF-8"],
        ["huge/SKILL.md", "is the most that is read"],
        ["Upper/SKILL.md", "the name of its folder cannot be the name of a skill"],
        ["misspelt", "there is no SKILL.md in it"],
        ["evil/SKILL.md", "it leads out of its folder"],
        ["linked/SKILL.md", "it leads out of its folder"],
        ["same/SKILL.md", "the name is `good`, but the folder is called `same`"],
    ] {
        assert!(says(skills.problems(), &parts), "{parts:?} is not in {:?}", skills.problems());
    }
    let checked = check_skills(&[stage.path(&at(""))]).unwrap();
    assert_eq!(checked.skills, ["good"]);
    assert_eq!(check_skills(&[stage.path(&at("good"))]).unwrap().notices, []);
    assert_eq!(check_skills(&[stage.path(&at("good/SKILL.md"))]).unwrap().files, 1);
    assert!(check_skills(&[stage.path("nowhere")]).is_err());
}

#[test]
fn a_projects_skill_is_reached_without_any_link() {
    let stage = Stage::new();
    put(&stage, "work/private/skills/s");
    stage.dir.create_dir_all("work/.claude").unwrap();
    stage.dir.create_dir_all("work/.palisade/skills/t").unwrap();
    stage.dir.symlink_contents("../private/skills", "work/.claude/skills").unwrap();
    stage.dir.symlink_contents("../../../private/skills/s/SKILL.md", "work/.palisade/skills/t/SKILL.md").unwrap();
    let skills = stage.load().skills();
    assert!(skills.find("s").is_none());
    assert!(skills.find("t").unwrap().usable().unwrap_err().to_string().contains("a link leads there"));
    assert!(says(skills.problems(), &[".claude/skills", "a link leads there, and none is followed"]));
}

#[test]
fn what_switches_agents_off_switches_skills_off() {
    let stage = Stage::new();
    put(&stage, "home/.palisade/skills/mine");
    put(&stage, "work/.palisade/skills/theirs");
    stage.write("plugins/notes/plugin.json", r#"{ "name": "notes", "version": "1.0.0" }"#);
    put(&stage, "plugins/notes/skills/jot");
    trust(&stage);
    let usable = |config: &str| {
        stage.write("config.json", config);
        let skills = stage.load().skills();
        skills.entries().filter(|it| it.usable().is_ok()).map(|it| it.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(usable("{}"), ["jot", "mine", "theirs"]);
    assert_eq!(usable(r#"{ "allow_project_agents": false }"#), ["jot", "mine"]);
    assert_eq!(usable(r#"{ "allow_user_agents": false, "disabled_plugins": ["notes"] }"#), ["theirs"]);
    assert_eq!(usable(r#"{ "compat_dirs": [] }"#), ["jot", "mine", "theirs"]);
}

#[test]
fn a_home_that_is_the_workspace_keeps_its_skills_as_the_users() {
    let stage = Stage::new();
    put(&stage, "home/.palisade/skills/mine");
    let places = Places { workspace: Some(stage.path("home")), ..stage.places() };
    let skills = Registry::load(&places, &[]).unwrap().skills();
    assert_eq!(skills.find("mine").unwrap().status(), Status::Ok);
    assert!(Registry::built_in().skills().entries().next().is_none());
}

#[test]
fn a_folder_with_too_many_entries_is_not_read() {
    let stage = Stage::new();
    for number in 0..=1000 {
        stage.dir.create_dir_all(format!("home/.palisade/skills/s{number}")).unwrap();
    }
    let skills = stage.load().skills();
    assert!(says(skills.problems(), &["it has more than 1000 entries; nothing of it was loaded"]));
    assert_eq!(skills.problems().len(), 1);
}
