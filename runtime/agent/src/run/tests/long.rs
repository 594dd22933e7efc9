//! Conversations that are longer than their model can read.

use super::*;
use crate::Part;

/// A model with a small window: it wants calls until it has seen enough, and refuses what is too long.
struct Small {
    window: u64,
    /// Whether it tells how much it can read, or only refuses.
    tells: bool,
    /// Whether it can write a summary.
    summarises: bool,
    steps: Mutex<usize>,
    longest: Mutex<usize>,
}

impl Small {
    fn new(tells: bool, summarises: bool) -> Self {
        Self { window: 4000, tells, summarises, steps: Mutex::new(0), longest: Mutex::default() }
    }
}

#[async_trait]
impl Provider for Small {
    fn name(&self) -> &str {
        "small"
    }

    fn context_window(&self) -> Option<u64> {
        self.tells.then_some(self.window)
    }

    async fn reply(&self, prompt: Prompt<'_>, listener: &dyn Listener) -> Result<Reply, ProviderError> {
        let fails = |kind| Err(ProviderError { provider: "small".into(), kind, message: "no".into() });
        let length: usize = prompt.transcript.visible().iter().map(|entry| json!(entry).to_string().len()).sum();
        if prompt.tools.is_empty() {
            assert!(length as u64 <= self.window * 4, "the summary itself is asked for with {length} bytes");
            return match self.summarises {
                true => Ok(Reply::answer("it went well so far")),
                false => fails(ProviderFailure::Broken),
            };
        }
        if length as u64 > self.window * 4 {
            return fails(ProviderFailure::TooLong);
        }
        let mut longest = self.longest.lock().unwrap();
        *longest = length.max(*longest);
        let mut steps = self.steps.lock().unwrap();
        *steps += 1;
        listener.hear(Part::Text("thinking aloud"));
        match *steps {
            1..=20 => {
                Ok(calls(vec![call(&steps.to_string(), "echo", json!({ "text": "x".repeat(2000), "n": *steps }))]))
            }
            _ => Ok(Reply::answer("done")),
        }
    }
}

async fn worked(small: &Small) -> (Result<Outcome, RunError>, Transcript, Vec<Event>) {
    let (agent, toolbox) = (agent(Budget { steps: 100, ..PLENTY }), toolbox());
    let events = Mutex::new(Vec::new());
    let watcher = |event: Event| events.lock().unwrap().push(event);
    let mut run = Run::new(&agent, small, &toolbox, &watcher, Cancellation::never(), Transcript::new());
    let outcome = run.answer("count to twenty").await;
    let transcript = run.into_transcript();
    (outcome, transcript, events.into_inner().unwrap())
}

#[tokio::test]
async fn a_long_conversation_goes_on_from_a_summary_and_says_so() {
    for tells in [true, false] {
        let (outcome, transcript, events) = worked(&Small::new(tells, true)).await;
        assert_eq!(outcome, Ok(Outcome::Answered("done".into())), "tells: {tells}");
        let Entry::Summary { text, .. } = transcript.visible()[0] else { panic!("{:?}", transcript.visible()[0]) };
        assert!(text.contains("The task was:\ncount to twenty") && text.contains("it went well so far"), "{text}");
        // Nothing is lost: the whole conversation is still there, for whoever looks.
        assert_eq!(transcript.calls().filter(|(_, result)| result.is_some()).count(), 20);
        let shrunk =
            events.iter().all(|event| !matches!(event, Event::Compacted { before, after, .. } if after >= before));
        assert!(shrunk && events.iter().any(|event| matches!(event, Event::Compacted { .. })));
    }
}

#[tokio::test]
async fn a_model_that_cannot_summarise_is_given_the_headlines() {
    let (outcome, transcript, _) = worked(&Small::new(true, false)).await;
    assert_eq!(outcome, Ok(Outcome::Answered("done".into())));
    let Entry::Summary { text, .. } = transcript.visible()[0] else { panic!() };
    assert!(text.contains("Called echo") && text.contains("bytes omitted"), "{text}");
}

#[tokio::test]
async fn what_cannot_be_shortened_is_the_providers_failure() {
    let small = Small { window: 0, ..Small::new(false, true) };
    let (outcome, _, _) = worked(&small).await;
    let Err(RunError::Provider(error)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.kind, ProviderFailure::TooLong);
}

#[tokio::test]
async fn what_is_heard_of_a_reply_reaches_the_watcher() {
    let (_, _, events) = worked(&Small::new(true, true)).await;
    assert!(events.contains(&Event::ReplyText { text: "thinking aloud".into() }));
}
