//! What carries an agent out: `type`, `chat`, `external`.

use std::collections::BTreeMap;

use palisade_agent::{PROVIDERS, Runtime};

use super::{
    Severity,
    agent::Fields,
    fields::{Field, plain},
    item::Item,
    node::Content,
    text::quoted,
};

/// Reads what carries an agent out.
pub(super) fn runtime(fields: &Fields<'_>) -> Runtime {
    let present = |field| fields.get(field).filter(|item| !item.is_null());
    let (chat_item, external_item) = (present(Field::Chat), present(Field::External));
    let kind = present(Field::Type).map(|item| match &item.node.content {
        Content::Text(text) if text == "chat" || text == "external" => text.as_str(),
        _ => {
            item.wrong("`chat` or `external`", "type: chat");
            ""
        }
    });
    let unused = |item: Option<&Item<'_>>, kind: &str| {
        if let Some(item) = item {
            item.about_key(
                Severity::Warning,
                format!("{} has no effect with `type: {kind}`", item.shown()),
                "remove it",
            );
        }
    };
    match (kind, chat_item, external_item) {
        (None, None, None) | (Some(""), ..) => Runtime::Unsaid,
        (None, Some(_), Some(external)) => {
            external.about_key(Severity::Error, "there are both `chat` and `external`", "say which one with `type`");
            Runtime::Unsaid
        }
        (Some("external"), chat, external) => {
            unused(chat, "external");
            self::external(fields, external)
        }
        (None, None, Some(external)) => self::external(fields, Some(external)),
        (_, chat, external) => {
            unused(external, "chat");
            chat.map_or_else(|| Runtime::Chat { provider: None, settings: BTreeMap::new() }, self::chat)
        }
    }
}

fn chat(item: &Item<'_>) -> Runtime {
    let (mut provider, mut settings) = (None, BTreeMap::new());
    let Some(entries) = item.entries() else {
        item.wrong("a map", "chat: { provider: openai }");
        return Runtime::Unsaid;
    };
    for entry in entries {
        if entry.name() != "provider" {
            settings.insert(entry.name().to_owned(), entry.node.to_json());
        } else if !entry.is_null() {
            provider =
                entry.text("provider: openai").map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
            if let Some(provider) = provider.as_deref().filter(|provider| !PROVIDERS.contains(provider)) {
                entry.warn(
                    format!("the provider {} is unknown", quoted(provider)),
                    format!("there are {}", PROVIDERS.join(", ")),
                );
            }
        }
    }
    Runtime::Chat { provider, settings }
}

fn external(fields: &Fields<'_>, item: Option<&Item<'_>>) -> Runtime {
    let example = "external: { inputUrl: https://…, callbackBaseUrl: https://… }";
    let Some(item) = item else {
        fields.root.error("an agent of `type: external` needs `external`", format!("for example `{example}`"));
        return Runtime::Unsaid;
    };
    let Some(entries) = item.distinct_entries() else {
        item.wrong("a map", example);
        return Runtime::Unsaid;
    };
    let (mut input_url, mut callback_base_url) = (None, None);
    for entry in entries {
        match plain(entry.name()).as_str() {
            "input_url" => input_url = url(&entry),
            "callback_base_url" => callback_base_url = url(&entry),
            _ => entry.about_key(Severity::Warning, format!("{} has no effect here", entry.shown()), "remove it"),
        }
    }
    match (input_url, callback_base_url) {
        (Some(input_url), Some(callback_base_url)) => Runtime::External { input_url, callback_base_url },
        _ => {
            item.error(
                format!("{} needs `inputUrl` and `callbackBaseUrl`", item.shown()),
                format!("for example `{example}`"),
            );
            Runtime::Unsaid
        }
    }
}

fn url(item: &Item<'_>) -> Option<String> {
    let text = item.text("https://example.com/input")?.trim().to_owned();
    if text.starts_with("https://") || text.starts_with("http://") {
        return Some(text);
    }
    item.error(format!("{} is no web address: {}", item.shown(), quoted(&text)), "begin it with https:// or http://");
    None
}
