use palisade_agent::{ToolCall, Toolbox};

use super::*;
use crate::skills::tests::Stage;

/// What an agent with these settings gets for a call.
async fn called(stage: &Stage, settings: &str, input: serde_json::Value) -> ToolResult {
    let (effective, registry) = stage.effective(settings);
    let tool = skill_tool(&effective, &registry).unwrap();
    let toolbox = Toolbox::new(vec![tool]).unwrap().ruled_by(effective.agent.scope.clone());
    let call = ToolCall { id: "1".into(), tool: "Skill".into(), input };
    toolbox.call(&call, &Progress::unheard()).await
}

fn stage() -> Stage {
    let stage = Stage::new();
    stage.skill("home/.palisade/skills/mine").write("home/.palisade/skills/mine/references/more.md", "More.");
    stage.skill("work/.palisade/skills/theirs").write("work/.palisade/skills/theirs/run.sh", "echo hi\n");
    stage.write("home/.palisade/skills/secret.md", "secret").trust_all();
    stage
}

/// N7, CF-18
#[tokio::test]
async fn a_skill_is_read_with_the_names_of_its_files() {
    let stage = stage();
    let result = called(&stage, "", json!({ "name": "mine" })).await;
    assert_eq!(
        result.text(),
        "Read home/.palisade/skills/mine.\n\nFiles of the skill, to be read with `file`:\n- references/more.md (5 bytes)"
    );
    let result = called(&stage, "", json!({ "name": "mine", "file": "references/more.md" })).await;
    assert_eq!(result.text(), "More.");
    let result = called(&stage, "", json!({ "name": "theirs" })).await;
    assert!(result.text().contains("The folder of the skill is `.palisade/skills/theirs`.\n"), "{}", result.text());
}

/// N7
#[tokio::test]
async fn rules_and_lists_hold_for_each_call() {
    let stage = stage();
    let result = called(&stage, "tools: [Read, 'Skill(mine)']\n", json!({ "name": "theirs" })).await;
    assert!(!result.is_done() && result.text().contains("no allow rule covers `theirs`"), "{}", result.text());
    let result = called(&stage, "skill_denylist: [theirs]\n", json!({ "name": "theirs" })).await;
    assert!(result.text().contains("cannot be read: denied by `skill_denylist`; there are: mine"), "{}", result.text());
    let result = called(&stage, "", json!({ "name": "thiers" })).await;
    assert!(result.text().contains("did you mean `theirs`?"), "{}", result.text());
    let result = called(&stage, "", json!({ "path": "x" })).await;
    assert!(result.text().contains("does not fit its schema"), "{}", result.text());
}

#[tokio::test]
async fn nothing_is_read_beside_the_folder_of_a_skill() {
    let stage = stage();
    let folder = "home/.palisade/skills/mine";
    for (link, target) in [("up.md", "../secret.md"), ("passwd", "/etc/passwd"), ("more.md", "references/more.md")] {
        stage.dir.symlink_contents(target, format!("{folder}/{link}")).unwrap();
    }
    stage.dir.symlink_contents("/etc", format!("{folder}/etc")).unwrap();
    stage.write(&format!("{folder}/binary"), b"\xff\xfe").write(&format!("{folder}/huge"), "x".repeat(300 << 10));
    let outside =
        ["../secret.md", "/etc/passwd", "a/../../secret.md", "", ".", "up.md", "passwd", "more.md", "etc/passwd"];
    for file in outside.into_iter().chain(["binary", "huge", "missing", "references"]) {
        let result = called(&stage, "", json!({ "name": "mine", "file": file })).await;
        assert!(!result.is_done(), "{file}: {}", result.text());
    }
    let listed = called(&stage, "", json!({ "name": "mine" })).await;
    assert!(!listed.text().contains("passwd") && !listed.text().contains("up.md"), "{}", listed.text());
}

#[tokio::test]
async fn a_file_that_is_hidden_from_an_agent_is_not_read_as_part_of_a_skill() {
    let stage = stage();
    let settings = "permissions: { deny: ['Read(*.sh)'], default: allow }\n";
    let listed = called(&stage, settings, json!({ "name": "theirs" })).await;
    assert!(listed.is_done() && !listed.text().contains("run.sh"), "{}", listed.text());
    let result = called(&stage, settings, json!({ "name": "theirs", "file": "run.sh" })).await;
    assert!(result.text().contains("may not read"), "{}", result.text());
    assert_eq!(called(&stage, "", json!({ "name": "theirs", "file": "run.sh" })).await.text(), "echo hi\n");
}

#[tokio::test]
async fn what_was_trusted_and_has_changed_since_is_not_read() {
    let stage = stage();
    let (effective, registry) = stage.effective("");
    let tool = skill_tool(&effective, &registry).unwrap();
    let input = r#"{"name": "theirs"}"#;
    assert!(tool.call(input, &Progress::unheard()).await.is_done());
    stage.write("work/.palisade/skills/theirs/SKILL.md", "---\nname: theirs\ndescription: d\n---\nObey.\n");
    let result = tool.call(input, &Progress::unheard()).await;
    assert!(result.text().contains("has changed since it was trusted"), "{}", result.text());
}

#[test]
fn an_agent_without_skills_has_no_tool_for_them() {
    let there = |settings: &str, stage: &Stage| {
        let (effective, registry) = stage.effective(settings);
        skill_tool(&effective, &registry).is_some()
    };
    assert!(!there("", &Stage::new()) && there("", &stage()));
    assert!(!there("tools: [Read]\n", &stage()) && !there("skill_allowlist: []\n", &stage()));
}
