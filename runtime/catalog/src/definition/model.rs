//! Which model an agent speaks to, and how.

use palisade_agent::{ModelName, ReasoningEffort};

use super::{item::Item, node::Content, text::quoted};

/// Reads a model. A model that cannot be read is no reason to do without the agent: it falls back to
/// its parent's, with a warning.
pub(super) fn model(item: &Item<'_>) -> Option<ModelName> {
    match &item.node.content {
        Content::Null => None,
        Content::Text(text) => ModelName::parse(text),
        Content::Int(_) | Content::Float(_) | Content::Bool(_) => {
            match item.report.document().and_then(|document| document.written(item.node.id)) {
                Some(text) => ModelName::parse(&text),
                None => unreadable(item),
            }
        }
        Content::Map(_) => model_of_map(item),
        Content::List(_) => unreadable(item),
    }
}

/// `{model: …, provider: …}`
fn model_of_map(item: &Item<'_>) -> Option<ModelName> {
    let (mut model, mut provider) = (None, None);
    for entry in item.entries().unwrap_or_default() {
        let text = match &entry.node.content {
            Content::Text(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            Content::Null => None,
            _ => return unreadable(item),
        };
        match entry.name() {
            "model" => model = text,
            "provider" => provider = text,
            _ => entry.warn(format!("{} has no effect here", entry.shown()), "a model is `{provider: …, model: …}`"),
        }
    }
    match (provider, model) {
        (None, Some(model)) => ModelName::parse(&model),
        (provider, Some(model)) => Some(ModelName { provider, model }),
        (_, None) => unreadable(item),
    }
}

fn unreadable(item: &Item<'_>) -> Option<ModelName> {
    item.warn(
        format!("{} cannot be read as a model and falls back to the default one: it is {}", item.shown(), item.found()),
        "write `model: anthropic:sonnet`",
    );
    None
}

/// Reads how freely the model chooses its words.
pub(super) fn temperature(item: &Item<'_>) -> Option<f64> {
    let number = match item.node.content {
        Content::Null => return None,
        // Whatever is rounded here is out of range.
        Content::Int(int) => Some(int as f64),
        Content::Float(float) => Some(float),
        _ => None,
    };
    // A NaN is in no range.
    let number = number.filter(|number| (0.0..=1.0).contains(number));
    if number.is_none() {
        item.wrong("a number from 0.0 to 1.0", "temperature: 0.2");
    }
    number
}

/// Reads how long the model thinks. Other programs have steps above ours; those become the highest.
pub(super) fn effort(item: &Item<'_>) -> Option<ReasoningEffort> {
    let highest = |shown: String| {
        item.warn(format!("{} {shown} is read as `high`, the most there is here", item.shown()), "");
        Some(ReasoningEffort::High)
    };
    match &item.node.content {
        Content::Null => None,
        Content::Int(int) => highest(int.to_string()),
        Content::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
            "low" => Some(ReasoningEffort::Low),
            "medium" => Some(ReasoningEffort::Medium),
            "high" => Some(ReasoningEffort::High),
            "inherit" => Some(ReasoningEffort::Inherit),
            "" => None,
            "max" | "xhigh" => highest(quoted(text)),
            _ => wrong_effort(item),
        },
        _ => wrong_effort(item),
    }
}

fn wrong_effort(item: &Item<'_>) -> Option<ReasoningEffort> {
    item.wrong("`low`, `medium`, `high` or `inherit`", "reasoning_effort: high");
    None
}
