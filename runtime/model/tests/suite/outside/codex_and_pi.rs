//! `codex-cli` and `pi-cli`: what they are started with, what is understood of them.

use palisade_agent::{ProviderFailure, ReasoningEffort, Transcript, Usage};
use palisade_model::Program;

use super::world::World;

/// O3, O4
#[tokio::test]
async fn what_codex_does_is_told_of() {
    let told = World::with(Program::Codex).ask("tools").await;
    let expected = [
        r#"text "Looking.""#,
        r#"call item_2 command_execution {"command":"cat a.txt"}"#,
        r#"done item_2 command_execution "hello\n""#,
        r#"call item_3 file_change {"changes":[{"path":"b","kind":"add"}]}"#,
        r#"failed item_3 file_change """#,
        r#"thinking "I have read it.""#,
        r#"text "\n\n""#,
        r#"text "It says hello.""#,
    ];
    assert_eq!(told.parts, expected);
    let reply = told.reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.thinking.as_str()), ("It says hello.", "I have read it."));
}

#[tokio::test]
async fn codex_resumes_a_thread_and_pays_only_for_what_is_new() {
    let world = World::with(Program::Codex);
    let mut transcript = Transcript::new();
    let first = world.ask_in(&mut transcript, "arguments").await.reply.unwrap();
    assert_eq!(first.text, "exec --json -c approval_policy=.never. -");
    assert_eq!(first.usage, Usage { input_tokens: 1000, output_tokens: 20, cached_tokens: 300, ..Usage::default() });
    let second = world.ask_in(&mut transcript, "arguments").await.reply.unwrap();
    assert_eq!(second.text, "exec --json -c approval_policy=.never. resume 0190-thread -");
    assert_eq!(second.usage, Usage { input_tokens: 2000, ..Usage::default() });
}

#[tokio::test]
async fn codex_is_started_with_what_the_definition_says() {
    let mut world = World::with(Program::Codex);
    world.model = Some("gpt-5".to_owned());
    world.instructions = "Be \"brief\".\nBe kind.".to_owned();
    world.settings.reasoning_effort = Some(ReasoningEffort::High);
    world.args = vec!["-s".to_owned(), "read-only".to_owned()];
    let expected = "exec --json -c approval_policy=.never. -c model_reasoning_effort=.high. -c \
                    developer_instructions=.Be /.brief/../nBe kind.. --model gpt-5 -s read-only -";
    assert_eq!(world.answer("arguments").await, expected);
}

#[tokio::test]
async fn failures_of_codex_are_typed() {
    let world = World::with(Program::Codex);
    let limited = world.failure("limited").await;
    assert_eq!(limited.kind, ProviderFailure::RateLimited);
    assert_eq!(limited.to_string(), "codex-cli: it failed: 429 Too Many Requests");
    let forgotten = world.failure("forgotten").await;
    assert!(forgotten.message.starts_with("it ended with exit code 1: "), "{forgotten}");
    assert!(forgotten.message.ends_with("no rollout found for thread id 0190-thread"), "{forgotten}");
    assert_eq!(world.answer("recovers").await, "done");
}

/// O3, O4
#[tokio::test]
async fn what_pi_does_is_told_of() {
    let told = World::with(Program::Pi).ask("tools").await;
    let expected = [
        r#"text "Looking.""#,
        r#"call call_1 read {"path":"a.txt"}"#,
        r#"done call_1 read "hello""#,
        r#"thinking "I have read it.""#,
        r#"text "\n\n""#,
        r#"text "It says ""#,
        r#"text "hello.""#,
    ];
    assert_eq!(told.parts, expected);
    let reply = told.reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.thinking.as_str()), ("It says hello.", "I have read it."));
    let usage = Usage {
        input_tokens: 2 * 644,
        output_tokens: 14,
        cached_tokens: 80,
        cache_written_tokens: 8,
        cost_micros: 4000,
    };
    assert_eq!(reply.usage, usage);
}

#[tokio::test]
async fn pi_is_started_with_what_the_definition_says_and_resumed() {
    let mut world = World::with(Program::Pi);
    world.model = Some("x/small".to_owned());
    world.instructions = "Be brief.".to_owned();
    world.settings.reasoning_effort = Some(ReasoningEffort::Medium);
    let mut transcript = Transcript::new();
    let first = world.ask_in(&mut transcript, "arguments").await.reply.unwrap();
    let session = first.kept.unwrap().value["session"].as_str().unwrap().to_owned();
    let rest = "--model x/small --thinking medium --append-system-prompt Be brief. --no-approve";
    assert_eq!(first.text, format!("--mode json --print --session-id {session} {rest}"));
    let second = world.ask_in(&mut transcript, "arguments").await.reply.unwrap();
    assert_eq!(second.text, format!("--mode json --print --session {session} {rest}"));
}

#[tokio::test]
async fn a_failure_of_pi_is_one_although_it_exits_with_success() {
    let limited = World::with(Program::Pi).failure("limited").await;
    assert_eq!(limited.kind, ProviderFailure::RateLimited);
    assert_eq!(limited.to_string(), "pi-cli: it failed: 429: rate_limit_error");
}

#[tokio::test]
async fn a_session_of_one_program_is_not_resumed_by_another() {
    let mut transcript = Transcript::new();
    World::with(Program::Codex).ask_in(&mut transcript, "hello").await.reply.unwrap();
    let pi = World::with(Program::Pi).ask_in(&mut transcript, "arguments").await.reply.unwrap();
    // It is told what was said before, so its task does not begin with the word it knows.
    assert_eq!(pi.text, "Hi.");
    assert_eq!(pi.kept.unwrap().by, "pi-cli");
}
