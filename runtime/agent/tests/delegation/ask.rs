//! `agent_ask`: another question to the same agent.

use palisade_agent::{Agent, Ceiling};
use serde_json::{Value, json};

use super::stage::{Act, Heard, Setting, Stage, echo, late, say};

fn remembers(heard: &Heard) -> Act {
    say(heard.questions().join("|").replace("Execute this task: ", ""))
}

fn again(first: &Value, message: &str) -> Value {
    json!({ "agent_id": first["agent_id"], "message": message })
}

/// H17, H19
#[tokio::test]
async fn an_agent_can_be_asked_again_by_its_id() {
    let stage = Stage::usual().await;
    stage.with("general", remembers);
    let first = stage.ask("task", json!({ "prompt": "one" })).await;
    let second = stage.ask("agent_ask", again(&first, "two")).await;
    assert_eq!((&second["result"], &second["agent_id"]), (&json!("one|two"), &first["agent_id"]));
    assert_eq!(stage.ask("agent_ask", json!({ "agent_id": "nobody", "message": "x" })).await["success"], false);
    assert_eq!(stage.ask("agent_ask", again(&first, " ")).await["error_type"], "validation_error");
}

/// DEL-10: with the rights of now, and none that it had not then.
#[tokio::test]
async fn rights_are_worked_out_anew_for_every_question() {
    let narrow = super::rights::only_agents();
    let stage = Stage::usual().await;
    stage.with("general", remembers);
    let wide = stage.ask("task", json!({ "prompt": "one" })).await;
    let later = stage.reseated(|seat| seat.ceiling = narrow.clone()).await;
    let shown = later.ask("agent_ask", again(&wide, "two")).await;
    assert_eq!((&shown["success"], &shown["cut"]), (&json!(true), &json!(["`general` has less than it asks for"])));
    assert_eq!(stage.crew.last_recruit("general").ceiling, narrow);
    let small = later.ask("task", json!({ "prompt": "three" })).await;
    assert_ne!(small["agent_id"], wide["agent_id"]);
    stage.ask("agent_ask", again(&small, "four")).await;
    assert_eq!(stage.crew.last_recruit("general").ceiling, narrow, "it was begun with less");
}

#[tokio::test]
async fn an_agent_that_is_not_what_it_was_is_refused() {
    let stage = Stage::usual().await;
    stage.with("general", remembers);
    let first = stage.ask("task", json!({ "prompt": "one" })).await;
    stage.with_agent(Agent::new("general", "").with_prompt("Changed."), Ceiling::open(), echo);
    let shown = stage.ask("agent_ask", again(&first, "two")).await;
    assert_eq!(shown["error_type"], "definition_changed");
    assert!(shown["error"].as_str().unwrap().contains("start anew with `task`"));
}

/// H9
#[tokio::test]
async fn an_agent_at_work_is_not_asked() {
    let stage = Stage::usual().await;
    stage.with("general", remembers);
    let first = stage.ask("task", json!({ "prompt": "one" })).await;
    stage.with("general", |heard| late(200, echo(heard)));
    let (one, other) =
        tokio::join!(stage.ask("agent_ask", again(&first, "two")), stage.ask("agent_ask", again(&first, "three")),);
    let busy = [&one, &other].iter().filter(|shown| shown["error_type"] == "agent_busy").count();
    assert_eq!(busy, 1, "{one} {other}");
    assert_eq!(stage.ask("agent_ask", again(&first, "four")).await["success"], true);
}

/// DEL-10: what was said outlives the process, and so do the limits it was begun under.
#[tokio::test]
async fn an_agent_can_be_asked_again_after_a_restart() {
    let narrow = super::rights::only_agents();
    let stage = Stage::set(Setting { ceiling: narrow.clone(), ..Setting::default() }).await;
    stage.with("general", remembers);
    let first = stage.ask("task", json!({ "prompt": "one" })).await;
    let restarted = stage.restarted().await;
    let wide = restarted.reseated(|seat| seat.ceiling = Ceiling::open()).await;
    let second = wide.ask("agent_ask", again(&first, "two")).await;
    assert_eq!(second["result"], "one|two");
    assert_eq!(stage.crew.last_recruit("general").ceiling, narrow);
    let new = wide.ask("task", json!({ "prompt": "three" })).await;
    assert_eq!(new["result"], "three", "the pool begins empty");
}
