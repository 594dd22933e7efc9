//! What a client is told while an agent works: one line for each thing that happens, no more than it needs.

use palisade_agent::{Ending, Event};

/// What is said of an event; nothing where it would only be noise.
pub(crate) fn told(event: &Event) -> Option<String> {
    let text = match event {
        Event::RunStarted { agent, provider, model } => match model.as_str() {
            "" => format!("{agent} begins ({provider})"),
            model => format!("{agent} begins ({provider}:{model})"),
        },
        Event::StepStarted { step } => format!("step {step}"),
        Event::ReplyAgain { why, .. } => format!("the model is asked again: {why}"),
        Event::Compacted { entries, .. } => format!("{entries} entries were summed up"),
        Event::Noticed { text } => text.clone(),
        Event::CallStarted { tool, input, .. } => format!("{tool} {input}"),
        Event::CallProgress { message, .. } => message.clone(),
        Event::CallFinished { tool, failure: Some(_), summary, .. } => format!("{tool} failed: {summary}"),
        Event::CallFinished { denials, tool, .. } if !denials.is_empty() => {
            format!("{tool} was refused something: {}", denials.join("; "))
        }
        Event::SubagentStarted { agent, description, .. } => format!("{agent} is asked: {description}"),
        Event::SubagentProgress { event, .. } => return told(event),
        Event::SubagentEnded { agent, success: true, .. } => format!("{agent} has answered"),
        Event::SubagentEnded { agent, ending, .. } => format!("{agent} has ended: {}", word(ending)),
        Event::CallFinished { .. }
        | Event::ReplyText { .. }
        | Event::ReplyThinking { .. }
        | Event::ReplyCall { .. }
        | Event::ModelReplied { .. }
        | Event::RunEnded { .. } => return None,
    };
    Some(text)
}

fn word(ending: &Ending) -> &'static str {
    match ending {
        Ending::Answered => "answered",
        Ending::Spent(_) => "its budget is spent",
        Ending::Circling => "it went in circles",
        Ending::Cancelled => "cancelled",
        Ending::Failed(_) => "its model gave no reply",
        Ending::Unfit(_) => "its answer does not fit",
        Ending::Unwritten(_) => "it could not be written down",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use palisade_agent::{FailureKind, Usage};

    use super::*;

    fn finished(failure: Option<FailureKind>, denials: &[&str]) -> Event {
        Event::CallFinished {
            id: "1".to_owned(),
            tool: "grep".to_owned(),
            failure,
            summary: "no".to_owned(),
            duration: Duration::ZERO,
            bytes: 2,
            peak_memory: 0,
            denials: denials.iter().map(ToString::to_string).collect(),
            artifact: None,
        }
    }

    #[test]
    fn what_happens_is_told_and_what_a_model_writes_is_not() {
        let check = |event: Event, expected: Option<&str>| assert_eq!(told(&event).as_deref(), expected, "{event:?}");
        let text = || "text".to_owned();
        check(Event::RunStarted { agent: text(), provider: text(), model: String::new() }, Some("text begins (text)"));
        check(Event::RunStarted { agent: text(), provider: text(), model: text() }, Some("text begins (text:text)"));
        check(Event::StepStarted { step: 3 }, Some("step 3"));
        check(Event::ReplyText { text: text() }, None);
        check(Event::ReplyThinking { text: text() }, None);
        check(Event::ModelReplied { text: text(), calls: 1, usage: Usage::default() }, None);
        check(finished(None, &[]), None);
        check(finished(Some(FailureKind::Denied), &["a"]), Some("grep failed: no"));
        check(finished(None, &["a", "b"]), Some("grep was refused something: a; b"));
        let inner = Event::SubagentProgress { task: text(), event: Box::new(Event::StepStarted { step: 1 }) };
        check(Event::SubagentProgress { task: text(), event: Box::new(inner) }, Some("step 1"));
        check(Event::RunEnded { ending: Ending::Answered, steps: 1, usage: Usage::default() }, None);
    }
}
