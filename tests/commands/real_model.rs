//! An agent with a real language model behind HTTP: the smallest there is, served on this machine by
//! `just test-llm`. It calls no tools of its own accord, so it is held to JSON.

use std::collections::BTreeMap;

use palisade_agent::{Agent, Event, Outcome, Run, Transcript, cancellation};
use palisade_catalog::{Registry, available, definition, effective, equip};
use palisade_model::{Connection, Dialect, Patience, ToolMode, connect};
use palisade_sandbox::{Engine, Settings, Workspace};

use crate::world::World;

/// Where the model is served.
const URL: &str = "PALISADE_LLM_URL";

const CLERK: &str = "\
---
name: clerk
description: Reads files.
tools: [read]
temperature: 0
max_tokens: 64
max_steps: 6
---
Read the file that the user names, then give the answer.
";

fn connection(base_url: String) -> Connection {
    Connection {
        provider: "smollm2".to_owned(),
        model: "SmolLM2-135M-Instruct".to_owned(),
        dialect: Dialect::Chat,
        base_url,
        proxy: None,
        key: None,
        headers: BTreeMap::new(),
        tool_mode: ToolMode::Json,
        context_window: Some(8192),
        max_tokens: None,
        price: None,
        patience: Patience::default(),
    }
}

#[expect(clippy::unwrap_used, reason = "a test that cannot set its stage has failed")]
fn clerk() -> Agent {
    let source = definition::Source {
        file: "clerk.md",
        origin: palisade_agent::Origin::default(),
        fallback_name: None,
        required_name: None,
        description: definition::Presence::Required,
    };
    definition::parse_markdown(CLERK.as_bytes(), &source).unwrap().agent
}

/// What it is asked, in turn: so small a model does not always look before it answers, and what it does
/// hangs on single words. Once it has to go the whole way.
const TASKS: [&str; 6] = [
    "Read the file notes.txt and say when the harbour opens.",
    "What does the file notes.txt say?",
    "When does the harbour open? Read notes.txt.",
    "Read the file notes.txt and summarize it.",
    "Read notes.txt.",
    "Show me the file notes.txt.",
];

#[tokio::test]
async fn a_real_model_calls_a_sandboxed_tool_and_answers() {
    #[expect(clippy::disallowed_methods, reason = "the recipe says where the model is")]
    let Ok(url) = std::env::var(URL) else {
        eprintln!("SKIPPED: no real model was asked, {URL} is not set; `just test-llm` serves one and sets it");
        return;
    };
    let world = World::empty();
    world.add("notes.txt", "The harbour opens at nine in the morning.\n");
    let (agent, registry) = (clerk(), Registry::built_in());
    let effective = effective(&agent, &available(&registry), &registry);
    let engine = Engine::start(Settings::ONE_AGENT).unwrap();
    let equipped = equip(&engine, None, &Workspace::open(&world.workspace()).unwrap(), &effective, &[]).unwrap();
    let provider = connect(connection(url)).unwrap();

    for task in TASKS {
        eprintln!("\n{task}");
        let watcher = |event: Event| eprintln!("  {event:?}");
        let (_canceller, cancellation) = cancellation();
        let mut run = Run::new(&agent, provider.as_ref(), &equipped.toolbox, &watcher, cancellation, Transcript::new());
        let outcome = run.answer(task).await.unwrap();
        assert!(run.usage().total() > 0);
        let read = run.transcript().calls().filter_map(|(_, result)| result).find(|result| result.is_done());
        if let (Outcome::Answered(answer), Some(read)) = (outcome, read) {
            assert!(!answer.trim().is_empty());
            assert!(read.text().contains("nine in the morning"), "{}", read.text());
            // A sandbox was there: it had memory.
            assert!(read.cost.peak_memory > 0);
            return;
        }
    }
    panic!("no task was answered after a call that worked");
}
