//! Telling a collector what a run did: OpenTelemetry spans over OTLP, in the words of its conventions
//! for generative models. The names are experimental there, so they stand here and nowhere else.
//!
//! A run is `invoke_agent`, a reply is `chat`, a call is `execute_tool`; the run of an agent that a call asked for
//! is below that call. What was said, read and written is
//! left out unless somebody asked for it.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use opentelemetry::{
    Context, KeyValue,
    trace::{SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _},
};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{SdkTracer, SdkTracerProvider},
};
use palisade_agent::{Ending, Event, FailureKind, Usage, Watcher};

/// How long a collector is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection to a collector.
pub(crate) struct Traces {
    provider: SdkTracerProvider,
    content: bool,
}

impl Traces {
    /// Spans go to `endpoint` + `/v1/traces`; with `content` they also say what was called with what.
    pub(crate) fn to(endpoint: &str, content: bool) -> anyhow::Result<Self> {
        // Whoever was first has installed the same one.
        drop(rustls::crypto::ring::default_provider().install_default());
        let exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
            .with_timeout(PATIENCE)
            .build()
            .with_context(|| format!("no traces can be sent to {endpoint}; look at `traces.endpoint`"))?;
        let resource = Resource::builder()
            .with_service_name("palisade")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
        Ok(Self { provider, content })
    }

    /// Watches one run.
    pub(crate) fn watch(&self) -> Spans {
        Spans { tracer: self.provider.tracer("palisade"), content: self.content, open: Mutex::default() }
    }

    /// Sends what was not sent yet; says why that did not work, which is no reason for a run to fail.
    pub(crate) fn finish(self) -> Result<(), String> {
        self.provider.shutdown_with_timeout(PATIENCE).map_err(|error| format!("traces were not sent: {error}"))
    }
}

/// Turns the events of one run into spans.
pub(crate) struct Spans {
    tracer: SdkTracer,
    content: bool,
    open: Mutex<Open>,
}

/// The spans that have not ended.
#[derive(Default)]
struct Open {
    run: Option<Context>,
    chat: Option<Context>,
    calls: HashMap<String, Context>,
    provider: String,
    model: String,
    /// What the run belongs to, if another run asked for it.
    above: Option<Context>,
    /// The runs that this one asked for, by the names of the pieces of work.
    below: HashMap<String, Open>,
}

impl Spans {
    fn start(&self, parent: Option<&Context>, name: String, kind: SpanKind, attributes: Vec<KeyValue>) -> Context {
        let parent = parent.cloned().unwrap_or_default();
        let span = self.tracer.span_builder(name).with_kind(kind).with_attributes(attributes);
        parent.with_span(span.start_with_context(&self.tracer, &parent))
    }

    fn start_run(&self, open: &mut Open, agent: &str) {
        let attributes = vec![
            KeyValue::new("gen_ai.operation.name", "invoke_agent"),
            KeyValue::new("gen_ai.agent.name", agent.to_owned()),
            KeyValue::new("gen_ai.provider.name", open.provider.clone()),
            KeyValue::new("gen_ai.request.model", open.model.clone()),
        ];
        open.run =
            Some(self.start(open.above.as_ref(), format!("invoke_agent {agent}"), SpanKind::Internal, attributes));
    }

    fn start_chat(&self, open: &mut Open, step: u32) {
        let attributes = vec![
            KeyValue::new("gen_ai.operation.name", "chat"),
            KeyValue::new("gen_ai.provider.name", open.provider.clone()),
            KeyValue::new("gen_ai.request.model", open.model.clone()),
            KeyValue::new("palisade.step", i64::from(step)),
        ];
        let name = if open.model.is_empty() { &open.provider } else { &open.model };
        open.chat = Some(self.start(open.run.as_ref(), format!("chat {name}"), SpanKind::Client, attributes));
    }

    fn start_call(&self, open: &mut Open, id: String, tool: &str, input: String) {
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", "execute_tool"),
            KeyValue::new("gen_ai.tool.name", tool.to_owned()),
            KeyValue::new("gen_ai.tool.call.id", id.clone()),
        ];
        if self.content {
            attributes.push(KeyValue::new("gen_ai.tool.call.arguments", input));
        }
        let span = self.start(open.run.as_ref(), format!("execute_tool {tool}"), SpanKind::Internal, attributes);
        open.calls.insert(id, span);
    }
}

impl Watcher for Spans {
    fn watch(&self, event: Event) {
        self.tell(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner), event);
    }
}

impl Spans {
    fn tell(&self, open: &mut Open, event: Event) {
        match event {
            Event::RunStarted { agent, provider, model } => {
                (open.provider, open.model) = (provider, model);
                self.start_run(open, &agent);
            }
            Event::StepStarted { step } => self.start_chat(open, step),
            Event::ModelReplied { usage, .. } => {
                if let Some(chat) = open.chat.take() {
                    spent(&chat, usage);
                    chat.span().end();
                }
            }
            Event::CallStarted { id, tool, input } => self.start_call(open, id, &tool, input),
            Event::CallFinished { id, failure, summary, bytes, denials, .. } => {
                if let Some(call) = open.calls.remove(&id) {
                    call.span().set_attribute(KeyValue::new("palisade.output.bytes", number(bytes as u64)));
                    call.span().set_attribute(KeyValue::new("palisade.denials", number(denials.len() as u64)));
                    if let Some(kind) = failure {
                        let why = if self.content { summary } else { String::new() };
                        fail(&call, word(kind), why);
                    }
                    call.span().end();
                }
            }
            Event::RunEnded { ending, usage, .. } => end(open, &ending, usage),
            Event::SubagentStarted { task, call, .. } => {
                let above = open.calls.get(&call).or(open.run.as_ref()).cloned();
                open.below.insert(task, Open { above, ..Open::default() });
            }
            Event::SubagentProgress { task, event } => {
                if let Some(below) = open.below.get_mut(&task) {
                    self.tell(below, *event);
                }
            }
            Event::SubagentEnded { task, ending, usage, .. } => {
                // A run that was dropped in the middle has not told of its end.
                if let Some(mut below) = open.below.remove(&task) {
                    end(&mut below, &ending, usage);
                }
            }
            // What happens inside a reply is the reply's.
            Event::ReplyText { .. }
            | Event::ReplyThinking { .. }
            | Event::ReplyCall { .. }
            | Event::ReplyAgain { .. }
            | Event::Compacted { .. }
            | Event::Noticed { .. }
            | Event::CallProgress { .. } => {}
        }
    }
}

fn end(open: &mut Open, ending: &Ending, usage: Usage) {
    let (word, why) = match ending {
        Ending::Answered => ("answered", ""),
        Ending::Spent(_) => ("spent", ""),
        Ending::Circling => ("circling", ""),
        Ending::Cancelled => ("cancelled", ""),
        Ending::Failed(why) => ("failed", why.as_str()),
        Ending::Unfit(_) => ("unfit", ""),
        Ending::Unwritten(why) => ("unwritten", why.as_str()),
    };
    // The reply that did not come, if it was that.
    if let Some(chat) = open.chat.take() {
        fail(&chat, word, why.to_owned());
        chat.span().end();
    }
    if let Some(run) = open.run.take() {
        spent(&run, usage);
        run.span().set_attribute(KeyValue::new("palisade.ending", word));
        if !matches!(ending, Ending::Answered) {
            fail(&run, word, why.to_owned());
        }
        run.span().end();
    }
}

fn spent(context: &Context, usage: Usage) {
    let attributes = [
        ("gen_ai.usage.input_tokens", usage.input_tokens),
        ("gen_ai.usage.output_tokens", usage.output_tokens),
        ("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens),
        ("gen_ai.usage.cache_creation.input_tokens", usage.cache_written_tokens),
    ];
    for (name, count) in attributes {
        context.span().set_attribute(KeyValue::new(name, number(count)));
    }
}

fn fail(context: &Context, kind: &'static str, why: String) {
    context.span().set_attribute(KeyValue::new("error.type", kind));
    context.span().set_status(Status::error(why));
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn word(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::UnknownTool => "unknown_tool",
        FailureKind::InvalidInput => "invalid_input",
        FailureKind::Denied => "denied",
        FailureKind::Failed => "failed",
        FailureKind::Limit => "limit",
        FailureKind::Crashed => "crashed",
        FailureKind::Skipped => "skipped",
        FailureKind::Cancelled => "cancelled",
        FailureKind::Interrupted => "interrupted",
    }
}

#[cfg(test)]
mod tests;
