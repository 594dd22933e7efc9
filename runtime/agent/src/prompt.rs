//! The instructions a model is given: the base rules, then the agent's own prompt.

use crate::{Agent, ToolSpec};

const BASE: &str = include_str!("prompt/base.md");

/// Builds the instructions for one run.
pub fn instructions(agent: &Agent, tools: &[ToolSpec], task: &str) -> String {
    let names: Vec<&str> = tools.iter().map(|spec| spec.name.as_str()).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let values =
        [("agent", agent.name.as_str()), ("description", &agent.description), ("tools", &names), ("task", task)];
    let mut text = fill(BASE, &values);
    if let Some(prompt) = &agent.prompt {
        text.push('\n');
        text.push_str(&fill(prompt, &values));
    }
    text
}

/// Replaces each `{{name}}` by its value, in one pass: what a value brings is never looked at again, so
/// a task that says `{{tools}}` stays as it is. Unknown names stay too.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find("{{") {
        text.push_str(&rest[..open]);
        rest = &rest[open..];
        let value = rest.find("}}").and_then(|close| {
            let name = rest[2..close].trim();
            values.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value, close + 2))
        });
        let (value, end) = value.unwrap_or(("{{", 2));
        text.push_str(value);
        rest = &rest[end..];
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_filled_in_once() {
        let values = [("task", "say {{tools}}"), ("tools", "read")];
        let check = |template: &str, expected: &str| assert_eq!(fill(template, &values), expected);
        check("do: {{task}} with {{ tools }}", "do: say {{tools}} with read");
        check("{{unknown}} {{", "{{unknown}} {{");
        check("{{{{task}}}}", "{{say {{tools}}}}");
        check("", "");
    }

    #[test]
    fn the_agents_prompt_follows_the_base_rules() {
        let agent = Agent::new("clerk", "Files things.").with_prompt("The task: {{task}}");
        let text = instructions(&agent, &[], "file it");
        assert!(text.starts_with("You are `clerk`, an agent of Palisade. Files things.\n"), "{text}");
        assert!(text.ends_with("Your tools: none.\n\nThe task: file it"), "{text}");
    }
}
