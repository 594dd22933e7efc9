//! The sections of the instructions, in their order: tools, skills, items, context lines, panels,
//! agents, and what the workspace says.

use std::collections::BTreeMap;

use super::{Surroundings, fill::fill};
use crate::{Agent, Exposure, Panel, ToolSpec, clip};

/// The longest description of a tool, an agent or a skill in a list, in bytes.
const SHORT: usize = 200;

/// The most that is taken of what the workspace says, or of one skill, in bytes.
const GUIDANCE: usize = 32 * 1024;

/// The longest description of a skill, in bytes: it says when the skill is to be read.
const DESCRIPTION: usize = 1024;

/// How long the list of skills may get with descriptions, in bytes; the rest are names.
const SKILLS: usize = 16 * 1024;

/// Tools that are not listed: the host's own, and those for asking agents, which have a section.
const UNLISTED: [&str; 2] = ["system_", "agents_"];

pub(super) fn all(agent: &Agent, tools: &[ToolSpec], around: &Surroundings) -> Vec<String> {
    let sections = [
        self::tools(tools),
        skills(agent, around),
        known_skills(around),
        readable_skills(tools, around),
        items(tools, around),
        around.context_lines.then(|| include_str!("context.md").to_owned()),
        panels(around),
        peers(around),
        guidance(around),
    ];
    sections.into_iter().flatten().collect()
}

fn tools(tools: &[ToolSpec]) -> Option<String> {
    let is_listed = |tool: &&ToolSpec| !UNLISTED.iter().any(|prefix| tool.name.starts_with(prefix));
    let line = |tool: &ToolSpec| format!("- `{}`: {}", tool.name, short(&tool.description));
    list(include_str!("tools.md"), tools.iter().filter(is_listed).map(line))
}

fn skills(agent: &Agent, around: &Surroundings) -> Option<String> {
    if agent.exposure == Exposure::Tools {
        return None;
    }
    let line = |skill: &super::Skill| {
        let command = skill.command.as_ref().map(|command| format!(", command `{command}`")).unwrap_or_default();
        format!("- {}: {} (text `{}`{command})", skill.name, short(&skill.description), skill.path)
    };
    list(include_str!("skills.md"), around.skills.iter().map(line))
}

fn known_skills(around: &Surroundings) -> Option<String> {
    let text = |skill: &super::Skill| format!("### {}\n\n{}\n", skill.name, clip(skill.text.trim(), GUIDANCE));
    list(include_str!("known_skills.md"), around.known_skills.iter().map(text))
}

/// A skill is one line, whatever its author wrote, so that it cannot pass for another part of the instructions.
fn readable_skills(tools: &[ToolSpec], around: &Surroundings) -> Option<String> {
    let mut left = SKILLS;
    let lines = around.readable_skills.iter().map(|skill| {
        let place = if skill.path.is_empty() { String::new() } else { format!(" (`{}`)", skill.path) };
        let description = one_line(&skill.description, DESCRIPTION);
        let line = format!("- {}: {description}{place}", skill.name);
        match left.checked_sub(line.len()) {
            Some(rest) => {
                left = rest;
                line
            }
            None => format!("- {}{place}", skill.name),
        }
    });
    let how = match tools.iter().any(|tool| tool.name == "skill") {
        true => "call `skill` with its name",
        false => "read the file that stands behind it",
    };
    let lines: Vec<String> = lines.collect();
    let values = [("how", how), ("list", &lines.join("\n"))];
    (!lines.is_empty()).then(|| fill(include_str!("readable_skills.md"), &values))
}

/// Grouped by kind; only for agents that have a tool which may touch them.
fn items(tools: &[ToolSpec], around: &Surroundings) -> Option<String> {
    let mut kinds: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for item in &around.items {
        if tools.iter().any(|tool| tool.name.starts_with(&format!("{}_", item.kind))) {
            kinds.entry(&item.kind).or_default().push(format!("- {} (`{}`)", item.name, item.id));
        }
    }
    let groups = kinds.into_iter().map(|(kind, lines)| format!("### {kind}\n\n{}\n", lines.join("\n")));
    list(include_str!("items.md"), groups)
}

fn panels(around: &Surroundings) -> Option<String> {
    let line = |panel: &Panel| {
        let active = panel.active.as_ref().map(|active| format!(", showing {active}")).unwrap_or_default();
        let selected = if panel.selected { "; the user is in it" } else { "" };
        format!("- {} (`{}`){active}{selected}", panel.kind, panel.id)
    };
    list(include_str!("panels.md"), around.panels.iter().map(line))
}

fn peers(around: &Surroundings) -> Option<String> {
    around.peers.as_deref().map(|text| fill(include_str!("agents.md"), &[("text", text)]))
}

fn guidance(around: &Surroundings) -> Option<String> {
    let text = around.guidance.as_deref().map(str::trim).filter(|text| !text.is_empty())?;
    Some(fill(include_str!("guidance.md"), &[("text", &clip(text, GUIDANCE))]))
}

/// A section with a list, if there is anything in the list.
fn list(template: &str, lines: impl Iterator<Item = String>) -> Option<String> {
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| fill(template, &[("list", lines.join("\n").trim_end())]))
}

/// The first sentence, on one line.
fn short(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    one_line(line.split_inclusive(". ").next().unwrap_or_default(), SHORT)
}

/// A text on one line, no longer than so many bytes.
fn one_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.len() > most {
        true => format!("{}…", &line[..line.floor_char_boundary(most)]),
        false => line,
    }
}
