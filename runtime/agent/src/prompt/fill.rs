//! Putting values into a template.

/// Replaces each `{{name}}` by its value, in one pass: what a value brings is never looked at again, so
/// a task that says `{{tools}}` stays as it is. Unknown names stay too.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find("{{") {
        text.push_str(&rest[..open]);
        rest = &rest[open..];
        let value = name_at(rest)
            .and_then(|(name, end)| values.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value, end)));
        let (value, end) = value.unwrap_or(("{{", 2));
        text.push_str(value);
        rest = &rest[end..];
    }
    text.push_str(rest);
    text
}

/// Whether a template has a place for that name.
pub(super) fn holds(template: &str, name: &str) -> bool {
    template.match_indices("{{").any(|(at, _)| name_at(&template[at..]).is_some_and(|(other, _)| other == name))
}

/// The name between the braces that a text begins with, and where they end.
fn name_at(text: &str) -> Option<(&str, usize)> {
    let close = text.find("}}")?;
    Some((text[2..close].trim(), close + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DF-12
    #[test]
    fn values_are_filled_in_once() {
        let values = [("task", "say {{tools}}"), ("tools", "read")];
        let check = |template: &str, expected: &str| assert_eq!(fill(template, &values), expected);
        check("do: {{task}} with {{ tools }}", "do: say {{tools}} with read");
        check("{{task}} {{task}}", "say {{tools}} say {{tools}}");
        check("{{unknown}} {{", "{{unknown}} {{");
        check("{{{{task}}}}", "{{say {{tools}}}}");
        check("", "");
    }

    #[test]
    fn a_place_is_found_whatever_stands_around_it() {
        assert!(holds("a {{ task }} b", "task") && holds("{{x}}{{task}}", "task"));
        assert!(!holds("{{tasks}} {task} {{task", "task"));
    }
}
