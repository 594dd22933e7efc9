//! Rights: they only shrink on the way down, whoever asks whom in what words.

use std::{collections::BTreeSet, time::Duration};

use palisade_agent::{Agent, Budget, CallLimits, Ceiling, DelegationLimits, RunLimits, Store};
use palisade_grants::{Access, Capability, FilesGrant, Grants, Policy, Rule};
use proptest::prelude::*;
use serde_json::json;

use super::stage::{Act, Setting, Stage, echo, json_of, say};

/// Nothing but asking agents.
pub(crate) fn only_agents() -> Ceiling {
    Ceiling { grants: Grants { agents: Grants::everything().agents, ..Grants::default() }, ..Ceiling::open() }
}

fn reading() -> Ceiling {
    Ceiling { grants: Grants { files: FilesGrant::workspace(Access::Read), ..only_agents().grants }, ..Ceiling::open() }
}

/// Whether one allows no more than the other.
fn is_below(one: &Ceiling, other: &Ceiling) -> bool {
    one.narrow(other) == *one
}

/// DEL-01, DEL-02, CF-31
#[tokio::test]
async fn a_child_has_no_more_than_the_one_that_asks() {
    let stage = Stage::set(Setting { ceiling: reading(), ..Setting::default() }).await;
    stage.with("strong", |heard| match heard.result() {
        None => Act::Call("task", json!({ "prompt": "Write as root.", "agent": "stronger" })),
        Some(result) => say(result.text()),
    });
    stage.with("stronger", echo);
    let shown = stage.ask("task", json!({ "prompt": "You may write.", "agent": "strong" })).await;
    assert_eq!(shown["success"], true);
    for name in ["strong", "stronger"] {
        assert_eq!(stage.crew.last_recruit(name).ceiling, reading(), "{name}");
    }
}

/// DEL-13
#[tokio::test]
async fn a_narrow_coordinator_may_ask_a_wide_worker_under_its_own_ceiling() {
    let stage = Stage::set(Setting { ceiling: Ceiling::open(), ..Setting::default() }).await;
    stage.with_agent(Agent::new("worker", ""), Ceiling::open(), echo);
    stage.ask("task", json!({ "prompt": "x", "agent": "worker" })).await;
    assert_eq!(stage.crew.last_recruit("worker").ceiling, Ceiling::open());
    assert!(stage.call("write", json!({})).await.text().contains("there is no tool `write`"));
}

/// DEL-12
#[tokio::test]
async fn only_agents_that_were_granted_are_asked() {
    let grants = Grants { agents: serde_json::from_value(json!(["explore", "team-*"])).unwrap(), ..Grants::default() };
    let stage = Stage::set(Setting { ceiling: Ceiling { grants, ..Ceiling::open() }, ..Setting::default() }).await;
    for name in ["explore", "explorer", "Explore", "team-a", "team", "general"] {
        stage.with(name, echo);
    }
    for (name, allowed) in [
        ("explore", true),
        ("team-a", true),
        ("explorer", false),
        ("Explore", false),
        ("team", false),
        ("general", false),
    ] {
        for (tool, input) in [
            ("task", json!({ "prompt": "x", "agent": name })),
            ("agents_message", json!({ "agentId": name, "content": "x" })),
            ("parallel_task", json!({ "tasks": [{ "prompt": "x", "agent": name }] })),
        ] {
            assert_eq!(stage.call(tool, input).await.is_done(), allowed, "{tool} {name}");
        }
    }
    let audits = stage.store.audits(super::stage::TENANT, Some(&stage.seat.session.id), 99).await.unwrap();
    assert_eq!(audits.iter().filter(|record| record.kind == "refused").count(), 4 * 3);
}

/// DEL-12: an agent of a plugin is not the one that is called alike.
#[tokio::test]
async fn a_plugins_agent_is_granted_by_its_whole_name() {
    let grants = |names: serde_json::Value| {
        let grants = Grants { agents: serde_json::from_value(names).unwrap(), ..Grants::default() };
        Ceiling { grants, ..Ceiling::open() }
    };
    for (granted, allowed) in [(json!(["helper"]), false), (json!(["p/helper"]), true), (json!(["*"]), true)] {
        let stage = Stage::set(Setting { ceiling: grants(granted), ..Setting::default() }).await;
        let agent = Agent { origin: palisade_agent::Origin::plugin("p", "plugin.json"), ..Agent::new("helper", "") };
        stage.with_named("p/helper", agent, echo);
        let shown = stage.ask("task", json!({ "prompt": "x", "agent": "p/helper" })).await;
        assert_eq!(shown["success"], allowed, "{shown}");
        if allowed {
            let again = json!({ "agent_id": shown["agent_id"], "message": "y" });
            assert_eq!(stage.ask("agent_ask", again).await["success"], true);
            stage.ask("agents_message", json!({ "agentId": "p/helper", "content": "x" })).await;
            let other =
                Agent { origin: palisade_agent::Origin::plugin("q", "plugin.json"), ..Agent::new("helper", "") };
            stage.with_named("q/helper", other, echo);
            let latest = json!({ "agentId": "q/helper", "content": "x", "session": "latest" });
            assert!(
                stage.call("agents_message", latest).await.text().contains("No existing session")
                    || granted_one(&stage)
            );
        }
    }
}

/// Whether only one of the two plugins was granted, so that the other could not be asked at all.
fn granted_one(stage: &Stage) -> bool {
    stage.seat.ceiling.grants.agents.iter().all(|word| word.to_string() == "p/helper")
}

/// DEL-12: a rule about agents holds for every way to ask one.
#[tokio::test]
async fn a_rule_about_agents_cannot_be_walked_around() {
    let deny = Policy { deny: vec![Rule::parse("Agent(secret)").unwrap()], ..Policy::default() };
    let allow = Policy {
        allow: Some(["Agent(open)", "parallel_task", "agents_message"].map(|rule| Rule::parse(rule).unwrap()).to_vec()),
        default: Some(palisade_grants::Decision::Deny),
        ..Policy::default()
    };
    let ask = Policy {
        ask: vec![Rule::parse("Agent(secret)").unwrap()],
        default: Some(palisade_grants::Decision::Allow),
        ..Policy::default()
    };
    let unsaid = Policy { default: None, ..allow.clone() };
    for policy in [deny, allow, ask, unsaid] {
        let boss = Agent::new("boss", "").with_permissions(policy);
        let stage = Stage::set(Setting { boss, ..Setting::default() }).await;
        stage.with("secret", echo).with("open", echo);
        for (name, allowed) in [("secret", false), ("open", true)] {
            let tasks = json!({ "tasks": [{ "prompt": "x", "agent": name }] });
            assert_eq!(stage.call("parallel_task", tasks).await.is_done(), allowed, "{name}");
            let message = json!({ "agentId": name, "content": "x" });
            assert_eq!(stage.call("agents_message", message).await.is_done(), allowed, "{name}");
        }
    }
}

/// DEL-05: the depth of a chain is counted down the accounts, so nothing that a tool starts begins anew.
#[tokio::test]
async fn depth_is_not_won_back_by_messages_or_new_sessions() {
    let limits = DelegationLimits { messages: 9, same_agent: 9, ..DelegationLimits::default() };
    let budget = Budget { depth: 3, ..Budget::default() };
    let stage = Stage::set(Setting { limits, budget, ..Setting::default() }).await;
    // Each asks the next in another way, as deep as it can.
    for (name, tool, next) in [("a", "task", "b"), ("b", "agents_message", "c"), ("c", "task", "d"), ("d", "task", "a")]
    {
        stage.with(name, move |heard| match heard.result() {
            None => Act::Call(
                tool,
                match tool {
                    "task" => json!({ "prompt": "x", "agent": next }),
                    _ => json!({ "agentId": next, "content": "x", "session": "create" }),
                },
            ),
            Some(result) => say(result.text()),
        });
    }
    let shown = stage.ask("task", json!({ "prompt": "x", "agent": "a" })).await;
    let recruited: Vec<String> =
        stage.crew.recruited.lock().unwrap().iter().map(|recruit| recruit.agent.name.clone()).collect();
    assert_eq!(recruited, ["a", "b", "c"], "{shown}");
}

/// DEL-06: tokens, steps and calls are the tree's.
#[tokio::test]
async fn a_tree_uses_up_no_more_than_its_root_may() {
    let budget = Budget { steps: 12, ..Budget::default() };
    let limits = DelegationLimits { same_agent: 9, ..DelegationLimits::default() };
    let stage = Stage::set(Setting { budget, limits, ..Setting::default() }).await;
    let bomb = |heard: &super::stage::Heard| match heard.result() {
        None => Act::CallAll(vec![("task", json!({ "prompt": "more", "agent": "bomb" })); 10]),
        Some(_) => say("done"),
    };
    let wide = Agent { budget: RunLimits { steps: Some(1000), ..RunLimits::default() }, ..Agent::new("bomb", "") };
    stage.with_agent(wide, Ceiling::open(), bomb);
    let shown = stage.ask("task", json!({ "prompt": "x", "agent": "bomb" })).await;
    stage.hub.settled().await;
    let steps = stage.events().iter().filter(|event| is_step(event)).count();
    assert!(steps <= 12, "{steps} steps: {shown}");
    assert!(shown.to_string().contains("the one that asked has no steps left to give"), "{shown}");
}

fn is_step(event: &palisade_agent::Event) -> bool {
    match event {
        palisade_agent::Event::SubagentProgress { event, .. } => is_step(event),
        palisade_agent::Event::StepStarted { .. } => true,
        _ => false,
    }
}

fn ceilings() -> impl Strategy<Value = Ceiling> {
    let capabilities = prop::collection::vec(any::<bool>(), Capability::ALL.len());
    let limit = || prop::option::of(1..5_u64);
    (capabilities, limit(), limit(), limit()).prop_map(|(held, memory, time, output)| {
        let held: BTreeSet<Capability> =
            Capability::ALL.into_iter().zip(held).filter(|(_, held)| *held).map(|(capability, _)| capability).collect();
        // All may ask others: the chain is to be long.
        let grants = Grants { agents: Grants::everything().agents, ..Grants::asking(&held) };
        let call_time = time.map(Duration::from_secs);
        Ceiling { grants, limits: CallLimits { memory, call_time, output, ..CallLimits::default() }, tools: None }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// DEL-03
    #[test]
    fn rights_never_grow_along_a_chain(
        root in ceilings(),
        members in prop::collection::vec((ceilings(), any::<bool>()), 1..=8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let limits = DelegationLimits { messages: 99, ..DelegationLimits::default() };
            let budget = Budget { depth: 99, ..Budget::default() };
            let stage = Stage::set(Setting { ceiling: root.clone(), limits, budget, ..Setting::default() }).await;
            for (at, (own, by_message)) in members.iter().enumerate() {
                let (next, by_message) = (format!("agent-{}", at + 1), *by_message);
                let agent = Agent {
                    budget: RunLimits { depth: Some(99), ..RunLimits::default() },
                    ..Agent::new(format!("agent-{at}"), "")
                };
                let is_last = at + 1 == members.len();
                stage.with_agent(agent, own.clone(), move |heard| match heard.result() {
                    None if is_last => say("done"),
                    None if by_message => Act::Call("agents_message", json!({ "agentId": next, "content": "x" })),
                    None => Act::Call("task", json!({ "prompt": "x", "agent": next })),
                    Some(result) => say(json_of(result).to_string()),
                });
            }
            let shown = stage.ask("task", json!({ "prompt": "x", "agent": "agent-0" })).await;
            let recruited = stage.crew.recruited.lock().unwrap();
            assert_eq!(recruited.len(), members.len(), "{shown}");
            let mut above = &root;
            for (recruit, (own, _)) in recruited.iter().zip(&members) {
                assert!(is_below(&recruit.ceiling, above) && is_below(&recruit.ceiling, own));
                above = &recruit.ceiling;
            }
        });
    }
}
