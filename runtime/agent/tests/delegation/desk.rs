//! Somebody outside asks: a client of a server.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use palisade_agent::{
    Budget, Ceiling, Client, Ending, Event, Inquiry, Listing, PANEL_TOOLS, Panels, RunState, Store as _, Which,
};
use palisade_grants::{Access, Grants};
use serde_json::json;

use crate::stage::{Act, Stage, TENANT, late, say};

fn client(stage: &Stage, events: &Arc<Mutex<Vec<Event>>>) -> Client {
    let events = Arc::clone(events);
    Client {
        tenant: TENANT.to_owned(),
        ceiling: Ceiling::open(),
        budget: Budget::default(),
        purse: None,
        workspace: Some("folder".to_owned()),
        provider: Arc::clone(&stage.seat.provider),
        watcher: Arc::new(move |event: Event| events.lock().unwrap().push(event)),
        asker: None,
    }
}

fn inquiry(session: Which) -> Inquiry {
    Inquiry { agent: "clerk".to_owned(), session, text: "What is there?".to_owned(), panels: None }
}

#[tokio::test]
async fn a_client_is_answered_and_watches_as_if_it_sat_beside_the_agent() {
    let stage = Stage::usual().await;
    stage.with("clerk", |heard| say(format!("you said {}", heard.asked())));
    let events = Arc::default();
    let mut visit = stage.hub.receive(client(&stage, &events), inquiry(Which::new())).await.unwrap();
    let concluded = visit.ended().await.unwrap();
    assert_eq!((concluded.ending, concluded.answer.as_str()), (Ending::Answered, "you said What is there?"));
    let run = stage.store.run(TENANT, &visit.lease.run).await.unwrap();
    assert!(matches!(run.state, RunState::Ended { .. }) && run.parent.is_none(), "{run:?}");
    // Its session is one of the user's, and nobody's child.
    assert!(visit.created && visit.session.origin.parent.is_none() && visit.session.origin.chain.is_empty());
    let events = events.lock().unwrap();
    assert!(matches!(events.first(), Some(Event::RunStarted { agent, .. }) if agent == "clerk"), "{events:?}");
    assert!(matches!(events.last(), Some(Event::RunEnded { .. })), "{events:?}");
}

#[tokio::test]
async fn what_follows_goes_on_in_the_same_session() {
    let stage = Stage::usual().await;
    stage.with("clerk", |heard| say(heard.questions().len().to_string()));
    let events = Arc::default();
    let mut first = stage.hub.receive(client(&stage, &events), inquiry(Which::LatestOrNew)).await.unwrap();
    first.ended().await.unwrap();
    for (which, answer) in [(Which::LatestOrNew, "2"), (Which::Known(first.session.id.clone()), "3")] {
        let mut next = stage.hub.receive(client(&stage, &events), inquiry(which)).await.unwrap();
        assert_eq!((next.created, next.session.id.as_str()), (false, first.session.id.as_str()));
        assert_eq!(next.ended().await.unwrap().answer, answer);
    }
}

/// P9
#[tokio::test]
async fn a_session_of_somebody_else_is_not_there() {
    let stage = Stage::usual().await;
    stage.with("clerk", |_| say("done"));
    let events = Arc::default();
    let mut visit = stage.hub.receive(client(&stage, &events), inquiry(Which::new())).await.unwrap();
    visit.ended().await.unwrap();
    let other = Client { tenant: "another".to_owned(), ..client(&stage, &events) };
    let refusal = stage.hub.receive(other, inquiry(Which::Known(visit.session.id.clone()))).await.err().unwrap();
    let nowhere =
        stage.hub.receive(client(&stage, &events), inquiry(Which::Known("x".to_owned()))).await.err().unwrap();
    assert_eq!(refusal, nowhere);
}

#[tokio::test]
async fn whoever_asks_gets_no_more_done_than_its_ceiling() {
    let stage = Stage::usual().await;
    stage.with("clerk", |_| say("done"));
    let events = Arc::default();
    let ceiling = Ceiling {
        grants: Grants { agents: Grants::everything().agents, ..Grants::workspace(Access::Read) },
        ..Ceiling::open()
    };
    let narrow = Client { ceiling: ceiling.clone(), ..client(&stage, &events) };
    let mut visit = stage.hub.receive(narrow, inquiry(Which::new())).await.unwrap();
    let concluded = visit.ended().await.unwrap();
    assert_eq!(stage.crew.last_recruit("clerk").ceiling, ceiling);
    assert!(!concluded.cut.is_empty());
    // Also for whoever goes on with the session later, with more.
    let mut next =
        stage.hub.receive(client(&stage, &events), inquiry(Which::Known(visit.session.id.clone()))).await.unwrap();
    next.ended().await.unwrap();
    assert_eq!(stage.crew.last_recruit("clerk").ceiling, ceiling);
}

/// M11, M12, L11
#[tokio::test]
async fn what_a_client_has_open_is_told_and_can_be_looked_at_until_it_says_otherwise() {
    let stage = Stage::usual().await;
    // Tells what it was told and what it can call; called again, what it saw.
    stage.with("clerk", |heard| match heard.result() {
        None if heard.tools.iter().any(|tool| tool == "panels_selected") => {
            assert!(
                heard.instructions.contains("## What the user has open\n\n- lists (`p1`)"),
                "{}",
                heard.instructions
            );
            Act::Call("panels_selected", json!({ "includeContext": true }))
        }
        None => {
            assert!(!heard.instructions.contains("What the user has open"), "{}", heard.instructions);
            assert!(!heard.tools.iter().any(|tool| PANEL_TOOLS.contains(&tool.as_str())), "{:?}", heard.tools);
            say("nothing is open")
        }
        Some(result) => say(result.text()),
    });
    let events = Arc::default();
    let ask = async |which: Which, panels: Option<serde_json::Value>| {
        let panels = panels.map(|panels| Panels::read(&panels).unwrap());
        let inquiry = Inquiry { panels, ..inquiry(which) };
        let mut visit = stage.hub.receive(client(&stage, &events), inquiry).await.unwrap();
        (visit.ended().await.unwrap().answer, visit.session.id)
    };
    let open = json!([
        { "id": "p1", "kind": "lists", "active": "Shopping", "selected": true, "context": "<context id=\"l1\" />" },
        { "id": "p2", "kind": "notes" },
    ]);
    let seen = json!([open[0]]).to_string();
    let (answer, id) = ask(Which::new(), Some(open.clone())).await;
    assert_eq!(answer, seen);
    // It lasts, also for whoever says nothing of it; other sessions have none.
    assert_eq!(ask(Which::Known(id.clone()), None).await.0, seen);
    assert_eq!(ask(Which::new(), None).await.0, "nothing is open");
    assert_eq!(ask(Which::Known(id.clone()), Some(json!([]))).await.0, "nothing is open");
    assert_eq!(ask(Which::Known(id), Some(open)).await.0, seen);
}

/// HTTP-15
#[tokio::test]
async fn a_session_in_use_is_refused_and_can_be_freed() {
    let stage = Stage::usual().await;
    stage.with("clerk", |_| Act::Hang);
    let events = Arc::default();
    let mut visit = stage.hub.receive(client(&stage, &events), inquiry(Which::new())).await.unwrap();
    let again = inquiry(Which::Known(visit.session.id.clone()));
    let refusal = stage.hub.receive(client(&stage, &events), again.clone()).await.err().unwrap();
    assert_eq!(refusal.code, "agent_busy");
    visit.cancel();
    assert_eq!(visit.ended().await.unwrap().ending, Ending::Cancelled);
    stage.with("clerk", |_| say("done"));
    stage.hub.receive(client(&stage, &events), again).await.unwrap().ended().await.unwrap();
}

#[tokio::test]
async fn what_cannot_begin_leaves_nothing_behind() {
    let stage = Stage::usual().await;
    stage.with("clerk", |_| say("done"));
    let events = Arc::default();
    for wrong in [
        Inquiry { agent: "nobody".to_owned(), ..inquiry(Which::new()) },
        Inquiry { text: " \n".to_owned(), ..inquiry(Which::new()) },
        Inquiry { agent: "../x".to_owned(), ..inquiry(Which::new()) },
    ] {
        assert!(stage.hub.receive(client(&stage, &events), wrong).await.is_err());
    }
    let listing = Listing { tenant: TENANT.to_owned(), agent: Some("clerk".to_owned()), ..Listing::default() };
    assert_eq!(stage.store.sessions(&listing).await.unwrap(), []);
}

/// P16, P17
#[tokio::test]
async fn a_run_that_was_left_behind_is_gone_on_with() {
    let stage = Stage::usual().await;
    let is_asked_again = Arc::new(AtomicBool::new(false));
    let asked_again = Arc::clone(&is_asked_again);
    stage.with("clerk", move |heard| match heard.result() {
        None => Act::Call("task", json!({ "agent": "helper", "prompt": "count" })),
        Some(_) => {
            asked_again.store(true, Ordering::SeqCst);
            late(60_000, say("too late for the first process"))
        }
    });
    stage.with("helper", |_| say("three"));
    let events = Arc::default();
    let visit = stage.hub.receive(client(&stage, &events), inquiry(Which::new())).await.unwrap();
    let run = visit.lease.run.clone();
    // The helper has answered, and that is written down; then the process is gone.
    while !is_asked_again.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
    let left = stage.store.run(TENANT, &run).await.unwrap();
    std::mem::forget(visit);
    stage.clock.shift(60_000_000);
    let later = stage.restarted().await;
    later.with("clerk", |heard| say(if heard.result().is_some() { "it was three" } else { "nothing is known" }));
    let mut again = later.hub.receive_again(client(&later, &events), &left).await.unwrap();
    assert_eq!(again.lease.run, run);
    assert_eq!(again.ended().await.unwrap().answer, "it was three");
    let ended = later.store.run(TENANT, &run).await.unwrap();
    assert!(matches!(ended.state, RunState::Ended { ending: Some(Ending::Answered), .. }), "{ended:?}");
    assert_eq!(ended.spending.steps, left.spending.steps + 1);
}
