//! What the loop itself costs: a step of a scripted model that calls `echo`, beside the bare call.

use std::sync::Arc;

use anyhow::anyhow;
use async_trait::async_trait;
use palisade_agent::{
    Agent, Cancellation, Outcome, Progress, Quiet, Reply, Run, Tool, ToolCall, ToolResult, ToolSpec, Toolbox,
    Transcript,
};
use palisade_model::Scripted;
use palisade_sandbox::{Call, Engine, Scope, Settings};
use serde_json::json;

use crate::{
    calls::echo_scope,
    measure::{Contender, in_batches},
    report::{Ratio, Report},
};

/// Steps of one run: few enough for its transcript to be an ordinary one.
const STEPS: u32 = 20;

/// `echo` in its sandbox, called as the loop calls tools.
struct Echo {
    scope: Arc<Scope>,
    spec: ToolSpec,
}

#[async_trait]
impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, input: &str, _: &Progress) -> ToolResult {
        match self.scope.call("echo", input.to_owned(), Call::default()).await.outcome {
            Ok(text) => ToolResult::done(text),
            Err(failure) => ToolResult::failed(palisade_agent::FailureKind::Failed, failure.to_string()),
        }
    }
}

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let engine = Engine::start(Settings { slots: 100, ..Settings::SERVER })?;
    let scope = Arc::new(echo_scope(&engine)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let spec = ToolSpec {
        name: "echo".to_owned(),
        description: "Says it again.".to_owned(),
        input_schema: json!({"type": "object", "properties": {"text": {"type": "string"}, "step": {"type": "integer"}}}),
        capabilities: Vec::new(),
        read_only: true,
        idempotent: true,
    };
    let toolbox = Toolbox::new(vec![Arc::new(Echo { scope: Arc::clone(&scope), spec })])?;
    let agent = Agent::new("bench", "Measures.").with_max_steps(STEPS + 1);

    let mut contenders: [Contender<'_>; 2] = [
        Box::new(|| {
            let script = Scripted::new((0..STEPS).map(step).chain([Reply::answer("done")]));
            let mut run = Run::new(&agent, &script, &toolbox, &Quiet, Cancellation::never(), Transcript::new());
            match runtime.block_on(run.answer("measure")) {
                Ok(Outcome::Answered(_)) => Ok(()),
                other => Err(anyhow!("the run gave {other:?}")),
            }
        }),
        Box::new(|| {
            for _ in 0..STEPS {
                let call = scope.call("echo", r#"{"text":"hello"}"#.to_owned(), Call::default());
                runtime.block_on(call).outcome.map_err(|failure| anyhow!("{failure}"))?;
            }
            Ok(())
        }),
    ];
    let samples = in_batches(if quick { 10 } else { 60 }, &[10, 10], &mut contenders)?;
    let [steps, bare] = &samples[..] else { return Err(anyhow!("two samples")) };
    let each = |sample: &crate::measure::Sample| sample.divided(f64::from(STEPS));
    report.compare(
        "one step: scripted reply, checked input, sandboxed `echo`, recorded",
        &each(steps),
        "the sandboxed call alone",
        &each(bare),
        Ratio::Slower,
        "≤ 3 ×",
    );
    Ok(())
}

fn step(step: u32) -> Reply {
    let input = json!({ "text": "hello", "step": step });
    Reply { calls: vec![ToolCall { id: step.to_string(), tool: "echo".to_owned(), input }], ..Reply::default() }
}
