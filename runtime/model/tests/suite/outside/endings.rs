//! How a program ends: by itself, badly, or because nobody waits for it any longer.

use std::{sync::Mutex, time::Duration};

use palisade_agent::{Part, Prompt, Provider as _, ProviderFailure, Transcript};
use palisade_model::{CliAgent, OutsideGrant, Program};
use tokio::time::Instant;

use super::world::{World, said, until_gone};

fn world() -> World {
    World::with(Program::Claude)
}

#[tokio::test]
async fn output_that_is_no_json_is_quoted() {
    let world = world();
    let garbage = world.failure("garbage").await;
    assert_eq!(garbage.kind, ProviderFailure::Malformed);
    let expected = r"it said something else than JSON objects: Welcome to \u{1b}[1mthe\u{1b}[0m program!";
    assert_eq!(garbage.message, expected);
    let list = world.failure("list").await;
    assert_eq!(list.message, "it said something else than JSON objects: [1, 2]");
}

#[tokio::test]
async fn a_line_has_an_end() {
    let huge = world().failure("huge").await;
    assert_eq!(huge.kind, ProviderFailure::TooLarge);
}

#[tokio::test]
async fn an_exit_code_comes_with_the_last_complaint_and_without_keys() {
    let mut world = world();
    world.environment.push(("SECRET".into(), "sk-very-secret".into()));
    world.env_names = vec!["SECRET".to_owned()];
    let failure = world.failure("complains").await;
    assert_eq!(failure.kind, ProviderFailure::Broken);
    let expected = r"it ended with exit code 3: first | key: [key] | \u{1b}[31mit is broken\u{1b}[0m";
    assert_eq!(failure.message, expected);
}

/// PROV-10
#[tokio::test]
async fn a_key_that_is_cut_by_a_quote_is_not_shown_by_half() {
    let mut world = world();
    world.environment.push(("SECRET".into(), "sk-very-secret".into()));
    world.env_names = vec!["SECRET".to_owned()];
    for (task, kind) in [
        ("mumbles", ProviderFailure::Broken),
        ("babbles", ProviderFailure::Malformed),
        ("spills", ProviderFailure::Broken),
    ] {
        let failure = world.failure(task).await;
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(failure.message.contains("00000") && failure.message.contains("[key]"), "{failure}");
        assert!(!failure.message.contains("secret") && !failure.message.contains("sk-"), "{failure}");
    }
}

#[tokio::test]
async fn complaining_without_end_keeps_nothing_from_ending() {
    let mut world = world();
    world.time = Duration::from_secs(20);
    assert_eq!(world.answer("floods").await, "done");
}

#[tokio::test]
async fn absurd_costs_are_counted_without_harm() {
    let usage = world().ask("costly").await.reply.unwrap().usage;
    assert_eq!((usage.cost_micros, usage.input_tokens), (u64::MAX, u64::MAX));
}

#[tokio::test]
async fn much_complaining_blocks_nothing() {
    assert_eq!(world().answer("chatters").await, "done");
}

#[tokio::test]
async fn a_program_that_vanishes_leaves_no_call_open() {
    let told = world().ask("vanishes").await;
    let failure = told.reply.unwrap_err();
    assert_eq!((failure.kind, failure.message.as_str()), (ProviderFailure::Cut, "it ended without a result"));
    let expected = ["call toolu_1 Read {}", r#"failed toolu_1 Read "the program ended before this call did""#];
    assert_eq!(told.parts, expected);
}

#[tokio::test]
async fn a_program_that_does_not_end_is_ended() {
    assert_eq!(world().answer("lingers").await, "done");
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_ended() {
    let world = world();
    assert_eq!(world.answer("leaves").await, "done");
    until_gone(&std::fs::read_to_string(world.workspace().join("left")).unwrap()).await;
}

#[tokio::test]
async fn what_speaks_on_after_a_program_is_ended_with_it() {
    let world = world();
    assert_eq!(world.failure("follows").await.kind, ProviderFailure::Malformed);
    until_gone(&std::fs::read_to_string(world.workspace().join("left")).unwrap()).await;
}

/// A name that is no text hides nobody.
#[tokio::test]
async fn a_process_with_an_odd_name_is_ended() {
    let mut world = world();
    world.time = Duration::from_millis(1500);
    assert_eq!(world.failure("hides").await.kind, ProviderFailure::TimedOut);
    until_gone(&std::fs::read_to_string(world.workspace().join("started")).unwrap()).await;
}

#[tokio::test]
async fn a_run_that_is_dropped_leaves_no_process() {
    let world = world();
    let mut transcript = Transcript::new();
    transcript.record_user("hangs");
    let (parts, started) = (Mutex::new(Vec::new()), world.workspace().join("started"));
    {
        let listener = |part: Part<'_>| parts.lock().unwrap().push(said(part));
        let (agent, settings) = (world.agent(), Default::default());
        let reply = agent.reply(Prompt::new("", &[], &transcript, &settings), &listener);
        let all_started = async {
            let written = || std::fs::read_to_string(&started).unwrap_or_default();
            while written().split_whitespace().count() < 4 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            _ = reply => panic!("it hangs"),
            () = all_started => {}
        }
    }
    let processes = std::fs::read_to_string(&started).unwrap();
    assert_eq!(processes.split_whitespace().count(), 4, "itself, a child, one in a session of its own, and its child");
    until_gone(&processes).await;
    let expected =
        [r#"call toolu_1 Bash {"command":"sleep"}"#, r#"failed toolu_1 Bash "the program ended before this call did""#];
    assert_eq!(*parts.lock().unwrap(), expected);
    assert_eq!(std::fs::read_dir(world.state()).unwrap().count(), 0, "the session is free again");
}

#[tokio::test]
async fn a_run_ends_with_its_time() {
    let mut world = world();
    world.time = Duration::from_millis(700);
    let begun = Instant::now();
    let failure = world.failure("hangs").await;
    assert_eq!(failure.kind, ProviderFailure::TimedOut);
    assert!(begun.elapsed() < Duration::from_secs(10));
    if let Ok(processes) = std::fs::read_to_string(world.workspace().join("started")) {
        until_gone(&processes).await;
    }
}

#[tokio::test]
async fn two_processes_in_one_session_are_prevented() {
    let world = world();
    let mut transcript = Transcript::new();
    world.ask_in(&mut transcript, "hello").await.reply.unwrap();
    transcript.record_user("hangs");
    let (agent, settings, deaf) = (world.agent(), Default::default(), |_: Part<'_>| {});
    let first = agent.reply(Prompt::new("", &[], &transcript, &settings), &deaf);
    let second = async {
        while !world.workspace().join("started").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // Another process of ours would come to the same files.
        world.agent().reply(Prompt::new("", &[], &transcript, &settings), &deaf).await
    };
    let refused = tokio::select! {
        _ = first => panic!("it hangs"),
        refused = second => refused.unwrap_err(),
    };
    assert_eq!(refused.kind, ProviderFailure::Rejected);
    assert!(refused.message.starts_with("another process works in the session "), "{refused}");
}

/// Nor is a file of that name in the workspace taken for it, whatever the `PATH` says.
#[tokio::test]
async fn a_program_that_is_not_there_is_said_to_be_missing() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut world = world();
    world.environment = vec![("PATH".into(), ".:".into())];
    let trap = world.workspace().join("no-such-program");
    std::fs::write(&trap, "#!/bin/sh\necho trapped >&2\n").unwrap();
    std::fs::set_permissions(&trap, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut outside = world.outside();
    outside.command = "no-such-program".into();
    let permitted = OutsideGrant::of_operator(["claude-cli".to_owned()]).unwrap().permit(Program::Claude).unwrap();
    let agent = CliAgent::new(permitted, outside, None).unwrap();
    let (transcript, settings) = (Transcript::new(), Default::default());
    let failure = agent.reply(Prompt::new("", &[], &transcript, &settings), &|_: Part<'_>| {}).await.unwrap_err();
    assert_eq!(failure.kind, ProviderFailure::Exhausted);
    assert!(failure.message.contains("say where it is with `command`"), "{failure}");
}
