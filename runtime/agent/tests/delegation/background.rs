//! Work that nobody waits for.

use std::time::Duration;

use palisade_agent::{DelegationLimits, SessionKey, Store};
use serde_json::{Value, json};

use super::stage::{Act, Setting, Stage, TENANT, echo, json_of, late, say};

async fn begin(stage: &Stage) -> Value {
    stage.ask("task", json!({ "prompt": "Look.", "background": true })).await
}

/// I13, H25
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn work_in_the_background_is_asked_for_by_its_name() {
    let stage = Stage::usual().await;
    stage.with("general", |heard| late(200, echo(heard)));
    let shown = begin(&stage).await;
    assert_eq!((&shown["status"], &shown["agent_used"]), (&json!("started"), &json!("general")));
    let id = json!({ "task_id": shown["task_id"] });
    assert_eq!(stage.ask("task_result", id.clone()).await["status"], "running");
    let piece = stage.hub.running().pop().unwrap();
    assert_eq!((piece.agent.as_str(), piece.description.as_str()), ("general", "Look."));
    let waited = stage.ask("task_result", json!({ "task_id": shown["task_id"], "timeout": 5 })).await;
    assert_eq!(waited["result"], "heard: Execute this task: Look.");
    stage.hub.settled().await;
    let again = stage.ask("task_result", id).await;
    assert_eq!(again["success"], false, "a result is given once");
}

/// What was not asked for comes as an answer when the one that asked is done.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn results_that_nobody_asked_for_are_brought() {
    let stage = Stage::usual().await;
    stage.with("general", |heard| late(100, echo(heard)));
    let shown = begin(&stage).await;
    let callback = stage.hub.next_callback(&stage.seat.session).await.unwrap().unwrap();
    let id = shown["task_id"].as_str().unwrap();
    assert_eq!(callback.text, format!("[Async response, responseId={id}]: heard: Execute this task: Look."));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_reaches_the_work_of_another() {
    let stage = Stage::usual().await;
    stage.with("general", |_| Act::Hang);
    let shown = begin(&stage).await;
    let session = stage.store.create(palisade_agent::NewSession::with(TENANT, "boss")).await.unwrap();
    let other = stage.reseated(|seat| seat.session = SessionKey::new(TENANT, session.id)).await;
    let id = json!({ "task_id": shown["task_id"] });
    for tool in ["task_result", "task_cancel"] {
        let result = other.call(tool, id.clone()).await;
        assert!(result.text().contains("there is no task"), "{}", result.text());
    }
    assert_eq!(stage.hub.running().len(), 1);
    let cancelled = stage.ask("task_cancel", id.clone()).await;
    assert_eq!(cancelled["status"], "cancelled");
    stage.hub.settled().await;
    let result = stage.ask("task_result", id).await;
    assert_eq!(result["error_type"], "cancelled");
}

/// A parent that is done does not end what it started; one that is cancelled does.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn work_in_the_background_outlives_a_parent_that_is_done() {
    let stage = Stage::usual().await;
    stage.with("starter", |heard| match heard.result() {
        None => Act::Call("task", json!({ "prompt": "Look.", "background": true })),
        Some(result) => say(json_of(result)["session_id"].as_str().unwrap()),
    });
    stage.with("general", |heard| late(200, echo(heard)));
    let shown = stage.ask("task", json!({ "prompt": "x", "agent": "starter" })).await;
    assert!(!stage.hub.running().is_empty());
    stage.hub.settled().await;
    let entries = stage.entries(shown["result"].as_str().unwrap()).await;
    assert_eq!(entries.len(), 2, "it came to its end");
    stage.with("general", |_| Act::Hang);
    stage.ask("task", json!({ "prompt": "x", "agent": "starter" })).await;
    stage.canceller.cancel();
    tokio::time::timeout(Duration::from_secs(1), stage.hub.settled()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn everything_can_be_ended_at_once() {
    let stage = Stage::usual().await;
    stage.with("general", |_| Act::Hang);
    begin(&stage).await;
    begin(&stage).await;
    stage.hub.cancel_all();
    tokio::time::timeout(Duration::from_secs(1), stage.hub.settled()).await.unwrap();
    assert!(stage.hub.running().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_so_much_goes_on_in_the_background() {
    let limits = DelegationLimits { per_call: 2, ..DelegationLimits::default() };
    let stage = Stage::set(Setting { limits, ..Setting::default() }).await;
    stage.with("general", |_| Act::Hang);
    begin(&stage).await;
    begin(&stage).await;
    let third = begin(&stage).await;
    assert_eq!(third["error_type"], "task_limit_exceeded");
    assert!(third["error"].as_str().unwrap().contains("wait for one"));
    let message = stage.call("agents_message", json!({ "agentId": "general", "content": "x", "mode": "async" })).await;
    assert!(message.text().contains("task_limit_exceeded"));
}

/// Work in the background begins also when the one that started it took the only place.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_that_is_done_makes_room_for_what_it_started() {
    let limits = DelegationLimits { live: 1, ..DelegationLimits::default() };
    let stage = Stage::set(Setting { limits, ..Setting::default() }).await;
    stage.with("starter", |heard| match heard.result() {
        None => Act::Call("task", json!({ "prompt": "Look.", "background": true })),
        Some(result) => say(json_of(result)["session_id"].as_str().unwrap()),
    });
    stage.with("general", echo);
    let shown = stage.ask("task", json!({ "prompt": "x", "agent": "starter" })).await;
    tokio::time::timeout(Duration::from_secs(5), stage.hub.settled()).await.unwrap();
    assert_eq!(stage.entries(shown["result"].as_str().unwrap()).await.len(), 2);
}
