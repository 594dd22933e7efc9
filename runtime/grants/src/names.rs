//! How tools are called. Every vocabulary in use names the same few tools, so a name is brought
//! into one form before it is compared with anything.

use std::borrow::Cow;

/// Other names of a tool, all in lower case.
///
/// Only names that people already write in agent files: the vocabularies of the definitions we
/// load, and the tools of Claude Code that do the same as one of ours.
const ALIASES: [(&str, &str); 12] = [
    ("directorytree", "tree"),
    ("directory_tree", "tree"),
    ("list", "ls"),
    ("list_files", "ls"),
    ("agent", "task"),
    ("subagent", "task"),
    ("multiedit", "edit"),
    ("multi_edit", "edit"),
    ("shell", "bash"),
    ("webfetch", "web_fetch"),
    ("websearch", "web_search"),
    ("todowrite", "todo_write"),
];

/// The tools with which an agent asks others. The host carries them out itself; they are no components.
pub const DELEGATION: [&str; 7] =
    ["task", "parallel_task", "agent_ask", "task_cancel", "task_result", "agents_message", "agents_list"];

/// Those of them that come with `task`: several tasks at once, and what is to be done about tasks that
/// were given before.
pub(crate) const WITH_TASK: [&str; 4] = ["parallel_task", "agent_ask", "task_cancel", "task_result"];

/// What some models put before every name.
const MODEL_PREFIX: &str = "functions.";

/// The one form of a tool's name: without a `functions.` in front, in lower case, aliases resolved.
///
/// | written | means |
/// |---|---|
/// | `DirectoryTree`, `directory_tree` | `tree` |
/// | `LS`, `List`, `list_files` | `ls` |
/// | `Agent`, `Subagent`, `Task` | `task` |
/// | `MultiEdit`, `multi_edit` | `edit` |
/// | `Shell` | `bash` |
/// | `WebFetch`, `WebSearch`, `TodoWrite` | `web_fetch`, `web_search`, `todo_write` |
///
/// Any other name, `mcp__server__tool` among them, is only put into lower case.
pub fn canonical_tool(name: &str) -> String {
    canonical(name).into_owned()
}

/// The same without a copy for a name that has that form already: deciding over a thousand tools and
/// fifty patterns is asking this a hundred thousand times.
pub(crate) fn canonical(name: &str) -> Cow<'_, str> {
    let name = name.trim();
    let bare = match name.get(..MODEL_PREFIX.len()) {
        Some(start) if start.eq_ignore_ascii_case(MODEL_PREFIX) => &name[MODEL_PREFIX.len()..],
        _ => name,
    };
    let is_lower = bare.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    let lower = if is_lower { Cow::Borrowed(bare) } else { Cow::Owned(bare.to_lowercase()) };
    match ALIASES.iter().find(|(alias, _)| *alias == lower) {
        Some((_, tool)) => Cow::Borrowed(tool),
        None => lower,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CF-18
    /// F8
    #[test]
    fn every_vocabulary_names_the_same_tools() {
        let check = |written: &str, expected: &str| assert_eq!(canonical_tool(written), expected, "{written}");
        check("Bash", "bash");
        check("functions.Read", "read");
        check("Functions.read", "read");
        check("LS", "ls");
        check("list", "ls");
        check("DirectoryTree", "tree");
        check("Think", "think");
        check("Skill", "skill");
        check("MultiEdit", "edit");
        check("WebFetch", "web_fetch");
        for delegation in ["Agent", "Subagent", "agent", "Task", "task"] {
            check(delegation, "task");
        }
        check("query_db", "query_db");
        check("mcp__Pencil__Draw.It", "mcp__pencil__draw.it");
        check("functions.mcp__a__b", "mcp__a__b");
        check("ƒunctions.x", "ƒunctions.x");
    }

    #[test]
    fn a_canonical_name_stays_as_it_is() {
        for (alias, tool) in ALIASES {
            assert_eq!(canonical_tool(&canonical_tool(alias)), tool);
        }
    }
}
