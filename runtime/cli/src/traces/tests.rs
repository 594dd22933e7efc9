use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    thread::JoinHandle,
};

use palisade_agent::Spent;

use super::*;

/// A collector on loopback that takes one request and gives its first line and its body.
#[expect(clippy::disallowed_methods, reason = "a test listens on loopback")]
fn collector() -> (String, JoinHandle<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let taken = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let read = stream.read(&mut buffer).unwrap();
            bytes.extend_from_slice(&buffer[..read]);
            let Some(head) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if bytes.len() >= head + 4 + length.trim().parse::<usize>().unwrap() {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
                let first = text.lines().next().unwrap().to_owned();
                return (first, bytes.split_off(head + 4));
            }
        }
    });
    (endpoint, taken)
}

/// The strings of a protobuf message stand in it as they are.
fn sent(content: bool, ending: Ending) -> (String, String) {
    let (endpoint, taken) = collector();
    let traces = Traces::to(&endpoint, content).unwrap();
    let spans = traces.watch();
    let usage = Usage { input_tokens: 7, output_tokens: 5, ..Usage::default() };
    spans.watch(Event::RunStarted { agent: "explore".into(), provider: "ollama".into(), model: "qwen".into() });
    spans.watch(Event::StepStarted { step: 1 });
    spans.watch(Event::ModelReplied { text: "said in secret".into(), calls: 1, usage });
    spans.watch(Event::CallStarted { id: "1".into(), tool: "grep".into(), input: "{\"pattern\":\"needle\"}".into() });
    spans.watch(Event::CallFinished {
        id: "1".into(),
        tool: "grep".into(),
        failure: Some(FailureKind::Denied),
        summary: "not for you".into(),
        duration: Duration::ZERO,
        bytes: 3,
        peak_memory: 0,
        denials: vec![],
        artifact: None,
    });
    spans.watch(Event::StepStarted { step: 2 });
    spans.watch(Event::RunEnded { ending, steps: 2, usage });
    traces.finish().unwrap();
    let (first, body) = taken.join().unwrap();
    (first, String::from_utf8_lossy(&body).into_owned())
}

#[test]
fn a_run_its_replies_and_its_calls_are_spans() {
    let (first, body) = sent(false, Ending::Failed("no reply".into()));
    assert!(first.starts_with("post /v1/traces "), "{first}");
    for part in
        ["invoke_agent explore", "chat qwen", "execute_tool grep", "gen_ai.usage.input_tokens", "denied", "no reply"]
    {
        assert!(body.contains(part), "{part} is not in {body}");
    }
}

#[test]
fn what_was_said_is_left_out_unless_it_is_asked_for() {
    let private = ["needle", "not for you", "said in secret"];
    let (_, body) = sent(false, Ending::Spent(Spent::Steps));
    assert!(!private.iter().any(|part| body.contains(part)), "{body}");
    let (_, body) = sent(true, Ending::Answered);
    assert!(body.contains("needle") && body.contains("not for you"), "{body}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test listens on loopback")]
fn a_collector_that_never_answers_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let traces = Traces::to(&format!("http://{}", listener.local_addr().unwrap()), false).unwrap();
    let spans = traces.watch();
    spans.watch(Event::RunStarted { agent: "a".into(), provider: "b".into(), model: String::new() });
    spans.watch(Event::RunEnded { ending: Ending::Answered, steps: 1, usage: Usage::default() });
    let started = std::time::Instant::now();
    drop(traces.finish());
    assert!(started.elapsed() < 4 * PATIENCE, "{:?}", started.elapsed());
}

/// S11
#[test]
fn the_run_of_an_agent_that_was_asked_is_below_the_call_that_asked() {
    let (endpoint, taken) = collector();
    let traces = Traces::to(&endpoint, false).unwrap();
    let spans = traces.watch();
    let run = |agent: &str| Event::RunStarted { agent: agent.into(), provider: "p".into(), model: String::new() };
    let within = |event: Event| Event::SubagentProgress { task: "t".into(), event: Box::new(event) };
    spans.watch(run("coordinator"));
    spans.watch(Event::CallStarted { id: "1".into(), tool: "task".into(), input: String::new() });
    spans.watch(Event::SubagentStarted {
        task: "t".into(),
        agent: "explore".into(),
        session: "s".into(),
        parent_session: "p".into(),
        call: "1".into(),
        description: String::new(),
        cut: vec![],
    });
    spans.watch(within(run("explore")));
    let parents = {
        let open = spans.open.lock().unwrap();
        let id = |context: &Context| context.span().span_context().span_id();
        let trace = |context: &Context| context.span().span_context().trace_id();
        let below = &open.below["t"];
        let (run, above) = (below.run.as_ref().unwrap(), below.above.as_ref().unwrap());
        assert_eq!(trace(run), trace(open.run.as_ref().unwrap()));
        (id(above), id(&open.calls["1"]))
    };
    assert_eq!(parents.0, parents.1);
    let usage = Usage::default();
    spans.watch(within(Event::RunEnded { ending: Ending::Answered, steps: 1, usage }));
    let (task, agent, session) = ("t".into(), "explore".into(), "s".into());
    spans.watch(Event::SubagentEnded { task, agent, session, success: true, ending: Ending::Answered, usage });
    assert!(spans.open.lock().unwrap().below.is_empty());
    spans.watch(Event::RunEnded { ending: Ending::Answered, steps: 1, usage });
    traces.finish().unwrap();
    let (_, body) = taken.join().unwrap();
    assert!(String::from_utf8_lossy(&body).contains("invoke_agent explore"));
}
