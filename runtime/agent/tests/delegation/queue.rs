//! Messages and answers for those who are busy.

use std::time::Duration;

use palisade_agent::{
    AuditRecord, Budget, DelegationLimits, Ending, Entry, Lease, NewRun, NewSession, Queued, RunEnd, RunState,
    SessionKey, Spending, Store,
};
use serde_json::json;

use super::stage::{Act, Setting, Stage, TENANT, echo, json_of, late, say};

/// Holds a session, as a run somewhere else does.
async fn hold(stage: &Stage, session: &SessionKey, queued: Option<&Queued>) -> Lease {
    let run = NewRun {
        session: session.clone(),
        agent: "notes".into(),
        model: "model".into(),
        parent: None,
        parent_call: None,
        queued: queued.map(|message| message.id.clone()),
        entries: queued.map(|message| Entry::User { text: message.text.clone() }).into_iter().collect(),
        after: None,
        budget: Budget::default(),
        owner: "somebody else".into(),
        lasts: Duration::from_secs(60),
    };
    stage.store.begin(run).await.unwrap()
}

async fn let_go(stage: &Stage, lease: &Lease) {
    let end = RunEnd { ending: Ending::Answered, spending: Spending::default() };
    stage.store.end(lease, &end).await.unwrap();
}

/// J13: a target that is busy, in both modes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_message_for_a_busy_session_waits_and_its_answer_comes_later() {
    let stage = Stage::usual().await;
    stage.with("notes", echo);
    for mode in ["sync", "async"] {
        let session = stage.store.create(NewSession::with(TENANT, "notes")).await.unwrap();
        let key = SessionKey::new(TENANT, &session.id);
        let lease = hold(&stage, &key, None).await;
        let input = json!({ "agentId": "notes", "content": "Hello.", "session": session.id, "mode": mode });
        let shown = stage.ask("agents_message", input).await;
        assert_eq!((&shown["status"], &shown["mode"]), (&json!("queued"), &json!(mode)));
        let id = shown["responseId"].as_str().unwrap();
        assert_eq!(stage.store.next_queued(&key).await.unwrap().unwrap().text, "Hello.");
        assert!(stage.entries(&session.id).await.is_empty());
        let_go(&stage, &lease).await;
        let callback = stage.hub.next_callback(&stage.seat.session).await.unwrap().unwrap();
        assert_eq!(callback.text, format!("[Async response, responseId={id}]: heard: Hello."));
        assert_eq!(stage.store.next_queued(&key).await.unwrap(), None);
        let lease = hold(&stage, &stage.seat.session, Some(&callback)).await;
        let_go(&stage, &lease).await;
        assert_eq!(stage.hub.next_callback(&stage.seat.session).await.unwrap(), None);
    }
}

/// Messages are worked on in the order they came in.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn messages_wait_in_line() {
    let stage = Stage::usual().await;
    stage.with("notes", |heard| say(heard.questions().join("|")));
    let session = stage.store.create(NewSession::with(TENANT, "notes")).await.unwrap();
    let key = SessionKey::new(TENANT, &session.id);
    let lease = hold(&stage, &key, None).await;
    for content in ["one", "two", "three"] {
        let input = json!({ "agentId": "notes", "content": content, "session": session.id });
        assert_eq!(stage.ask("agents_message", input).await["status"], "queued");
    }
    let_go(&stage, &lease).await;
    stage.hub.settled().await;
    let last = stage.entries(&session.id).await.pop();
    assert!(matches!(last, Some(Entry::Reply { text, .. }) if text == "one|two|three"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_answer_is_brought_to_a_session_that_is_gone() {
    let stage = Stage::usual().await;
    stage.with("notes", |heard| late(100, echo(heard)));
    stage.ask("agents_message", json!({ "agentId": "notes", "content": "x", "mode": "async" })).await;
    stage.store.delete(&stage.seat.session).await.unwrap();
    stage.hub.settled().await;
    assert_eq!(stage.hub.next_callback(&stage.seat.session).await.unwrap(), None);
}

/// An agent that another asked hears of the answers to its own messages, too, with no more rights than before.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_agent_below_gets_a_turn_for_the_answer_to_its_message() {
    let limits = DelegationLimits { messages: 2, ..DelegationLimits::default() };
    let ceiling = super::rights::only_agents();
    let stage = Stage::set(Setting { limits, ceiling: ceiling.clone(), ..Setting::default() }).await;
    stage.with("notes", |heard| late(100, echo(heard)));
    stage.with("clerk", |heard| match (heard.asked().starts_with("[Async"), heard.result()) {
        (true, _) => say(format!("noted {}", heard.asked().split(": ").nth(1).unwrap())),
        (false, None) => {
            Act::Call("agents_message", json!({ "agentId": "notes", "content": "Hello.", "mode": "async" }))
        }
        (false, Some(result)) => say(json_of(result)["status"].as_str().unwrap()),
    });
    let shown = stage.ask("task", json!({ "prompt": "x", "agent": "clerk" })).await;
    assert_eq!(shown["result"], "started");
    stage.hub.settled().await;
    let last = stage.entries(shown["session_id"].as_str().unwrap()).await.pop();
    assert!(matches!(last, Some(Entry::Reply { text, .. }) if text == "noted heard"));
    assert_eq!(stage.crew.last_recruit("clerk").ceiling, ceiling);
}

/// A message whose sender can no longer carry it out keeps nobody else waiting, and stays to be read.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_message_without_a_sender_is_set_aside() {
    let stage = Stage::usual().await;
    let about = json!({ "kind": "message", "from": "x", "owner": "gone", "until": "2020-01-01T00:00:00Z" });
    let session = stage.seat.session.clone();
    let message = Queued { id: "old".into(), session: session.clone(), text: "Do it.".into(), about };
    stage.store.enqueue(&message).await.unwrap();
    assert_eq!(stage.hub.next_callback(&session).await.unwrap(), None);
    assert_eq!(stage.store.next_queued(&session).await.unwrap(), None);
    let entries = stage.entries(&session.id).await;
    assert_eq!(entries[0], Entry::User { text: "Do it.".into() });
    assert!(matches!(&entries[1], Entry::Notice { text } if text.contains("was not worked on")));
    let audits = stage.store.audits(TENANT, Some(&session.id), 9).await.unwrap();
    assert_eq!(audits[0].kind, "message_set_aside");
}

/// A run of an agent that was asked, which the process that held it has not ended, and what was written down of it.
async fn left_behind(stage: &Stage, task: &str, calls_back: bool) -> (SessionKey, String) {
    let session = stage.store.create(NewSession::with(TENANT, "notes")).await.unwrap();
    let key = SessionKey::new(TENANT, &session.id);
    let run = NewRun {
        session: key.clone(),
        agent: "notes".into(),
        model: "model".into(),
        parent: None,
        parent_call: None,
        queued: None,
        entries: vec![Entry::User { text: "Hello.".into() }],
        after: None,
        budget: Budget::default(),
        owner: "somebody who is gone".into(),
        lasts: Duration::ZERO,
    };
    let run = stage.store.begin(run).await.unwrap().run;
    let detail = json!({ "task": task, "parent": stage.seat.session.id, "calls_back": calls_back });
    let record = AuditRecord {
        tenant: TENANT.into(),
        at: None,
        session: Some(session.id),
        run: Some(run.clone()),
        kind: "spawn".into(),
        detail,
    };
    stage.store.audit(&record).await.unwrap();
    (key, run)
}

/// CF-34. Whoever started it is gone; what it has begun ends, and who expects an answer gets one, once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_a_process_that_is_gone_has_left_behind_is_ended_and_told() {
    let stage = Stage::usual().await;
    let (_, waited_for) = left_behind(&stage, "one", false).await;
    let (_, not_waited_for) = left_behind(&stage, "two", true).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let callback = stage.hub.next_callback(&stage.seat.session).await.unwrap().unwrap();
    assert!(callback.text.starts_with("[Async response, responseId=two]: interrupted: "), "{}", callback.text);
    for run in [waited_for, not_waited_for] {
        let state = stage.store.run(TENANT, &run).await.unwrap().state;
        assert!(matches!(state, RunState::Ended { ending: Some(Ending::Cancelled), .. }), "{state:?}");
    }
    let lease = hold(&stage, &stage.seat.session, Some(&callback)).await;
    let_go(&stage, &lease).await;
    assert_eq!(stage.hub.next_callback(&stage.seat.session).await.unwrap(), None);
}
