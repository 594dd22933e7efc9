//! `parallel_task`: several at the same time.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use palisade_agent::DelegationLimits;
use serde_json::{Value, json};

use super::stage::{Act, Heard, Setting, Stage, echo, json_of, late, say};

fn tasks(prompts: &[&str]) -> Value {
    json!(prompts.iter().map(|prompt| json!({ "prompt": prompt })).collect::<Vec<_>>())
}

fn part(heard: &Heard) -> Act {
    match heard.asked().rsplit(' ').next().unwrap_or_default() {
        "slow" => late(300, echo(heard)),
        "bad" => Act::Fail,
        "panic" => Act::Panic,
        "hang" => Act::Hang,
        _ => echo(heard),
    }
}

/// I28, I29, I30
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn results_come_in_the_order_of_the_tasks_and_one_failure_is_one_failure() {
    let stage = Stage::usual().await;
    stage.with("general", part);
    let mut tasks = tasks(&["slow", "bad", "panic", "last"]);
    tasks.as_array_mut().unwrap().push(json!({ "prompt": "x", "agent": "nobody" }));
    tasks.as_array_mut().unwrap().push(json!({ "nonsense": true }));
    let shown = stage.ask("parallel_task", json!({ "tasks": tasks })).await;
    let results = shown["results"].as_array().unwrap();
    let succeeded: Vec<bool> = results.iter().map(|result| result["success"].as_bool().unwrap()).collect();
    assert_eq!(succeeded, [true, false, false, true, false, false]);
    assert_eq!((&shown["succeeded"], &shown["success"]), (&json!(2), &json!(false)));
    assert_eq!(results[0]["result"], "heard: Execute this task: slow");
    assert!(results[4]["error"].as_str().unwrap().starts_with("Unknown subagent type"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_first_failure_ends_the_others_if_that_is_wanted() {
    let limits = DelegationLimits { live: 2, ..DelegationLimits::default() };
    let stage = Stage::set(Setting { limits, ..Setting::default() }).await;
    stage.with("general", part);
    let input = json!({ "tasks": tasks(&["hang", "bad", "x", "y"]), "on_failure": "stop" });
    let result = stage.call("parallel_task", input).await;
    assert!(!result.is_done());
    let shown = json_of(&result);
    let types: Vec<&str> =
        shown["results"].as_array().unwrap().iter().map(|result| result["error_type"].as_str().unwrap()).collect();
    assert_eq!(types, ["cancelled", "execution_error", "stopped", "stopped"]);
}

/// DEL-06: more than may work at the same time wait; they are not refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_more_than_so_many_work_at_the_same_time() {
    let limits = DelegationLimits { live: 3, ..DelegationLimits::default() };
    let stage = Stage::set(Setting { limits, ..Setting::default() }).await;
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counted = (Arc::clone(&now), Arc::clone(&most));
    // The first reply counts it in, the second out.
    stage.with("general", move |heard| match heard.result() {
        None => {
            counted.1.fetch_max(counted.0.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            late(20, Act::Call("nothing", json!({})))
        }
        Some(_) => {
            counted.0.fetch_sub(1, Ordering::SeqCst);
            say("done")
        }
    });
    let ten: Vec<&str> = vec!["x"; 10];
    let (one, other) = tokio::join!(
        stage.ask("parallel_task", json!({ "tasks": tasks(&ten) })),
        stage.ask("parallel_task", json!({ "tasks": tasks(&ten) })),
    );
    assert_eq!((&one["succeeded"], &other["succeeded"]), (&json!(10), &json!(10)));
    assert_eq!((most.load(Ordering::SeqCst), now.load(Ordering::SeqCst)), (3, 0));
}

/// Agents that wait for their helpers do not keep these from working.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn those_who_wait_take_no_place() {
    let limits = DelegationLimits { live: 2, ..DelegationLimits::default() };
    let stage = Stage::set(Setting { limits, ..Setting::default() }).await;
    stage.with("middle", |heard| match heard.result() {
        None => {
            Act::Call("parallel_task", json!({ "tasks": [{ "prompt": "a" }, { "prompt": "b" }, { "prompt": "c" }] }))
        }
        Some(result) => say(json_of(result)["succeeded"].to_string()),
    });
    stage.with("general", |heard| late(10, echo(heard)));
    let middle = json!({ "prompt": "x", "agent": "middle" });
    let input = json!({ "tasks": [middle, middle, middle, middle] });
    let call = stage.ask("parallel_task", input);
    let shown = tokio::time::timeout(std::time::Duration::from_secs(20), call).await.unwrap();
    assert_eq!(shown["succeeded"], 4, "{shown}");
    assert!(shown["results"].as_array().unwrap().iter().all(|result| result["result"] == "3"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_asks_for_at_least_one_and_not_for_too_many() {
    let stage = Stage::usual().await;
    stage.with("general", part);
    let none = stage.call("parallel_task", json!({ "tasks": [] })).await;
    assert!(!none.is_done());
    let many: Vec<&str> = vec!["x"; 33];
    let shown = stage.ask("parallel_task", json!({ "tasks": tasks(&many) })).await;
    assert_eq!(shown["error_type"], "task_limit_exceeded");
    assert!(shown["error"].as_str().unwrap().contains("make several calls"));
    let background = stage.ask("parallel_task", json!({ "tasks": [{ "prompt": "x", "background": true }] })).await;
    assert_eq!(background["results"][0]["error_type"], "invalid_arguments");
}

/// DEL-09
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_long_answers_share_the_room() {
    let stage = Stage::usual().await;
    stage.with("general", |_| say("y".repeat(60_000)));
    let result = stage.call("parallel_task", json!({ "tasks": tasks(&["a", "b", "c", "d"]) })).await;
    assert!(result.text().len() <= palisade_agent::OUTPUT_LIMIT);
    assert_eq!(json_of(&result)["succeeded"], 4);
}
