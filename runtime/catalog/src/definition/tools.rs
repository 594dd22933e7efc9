//! Which tools an agent has: lists of rules, permissions, lists of globs.
//!
//! Nothing here may turn a mistake into *all tools*: a list of another kind than expected is an
//! error, and only what is plainly empty counts as absent, with a warning.

use palisade_agent::PermissionMode;
use palisade_grants::{Decision, Lists, Pattern, Policy, Rule, ToolScope, split_list};

use super::{
    Severity,
    agent::Fields,
    fields::{Field, plain},
    item::Item,
    node::Content,
    text::quoted,
};

/// Reads all that says which tools there are.
pub(super) fn scope(fields: &Fields<'_>) -> ToolScope {
    let mut scope = ToolScope {
        permissions: fields.get(Field::Permissions).and_then(permissions).unwrap_or_default(),
        names: lists(fields, Field::ToolAllowlist, Field::ToolDenylist),
        capabilities: lists(fields, Field::CapabilityAllowlist, Field::CapabilityDenylist),
        ..ToolScope::default()
    };
    if let Some(item) = fields.get(Field::Tools) {
        match item.entries() {
            Some(entries) => switches(item, &entries, &mut scope),
            None => scope.tools = rules(item, "the agent has its usual tools; write `[]` for none"),
        }
    }
    if let Some(item) = fields.get(Field::DisallowedTools) {
        scope.disallowed.extend(rules(item, "no tool is taken away").unwrap_or_default());
    }
    scope
}

/// A pair of glob lists.
pub(super) fn lists(fields: &Fields<'_>, allow: Field, deny: Field) -> Lists {
    let patterns = |field| fields.get(field).and_then(patterns);
    Lists { allow: patterns(allow), deny: patterns(deny).unwrap_or_default() }
}

/// A list of rules, as a list or as one text with commas. Empty, it counts as absent.
pub(super) fn rules(item: &Item<'_>, when_absent: &str) -> Option<Vec<Rule>> {
    match &item.node.content {
        Content::List(_) => {
            let elements = item.elements().unwrap_or_default();
            Some(elements.iter().filter_map(|element| rule(element, &rule_text(element)?)).collect())
        }
        Content::Text(text) if !text.trim().is_empty() => {
            Some(split_list(text).into_iter().filter_map(|part| rule(item, part)).collect())
        }
        Content::Null | Content::Text(_) => {
            item.warn(format!("{} is empty and counts as absent: {when_absent}", item.shown()), "");
            None
        }
        _ => {
            item.wrong("a list of tools or a text with commas", &format!("{}: [read, grep]", item.name()));
            None
        }
    }
}

fn rule(item: &Item<'_>, text: &str) -> Option<Rule> {
    Rule::parse(text).map_err(|error| unreadable(item, "a rule", &error.to_string())).ok()
}

fn pattern(item: &Item<'_>, text: &str) -> Option<Pattern> {
    Pattern::parse(text.trim()).map_err(|error| unreadable(item, "a pattern", &error.to_string())).ok()
}

/// Reports an error that says behind a semicolon what would help.
fn unreadable(item: &Item<'_>, what: &str, error: &str) {
    let (message, fix) = error.split_once("; ").unwrap_or((error, ""));
    item.error(format!("{} cannot be read as {what}: {message}", item.shown()), fix);
}

/// One element of a list of rules: `read` or `{rule: read}`.
fn rule_text(element: &Item<'_>) -> Option<String> {
    let text = match &element.node.content {
        Content::Text(text) => text,
        Content::Map(entries) => match entries.as_slice() {
            [entry] if entry.key == "rule" => match &entry.value.content {
                Content::Text(text) => text,
                _ => return wrong_rule(element),
            },
            _ => return wrong_rule(element),
        },
        _ => return wrong_rule(element),
    };
    if split_list(text).len() > 1 {
        element.error(format!("{} holds several tools", quoted(text)), "make each an element of the list");
        return None;
    }
    Some(text.clone())
}

fn wrong_rule(element: &Item<'_>) -> Option<String> {
    element.wrong("a rule", &format!("{}: [read, \"Bash(cargo:*)\"]", element.name()));
    None
}

/// The form of `tools` in which each tool is switched: false takes it away, true lists it.
fn switches(item: &Item<'_>, entries: &[Item<'_>], scope: &mut ToolScope) {
    if entries.is_empty() {
        item.error(
            format!("{} is an empty map, which says nothing", item.shown()),
            "write `[]` for no tools, or leave it out",
        );
    }
    for entry in entries {
        let (Some(is_on), Some(rule)) = (entry.flag(), rule(entry, entry.name())) else { continue };
        if is_on {
            scope.tools.get_or_insert_default().push(rule);
        } else {
            scope.disallowed.push(rule);
        }
    }
}

/// A list of globs; null is the same as absent.
fn patterns(item: &Item<'_>) -> Option<Vec<Pattern>> {
    match &item.node.content {
        Content::Null => None,
        Content::List(_) => {
            let elements = item.elements().unwrap_or_default();
            let patterns = elements.iter().filter_map(|element| match &element.node.content {
                Content::Text(text) => pattern(element, text),
                _ => {
                    element.wrong("a pattern", &format!("{}: [\"todo_*\"]", element.name()));
                    None
                }
            });
            Some(patterns.collect())
        }
        Content::Text(text) if !text.trim().is_empty() => {
            Some(split_list(text).into_iter().filter_map(|part| pattern(item, part)).collect())
        }
        Content::Text(_) => {
            item.warn(format!("{} is empty and counts as absent", item.shown()), "write `[]` for none");
            None
        }
        _ => {
            item.wrong("a list of patterns", &format!("{}: [\"todo_*\"]", item.name()));
            None
        }
    }
}

/// `permissions`: rules with a decision.
fn permissions(item: &Item<'_>) -> Option<Policy> {
    if item.is_null() {
        item.warn(format!("{} is empty and counts as absent", item.shown()), "");
        return None;
    }
    let Some(entries) = item.distinct_entries() else {
        item.wrong("a map with `allow`, `ask` and `deny`", "permissions: { allow: [read], deny: [write] }");
        return None;
    };
    let mut policy = Policy::default();
    for entry in &entries {
        match plain(entry.name()).as_str() {
            "allow" => policy.allow = rules(entry, "nothing says what is allowed; write `[]` for nothing"),
            "ask" => policy.ask = rules(entry, "nothing is asked about").unwrap_or_default(),
            "deny" => policy.deny = rules(entry, "nothing is denied").unwrap_or_default(),
            "default" | "default_decision" | "default_mode" => {
                let decision = decision(entry);
                if policy.default.is_some() && decision != policy.default {
                    entry.about_key(Severity::Error, "there are two defaults", "keep one of the two");
                }
                policy.default = decision;
            }
            "additional_directories" => {
                entry.about_key(
                    Severity::Warning,
                    format!("{} has no effect here", entry.shown()),
                    "name the folders in `grants.files`",
                );
            }
            _ => {
                let fix = super::suggest::nearest(entry.name(), ["allow", "ask", "deny", "default"]);
                let fix = fix.map_or_else(
                    || "there are `allow`, `ask`, `deny` and `default`".to_owned(),
                    |name| format!("did you mean `{name}`?"),
                );
                entry.about_key(Severity::Error, format!("{} is unknown", entry.shown()), fix);
            }
        }
    }
    Some(policy)
}

/// What happens where no rule says it. The name of a permission mode stands here in files of other
/// programs; [`mode`] reads those.
fn decision(item: &Item<'_>) -> Option<Decision> {
    match &item.node.content {
        Content::Null => None,
        Content::Text(text) => match text.to_ascii_lowercase().as_str() {
            "allow" => Some(Decision::Allow),
            "ask" => Some(Decision::Ask),
            "deny" => Some(Decision::Deny),
            _ if is_mode(text) && plain(item.name()) == "default_mode" => None,
            _ => {
                item.wrong("`allow`, `ask` or `deny`", "default: deny");
                None
            }
        },
        _ => {
            item.wrong("`allow`, `ask` or `deny`", "default: deny");
            None
        }
    }
}

const MODES: [&str; 7] = ["default", "manual", "dontAsk", "plan", "acceptEdits", "bypassPermissions", "auto"];

fn is_mode(text: &str) -> bool {
    MODES.contains(&text)
}

/// What becomes of calls that need a question: `permissionMode`, or `permissions.defaultMode`.
pub(super) fn mode(fields: &Fields<'_>) -> Option<PermissionMode> {
    if let Some(item) = fields.get(Field::PermissionMode) {
        return match &item.node.content {
            Content::Null => None,
            Content::Text(text) if is_mode(text) => one_mode(item, text),
            _ => {
                item.wrong("`default`, `dontAsk` or `plan`", "permissionMode: plan");
                None
            }
        };
    }
    let permissions = fields.get(Field::Permissions)?.entries()?;
    let default = permissions.into_iter().find(|entry| plain(entry.name()) == "default_mode")?;
    match &default.node.content {
        Content::Text(text) if is_mode(text) => one_mode(&default, text),
        _ => None,
    }
}

fn one_mode(item: &Item<'_>, text: &str) -> Option<PermissionMode> {
    match text {
        "dontAsk" => Some(PermissionMode::DontAsk),
        "plan" => Some(PermissionMode::Plan),
        "default" | "manual" => Some(PermissionMode::Default),
        _ => {
            item.warn(
                format!("`{text}` is not honoured: rules and grants decide"),
                "name what is allowed in `permissions` and `grants`",
            );
            None
        }
    }
}
