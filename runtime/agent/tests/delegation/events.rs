//! What a watcher is told: one start, one end, and all that happens between them.

use palisade_agent::{Ending, Event};
use serde_json::json;

use super::stage::{Act, Heard, Stage, echo, late, say};

/// The names of tasks that started and ended, at any depth, in order.
pub(crate) fn starts_and_ends(events: &[Event]) -> (Vec<String>, Vec<String>) {
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    for event in events {
        match event {
            Event::SubagentStarted { task, .. } => starts.push(task.clone()),
            Event::SubagentEnded { task, .. } => ends.push(task.clone()),
            Event::SubagentProgress { event, .. } => {
                let (inner, over) = starts_and_ends(std::slice::from_ref(event));
                starts.extend(inner);
                ends.extend(over);
            }
            _ => {}
        }
    }
    (starts, ends)
}

/// S1, S2, S3, I12, H25, CF-34
#[tokio::test]
async fn a_watcher_sees_the_whole_run_of_a_child() {
    let stage = Stage::usual().await;
    stage.with("general", echo);
    let shown = stage.ask("task", json!({ "prompt": "Look.", "description": "Looks around" })).await;
    let events = stage.events();
    let (task, session) = (shown["task_id"].as_str().unwrap(), shown["session_id"].as_str().unwrap());
    assert_eq!(
        events[0],
        Event::SubagentStarted {
            task: task.into(),
            agent: "general".into(),
            session: session.into(),
            parent_session: stage.seat.session.id.clone(),
            call: String::new(),
            description: "Looks around".into(),
            cut: Vec::new(),
        }
    );
    let Some(Event::SubagentEnded { success: true, ending: Ending::Answered, usage, .. }) = events.last() else {
        panic!("{events:?}")
    };
    assert_eq!(usage.total(), 11);
    let between = &events[1..events.len() - 1];
    assert!(between.iter().all(|event| matches!(event, Event::SubagentProgress { task: of, .. } if of == task)));
    assert_eq!(between.len(), 4, "run started, step, reply, run ended: {between:?}");
    let written = serde_json::to_value(&events[0]).unwrap();
    assert_eq!(written["event"], "subagent_start");
    assert_eq!(serde_json::to_value(&events[1]).unwrap()["event"], "subagent_progress");
    assert_eq!(serde_json::to_value(events.last()).unwrap()["event"], "subagent_end");
}

/// S3
#[tokio::test]
async fn children_of_children_nest() {
    let stage = Stage::usual().await;
    stage.with("middle", |heard| match heard.result() {
        None => Act::Call("task", json!({ "prompt": "x", "agent": "leaf" })),
        Some(_) => say("done"),
    });
    stage.with("leaf", echo);
    let shown = stage.ask("task", json!({ "prompt": "x", "agent": "middle" })).await;
    let events = stage.events();
    let inner = events.iter().find_map(|event| match event {
        Event::SubagentProgress { task, event } => match event.as_ref() {
            Event::SubagentStarted { agent, parent_session, call, .. } => Some((task, agent, parent_session, call)),
            _ => None,
        },
        _ => None,
    });
    let (task, agent, parent, call) = inner.unwrap();
    assert_eq!((task.as_str(), agent.as_str(), call.as_str()), (shown["task_id"].as_str().unwrap(), "leaf", "call-0"));
    assert_eq!(parent, shown["session_id"].as_str().unwrap());
}

/// S1, DEL-08: however it ends.
#[tokio::test]
async fn every_start_has_exactly_one_end() {
    let stage = Stage::usual().await;
    let parts: [fn(&Heard) -> Act; 5] =
        [echo, |_| Act::Hang, |_| Act::Panic, |_| Act::Fail, |heard| late(60_000, echo(heard))];
    for part in parts {
        stage.with("general", part);
        stage.ask("task", json!({ "prompt": "x", "timeout": 1 })).await;
    }
    // Dropped in the middle.
    stage.with("general", |_| Act::Hang);
    let call = stage.call("task", json!({ "prompt": "x" }));
    assert!(tokio::time::timeout(std::time::Duration::from_millis(200), call).await.is_err());
    stage.hub.settled().await;
    let (mut starts, mut ends) = starts_and_ends(&stage.events());
    assert_eq!(starts.len(), 6);
    starts.sort();
    ends.sort();
    assert_eq!(starts, ends);
}

/// A process that ends in the middle of it still tells the end.
#[test]
fn an_end_is_told_also_when_the_runtime_goes_away() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stage = runtime.block_on(async {
        let stage = Stage::usual().await;
        stage.with("general", |_| Act::Hang);
        stage.ask("task", json!({ "prompt": "x", "background": true })).await;
        stage
    });
    drop(runtime);
    let (starts, ends) = starts_and_ends(&stage.events());
    assert_eq!((starts.len(), starts), (1, ends));
    assert!(stage.hub.running().is_empty());
}
