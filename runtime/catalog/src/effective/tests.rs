use palisade_grants::{Call, Decision, FilesGrant};
use palisade_sandbox::{Engine, Settings, Workspace};
use serde_json::json;

use super::*;
use crate::{equip, registry::Places};

mod under;

fn built_in(name: &str) -> Effective {
    let registry = Registry::built_in();
    effective(registry.find(name).unwrap(), &available(&registry), &registry)
}

fn tools(effective: &Effective) -> Vec<&str> {
    effective.tools.iter().map(|tool| tool.candidate.name()).collect()
}

fn decide(effective: &Effective, tool: &str, input: serde_json::Value) -> Decision {
    effective.agent.scope.decide(&Call::new(tool, &input)).decision
}

const READING: [&str; 6] = ["glob", "grep", "ls", "read", "think", "tree"];
const WITH_SHELL: [&str; 7] = ["bash", "glob", "grep", "ls", "read", "think", "tree"];

/// P1, P2, F6, F7, F12, R3
#[test]
fn explore_searches_reads_and_looks_at_files_with_a_few_commands() {
    let explore = built_in("explore");
    assert_eq!(tools(&explore), WITH_SHELL);
    assert_eq!((explore.budget.steps, explore.agent.native, explore.agent.hidden), (20, true, false));
    assert!(explore.agent.prompt.is_some() && !explore.agent.scope.permissions.deny.is_empty());
    for command in ["ls -la", "cat a", "head a", "tail a", "find . -name x", "wc -l a", "cat a | wc -l"] {
        assert_eq!(decide(&explore, "bash", json!({ "command": command })), Decision::Allow, "{command}");
    }
    for command in ["rm a", "mv a b", "cp a b", "ls; rm -rf x", "cat x | sh", "cat a > b", "find . -delete", "lsof"] {
        assert_eq!(decide(&explore, "bash", json!({ "command": command })), Decision::Deny, "{command}");
    }
}

/// P3, P4, P12, M19
#[test]
fn general_reads_and_writes() {
    let general = built_in("general");
    assert_eq!(
        tools(&general),
        [
            "bash",
            "edit",
            "glob",
            "grep",
            "ls",
            "read",
            "think",
            "tree",
            "write",
            "skill",
            "panels_list",
            "panels_selected"
        ]
    );
    assert_eq!((general.budget.steps, &general.agent.prompt), (50, &None));
    assert_eq!(general.grants.files, FilesGrant::workspace(Access::ReadWrite));
    assert_eq!(decide(&general, "bash", json!({ "command": "cargo test" })), Decision::Allow);
}

/// P5, P6
#[test]
fn plan_reads_and_has_no_shell() {
    let plan = built_in("plan");
    assert_eq!(tools(&plan), READING);
    assert_eq!(plan.budget.steps, 30);
    assert_eq!(decide(&plan, "bash", json!({ "command": "ls" })), Decision::Deny);
    assert_eq!(plan.grants.files, FilesGrant::workspace(Access::Read));
}

/// P7, P8, P9, P10
#[test]
fn verification_and_review_run_commands_and_do_not_write() {
    for (name, steps) in [("verification", 30), ("review", 25)] {
        let agent = built_in(name);
        assert_eq!(tools(&agent), WITH_SHELL, "{name}");
        assert_eq!((agent.budget.steps, agent.agent.prompt.is_some()), (steps, true));
        assert_eq!(decide(&agent, "bash", json!({ "command": "cargo test" })), Decision::Allow);
        assert_eq!(decide(&agent, "write", json!({ "path": "a" })), Decision::Deny);
        assert_eq!(agent.grants.files, FilesGrant::workspace(Access::Read));
    }
}

/// X6, P8. Who denies the tools that write has a shell that writes nothing; who only leaves them out has one that does.
#[test]
fn a_shell_writes_unless_the_definition_denies_writing() {
    let registry = Registry::built_in();
    let writes = |tools: &[&str], denied: &[&str]| {
        let rules =
            |names: &[&str]| names.iter().map(|name| palisade_grants::Rule::parse(name).unwrap()).collect::<Vec<_>>();
        let mut agent = Agent::new("a", "b");
        agent.scope.tools = Some(rules(tools));
        agent.scope.disallowed = rules(denied);
        effective(&agent, &available(&registry), &registry).grants.files.writes()
    };
    assert!(writes(&["read", "bash"], &[]));
    assert!(!writes(&["read", "bash"], &["write", "edit"]));
    assert!(writes(&["read", "bash"], &["write", "Edit(src/**)"]));
    assert!(writes(&["read", "write", "bash"], &["edit"]));
    assert!(!writes(&["read"], &[]));
}

/// X11, CF-15. What an operator does not allow is not there, whatever a definition says.
#[test]
fn native_programs_are_off_until_an_operator_allows_them() {
    let mut registry = Registry::built_in();
    let mut agent = Agent::new("a", "b");
    agent.grants = Some(Grants { commands: Grants::everything().commands, ..Grants::workspace(Access::ReadWrite) });
    let own = effective(&agent, &available(&registry), &registry);
    assert!(own.grants.commands.is_empty() && !tools(&own).contains(&"exec"));
    let why = own.excluded.iter().find(|tool| tool.name == "exec").unwrap();
    assert!(why.reason.contains("[exec] allow"), "{why:?}");
    assert!(
        own.warnings.iter().any(|warning| warning.contains("`commands: [\"*\"]` is more than")),
        "{:?}",
        own.warnings
    );
    let allowed: palisade_grants::CommandsGrant = ["cargo test:*".parse().unwrap()].into_iter().collect();
    registry.allow_programs(allowed.clone(), Programs::standard("/nowhere".into()));
    let own = effective(&agent, &available(&registry), &registry);
    assert_eq!(own.grants.commands, allowed);
    assert!(tools(&own).contains(&"exec"));
    // Without grants of its own an agent has what its tools need, and not more than is allowed.
    let derived = effective(&Agent::new("a", "b"), &available(&registry), &registry);
    assert_eq!(derived.grants.commands, allowed);
    let verification = effective(registry.find("verification").unwrap(), &available(&registry), &registry);
    assert!(tools(&verification).contains(&"exec") && !verification.grants.files.writes());
    let plan = effective(registry.find("plan").unwrap(), &available(&registry), &registry);
    assert!(plan.grants.commands.is_empty() && !tools(&plan).contains(&"exec"));
}

/// F11, P11
#[test]
fn no_built_in_agent_delegates() {
    for agent in Registry::built_in().list() {
        assert!(agent.native && !agent.hidden);
        assert_eq!(agent.scope.decide(&Call::new("task", &json!({}))).decision, Decision::Deny, "{}", agent.name);
    }
}

/// P13
#[test]
fn explore_and_plan_have_one_key_from_run_to_run() {
    for name in ["explore", "plan"] {
        let key = || {
            let agent = built_in(name);
            agent.agent.pool_key(agent.tools.iter().map(|tool| tool.candidate.name()))
        };
        assert_eq!(key(), key());
    }
}

/// E19, X3, X2
#[test]
fn the_toolbox_and_the_linker_hold_what_was_worked_out_and_nothing_else() {
    let engine = Engine::start(Settings::ONE_AGENT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let plan = built_in("plan");
    let equipped = equip(&engine, None, &Workspace::open(folder.path()).unwrap(), &plan, &[]).unwrap();
    let specs: Vec<&str> = equipped.toolbox.specs().iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(specs, READING);
    assert_eq!(equipped.scope.tools(), READING);
    assert_eq!(equipped.scope.effective("read").unwrap().files, FilesGrant::workspace(Access::Read));
}

/// E24, W2, X10
#[test]
fn limits_of_a_definition_lower_the_standard_and_never_raise_it() {
    let own = CallLimits { memory: Some(1 << 20), written: Some(u64::MAX), ..CallLimits::default() };
    let limits = limits(&own, &mut Vec::new());
    assert_eq!((limits.memory, limits.written), (1 << 20, Limits::STANDARD.written));
    assert_eq!(limits, limits.narrow(&Limits::STANDARD));
}

#[test]
fn without_grants_the_workspace_is_writable_only_if_a_tool_writes() {
    let registry = Registry::built_in();
    let mut agent = Agent::new("a", "b");
    let files = |agent: &Agent| effective(agent, &available(&registry), &registry).grants.files;
    assert_eq!(files(&agent), FilesGrant::workspace(Access::ReadWrite));
    agent.scope.tools = Some(vec![palisade_grants::Rule::parse("Read").unwrap()]);
    assert_eq!(files(&agent), FilesGrant::workspace(Access::Read));
    agent.scope.tools = None;
    agent.permission_mode = Some(PermissionMode::Plan);
    assert_eq!(files(&agent), FilesGrant::workspace(Access::Read));
}

/// P14
#[test]
fn the_example_agents_of_a_configuration_load() {
    let folder = tempfile::tempdir().unwrap();
    let agents: Vec<_> = ["reading-list", "todo", "journal", "general", "code-reviewer"]
        .into_iter()
        .map(|name| json!({ "agentId": name, "displayName": name, "toolAllowlist": null }))
        .collect();
    let config = folder.path().join("config.json");
    cap_std::fs::Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority())
        .unwrap()
        .write("config.json", json!({ "agents": agents }).to_string())
        .unwrap();
    let registry = Registry::load(&Places { config: Some(config), ..Places::default() }, &[]).unwrap();
    for name in ["reading-list", "todo", "journal", "general", "code-reviewer"] {
        let agent = registry.find(name).unwrap();
        assert_eq!(agent.origin.layer.name(), "configured");
        assert_eq!(
            effective(agent, &available(&registry), &registry).tools.len(),
            // All but `exec` and `web_fetch`, which nobody allowed, and those with which skills and panels are read.
            BuiltIn::all().count() - 2 + DELEGATION.len() + 1 + PANEL_TOOLS.len()
        );
    }
}

#[test]
fn a_limit_above_the_standard_is_lowered_and_said_to_be() {
    let registry = Registry::built_in();
    let standard = Limits::STANDARD;
    let mut agent = Agent::new("wide", "Wants much.");
    agent.limits = CallLimits {
        memory: Some(u64::MAX),
        call_time: Some(standard.call_time * 2),
        output: Some(standard.output as u64),
        written: Some(1),
        ..CallLimits::default()
    };
    let effective = effective(&agent, &available(&registry), &registry);
    assert_eq!((effective.limits.memory, effective.limits.call_time), (standard.memory, standard.call_time));
    assert_eq!((effective.limits.output, effective.limits.written), (standard.output, 1));
    let told: Vec<&String> = effective.warnings.iter().filter(|text| text.contains("is lowered from")).collect();
    assert!(
        told.len() == 2 && told[0].contains("`limits.memory`") && told[1].contains("`limits.call_time`"),
        "{told:?}"
    );
}

/// N8, CF-30
#[test]
fn how_tools_are_shown_never_changes_which_there_are() {
    let registry = Registry::built_in();
    let of = |exposure| {
        let agent = Agent { exposure, ..registry.find("explore").unwrap().clone() };
        let effective = effective(&agent, &available(&registry), &registry);
        (effective.tools, effective.grants)
    };
    assert_eq!(of(Exposure::Tools), of(Exposure::Skills));
    assert_eq!(of(Exposure::Tools), of(Exposure::Mixed));
}
