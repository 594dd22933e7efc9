//! `palisade skills`, and agents that use them.
#![expect(clippy::unwrap_used, reason = "a value that is not there fails the test")]

use serde_json::{Value, json};

use crate::world::World;

const DEPLOY: &str = "---\nname: deploy\ndescription: How parcels are shipped. Use it before a release.\n---\n\
    Ship at noon.\n";

/// A workspace with a skill of the user's and one of its own.
fn world() -> World {
    let world = World::new();
    world.add("../home/.palisade/skills/deploy/SKILL.md", DEPLOY);
    world.add("../home/.palisade/skills/deploy/references/harbours.md", "Rotterdam, Hamburg.\n");
    world.add(
        ".claude/skills/load/SKILL.md",
        "---\nname: load\ndescription: How parcels are loaded.\n---\nHeavy ones first.\n",
    );
    world
}

fn entry<'a>(list: &'a Value, name: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|skill| skill["name"] == name).unwrap_or_else(|| panic!("no {name} in {list}"))
}

/// N6
#[test]
fn skills_are_listed_shown_and_trusted() {
    let world = world();
    let list = world.palisade(&["skills", "list", "--json"]).with_code(0).json();
    assert_eq!(
        (&entry(&list, "deploy")["status"], &entry(&list, "load")["status"]),
        (&json!("ok"), &json!("untrusted"))
    );
    let text = world.palisade(&["skills", "list"]).with_code(0).stdout;
    assert!(text.contains("untrusted: ") && text.contains("palisade skills trust load"), "{text}");
    // To look at it is how one decides.
    let shown = world.palisade(&["skills", "show", "load"]).with_code(0);
    assert_eq!(shown.stdout, "Heavy ones first.\n");
    assert!(shown.stderr.contains("which nobody has trusted yet"), "{}", shown.stderr);
    world.palisade(&["skills", "trust", "--all"]).with_code(0);
    let list = world.palisade(&["skills", "list", "--json"]).with_code(0).json();
    assert_eq!(entry(&list, "load")["status"], "ok");
    world.palisade(&["skills", "untrust", "load"]).with_code(0);
    let list = world.palisade(&["skills", "list", "--json"]).with_code(0).json();
    assert_eq!(entry(&list, "load")["status"], "untrusted");
    let error = world.palisade(&["skills", "trust", "deploy"]).with_code(1).stderr;
    assert!(error.contains("`deploy` is no skill of this workspace"), "{error}");
    let shown = world.palisade(&["skills", "show", "deploy", "--json"]).with_code(0).json();
    assert_eq!(shown["files"], json!([{ "path": "references/harbours.md", "size": 20 }]));
    let error = world.palisade(&["skills", "show", "deplyo"]).with_code(1).stderr;
    assert!(error.contains("there is no skill `deplyo`; did you mean `deploy`?"), "{error}");
}

/// A21
#[test]
fn check_says_what_is_wrong_with_a_skill_and_where() {
    let world = world();
    world.palisade(&["skills", "check"]).with_code(0);
    world.add("drafts/load/SKILL.md", "---\nname: lode\ndescription: d\nlicence: MIT\n---\nx\n");
    let ended = world.palisade(&["skills", "check", "drafts"]).with_code(1);
    for part in ["load/SKILL.md:2:7: error: the name is `lode`, but the folder is called `load`", "make them the same"]
    {
        assert!(ended.stdout.contains(part), "no {part} in\n{}", ended.stdout);
    }
    let report = world.palisade(&["skills", "check", "drafts/load", "--json"]).with_code(1).json();
    assert_eq!((&report["files"], &report["skills"], &report["errors"][0]["line"]), (&json!(1), &json!([]), &json!(2)));
    assert!(report["warnings"].to_string().contains("did you mean `license`?"), "{report}");
    // One that is broken is told and hides no other.
    world.add("../home/.palisade/skills/broken/SKILL.md", "no settings");
    let ended = world.palisade(&["skills", "list"]).with_code(0);
    assert!(ended.stdout.contains("deploy") && ended.stderr.contains("missing YAML frontmatter"), "{ended:?}");
    let doctor = world.palisade(&["doctor"]).with_code(0).stdout;
    assert!(doctor.contains("1 can be used") && doctor.contains("broken/SKILL.md"), "{doctor}");
}

/// N7, CF-18
#[test]
fn an_agent_reads_a_skill_and_one_of_its_files() {
    let world = world();
    world.add_agent("shipper", "---\nname: shipper\ndescription: Ships.\ntools: [Read, Skill]\n---\nShip.\n");
    let model = world.script(
        "reads.json",
        r#"[
            {"calls": [
                {"tool": "Skill", "input": {"name": "deploy"}},
                {"tool": "skill", "input": {"name": "deploy", "file": "references/harbours.md"}},
                {"tool": "skill", "input": {"name": "deploy", "file": "../../../../workspace/README.md"}},
                {"tool": "skill", "input": {"name": "load"}}
            ]},
            {"text": "At noon, from Hamburg."}
        ]"#,
    );
    let ended = world.palisade(&["run", "shipper", "go", "--model", &model, "--json", "--transcript"]).with_code(0);
    let said = ended.json()["transcript"].to_string();
    for part in [
        "Ship at noon.",
        "- references/harbours.md (20 bytes)",
        "Rotterdam, Hamburg.",
        "it leads out of its folder",
        "the skill `load` cannot be read: the skill `load` is the project's",
    ] {
        assert!(said.contains(part), "no {part} in {said}");
    }
    assert!(!said.contains("Heavy ones first") && !said.contains("Carries parcels"), "{said}");
    // Without the tool there is nothing to call.
    world.add_agent("reader", "---\nname: reader\ndescription: Reads.\ntools: [Read]\n---\nRead.\n");
    let model =
        world.script("tries.json", r#"[{"calls": [{"tool": "skill", "input": {"name": "deploy"}}]}, {"text": "no"}]"#);
    let ended = world.palisade(&["run", "reader", "go", "--model", &model, "--json", "--transcript"]).with_code(0);
    assert!(ended.json()["transcript"].to_string().contains("there is no tool `skill`"), "{}", ended.stdout);
}

/// B18, N4
#[test]
fn explain_says_which_skills_an_agent_has_and_why_not_others() {
    let world = world();
    world.palisade(&["skills", "trust", "load"]).with_code(0);
    let agent = "---\nname: shipper\ndescription: Ships.\ntools: [Read, Skill]\nskills: [deploy, depoly]\n---\nShip.\n";
    world.add_agent("shipper", agent);
    let explanation = world.palisade(&["explain", "shipper", "--json"]).with_code(0).json();
    let given: Vec<_> =
        explanation["skills"].as_array().unwrap().iter().map(|it| (&it["name"], &it["given"])).collect();
    assert_eq!(json!(given), json!([["deploy", "in the prompt"], ["load", "to be read"]]));
    assert!(explanation["warnings"].to_string().contains("did you mean `deploy`?"), "{explanation}");
    world.add_agent("shipper", &agent.replace("skills: [deploy, depoly]", "skill_denylist: [load]"));
    let explanation = world.palisade(&["explain", "shipper", "--json"]).with_code(0).json();
    assert_eq!(
        explanation["skills_excluded"],
        json!([{ "name": "load", "reason": "denied by `skill_denylist`", "rule": "load" }])
    );
    let text = world.palisade(&["explain", "explore"]).with_code(0).stdout;
    assert!(text.contains("Skills\n") && text.contains("not there: it lies outside of the workspace"), "{text}");
    let report = world.palisade(&["agents", "validate", "--json"]).with_code(0).json();
    assert!(!report["warnings"].to_string().contains("no effect"), "{report}");
}

/// M4
#[test]
fn a_helper_reads_skills_too() {
    let world = world();
    world.add_agent("boss", "---\nname: boss\ndescription: Asks.\ntools: [Task]\n---\nAsk.\n");
    world.add_agent("shipper", "---\nname: shipper\ndescription: Ships.\ntools: [Skill]\n---\nShip.\n");
    let model = world.script(
        "asks.json",
        r#"[
            {"calls": [{"tool": "task", "input": {"agent": "shipper", "prompt": "when?"}}]},
            {"calls": [{"tool": "skill", "input": {"name": "deploy"}}]},
            {"text": "at noon"},
            {"text": "It ships at noon."}
        ]"#,
    );
    let ended = world.palisade(&["run", "boss", "go", "--model", &model]).with_code(0);
    assert!(ended.stderr.contains("skill") && ended.stdout.contains("It ships at noon."), "{ended:?}");
}
