//! `task`: one request to one agent.

use std::{sync::Arc, time::Duration};

use palisade_agent::{
    Agent, Budget, Ceiling, DELEGATION_TOOLS, Delegation, DelegationLimits, Entry, FailureKind, Progress, RunLimits,
    Store,
};
use serde_json::{Value, json};

use super::stage::{Act, Setting, Stage, TENANT, echo, late, say};

/// I1, I2, I3, I6, I7, I20, H19, CF-25, CF-35
#[tokio::test]
async fn a_task_is_done_by_the_agent_that_is_named_in_a_session_of_its_own() {
    let stage = Stage::usual().await;
    stage.with("explore", echo).with("general", echo);
    let result = stage.call("task", json!({ "prompt": "Look.", "agent": "explore" })).await;
    let shown = super::stage::json_of(&result);
    assert!(result.is_done());
    assert_eq!(shown["success"], true);
    assert_eq!(shown["result"], "heard: Execute this task: Look.");
    assert_eq!(shown["agent_used"], "explore");
    assert!(shown["task_id"].as_str().unwrap().starts_with("task-") && shown["duration"].is_number());
    assert_eq!(shown["agent_id"], shown["session_id"]);
    let session = stage.session(shown["session_id"].as_str().unwrap()).await;
    assert_eq!(session.agent, "explore");
    assert_eq!(session.origin.parent.as_deref(), Some(stage.seat.session.id.as_str()));
    assert_eq!((session.origin.chain, session.origin.workspace), (vec!["boss".to_owned()], Some("folder".to_owned())));
    let usual = stage.ask("task", json!({ "prompt": "Look." })).await;
    assert_eq!(usual["agent_used"], "general");
}

/// I1, I4, CF-18
#[tokio::test]
async fn every_spelling_of_the_request_is_the_same_request() {
    let stage = Stage::usual().await;
    stage.with("explore", echo);
    let spellings = [
        json!({ "prompt": "Look.", "type": "explore" }),
        json!({ "task_prompt": "Look.", "agent_name": "explore" }),
        json!({ "prompt": " Look. ", "agent": " explore ", "description": "looks" }),
        json!({ "prompt": "Look.", "subagent_type": "explore" }),
    ];
    for (tool, input) in ["task", "Agent", "agent", "Subagent"].iter().zip(spellings) {
        let shown = stage.ask(tool, input.clone()).await;
        assert_eq!(shown["result"], "heard: Execute this task: Look.", "{input}");
    }
}

/// H14, I22, I26
#[tokio::test]
async fn a_request_that_makes_no_sense_does_nothing() {
    let stage = Stage::usual().await;
    stage.with("general", echo);
    let wrong = [
        json!({}),
        json!({ "prompt": "  " }),
        json!({ "prompt": "x".repeat(50_001) }),
        json!({ "prompt": "x", "persist": "yes" }),
        json!({ "prompt": "x", "agent": "" }),
        json!({ "prompt": "x", "agent": "a b" }),
        json!({ "prompt": "x", "agent": "../general" }),
        json!({ "prompt": "x", "agent": "a/b/c" }),
        json!({ "prompt": "x", "agent": "a".repeat(101) }),
        json!({ "prompt": "x", "timeout": 0 }),
        json!({ "prompt": "x", "timeout": -1 }),
        json!({ "prompt": "x", "max_steps": 0 }),
        json!({ "prompt": "x", "thoroughness": "somewhat" }),
        json!({ "prompt": "x", "task_prompt": "y" }),
        json!({ "prompt": "x", "permissive": true }),
    ];
    for input in wrong {
        let result = stage.call("task", input.clone()).await;
        let is_wrong =
            matches!(result.outcome, palisade_agent::ToolOutcome::Failed { kind: FailureKind::InvalidInput, .. });
        assert!(is_wrong, "{input}: {}", result.text());
    }
    assert!(stage.crew.recruited.lock().unwrap().is_empty());
    let longest = stage.ask("task", json!({ "prompt": "ä".repeat(50_000) })).await;
    assert_eq!(longest["success"], true);
}

/// I14, CF-26, Q6, Q8, DEL-12
#[tokio::test]
async fn an_unknown_agent_is_an_error_with_the_names_there_are() {
    let stage = Stage::usual().await;
    stage.with("explore", echo).with("plan", echo);
    for name in ["general", "Explore", "explor", "explore2"] {
        let shown = stage.ask("task", json!({ "prompt": "x", "agent": name })).await;
        assert_eq!(shown["error"], format!("Unknown subagent type: \"{name}\". Available: explore, plan"));
        assert_eq!((&shown["success"], &shown["error_type"]), (&json!(false), &json!("validation_error")));
    }
}

/// CF-9, K1, K7
#[tokio::test]
async fn hidden_agents_can_be_asked_and_those_that_are_not_visible_cannot() {
    let stage = Stage::usual().await;
    stage.with_agent(Agent::new("quiet", "").hidden(), Ceiling::open(), echo);
    stage.with_agent(Agent { ui_visible: false, ..Agent::new("secret", "") }, Ceiling::open(), echo);
    assert_eq!(stage.ask("task", json!({ "prompt": "x", "agent": "quiet" })).await["success"], true);
    let shown = stage.ask("task", json!({ "prompt": "x", "agent": "secret" })).await;
    assert_eq!(shown["error"], "Agent not accessible: secret");
    let listed = stage.ask("agents_list", json!({})).await;
    assert_eq!(listed, json!({ "agents": [] }));
    let all = stage.ask("agents_list", json!({ "includeAll": true })).await;
    assert_eq!(all, json!({ "agents": [{ "agentId": "quiet", "displayName": "quiet", "description": "" }] }));
}

/// I5, K8, K9, T7
#[tokio::test]
async fn the_tool_says_which_agents_there_are() {
    let stage = Stage::usual().await;
    stage.with("explore", echo).with("plan", echo);
    let tools = stage.hub.tools(stage.seat.clone());
    let description = |name: &str| {
        let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap();
        tool.spec().description.clone()
    };
    assert!(description("task").ends_with("Agents:\n- explore: Is explore.\n- plan: Is plan."));
    let shown: usize = tools.iter().map(|tool| serde_json::to_string(tool.spec()).unwrap().len()).sum();
    assert!(shown < 4096, "schemas are read with every request: {shown} bytes");
    let names: Vec<String> = Delegation::specs().into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, DELEGATION_TOOLS);
    assert!(Delegation::specs().iter().all(|spec| spec.capabilities == ["agents"]));
}

/// I8, H20, CF-25
#[tokio::test]
async fn the_instructions_are_made_anew_for_every_task() {
    let stage = Stage::usual().await;
    let agent = Agent::new("explore", "").with_prompt("You look into {{task}} and nothing else.");
    stage.with_agent(agent, Ceiling::open(), |heard| {
        say(format!("{}|{}", heard.instructions.lines().next().unwrap(), heard.asked()))
    });
    for task in ["one", "two"] {
        let shown = stage.ask("task", json!({ "prompt": task, "agent": "explore" })).await;
        let expected = format!("You look into {task} and nothing else.|Execute this task: {task}");
        assert_eq!(shown["result"], expected);
    }
}

/// I15, I16, I24, CF-27
#[tokio::test]
async fn a_timeout_ends_the_work_and_is_said() {
    let stage = Stage::usual().await;
    stage.with("general", |_| late(60_000, say("too late")));
    let shown = stage.ask("task", json!({ "prompt": "x", "timeout": 1.9 })).await;
    let text = "Agent failed: the run has used all of its time. The timeout was 1 seconds. Consider increasing the \
                timeout or breaking the task into smaller subtasks.";
    assert_eq!((&shown["error"], &shown["error_type"]), (&json!(text), &json!("timeout")));
    assert!(shown["duration"].as_f64().unwrap() < 10.0);
}

/// I16, I23
#[tokio::test]
async fn a_request_lowers_limits_and_never_raises_them() {
    let stage = Stage::usual().await;
    let circling = |heard: &super::stage::Heard| Act::Call("nothing", json!({ "step": heard.entries.len() }));
    let limits = RunLimits { steps: Some(3), time: Some(Duration::from_secs(1)), ..RunLimits::default() };
    let agent = Agent { budget: limits, ..Agent::new("general", "") };
    stage.with_agent(agent, Ceiling::open(), circling);
    let shown = stage.ask("task", json!({ "prompt": "x", "max_steps": 2 })).await;
    assert_eq!(shown["error"], "Max tool rounds (2) exceeded");
    let shown = stage.ask("task", json!({ "prompt": "x", "max_steps": 1000, "timeout": 1000 })).await;
    assert_eq!(shown["error"], "Max tool rounds (3) exceeded");
    let limits = RunLimits { time: Some(Duration::from_secs(1)), ..RunLimits::default() };
    let agent = Agent { budget: limits, ..Agent::new("slow", "") };
    stage.with_agent(agent, Ceiling::open(), |_| Act::Hang);
    let shown = stage.ask("task", json!({ "prompt": "x", "agent": "slow", "timeout": 1000 })).await;
    assert!(shown["error"].as_str().unwrap().contains("The timeout was 1 seconds"), "{shown}");
}

/// I16, R1, R9: one that says nothing of its time has the usual.
#[tokio::test]
async fn an_agent_without_a_timeout_has_the_usual_one() {
    let limits = DelegationLimits { time: Duration::from_secs(1), ..DelegationLimits::default() };
    let stage = Stage::set(Setting { limits, ..Setting::default() }).await;
    stage.with("general", |_| Act::Hang);
    let shown = stage.ask("task", json!({ "prompt": "x", "timeout": 50, "thoroughness": "very thorough" })).await;
    assert!(shown["error"].as_str().unwrap().contains("The timeout was 1 seconds"), "{shown}");
}

/// I8, CF-25
#[tokio::test]
async fn how_a_task_is_put_can_be_set() {
    let stage = Stage::usual().await;
    stage.with("general", echo);
    let store: Arc<dyn Store> = stage.store.clone();
    let hub = Delegation::new(store, stage.crew.clone(), DelegationLimits::default(), "me").saying("{{task}}");
    let tools = Arc::new(hub).tools(stage.seat.clone());
    let result = tools[0].call(r#"{"prompt": "Say {{task}}."}"#, &Progress::unheard()).await;
    assert_eq!(super::stage::json_of(&result)["result"], "heard: Say {{task}}.");
}

/// I9
#[tokio::test]
async fn an_agent_without_words_gives_its_last_or_says_so() {
    let stage = Stage::usual().await;
    stage.with("silent", |_| say("  "));
    let shown = stage.ask("task", json!({ "prompt": "x", "agent": "silent" })).await;
    assert_eq!((&shown["success"], &shown["result"]), (&json!(true), &json!("did not provide a summary")));
    stage.with("interrupted", |_| say("[Request interrupted by user]"));
    let shown = stage.ask("task", json!({ "prompt": "x", "agent": "interrupted" })).await;
    assert_eq!(shown["result"], "did not provide a summary");
    let agent = Agent::new("chatty", "");
    stage.with_agent(agent, Ceiling::open(), |heard| match heard.result() {
        None => Act::CallAll(vec![("nothing", json!({}))]),
        Some(_) => say("Two files, [Request interrupted"),
    });
    let shown = stage.ask("task", json!({ "prompt": "x", "agent": "chatty" })).await;
    assert_eq!(shown["result"], "Two files, [Request interrupted");
}

/// DEL-09
#[tokio::test]
async fn an_answer_is_no_longer_than_it_may_be_and_still_json() {
    let stage = Stage::usual().await;
    stage.with("general", |_| say("\"\n".repeat(200_000)));
    let result = stage.call("task", json!({ "prompt": "x" })).await;
    assert!(result.text().len() <= palisade_agent::OUTPUT_LIMIT, "{}", result.text().len());
    let shown = super::stage::json_of(&result);
    assert_eq!((&shown["truncated"], &shown["success"]), (&json!(true), &json!(true)));
}

/// I7, S6: what was cut is in the result and in the audit log, and what was said is in the session.
#[tokio::test]
async fn what_was_cut_is_said() {
    let ceiling = Ceiling {
        grants: palisade_grants::Grants {
            files: palisade_grants::FilesGrant::workspace(palisade_grants::Access::Read),
            ..palisade_grants::Grants::everything()
        },
        ..Ceiling::open()
    };
    let stage = Stage::set(Setting { ceiling: ceiling.clone(), ..Setting::default() }).await;
    stage.with("general", echo);
    let shown = stage.ask("task", json!({ "prompt": "x" })).await;
    assert_eq!(shown["cut"], json!(["`general` has less than it asks for"]));
    let session = shown["session_id"].as_str().unwrap();
    let audits = stage.store.audits(TENANT, Some(session), 10).await.unwrap();
    let spawn = audits.iter().find(|record| record.kind == "spawn").unwrap();
    assert_eq!(spawn.detail["cut"], shown["cut"]);
    assert_eq!(spawn.detail["chain"], json!(["boss"]));
    assert_eq!(serde_json::from_value::<Ceiling>(spawn.detail["ceiling"].clone()).unwrap(), ceiling);
    let entries = stage.entries(session).await;
    assert_eq!(entries[0], Entry::User { text: "Execute this task: x".to_owned() });
    assert_eq!(entries.len(), 2);
}

/// I19, I21, I28, I29, I30, DEL-04, CF-21
#[tokio::test]
async fn agents_ask_agents_as_deep_as_the_budget_goes() {
    let stage = Stage::set(Setting { budget: Budget { depth: 2, ..Budget::default() }, ..Setting::default() }).await;
    stage.with("first", |heard| match heard.result() {
        None => Act::Call("task", json!({ "prompt": "deeper", "agent": "second" })),
        Some(result) => say(super::stage::json_of(result)["result"].as_str().unwrap()),
    });
    // The deepest has no tools for it, and a model that makes the call up learns that.
    stage.with("second", |heard| match heard.result() {
        None => Act::Call("task", json!({ "prompt": "deeper", "agent": "third" })),
        Some(result) => say(format!("{:?} {}", heard.tools, result.text())),
    });
    let shown = stage.ask("task", json!({ "prompt": "x", "agent": "first" })).await;
    assert_eq!(shown["result"], "[] there is no tool `task`; this agent has no tools");
}

/// DEL-04, DEL-05
#[tokio::test]
async fn one_that_may_start_nothing_is_told_what_would_allow_it() {
    let stage = Stage::usual().await;
    stage.with("general", echo);
    let leaf = stage.seat.account.branch(Budget { depth: 0, ..Budget::default() }).unwrap();
    // The tools were made before the depth was spent.
    let tools = stage.hub.tools(stage.seat.clone());
    let bottom = stage.reseated(|seat| seat.account = leaf.clone()).await;
    assert!(bottom.hub.tools(bottom.seat.clone()).is_empty());
    assert_eq!(tools.len(), 7);
    let chain = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let twice = stage.reseated(|seat| seat.chain = chain(&["general", "boss", "general"])).await;
    let shown = twice.ask("task", json!({ "prompt": "x" })).await;
    assert_eq!(shown["error_type"], "same_agent_limit_exceeded");
    assert!(shown["error"].as_str().unwrap().contains("general → boss → general"), "{shown}");
    let once = stage.reseated(|seat| seat.chain = chain(&["general", "boss"])).await;
    assert_eq!(once.ask("task", json!({ "prompt": "x" })).await["success"], true);
}

/// DEL-04: an agent that only asks itself comes to an end.
#[tokio::test]
async fn self_delegation_is_bounded() {
    let stage = Stage::usual().await;
    stage.with("general", |heard| match heard.result() {
        None => Act::Call("task", json!({ "prompt": "again" })),
        Some(result) => say(result.text().to_owned()),
    });
    let shown = stage.ask("task", json!({ "prompt": "x" })).await;
    let mut text = shown.to_string();
    let mut levels = 0;
    while let Some(inner) =
        serde_json::from_str::<Value>(&text).ok().and_then(|shown| shown["result"].as_str().map(str::to_owned))
    {
        (text, levels) = (inner, levels + 1);
    }
    assert_eq!(levels, 2);
    assert!(text.contains("same_agent_limit_exceeded"), "{text}");
}
