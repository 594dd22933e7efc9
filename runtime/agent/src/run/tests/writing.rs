//! What is written down, when, and what a later process makes of it.

use super::*;
use crate::{Batch, CallRecord, CallState, Ending, Intent, Journal, RunEnd, Spending, StoreError};

/// Writes into memory, in order, and fails at one write if told to.
#[derive(Default)]
struct Book {
    lines: Mutex<Vec<String>>,
    fails_at: Option<usize>,
    ended: Mutex<Option<RunEnd>>,
}

impl Book {
    fn write(&self, line: String) -> Result<(), StoreError> {
        let mut lines = self.lines.lock().unwrap();
        if self.fails_at == Some(lines.len()) {
            return Err(StoreError::Full("no page is left".into()));
        }
        lines.push(line);
        Ok(())
    }
}

#[async_trait]
impl Journal for Book {
    async fn record(&self, batch: Batch) -> Result<(), StoreError> {
        let word = |entry: &Entry| match entry {
            Entry::User { .. } => "user",
            Entry::Reply { .. } => "reply",
            Entry::Result { .. } => "result",
            Entry::Notice { .. } => "notice",
            Entry::Summary { .. } => "summary",
        };
        let entries = batch.entries.iter().map(word);
        let intents = batch.intents.iter().map(|intent| intent.call.id.as_str());
        let results = batch.results.iter().map(|(id, _)| id.as_str());
        let list = |words: Vec<&str>| words.join(" ");
        self.write(format!(
            "{} | means {} | got {}",
            list(entries.collect()),
            list(intents.collect()),
            list(results.collect())
        ))
    }

    async fn end(&self, end: RunEnd) -> Result<(), StoreError> {
        self.write(format!("{:?}", end.ending))?;
        *self.ended.lock().unwrap() = Some(end);
        Ok(())
    }
}

async fn written(book: &Book, script: Script) -> Result<Outcome, RunError> {
    let (agent, toolbox) = (agent(PLENTY), toolbox());
    let run = Run::new(&agent, &script, &toolbox, &Quiet, Cancellation::never(), Transcript::new());
    run.written_to(book).answer("do it").await
}

/// STO-03
#[tokio::test]
async fn a_call_is_meant_before_it_is_made_and_its_result_is_known_before_the_next_step() {
    let book = Book::default();
    let replies = [calls(vec![call("1", "echo", json!({})), call("2", "rm", json!({}))]), Reply::answer("done")];
    assert_eq!(written(&book, script(replies)).await, Ok(Outcome::Answered("done".into())));
    let expected = [
        "user | means  | got ",
        "reply | means 1 2 | got ",
        " | means  | got 1",
        " | means  | got 2",
        "result result reply | means  | got ",
        "Answered",
    ];
    assert_eq!(*book.lines.lock().unwrap(), expected);
    let spending = book.ended.lock().unwrap().as_ref().unwrap().spending;
    assert_eq!((spending.steps, spending.calls), (2, 2));
}

/// STO-06
#[tokio::test]
async fn a_run_that_cannot_be_written_down_does_not_go_on() {
    for fails_at in 0..6 {
        let book = Book { fails_at: Some(fails_at), ..Book::default() };
        let called = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&called);
        let counting = tool("count", move |_, _| {
            *counted.lock().unwrap() += 1;
            Some(ToolResult::done("ok"))
        });
        let toolbox = Toolbox::new(vec![counting]).unwrap();
        let (agent, script) =
            (agent(PLENTY), script([calls(vec![call("1", "count", json!({}))]), Reply::answer("done")]));
        let run = Run::new(&agent, &script, &toolbox, &Quiet, Cancellation::never(), Transcript::new());
        let outcome = run.written_to(&book).answer("do it").await;
        let is_told = matches!(&outcome, Err(RunError::Unwritten(StoreError::Full(_))));
        assert_eq!(is_told, fails_at < 5, "{fails_at}: {outcome:?}");
        // The first two writes come before the call: what was meant to be done, and the task itself.
        assert_eq!(*called.lock().unwrap(), usize::from(fails_at >= 2), "{fails_at}");
    }
}

fn left(id: &str, tool: &str, state: CallState, idempotent: bool) -> CallRecord {
    CallRecord { intent: Intent { call: call(id, tool, json!({})), idempotent }, state }
}

/// A toolbox with a tool that may be called twice and one that may not; both count.
fn counting(counts: &Arc<Mutex<Vec<String>>>) -> Toolbox {
    let count = |name: &'static str, harmless: bool| {
        let counts = Arc::clone(counts);
        let spec = ToolSpec {
            name: name.into(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            capabilities: vec![],
            read_only: false,
            idempotent: harmless,
        };
        let deed = move |_: &str, _: &Progress| {
            counts.lock().unwrap().push(name.to_owned());
            Some(ToolResult::done(format!("{name} now")))
        };
        Arc::new(Closure(spec, Box::new(deed))) as Arc<dyn Tool>
    };
    Toolbox::new(vec![count("put", true), count("add", false)]).unwrap()
}

/// STO-03
#[tokio::test]
async fn a_later_process_uses_what_is_known_and_repeats_only_what_does_no_harm() {
    let counts = Arc::new(Mutex::new(Vec::new()));
    let toolbox = counting(&counts);
    let wanted = vec![
        call("known", "add", json!({})),
        call("harmless", "put", json!({})),
        call("unknown", "add", json!({})),
        call("never", "add", json!({})),
    ];
    let before = Transcript::of(vec![user("do it"), replied("", wanted)]);
    let records = vec![
        left("known", "add", CallState::Finished(ToolResult::done("added")), false),
        left("harmless", "put", CallState::Unfinished, true),
        left("unknown", "add", CallState::Unfinished, false),
    ];
    let (agent, script, book) = (agent(PLENTY), script([Reply::answer("done")]), Book::default());
    let mut run = Run::new(&agent, &script, &toolbox, &Quiet, Cancellation::never(), before)
        .written_to(&book)
        .after(records, Spending { steps: 1, calls: 3, ..Spending::default() });
    assert_eq!(run.resume().await, Ok(Outcome::Answered("done".into())));
    let entries = run.transcript().entries();
    assert_eq!(entries[2..4], [done("known", "added"), done("harmless", "put now")]);
    let Entry::Result { result, .. } = &entries[4] else { panic!("{entries:?}") };
    assert!(result.text().starts_with("interrupted, outcome unknown"), "{result:?}");
    assert_eq!(entries[5], done("never", "add now"));
    let mut made = counts.lock().unwrap().clone();
    made.sort();
    assert_eq!(made, ["add", "put"]);
    // What was meant before is not meant again; what never was is.
    assert_eq!(book.lines.lock().unwrap()[0], " | means never | got ");
    let spending = book.ended.lock().unwrap().as_ref().unwrap().spending;
    assert_eq!((spending.steps, spending.calls), (2, 5));
}

#[tokio::test]
async fn a_new_task_does_not_repeat_what_an_earlier_run_left_open() {
    let counts = Arc::new(Mutex::new(Vec::new()));
    let toolbox = counting(&counts);
    let wanted = vec![call("1", "put", json!({})), call("2", "add", json!({}))];
    let before = Transcript::of(vec![user("do it"), replied("", wanted)]);
    let records = vec![left("1", "put", CallState::Unfinished, true)];
    let (agent, script) = (agent(PLENTY), script([Reply::answer("done")]));
    let mut run =
        Run::new(&agent, &script, &toolbox, &Quiet, Cancellation::never(), before).after(records, Spending::default());
    assert_eq!(run.answer("leave it").await, Ok(Outcome::Answered("done".into())));
    assert_eq!(*counts.lock().unwrap(), [""; 0]);
    let kinds: Vec<_> = run.transcript().calls().map(|(_, result)| result.unwrap().outcome.clone()).collect();
    let kind = |outcome: &ToolOutcome| match outcome {
        ToolOutcome::Failed { kind, .. } => Some(*kind),
        ToolOutcome::Done(_) => None,
    };
    let kinds: Vec<_> = kinds.iter().map(kind).collect();
    assert_eq!(kinds, [Some(FailureKind::Interrupted), Some(FailureKind::Cancelled)]);
}

#[tokio::test]
async fn a_cancelled_run_is_written_to_its_end() {
    let book = Book::default();
    let (canceller, cancelled) = cancellation();
    canceller.cancel();
    let (agent, toolbox, script) = (agent(PLENTY), toolbox(), script([]));
    let run = Run::new(&agent, &script, &toolbox, &Quiet, cancelled, Transcript::new());
    assert_eq!(run.written_to(&book).answer("do it").await, Ok(Outcome::Cancelled));
    assert_eq!(book.ended.lock().unwrap().as_ref().unwrap().ending, Ending::Cancelled);
}

/// STO-02
#[tokio::test]
async fn an_answer_that_was_written_down_is_not_asked_for_again() {
    let before = Transcript::of(vec![user("do it"), replied("done", vec![])]);
    let (agent, toolbox, script, book) = (agent(PLENTY), toolbox(), script([]), Book::default());
    let run = Run::new(&agent, &script, &toolbox, &Quiet, Cancellation::never(), before);
    assert_eq!(run.written_to(&book).resume().await, Ok(Outcome::Answered("done".into())));
    assert_eq!(*book.lines.lock().unwrap(), ["Answered"]);
}
