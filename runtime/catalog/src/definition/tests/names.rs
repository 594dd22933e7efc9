//! What agents may be called, and how that goes with their file's name.

use super::*;

fn named(name: &str, source: &Source<'_>) -> Result<Parsed, Rejected> {
    parse_markdown(format!("---\nname: {name}\ndescription: b\n---\n").as_bytes(), source)
}

/// B1, B2, CF-7, CFG-07
#[test]
fn names_are_plain_ascii_words() {
    let longest = "a".repeat(100);
    for name in ["a", "reading-list", "Explore", "my_agent-2", "0", &longest] {
        assert!(is_valid_name(name), "{name}");
        assert_eq!(named(name, &source()).unwrap().agent.name, name);
    }
    let too_long = "a".repeat(101);
    // A Cyrillic a, a character without width, one that turns the direction of reading.
    let deceptive = ["\u{430}gent", "a\u{200b}b", "a\u{202e}b", "é"];
    for name in ["", "a b", "-a", "_a", "a/b", "a.b", ".", "..", "../a", "a\\b", "a:b", "a\n", &too_long]
        .into_iter()
        .chain(deceptive)
    {
        assert!(!is_valid_name(name), "{name:?}");
        if !name.is_empty() {
            let quoted = serde_json::to_string(name).unwrap();
            let result = named(&quoted, &source());
            // White space around a name is a slip of the pen.
            assert_eq!(result.is_err(), !is_valid_name(name.trim()), "{name:?}");
        }
    }
    starts_with(
        &error(named("\"a\\e[2Jb\"", &source())),
        "a.md:2:7: error: `a\\u{1b}[2Jb` cannot be the name of an agent",
    );
}

/// B2, B3, CF-7, CF-36
#[test]
fn an_agent_id_is_a_name() {
    for key in ["agentId", "agent_id", "agent-id"] {
        let agent =
            yaml(&format!("{key}: reading-list\ndescription: b\ndisplayName: Reading List Manager\n")).unwrap().agent;
        assert_eq!((agent.name.as_str(), agent.display_name()), ("reading-list", "Reading List Manager"));
    }
    assert_eq!(agent("").display_name(), "a");
}

/// B35, CF-10
#[test]
fn the_name_must_be_the_files_where_that_is_asked() {
    let subagents = Source { required_name: Some("code-reviewer"), ..source() };
    assert_eq!(named("code-reviewer", &subagents).unwrap().warnings, []);
    starts_with(
        &error(named("reviewer", &subagents)),
        "a.md:2:7: error: the name is `reviewer`, but the file is called `code-reviewer`",
    );
}

/// B35, CF-10
#[test]
fn elsewhere_another_name_than_the_files_is_worth_a_warning() {
    let agents = Source { fallback_name: Some("agent1"), ..source() };
    assert_eq!(named("agent1", &agents).unwrap().warnings, []);
    let Parsed { agent, warnings } = named("yaml-agent", &agents).unwrap();
    assert_eq!(agent.name, "yaml-agent");
    assert_eq!(
        warnings[0].to_string(),
        "a.md:2:7: warning: the name is `yaml-agent`, but the file is called `agent1`; make them the same"
    );
}

/// A12, CF-10
#[test]
fn a_missing_name_falls_back_to_the_files_where_there_is_one() {
    let text = b"---\ndescription: b\n---\n";
    let agents = Source { fallback_name: Some("helper"), ..source() };
    assert_eq!(parse_markdown(text, &agents).unwrap().agent.name, "helper");
    let odd = Source { fallback_name: Some("my helper"), ..source() };
    starts_with(&error(parse_markdown(text, &odd)), "a.md:2:1: error: there is no `name`, and `my helper` is none");
    let subagents = Source { required_name: Some("helper"), ..source() };
    starts_with(
        &error(parse_markdown(text, &subagents)),
        "a.md:2:1: error: Failed to parse agent frontmatter: missing field `name`",
    );
    // Empty is not missing.
    starts_with(
        &error(parse_markdown(b"---\nname: ''\ndescription: b\n---\n", &agents)),
        "a.md:2:7: error: Agent name is required",
    );
}
