//! What a model is told, and how a run ends that gets nowhere.

use super::*;

fn notices(entries: &[Entry]) -> Vec<&str> {
    entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Notice { text } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

fn cut(text: &str) -> Reply {
    Reply { text: text.into(), ended: ReplyEnd::Length, ..Reply::default() }
}

/// PROV-08
#[tokio::test]
async fn an_answer_in_pieces_is_put_together() {
    let (outcome, entries) = run(script([cut("one, "), cut("two, "), Reply::answer("three")]), PLENTY).await;
    assert_eq!(outcome, Ok(Outcome::Answered("one, two, three".into())));
    assert_eq!(notices(&entries).len(), 2);
}

#[tokio::test]
async fn replies_that_never_end_end_the_run() {
    let (outcome, entries) = run(script((0..9).map(|_| cut("more ")).collect::<VecDeque<_>>()), PLENTY).await;
    assert_eq!(outcome, Ok(Outcome::Spent(Spent::Reply)));
    assert_eq!(notices(&entries).len(), 3);
}

#[tokio::test]
async fn an_empty_reply_is_no_answer() {
    let (outcome, _) = run(script([Reply::answer(" \n"), Reply::answer("now")]), PLENTY).await;
    assert_eq!(outcome, Ok(Outcome::Answered("now".into())));
    let (outcome, _) = run(script((0..9).map(|_| Reply::answer("")).collect::<VecDeque<_>>()), PLENTY).await;
    assert!(outcome.unwrap_err().to_string().contains("empty replies"));
}

#[tokio::test]
async fn a_model_that_declines_is_a_failure() {
    let declined = Reply { ended: ReplyEnd::Refused, ..Reply::default() };
    let (outcome, _) = run(script([declined]), PLENTY).await;
    let Err(RunError::Provider(error)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.kind, ProviderFailure::Rejected);
}

/// TOOL-13
#[tokio::test]
async fn input_is_held_against_the_schema_before_the_tool_is_called() {
    let spec = ToolSpec {
        input_schema: json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
        ..tool("strict", |_, _| None).spec().clone()
    };
    let strict: Arc<dyn Tool> = Arc::new(Closure(spec, Box::new(|input, _| Some(ToolResult::done(input)))));
    let toolbox = Toolbox::new(vec![strict]).unwrap();
    for input in [json!({}), json!({"n": "1"}), json!("text"), json!(null)] {
        let result = toolbox.call(&call("1", "strict", input.clone()), &Progress::unheard()).await;
        let ToolOutcome::Failed { kind, .. } = result.outcome else { panic!("{input}") };
        assert_eq!(kind, FailureKind::InvalidInput, "{input}");
    }
    assert_eq!(toolbox.call(&call("1", "strict", json!({"n": 1})), &Progress::unheard()).await.text(), r#"{"n":1}"#);
}

/// PROV-09
#[tokio::test]
async fn a_model_that_repeats_itself_is_stopped() {
    let again = |_| calls(vec![call("1", "echo", json!({"same": true}))]);
    let (outcome, entries) = run(script((0..9).map(again).collect::<VecDeque<_>>()), PLENTY).await;
    assert_eq!(outcome, Ok(Outcome::Circling));
    let made = entries.iter().filter(|entry| matches!(entry, Entry::Result { result, .. } if result.is_done())).count();
    assert_eq!(made, 3);
    let last = entries.last().unwrap();
    assert!(matches!(last, Entry::Result { result, .. } if result.text().starts_with("not called: with this input")));
}

#[tokio::test]
async fn repeating_one_call_beside_new_ones_is_no_circle() {
    let step = |n: usize| calls(vec![call("a", "echo", json!({"same": true})), call("b", "echo", json!({ "n": n }))]);
    let replies: VecDeque<_> = (0..7).map(step).chain([Reply::answer("done")]).collect();
    let (outcome, _) = run(script(replies), PLENTY).await;
    assert_eq!(outcome, Ok(Outcome::Answered("done".into())));
}

#[tokio::test]
async fn a_run_ends_when_its_calls_are_made() {
    let wanted = (0..3).map(|n| call(&n.to_string(), "echo", json!({ "n": n }))).collect();
    let (outcome, entries) = run(script([calls(wanted)]), Budget { calls: Some(2), ..PLENTY }).await;
    assert_eq!(outcome, Ok(Outcome::Spent(Spent::Calls)));
    let skipped = failed("2", FailureKind::Skipped, "not called: the run has made all of its tool calls");
    assert_eq!(entries.last(), Some(&skipped));
}

/// A provider that says what it costs.
struct Priced(Script);

#[async_trait]
impl Provider for Priced {
    fn name(&self) -> &str {
        "priced"
    }

    fn counts_cost(&self) -> bool {
        true
    }

    async fn reply(&self, prompt: Prompt<'_>, listener: &dyn Listener) -> Result<Reply, ProviderError> {
        self.0.reply(prompt, listener).await
    }
}

/// CF-38
#[tokio::test]
async fn a_run_ends_when_its_money_is_spent_and_is_not_begun_where_nobody_counts() {
    let budget = Budget { cost: Some(100), ..PLENTY };
    let (outcome, entries) = run(script([Reply::answer("free")]), budget).await;
    assert_eq!(outcome, Err(RunError::CostUnknown { provider: "script".into() }));
    assert_eq!(entries, [user("do it")]);

    let dear = |n: usize| Reply {
        usage: Usage { cost_micros: 60, ..Usage::default() },
        ..calls(vec![call("1", "echo", json!({ "n": n }))])
    };
    let (agent, toolbox) = (agent(budget), toolbox());
    let provider = Priced(script((0..5).map(dear).collect::<VecDeque<_>>()));
    let mut run = Run::new(&agent, &provider, &toolbox, &Quiet, Cancellation::never(), Transcript::new());
    assert_eq!(run.answer("do it").await, Ok(Outcome::Spent(Spent::Cost)));
    assert_eq!(run.usage().cost_micros, 120);
}

async fn expecting(replies: impl Into<VecDeque<Reply>>) -> (Result<Outcome, RunError>, Vec<Entry>) {
    let (agent, toolbox, script) = (agent(PLENTY), toolbox(), script(replies));
    let schema = json!({"type": "object", "required": ["files"], "properties": {"files": {"type": "integer"}}});
    let run = Run::new(&agent, &script, &toolbox, &Quiet, Cancellation::never(), Transcript::new());
    let mut run = run.expecting(&schema).unwrap();
    let outcome = run.answer("count").await;
    (outcome, run.transcript().entries().to_vec())
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_again() {
    let fenced = Reply::answer("```json\n{\"files\": 3}\n```");
    let (outcome, entries) = expecting([Reply::answer("three"), Reply::answer("{\"files\": \"3\"}"), fenced]).await;
    assert_eq!(outcome, Ok(Outcome::Answered("{\"files\": 3}".into())));
    let told = notices(&entries);
    assert!(told[0].contains("it is not JSON") && told[1].contains("`/files`"), "{told:?}");
}

#[tokio::test]
async fn an_answer_that_never_fits_is_an_error() {
    let (outcome, _) = expecting((0..9).map(|_| Reply::answer("{}")).collect::<VecDeque<_>>()).await;
    let Err(RunError::Unfit { faults }) = outcome else { panic!("{outcome:?}") };
    assert!(faults.contains("\"files\" is a required property"), "{faults}");
}

#[tokio::test]
async fn a_run_whose_provider_failed_is_resumed_where_it_was() {
    let (agent, toolbox) = (agent(PLENTY), toolbox());
    let first = script([calls(vec![call("1", "echo", json!({}))])]);
    let mut run = Run::new(&agent, &first, &toolbox, &Quiet, Cancellation::never(), Transcript::new());
    assert!(matches!(run.answer("do it").await, Err(RunError::Provider(_))));
    let transcript = run.into_transcript();
    let second = script([Reply::answer("done")]);
    let mut run = Run::new(&agent, &second, &toolbox, &Quiet, Cancellation::never(), transcript);
    assert_eq!(run.resume().await, Ok(Outcome::Answered("done".into())));
    let users = run.transcript().entries().iter().filter(|entry| matches!(entry, Entry::User { .. })).count();
    assert_eq!(users, 1);
}
