//! What was cut from a definition because of whoever asks, in words, each with what would allow it.

use std::collections::BTreeSet;

use palisade_grants::{Access, FilesGrant, Grants, Reach, Span, WorkspacePath};
use palisade_sandbox::Limits;

use super::Under;

/// Compares what a definition allows with what is left of it.
pub(super) fn cut(
    (own, left): (&Grants, &Grants),
    (own_limits, left_limits): (&Limits, &Limits),
    under: Under<'_>,
) -> Vec<String> {
    let by = under.asked_by;
    let mut cut = files(&own.files, &left.files, by);
    cut.extend(spans(&own.http, &left.http, "cannot be reached", "http", by));
    cut.extend(spans(&own.commands, &left.commands, "cannot be run", "commands", by));
    cut.extend(spans(&own.agents, &left.agents, "cannot be asked", "agents", by));
    cut.extend(spans(&own.env, &left.env, "cannot be read from the environment", "env", by));
    cut.extend(spans(&own.secrets, &left.secrets, "cannot be used as a secret", "secrets", by));
    let bytes = |grants: &Grants| grants.storage.map(|storage| storage.bytes);
    if let Some(wanted) = bytes(own).filter(|_| bytes(left) != bytes(own)) {
        let left = bytes(left).unwrap_or(0);
        let remedy = remedy(by, &format!("grants: {{ storage: {{ bytes: {wanted} }} }}"));
        cut.push(format!("its own space holds {left} bytes, not {wanted}: `{by}`, which asks, has no more; {remedy}"));
    }
    cut.extend(limits(own_limits, left_limits, by));
    cut
}

fn files(own: &FilesGrant, left: &FilesGrant, by: &str) -> Vec<String> {
    let folders: BTreeSet<&WorkspacePath> = own.folders().chain(left.folders()).map(|(folder, _)| folder).collect();
    let mut cut = Vec::new();
    for folder in &folders {
        let (wanted, got) = (own.folder_access(folder), left.folder_access(folder));
        let Some(wanted) = wanted.filter(|_| wanted > got) else { continue };
        let inner = folders.iter().filter(|inner| *inner != folder && inner.is_within(folder));
        let more: Vec<String> = inner
            .filter(|inner| left.folder_access(inner) > got)
            .map(|inner| format!("`{inner}` ({})", word(left.folder_access(inner))))
            .collect();
        let except = if more.is_empty() { String::new() } else { format!(", except {}", more.join(", ")) };
        let is = if got.is_none() { "not there" } else { "read-only here" };
        let has = if got.is_none() { "does not have it" } else { "has it read-only" };
        let remedy = remedy(by, &format!("grants: {{ files: {{ \"{folder}\": {} }} }}", word(Some(wanted))));
        cut.push(format!("`{folder}` is {is}{except}: `{by}`, which asks, {has}; {remedy}"));
    }
    let own: Vec<(String, &str)> = own.entries().collect();
    let is_folder = |path: &String| folders.iter().any(|folder| folder.to_string() == *path);
    for (pattern, access) in left.entries().filter(|entry| !own.contains(entry) && !is_folder(&entry.0)) {
        let is = if access == "none" { "hidden" } else { "read-only" };
        cut.push(format!(
            "`{pattern}` is {is} here: it is kept back from `{by}`, which asks; without the rule or the grant that \
             says so it would be allowed"
        ));
    }
    cut
}

fn word(access: Option<Access>) -> &'static str {
    match access {
        None => "none",
        Some(Access::Read) => "read",
        Some(Access::ReadWrite) => "read-write",
    }
}

fn spans<S: Span>(own: &Reach<S>, left: &Reach<S>, cannot: &str, field: &str, by: &str) -> Vec<String> {
    let gone = own.iter().filter(|span| !left.covers(span));
    gone.map(|span| {
        let less: Vec<String> =
            left.iter().filter(|left| span.meet(left).is_some()).map(|left| format!("`{left}`")).collect();
        let except = if less.is_empty() { String::new() } else { format!(", except {}", less.join(", ")) };
        let remedy = remedy(by, &format!("grants: {{ {field}: [\"{span}\"] }}"));
        format!("`{span}` {cannot}{except}: `{by}`, which asks, does not have it; {remedy}")
    })
    .collect()
}

fn limits(own: &Limits, left: &Limits, by: &str) -> Vec<String> {
    let number = |number: usize| number as u64;
    let counts = [
        ("memory", number(own.memory), number(left.memory)),
        ("output", number(own.output), number(left.output)),
        ("written", own.written, left.written),
        ("created", own.created, left.created),
        ("open_files", number(own.open_files), number(left.open_files)),
    ];
    let mut cut: Vec<String> = counts
        .into_iter()
        .filter(|(_, own, left)| left < own)
        .map(|(name, own, left)| lowered(name, &own.to_string(), &left.to_string(), by))
        .collect();
    if left.call_time < own.call_time {
        let seconds = |limits: &Limits| format!("{}s", limits.call_time.as_secs_f64());
        cut.push(lowered("call_time", &seconds(own), &seconds(left), by));
    }
    cut
}

fn lowered(name: &str, own: &str, left: &str, by: &str) -> String {
    let remedy = remedy(by, &format!("limits: {{ {name}: {own} }}"));
    format!("`limits.{name}` is {left} instead of {own}: `{by}`, which asks, has no more; {remedy}")
}

fn remedy(by: &str, words: &str) -> String {
    format!("`{words}` in the definition of `{by}` would allow it")
}
