//! `claude-cli`: what it is started with, what is understood of it.

use palisade_agent::{ProviderFailure, ReasoningEffort, Transcript, Usage};
use palisade_model::{CliAgent, OutsideError, OutsideGrant, Program};

use super::world::World;

fn world() -> World {
    World::with(Program::Claude)
}

/// O3
#[tokio::test]
async fn what_it_says_is_heard_while_it_comes_in() {
    let told = world().ask("hello").await;
    assert_eq!(told.parts, [r#"thinking "Hm.""#, r#"text "Hi ""#, r#"text "there.""#]);
    let reply = told.reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.thinking.as_str()), ("Hi there.", "Hm."));
    let usage =
        Usage { input_tokens: 137, output_tokens: 10, cached_tokens: 30, cache_written_tokens: 7, cost_micros: 450 };
    assert_eq!((reply.usage, reply.calls.len()), (usage, 0));
}

/// O4
#[tokio::test]
async fn its_own_calls_are_told_of_with_their_results() {
    let told = world().ask("tools").await;
    let expected = [
        r#"text "Looking.""#,
        r#"call toolu_1 Read {"file_path":"a.txt"}"#,
        r#"done toolu_1 Read "hello""#,
        r#"call toolu_2 Bash {"command":"touch b"}"#,
        r#"failed toolu_2 Bash "denied""#,
        r#"text "\n\n""#,
        r#"text "It says hello.""#,
    ];
    assert_eq!(told.parts, expected);
    assert_eq!(told.reply.unwrap().text, "It says hello.");
}

#[tokio::test]
async fn a_session_is_named_first_and_resumed_later() {
    let world = world();
    let mut transcript = Transcript::new();
    let first = world.ask_in(&mut transcript, "arguments").await.reply.unwrap();
    let kept = first.kept.unwrap();
    let session = kept.value["session"].as_str().unwrap().to_owned();
    assert_eq!((kept.by.as_str(), session.len()), ("claude-cli", 36));
    assert!(first.text.contains(&format!("--session-id {session}")), "{}", first.text);
    let second = world.ask_in(&mut transcript, "arguments").await.reply.unwrap();
    assert!(second.text.contains(&format!("--resume {session}")), "{}", second.text);
    assert!(!second.text.contains("--session-id"), "{}", second.text);
    assert_eq!(second.kept.unwrap().value["session"], session.as_str());
}

/// O6, O7
#[tokio::test]
async fn it_is_started_with_what_the_definition_says() {
    let mut world = world();
    world.model = Some("sonnet".to_owned());
    world.instructions = "Be brief.\nBe kind.".to_owned();
    world.settings.reasoning_effort = Some(ReasoningEffort::Low);
    world.args = vec!["--bare".to_owned()];
    let arguments = world.answer("arguments").await;
    let (before, rest) = arguments.split_once(" --session-id ").unwrap();
    let expected = "-p --output-format stream-json --verbose --include-partial-messages --permission-prompts none";
    assert_eq!(before, expected);
    let rest = rest.split_once(' ').unwrap().1;
    let expected = "--model sonnet --effort low --append-system-prompt Be brief. Be kind. --setting-sources user \
                    --strict-mcp-config --bare";
    assert_eq!(rest, expected);
}

#[tokio::test]
async fn it_works_in_the_workspace_with_a_stripped_environment() {
    let mut world = world();
    let folder = world.workspace().canonicalize().unwrap();
    assert_eq!(world.answer("folder").await, folder.to_str().unwrap());
    let variables = [
        ("PATH", "/x/node_modules/.bin:/usr/bin:/bin"),
        ("HOME", "/home/me"),
        ("XDG_DATA_HOME", "/data"),
        ("npm_lifecycle_event", "start"),
        ("OPENAI_API_KEY", "other-key"),
        ("ANTHROPIC_API_KEY", "its-key"),
        ("PALISADE_MODEL", "x"),
    ];
    world.environment = variables.map(|(name, value)| (name.into(), value.into())).into();
    world.env_names = vec!["ANTHROPIC_API_KEY".to_owned()];
    let environment = world.answer("environment").await;
    // The shell that plays it adds some of its own.
    let own = ["PWD=", "SHLVL=", "_=", "OLDPWD="];
    let passed: Vec<&str> = environment
        .split(';')
        .filter(|variable| !variable.is_empty() && !own.iter().any(|own| variable.starts_with(own)))
        .collect();
    assert_eq!(passed, ["ANTHROPIC_API_KEY=its-key", "HOME=/home/me", "PATH=/usr/bin:/bin", "XDG_DATA_HOME=/data"]);
}

#[tokio::test]
async fn a_key_that_it_shows_goes_no_further() {
    let mut world = world();
    world.environment.push(("TOKEN".into(), "sk-0123456789abcdef".into()));
    world.env_names = vec!["TOKEN".to_owned()];
    let told = world.ask("environment").await;
    let text = told.reply.unwrap().text;
    assert!(text.contains("TOKEN=[key]") && !text.contains("sk-0123456789abcdef"), "{text}");
}

#[tokio::test]
async fn failures_that_it_tells_of_are_typed() {
    let world = world();
    let limited = world.failure("limited").await;
    assert_eq!(limited.kind, ProviderFailure::RateLimited);
    assert_eq!(limited.to_string(), "claude-cli: it failed: API Error: 429 slow down");
    let forgotten = world.failure("forgotten").await;
    assert_eq!(forgotten.to_string(), "claude-cli: it failed: No conversation found");
}

#[test]
fn what_cannot_work_is_refused_before_it_runs() {
    let refused = |change: &dyn Fn(&mut palisade_model::Outside), model: Option<&str>| {
        let world = world();
        let mut outside = world.outside();
        change(&mut outside);
        let permitted = OutsideGrant::of_operator(["claude-cli".to_owned()]).unwrap().permit(Program::Claude).unwrap();
        CliAgent::new(permitted, outside, model.map(str::to_owned)).unwrap_err()
    };
    let managed = refused(&|outside| outside.args = vec!["--resume".to_owned(), "x".to_owned()], None);
    assert!(matches!(managed, OutsideError::Managed { argument, .. } if argument == "--resume"));
    let variable = refused(&|outside| outside.env_names = vec!["npm_config_x".to_owned()], None);
    assert!(matches!(variable, OutsideError::Variable { name, .. } if name == "npm_config_x"));
    for command in ["./claude", "bin/claude", "", ".."] {
        let place = refused(&|outside| outside.command = command.into(), None);
        assert!(matches!(place, OutsideError::Place { what: "the command", .. }), "{command}: {place}");
    }
    let inside = refused(&|outside| outside.command = outside.workspace.join("claude"), None);
    assert!(inside.to_string().contains("is in the workspace"), "{inside}");
    let state = refused(&|outside| outside.state = outside.workspace.join("state"), None);
    assert!(state.to_string().contains("outside of the workspace"), "{state}");
    assert!(matches!(refused(&|_| {}, Some("--dangerous")), OutsideError::Model { .. }));
}

#[tokio::test]
async fn instructions_that_no_argument_can_hold_are_refused() {
    let mut world = world();
    world.instructions = "x".repeat(200_000);
    let failure = world.failure("hello").await;
    assert_eq!(failure.kind, ProviderFailure::Rejected);
    assert!(failure.message.contains("200000 bytes"), "{failure}");
}
