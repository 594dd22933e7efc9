//! What an agent may touch and use up: `grants`, `limits`, `budget`, and the short forms `max_steps`
//! and `timeout`.

use std::{collections::BTreeMap, time::Duration};

use palisade_agent::{CallLimits, RunLimits};
use palisade_grants::{Grants, Host, WorkspacePath};
use serde_json::{Map, Value, json};

use super::{
    Severity,
    agent::Fields,
    fields::{Field, plain},
    item::Item,
    suggest::nearest,
    text::quoted,
    units,
};

/// Reads what each call may use up.
pub(super) fn call_limits(item: &Item<'_>) -> CallLimits {
    let mut limits = CallLimits::default();
    for entry in block(item, "limits: { memory: 64MiB, call_time: 30s }") {
        let at_least_one = |size: &u64| {
            if *size == 0 {
                entry.error(format!("{} must be above zero", entry.shown()), "leave it out for the usual limit");
            }
            *size > 0
        };
        match plain(entry.name()).as_str() {
            "memory" => limits.memory = units::size(&entry).filter(at_least_one),
            "call_time" => limits.call_time = units::time(&entry),
            "output" => limits.output = units::size(&entry).filter(at_least_one),
            "written" => limits.written = units::size(&entry),
            "created" => limits.created = entry.count(0, u64::MAX),
            "open_files" => limits.open_files = entry.count(1, u64::MAX),
            _ => unknown(&entry, &["memory", "call_time", "output", "written", "created", "open_files"]),
        }
    }
    limits
}

/// Reads what one run may use up, from the block and from the short forms.
pub(super) fn run_limits(fields: &Fields<'_>) -> RunLimits {
    let mut limits = RunLimits::default();
    for entry in
        fields.get(Field::Budget).map(|item| block(item, "budget: { steps: 20, time: 300s }")).unwrap_or_default()
    {
        match plain(entry.name()).as_str() {
            "steps" => limits.steps = steps(&entry, 1),
            "tokens" => limits.tokens = entry.count(1, u64::MAX),
            "calls" => limits.calls = entry.count(0, u64::MAX),
            "cost" => limits.cost = units::dollars(&entry),
            "time" => limits.time = units::time(&entry),
            "depth" => limits.depth = steps(&entry, 0),
            _ => unknown(&entry, &["steps", "tokens", "calls", "cost", "time", "depth"]),
        }
    }
    if let Some(item) = fields.get(Field::MaxSteps).filter(|item| !item.is_null()) {
        limits.steps = smaller(item, "budget.steps", steps(item, 1), limits.steps);
    }
    if let Some(item) = fields.get(Field::Timeout).filter(|item| !item.is_null()) {
        limits.time = smaller::<Duration>(item, "budget.time", units::time(item), limits.time);
    }
    limits
}

fn steps(item: &Item<'_>, least: u64) -> Option<u32> {
    item.count(least, u32::MAX.into()).and_then(|count| u32::try_from(count).ok())
}

/// Of two limits for one thing the smaller.
fn smaller<T: Ord + Copy>(item: &Item<'_>, other: &str, short: Option<T>, block: Option<T>) -> Option<T> {
    match (short, block) {
        (Some(short), Some(block)) => {
            if short != block {
                item.warn(
                    format!("{} and `{other}` differ; the smaller one holds", item.shown()),
                    "keep one of the two",
                );
            }
            Some(short.min(block))
        }
        (short, block) => short.or(block),
    }
}

/// The entries of a block of limits that are not null.
fn block<'a>(item: &Item<'a>, example: &str) -> Vec<Item<'a>> {
    if item.is_null() {
        item.warn(format!("{} is empty and counts as absent", item.shown()), "");
        return Vec::new();
    }
    let Some(entries) = item.distinct_entries() else {
        item.wrong("a map", example);
        return Vec::new();
    };
    entries.into_iter().filter(|entry| !entry.is_null()).collect()
}

fn unknown(entry: &Item<'_>, known: &[&str]) {
    let fix = match nearest(&plain(entry.name()), known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("there are {}", known.join(", ")),
    };
    entry.about_key(Severity::Error, format!("{} is unknown", entry.shown()), fix);
}

/// Reads what may be touched. The type decides what fits, so that this needs no list of its own.
pub(super) fn grants(item: &Item<'_>) -> Option<Grants> {
    if item.is_null() {
        item.warn(format!("{} is empty and counts as absent", item.shown()), "write `{}` for nothing");
        return None;
    }
    let Some(entries) = item.entries() else {
        item.wrong("a map", "grants: { files: { \".\": read } }");
        return None;
    };
    let errors = item.report.errors();
    for entry in &entries {
        check_grant(entry);
        if entry.name() == "files" {
            check_folders(entry);
        }
    }
    if item.report.errors() > errors {
        return None;
    }
    match serde_json::from_value(item.node.to_json()) {
        Ok(grants) => Some(grants),
        Err(error) => {
            item.error(format!("{} cannot be read: {error}", item.shown()), "");
            None
        }
    }
}

/// The same for an agent: it says which hosts it wants to ask. Only a ceiling is for all there are.
pub(super) fn own_grants(item: &Item<'_>) -> Option<Grants> {
    let grants = grants(item)?;
    if !grants.http.iter().any(Host::is_everything) {
        return Some(grants);
    }
    let entries = item.entries().unwrap_or_default();
    for http in entries.iter().filter(|entry| entry.name() == "http") {
        let message = format!("{} cannot be `*`", http.shown());
        http.error(message, "name the hosts, such as `api.example.com` or `*.example.com`");
    }
    None
}

/// Tries one kind of grant alone, and if it does not fit, each of its parts, to point at the one that
/// is to blame: the one that alone fails with the same words.
fn check_grant(entry: &Item<'_>) {
    let kind = entry.name();
    let fails = |value: Value| {
        let grant = Map::from_iter([(kind.to_owned(), value)]);
        serde_json::from_value::<Grants>(Value::Object(grant)).err().map(|error| error.to_string())
    };
    let Some(error) = fails(entry.node.to_json()) else { return };
    let report = |item: &Item<'_>| item.error(format!("{} cannot be read: {error}", item.shown()), "");
    let parts = entry.entries().or_else(|| entry.elements()).unwrap_or_default();
    let mut is_found = false;
    for part in parts {
        let alone = match part.key {
            Some(_) => json!({ part.name(): part.node.to_json() }),
            None => json!([part.node.to_json()]),
        };
        if let Some(own) = fails(alone) {
            if own == error {
                report(&part);
                is_found = true;
            } else if entry.name() == "files" {
                part.error(format!("{} cannot be read: {own}", part.shown()), "");
            }
        }
    }
    if !is_found {
        report(entry);
    }
}

/// Two ways to write one folder must not say two things.
fn check_folders(files: &Item<'_>) {
    let mut seen: BTreeMap<WorkspacePath, String> = BTreeMap::new();
    for folder in files.entries().unwrap_or_default() {
        let written = folder.name().to_owned();
        let Ok(path) = WorkspacePath::parse(&written) else { continue };
        if let Some(first) = seen.insert(path, written.clone()) {
            folder.about_key(
                Severity::Error,
                format!("{} and {} are the same folder", quoted(&first), quoted(&written)),
                "keep one of the two",
            );
        }
    }
}
