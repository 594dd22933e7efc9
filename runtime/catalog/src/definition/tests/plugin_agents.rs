//! The files of a plugin's agents, under what its manifest says.

use palisade_agent::{ModelName, ReasoningEffort};
use palisade_grants::Rule;

use super::{plugins::with_agents, *};

fn read(entry: &ManifestAgent, text: &str) -> Result<Parsed, Rejected> {
    let source = Source { file: "p/a.md", origin: Origin::plugin("p", "p/a.md"), ..source() };
    parse_plugin_agent(entry, "p", text.as_bytes(), &source)
}

fn entry() -> ManifestAgent {
    ManifestAgent { name: "a".to_owned(), system_prompt_file: "a.md".to_owned(), ..ManifestAgent::default() }
}

const FILE: &str = "---\nname: other\ndescription: from the file\nmodel: file-model\ntemperature: 0.7\nreasoning_effort: low\ntools: [read]\ndisallowedTools: [bash]\n---\nDo it.\n";

/// D8, D9, B30
#[test]
fn the_manifest_goes_before_the_file() {
    let full = ManifestAgent {
        description: Some("from the manifest".to_owned()),
        model: ModelName::parse("manifest-model"),
        temperature: Some(0.0),
        reasoning_effort: Some(ReasoningEffort::High),
        tools: Some(Vec::new()),
        ..entry()
    };
    let Parsed { agent, warnings } = read(&full, FILE).unwrap();
    assert_eq!(warnings, []);
    assert_eq!((agent.name.as_str(), agent.description.as_str()), ("a", "from the manifest"));
    assert_eq!(
        (agent.model, agent.temperature, agent.reasoning_effort),
        (full.model, Some(0.0), Some(ReasoningEffort::High))
    );
    assert_eq!((agent.scope.tools, agent.scope.disallowed), (Some(Vec::new()), vec![Rule::parse("bash").unwrap()]));
    assert_eq!(agent.prompt.as_deref(), Some("Do it."));
    assert_eq!(agent.origin, Origin::plugin("p", "p/a.md"));

    let agent = read(&entry(), &FILE.replace("name: other", "name: Some Other Name")).unwrap().agent;
    assert_eq!((agent.name.as_str(), agent.description.as_str()), ("a", "from the file"));
    assert_eq!((agent.model, agent.temperature), (ModelName::parse("file-model"), Some(0.7)));
    assert_eq!(agent.scope.tools, Some(vec![Rule::parse("read").unwrap()]));
}

/// D8: a value that says nothing does not go before anything.
#[test]
fn empty_values_in_a_manifest_leave_the_file_as_it_is() {
    let manifest = with_agents(
        r#"{ "name": "a", "system_prompt_file": "a.md", "description": "", "model": "", "reasoning_effort": "", "tools": "" }"#,
    );
    let agent = read(&manifest.agents[0], FILE).unwrap().agent;
    assert_eq!(agent.description, "from the file");
    assert_eq!(agent.model, ModelName::parse("file-model"));
    assert_eq!(agent.reasoning_effort, Some(ReasoningEffort::Low));
    assert_eq!(agent.scope.tools.map(|tools| tools.len()), Some(1));
}

/// A4, D9
#[test]
fn a_file_without_settings_is_a_prompt() {
    let described = ManifestAgent { description: Some("x".to_owned()), ..entry() };
    let Parsed { agent, warnings } = read(&described, "You are an expert.\r\n---\nReally.\n").unwrap();
    assert_eq!((agent.prompt.as_deref(), warnings), (Some("You are an expert.\n---\nReally."), Vec::new()));
    assert!(agent.ui_visible);
    assert_eq!(read(&described, " \n").unwrap().agent.prompt, None);
}

/// CF-4
#[test]
fn an_agent_of_a_plugin_that_says_nothing_of_itself_is_worth_a_warning() {
    let Parsed { agent, warnings } = read(&entry(), "Do it.").unwrap();
    assert_eq!(agent.description, "");
    starts_with(&warnings[0].to_string(), "p/a.md: warning: the agent `a` does not say what it is for");
}

/// D7, Q3
#[test]
fn a_file_that_cannot_be_read_is_named() {
    let check = |text: &str, expected: &str| starts_with(&read(&entry(), text).unwrap_err().to_string(), expected);
    check(
        "---\ntools: 7\n---\n",
        "p/a.md:2:8: error: Failed to parse agent file 'a.md': `tools` must be a list of tools",
    );
    check("---\n: :\n  :\n", "p/a.md:1:1: error: Failed to parse agent file 'a.md': Invalid markdown format");
    check("a\0b", "p/a.md:1:2: error: Failed to parse agent file 'a.md': the file holds a NUL byte");
    let warnings = read(&entry(), "a\0b").unwrap_err().into_warnings();
    starts_with(&warnings[0].to_string(), "p/a.md:1:2: warning: Failed to parse agent file 'a.md'");
}
