//! What an agent may do when another one asks it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use palisade_agent::{Progress, Tool, ToolCall, ToolResult, ToolSpec};
use palisade_grants::{Rule, WorkspacePath};

use super::*;
use crate::definition::{Presence, Source, parse_markdown};

fn agent(name: &str, fields: &str) -> Agent {
    let text = format!("---\nname: {name}\ndescription: d\n{fields}\n---\n");
    let origin = palisade_agent::Origin::default();
    let description = Presence::Required;
    let source = Source { file: "a.md", origin, fallback_name: None, required_name: None, description };
    parse_markdown(text.as_bytes(), &source).unwrap().agent
}

/// As if an operator allowed every program and two variables.
fn registry() -> Registry {
    let mut registry = Registry::built_in();
    let env = ["B", "C"].map(|name| (name.to_owned(), String::new())).into();
    let programs = palisade_sandbox::Programs { env, ..palisade_sandbox::Programs::standard("/nowhere".into()) };
    registry.allow_programs(Grants::everything().commands, programs);
    registry
}

fn alone(fields: &str) -> Effective {
    let registry = registry();
    effective(&agent("coordinator", fields), &available(&registry), &registry)
}

fn asked(fields: &str, by: &Effective) -> Effective {
    let registry = registry();
    let under = Under { ceiling: &by.handed_down(), asked_by: &by.agent.name };
    effective_under(&agent("worker", fields), &available(&registry), &registry, under)
}

fn access(effective: &Effective, path: &str) -> Option<Access> {
    effective.grants.files.access(&WorkspacePath::parse(path).unwrap())
}

const WRITER: &str = "tools: [Read, Write]";

/// CF-31, DEL-01, DEL-02
#[test]
fn who_is_asked_by_a_reader_does_not_write_and_says_what_would_allow_it() {
    let reader = alone("tools: [Read, Task]");
    let worker = asked(WRITER, &reader);
    assert_eq!(tools(&worker), ["read", "write"], "tools are its own");
    assert_eq!(access(&worker, "a"), Some(Access::Read));
    assert_eq!(
        worker.cut,
        [
            "`.` is read-only here: `coordinator`, which asks, has it read-only; `grants: { files: { \".\": read-write } }` \
          in the definition of `coordinator` would allow it"
        ]
    );
    assert_eq!(asked("tools: [Read]", &reader).cut, [""; 0], "nothing was cut");
}

/// DEL-13
#[test]
fn a_coordinator_that_cannot_write_may_ask_a_worker_that_can() {
    let coordinator = alone("tools: [Read, Task]\ngrants: { files: { \".\": read-write }, agents: [\"*\"] }");
    assert!(!tools(&coordinator).contains(&"write"));
    let worker = asked(WRITER, &coordinator);
    assert_eq!((access(&worker, "a"), worker.cut.len()), (Some(Access::ReadWrite), 0));
}

/// CF-31
#[test]
fn rules_about_folders_hold_for_whoever_is_asked() {
    let coordinator = alone("tools: [Read, \"Write(src/**)\", Task]");
    let worker = asked(WRITER, &coordinator);
    assert_eq!((access(&worker, "src/a"), access(&worker, "a")), (Some(Access::ReadWrite), Some(Access::Read)));
    assert!(worker.cut[0].contains("`.` is read-only here, except `src` (read-write)"), "{:?}", worker.cut);
    let hiding = alone("permissions: { deny: [\"Read(.env)\", \"Write(*.lock)\"] }");
    let worker = asked(WRITER, &hiding);
    assert_eq!((access(&worker, ".env"), access(&worker, "a.lock")), (None, Some(Access::Read)));
    assert_eq!(worker.cut.len(), 2, "{:?}", worker.cut);
}

/// CF-31, DEL-01
#[test]
fn hosts_commands_secrets_and_limits_are_no_more_than_those_of_the_one_that_asks() {
    let coordinator = alone(
        "grants: { files: { src: read }, http: [docs.rs], commands: [\"cargo test:*\"], secrets: [A], env: [B], agents: [x] }\n\
         limits: { memory: 1MiB, call_time: 2s }",
    );
    let wide = "grants: { files: { \".\": read-write }, http: [\"*.rs\"], commands: [\"*\"], secrets: [\"*\"], env: [B, C], agents: [\"*\"] }\n\
                limits: { memory: 64MiB, call_time: 1s }";
    let worker = asked(wide, &coordinator);
    assert_eq!(worker.grants, coordinator.grants);
    assert_eq!((worker.limits.memory, worker.limits.call_time), (1 << 20, Duration::from_secs(1)));
    let told = worker.cut.join("\n");
    for part in [
        "`.` is not there, except `src` (read)",
        "`*.rs` cannot be reached, except `docs.rs`",
        "`*` cannot be run",
        "`C` cannot be read",
        "`limits.memory` is 1048576 instead of 67108864",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("call_time"), "{told}");
    let ceiling = worker.ceiling();
    assert_eq!(ceiling, ceiling.narrow(&coordinator.ceiling()), "what it hands down is no more either");
}

#[test]
fn a_tool_that_lost_what_it_needs_is_not_there_and_that_is_said() {
    let coordinator = alone("grants: { files: { \".\": read } }");
    let worker = asked("tools: [Read, Task]", &coordinator);
    assert_eq!(tools(&worker), ["read"]);
    let told = "the tool `task` is not there: it needs `agents`, which `coordinator`, which asks, does not have";
    assert!(worker.cut.iter().any(|cut| cut == told), "{:?}", worker.cut);
}

#[test]
fn under_nothing_it_is_as_if_nobody_asked() {
    let registry = Registry::built_in();
    for agent in registry.list() {
        let own = effective(agent, &available(&registry), &registry);
        let under = Under { ceiling: &Ceiling::open(), asked_by: "x" };
        assert_eq!(effective_under(agent, &available(&registry), &registry, under), own);
        assert_eq!(own.grants, own.ceiling().grants);
        let under = Under { ceiling: &own.ceiling(), asked_by: "x" };
        assert_eq!(
            effective_under(agent, &available(&registry), &registry, under),
            own,
            "its own ceiling cuts nothing"
        );
    }
}

/// CF-21
#[test]
fn other_agents_are_granted_to_whom_a_tool_for_asking_them_was_given() {
    assert_eq!(serde_json::to_value(&alone("").grants.agents).unwrap(), json!(["*"]));
    assert!(alone("tools: [Read]").grants.agents.is_empty());
    let without = alone("tools: [Read, Task]\ngrants: { files: { \".\": read } }");
    assert_eq!(tools(&without), ["read"]);
    assert!(without.warnings.iter().any(|text| text.contains("`agents: [\"*\"]`")), "{:?}", without.warnings);
    let deep = alone("budget: { depth: 0 }");
    assert!(deep.grants.agents.is_empty() && !tools(&deep).contains(&"agents_list"));
}

struct Asking(ToolSpec);

#[async_trait]
impl Tool for Asking {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _: &str, _: &Progress) -> ToolResult {
        ToolResult::done("asked")
    }
}

fn hosted(name: &str) -> Arc<dyn Tool> {
    let input_schema = json!({ "type": "object" });
    let capabilities = vec!["agents".to_owned()];
    let (name, description) = (name.to_owned(), String::new());
    Arc::new(Asking(ToolSpec { name, description, input_schema, capabilities, read_only: false, idempotent: false }))
}

/// DEL-12
#[tokio::test]
async fn the_hosts_own_tools_are_there_if_they_are_in_scope_and_rules_hold_for_them() {
    let engine = Engine::start(Settings::ONE_AGENT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let all = DELEGATION.map(hosted);
    let mut asking = alone("tools: [Read, \"Agent(explore)\"]");
    let equipped = equip(&engine, None, &workspace, &asking, &all).unwrap();
    let names: Vec<&str> = equipped.toolbox.specs().iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["read", "task", "parallel_task", "agent_ask", "task_cancel", "task_result"]);
    for (agent, is_asked) in [("explore", true), ("Explore", false), ("explorer", false), ("general", false)] {
        let call = ToolCall { id: "1".to_owned(), tool: "Task".to_owned(), input: json!({ "agent": agent }) };
        let result = equipped.toolbox.call(&call, &Progress::unheard()).await;
        assert_eq!(result.is_done(), is_asked, "{agent}: {}", result.text());
    }
    asking.agent.scope.disallowed = vec![Rule::parse("Agent(explore)").unwrap()];
    let equipped = equip(&engine, None, &workspace, &asking, &all).unwrap();
    let call = ToolCall { id: "1".to_owned(), tool: "task".to_owned(), input: json!({ "agent": "explore" }) };
    assert!(!equipped.toolbox.call(&call, &Progress::unheard()).await.is_done());

    let reading = equip(&engine, None, &workspace, &alone("tools: [Read]"), &all).unwrap();
    assert_eq!(reading.toolbox.specs().len(), 1);
    let nobody = equip(&engine, None, &workspace, &asking, &[]).unwrap();
    assert!(nobody.left_out.iter().any(|tool| tool.tool == "task"), "{:?}", nobody.left_out);
}
