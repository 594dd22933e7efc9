//! Agents that are asked again.

use palisade_agent::{Agent, Ceiling, DelegationLimits, Origin, Pool, PoolKey, SessionKey, Store, StoreError};
use serde_json::{Value, json};

use super::stage::{Act, Heard, Setting, Stage, TENANT, echo, late, say};

/// Says all it was ever asked.
fn remembers(heard: &Heard) -> Act {
    say(heard.questions().join("|").replace("Execute this task: ", ""))
}

fn id(shown: &Value) -> String {
    shown["session_id"].as_str().unwrap().to_owned()
}

/// H5, H10, H11, H17, H18, H24, CF-24
#[tokio::test]
async fn an_idle_agent_is_asked_again_and_remembers() {
    let stage = Stage::usual().await;
    stage.with("general", remembers).with("other", remembers);
    let first = stage.ask("task", json!({ "prompt": "one" })).await;
    let second = stage.ask("task", json!({ "prompt": "two", "persist": true })).await;
    let other = stage.ask("task", json!({ "prompt": "three", "agent": "other" })).await;
    assert_eq!((&second["result"], &other["result"]), (&json!("one|two"), &json!("three")));
    assert_eq!(id(&first), id(&second));
    assert_ne!(id(&first), id(&other));
    let statistics = stage.hub.pool().statistics();
    assert_eq!((statistics.idle, statistics.busy, statistics.reused, statistics.adopted), (2, 0, 1, 2));
}

/// H10, H12, H13, H16
#[tokio::test]
async fn what_is_not_to_persist_is_gone_afterwards() {
    let stage = Stage::usual().await;
    stage.with("general", remembers);
    let input = json!({ "prompt": "one", "persist": false });
    let (first, second) = (stage.ask("task", input.clone()).await, stage.ask("task", input).await);
    assert_eq!(second["result"], "one");
    assert!(first.get("agent_id").is_none());
    let gone = stage.store.session(&SessionKey::new(TENANT, id(&first))).await;
    assert!(matches!(gone, Err(StoreError::NoSession(_))));
    assert_eq!(stage.hub.pool().statistics().adopted, 0);
}

/// H9
#[tokio::test]
async fn an_agent_at_work_is_not_given_another_task() {
    let stage = Stage::usual().await;
    stage.with("general", |heard| late(100, echo(heard)));
    let input = json!({ "prompt": "x" });
    let (first, second) = tokio::join!(stage.ask("task", input.clone()), stage.ask("task", input.clone()));
    assert_ne!(id(&first), id(&second));
    assert_eq!(stage.hub.pool().statistics().idle, 2);
    let third = stage.ask("task", input).await;
    assert!([id(&first), id(&second)].contains(&id(&third)));
}

/// H2, H4, H6, H8, H21, DF-3, DF-4, X7: another prompt, another agent.
#[tokio::test]
async fn an_agent_whose_definition_changed_is_another_one() {
    let stage = Stage::usual().await;
    stage.with("general", remembers);
    let first = stage.ask("task", json!({ "prompt": "one" })).await;
    stage.with_agent(Agent::new("general", "").with_prompt("Changed."), Ceiling::open(), remembers);
    let second = stage.ask("task", json!({ "prompt": "two" })).await;
    assert_eq!(second["result"], "two");
    assert_ne!(id(&first), id(&second));
}

/// H1, H22, H23, DF-5
#[tokio::test]
async fn agents_of_one_name_from_two_plugins_are_two() {
    let stage = Stage::usual().await;
    let of = |plugin: &str| Agent { origin: Origin::plugin(plugin, "plugin.json"), ..Agent::new("general", "") };
    stage.with_agent(of("a"), Ceiling::open(), remembers);
    let first = stage.ask("task", json!({ "prompt": "one" })).await;
    stage.with_agent(of("b"), Ceiling::open(), remembers);
    let second = stage.ask("task", json!({ "prompt": "two" })).await;
    assert_ne!(id(&first), id(&second));
    assert_eq!(stage.hub.pool().evict_plugin("a"), 1);
    stage.with_agent(of("a"), Ceiling::open(), remembers);
    assert_eq!(stage.ask("task", json!({ "prompt": "three" })).await["result"], "three");
}

/// H17, CF-24: what was said for one is not heard by another.
#[tokio::test]
async fn sessions_are_not_shared_between_those_who_ask() {
    let stage = Stage::usual().await;
    stage.with("general", remembers);
    stage.ask("task", json!({ "prompt": "one" })).await;
    let new = palisade_agent::NewSession::with(TENANT, "boss");
    let session = stage.store.create(new).await.unwrap();
    let other = stage.reseated(|seat| seat.session = SessionKey::new(TENANT, session.id)).await;
    assert_eq!(other.ask("task", json!({ "prompt": "two" })).await["result"], "two");
}

/// DEL-10, X7: an agent that is asked again by one with less has less, and never gets back what it had not.
#[tokio::test]
async fn rights_are_worked_out_anew_for_every_task() {
    let stage = Stage::usual().await;
    stage.with("general", remembers);
    stage.ask("task", json!({ "prompt": "one" })).await;
    let less = Ceiling { grants: palisade_grants::Grants::default(), ..Ceiling::open() };
    let agents = palisade_grants::Grants::everything().agents;
    let less = Ceiling { grants: palisade_grants::Grants { agents, ..less.grants }, ..less };
    let narrow = stage.reseated(|seat| seat.ceiling = less.clone()).await;
    let shown = narrow.ask("task", json!({ "prompt": "two" })).await;
    assert_eq!(shown["result"], "two", "it is another one, with other rights");
    assert_eq!(stage.crew.last_recruit("general").ceiling, less);
}

/// H13, DF-16
#[tokio::test]
async fn an_agent_whose_work_failed_is_not_asked_again() {
    let stage = Stage::usual().await;
    let parts: [fn(&Heard) -> Act; 3] = [|_| Act::Fail, |_| Act::Hang, |_| Act::Panic];
    for part in parts {
        stage.with("general", part);
        let failed = stage.ask("task", json!({ "prompt": "one", "timeout": 1 })).await;
        assert_eq!(failed["success"], false);
        stage.with("general", remembers);
        let next = stage.ask("task", json!({ "prompt": "two", "persist": false })).await;
        assert_eq!(next["result"], "two");
        let statistics = stage.hub.pool().statistics();
        assert_eq!((statistics.idle, statistics.busy), (0, 0));
    }
    assert_eq!(stage.hub.pool().statistics().discarded, 3);
}

#[tokio::test]
async fn only_so_many_idle_agents_are_kept() {
    let limits = DelegationLimits { pooled: 2, ..DelegationLimits::default() };
    let stage = Stage::set(Setting { limits, ..Setting::default() }).await;
    for name in ["a", "b", "c"] {
        stage.with(name, remembers);
        stage.ask("task", json!({ "prompt": "one", "agent": name })).await;
    }
    let again = |name: &'static str| stage.ask("task", json!({ "prompt": "two", "agent": name }));
    assert_eq!(again("b").await["result"], "one|two");
    assert_eq!(again("a").await["result"], "two", "it waited longest and had to make room");
    assert_eq!(stage.hub.pool().clear_session(TENANT, &stage.seat.session.id), 2);
    assert_eq!(again("b").await["result"], "two");
}

/// The pool's memory: 10,000 idle agents, counted part by part.
#[test]
fn an_idle_agent_costs_less_than_a_kibibyte() {
    let pool = Pool::of(10_000);
    let text = |length: usize| -> Box<str> { "x".repeat(length).into() };
    // A hash in full, two UUIDs, a tenant and a plugin.
    let key =
        |number: usize| PoolKey { fingerprint: format!("{number:064}").into(), tenant: text(36), parent: text(36) };
    for number in 0..10_000 {
        let session = format!("{number:036}");
        pool.adopt(key(number), Some(&text(32)), &session);
        pool.release(&text(36), &session);
    }
    let statistics = pool.statistics();
    assert_eq!((statistics.idle, statistics.evicted), (10_000, 0));
    let heap = 64 + 36 + 36 + 36 + 32;
    // A vector that grew by doubling holds at most twice what is in it.
    let entry = heap + 5 * 16 /* what the allocator adds */ + 2 * Pool::ENTRY;
    println!("bytes per idle agent: at most {entry}");
    assert!(entry < 1024, "{entry}");
    assert_eq!(pool.reserve(&key(7)).as_deref(), Some(format!("{:036}", 7).as_str()));
}
