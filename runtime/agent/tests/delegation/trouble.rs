//! Children that break, hang, are cancelled or lose their session.

use std::time::{Duration, Instant};

use palisade_agent::{Ending, Event, Lease, RunState, SessionKey, Store};
use serde_json::json;

use super::stage::{Act, Heard, Setting, Stage, TENANT, echo, json_of, late, say};

/// Waits until so many agents are at work.
async fn at_work(stage: &Stage, many: usize) {
    while stage.hub.running().len() < many {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// How the last run of a session ended.
async fn ending(stage: &Stage, session: &str) -> Option<Ending> {
    let run = stage.store.last_run(&SessionKey::new(TENANT, session)).await.unwrap().unwrap();
    match run.state {
        RunState::Open { .. } => panic!("{session} is still held"),
        RunState::Ended { ending, .. } => ending,
    }
}

/// DEL-08
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_child_that_breaks_down_is_a_result() {
    let stage = Stage::usual().await;
    stage.with("panics", |_| Act::Panic).with("fails", |_| Act::Fail).with("general", echo);
    let shown = stage.ask("task", json!({ "prompt": "x", "agent": "panics" })).await;
    assert!(shown["error"].as_str().unwrap().contains("the run broke down"), "{shown}");
    assert!(matches!(ending(&stage, shown["session_id"].as_str().unwrap()).await, Some(Ending::Failed(_))));
    let shown = stage.ask("task", json!({ "prompt": "x", "agent": "fails" })).await;
    assert!(shown["error"].as_str().unwrap().contains("it is gone"), "{shown}");
    assert_eq!(stage.ask("task", json!({ "prompt": "x" })).await["success"], true);
    stage.hub.settled().await;
    assert!(stage.hub.running().is_empty());
}

/// DEL-07, I13, I18
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_descendants_stop_when_the_outermost_is_cancelled() {
    let stage = Stage::usual().await;
    stage.with("middle", |heard| match heard.result() {
        None => Act::CallAll(vec![("task", json!({ "prompt": "x", "agent": "leaf" })); 3]),
        Some(_) => say("done"),
    });
    stage.with("leaf", |_| Act::Hang);
    let canceller = stage.canceller.clone();
    let cancelled = async {
        at_work(&stage, 4).await;
        canceller.cancel();
        Instant::now()
    };
    let input = json!({ "prompt": "x", "agent": "middle" });
    let (result, since) = tokio::join!(stage.call("task", input), cancelled);
    stage.hub.settled().await;
    assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
    let shown = json_of(&result);
    assert_eq!((&shown["error_type"], &shown["success"]), (&json!("cancelled"), &json!(false)));
    for event in stage.events() {
        if let Event::SubagentEnded { session, ending: told, .. } = event {
            assert_eq!((told, ending(&stage, &session).await), (Ending::Cancelled, Some(Ending::Cancelled)));
        }
    }
}

/// DEL-07
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_that_is_dropped_ends_the_child() {
    let stage = Stage::usual().await;
    stage.with("general", |_| Act::Hang);
    let call = stage.call("task", json!({ "prompt": "x" }));
    assert!(tokio::time::timeout(Duration::from_millis(100), call).await.is_err());
    tokio::time::timeout(Duration::from_secs(1), stage.hub.settled()).await.unwrap();
}

/// DEL-07: the time of the one that asks is the time of those it asks.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_child_has_no_more_time_than_the_one_that_asks() {
    let budget = palisade_agent::Budget { time: Duration::from_millis(300), ..Default::default() };
    let stage = Stage::set(Setting { budget, ..Setting::default() }).await;
    stage.with("general", |_| Act::Hang);
    let since = Instant::now();
    let shown = stage.ask("task", json!({ "prompt": "x", "timeout": 600 })).await;
    assert_eq!(shown["error_type"], "timeout");
    assert!(shown["error"].as_str().unwrap().contains("The timeout was 1 seconds"), "{shown}");
    assert!(since.elapsed() < Duration::from_secs(2));
}

/// A run whose session somebody took over stops, and writes nothing more.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_that_lost_its_session_stops() {
    let stage = Stage::set(Setting { lease: Duration::from_millis(150), ..Setting::default() }).await;
    stage.with("general", |_| Act::Hang);
    let taken = async {
        at_work(&stage, 1).await;
        let session = stage.hub.running()[0].session.clone();
        let run = stage.store.last_run(&SessionKey::new(TENANT, &session)).await.unwrap().unwrap();
        // It says that it is alive every now and then; between two times a minute passes.
        loop {
            stage.clock.shift(60_000_000);
            match stage.store.claim(TENANT, &run.id, "another process", Duration::from_secs(3600)).await {
                Ok(lease) => return lease,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let input = json!({ "prompt": "x" });
    let (result, lease): (_, Lease) = tokio::join!(stage.call("task", input), taken);
    assert!(!result.is_done());
    assert_eq!(lease.owner, "another process");
    let entries = stage.entries(&lease.session.id).await;
    assert_eq!(entries.len(), 1, "only what was asked: {entries:?}");
}

/// DEL-08: a child that ended badly does not take its siblings with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn siblings_go_on() {
    let stage = Stage::usual().await;
    let part = |heard: &Heard| match heard.asked().contains("bad") {
        true => Act::Panic,
        false => late(100, echo(heard)),
    };
    stage.with("general", part);
    let (bad, good) =
        tokio::join!(stage.ask("task", json!({ "prompt": "bad" })), stage.ask("task", json!({ "prompt": "good" })));
    assert_eq!((&bad["success"], &good["success"]), (&json!(false), &json!(true)));
}
