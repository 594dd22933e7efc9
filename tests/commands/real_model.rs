//! An agent with a real language model behind HTTP: the smallest there is, served on this machine by
//! `just test-llm`. It calls no tools of its own accord, so it is held to JSON.

use std::{collections::BTreeMap, sync::Mutex};

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
max_tokens: 160
max_steps: 8
---
Read the file that the user names, then give the answer.
";

fn connection(base_url: String) -> Connection {
    Connection {
        provider: "smollm2".to_owned(),
        model: "SmolLM2-135M-Instruct".to_owned(),
        dialect: Dialect::Chat,
        base_url,
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
    let equipped = equip(&engine, None, &Workspace::open(&world.workspace()).unwrap(), &effective).unwrap();
    let provider = connect(connection(url)).unwrap();
    let events = Mutex::new(Vec::new());
    let watcher = |event: Event| events.lock().unwrap().push(event);
    let (_canceller, cancellation) = cancellation();

    let mut run = Run::new(&agent, provider.as_ref(), &equipped.toolbox, &watcher, cancellation, Transcript::new());
    let outcome = run.answer("When does the harbour open? Read notes.txt.").await.unwrap();

    events.lock().unwrap().iter().for_each(|event| eprintln!("{event:?}"));
    let Outcome::Answered(answer) = outcome else { panic!("{outcome:?}") };
    assert!(!answer.trim().is_empty());
    let transcript = run.transcript();
    let read = transcript.calls().filter_map(|(_, result)| result).find(|result| result.is_done());
    let read = read.expect("a call that worked");
    assert!(read.text().contains("nine in the morning"), "{}", read.text());
    // A sandbox was there: it had memory.
    assert!(read.cost.peak_memory > 0);
    assert!(run.usage().total() > 0);
}
