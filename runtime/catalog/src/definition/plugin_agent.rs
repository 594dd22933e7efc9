//! The file of a plugin's agent, under what the plugin's manifest says of it.

use palisade_agent::{Agent, Layer, Origin};

use super::{
    ManifestAgent, Notice, Parsed, Presence, Rejected, Severity, Source, decoded,
    fields::Field,
    frontmatter, parse_markdown_without,
    text::{quoted, with_plain_line_ends},
};

/// Reads the file of a plugin's agent. What the manifest says goes before what the file says; a file
/// without settings in front is a prompt and nothing else.
pub fn parse_plugin_agent(
    entry: &ManifestAgent,
    plugin: &str,
    file_text: &[u8],
    source: &Source<'_>,
) -> Result<Parsed, Rejected> {
    let Parsed { agent: file, mut warnings } =
        read(entry, file_text, source).map_err(|rejected| named(entry, rejected))?;
    let mut agent = Agent { name: entry.name.clone(), ..file };
    agent.origin = Origin { layer: Layer::Plugin, plugin: Some(plugin.to_owned()), path: source.origin.path.clone() };
    if let Some(description) = &entry.description {
        agent.description = description.trim().to_owned();
    }
    agent.model = entry.model.clone().or(agent.model);
    agent.reasoning_effort = entry.reasoning_effort.or(agent.reasoning_effort);
    agent.temperature = entry.temperature.or(agent.temperature);
    agent.scope.tools = entry.tools.clone().or(agent.scope.tools);
    if agent.description.is_empty() {
        let fix = "add a `description` to the manifest or to the file".to_owned();
        let message = format!("the agent `{}` does not say what it is for", entry.name);
        warnings.push(Notice { fix: Some(fix), ..Notice::warning(source.file, message) });
    }
    Ok(Parsed { agent, warnings })
}

fn read(entry: &ManifestAgent, file_text: &[u8], source: &Source<'_>) -> Result<Parsed, Rejected> {
    let text = decoded(file_text, source.file)?;
    // Only a text whose first line is no fence is plain; one that forgets to close it is broken.
    if frontmatter::split(text) == Err(frontmatter::Missing::Opening) {
        let prompt = with_plain_line_ends(text.trim());
        let agent = Agent { prompt: Some(prompt).filter(|prompt| !prompt.is_empty()), ..Agent::new("", "") };
        return Ok(Parsed { agent, warnings: Vec::new() });
    }
    let source = Source {
        fallback_name: Some(&entry.name),
        required_name: None,
        description: Presence::Optional,
        ..source.clone()
    };
    // The name in the file is of no account.
    parse_markdown_without(file_text, &source, Some(Field::Name))
}

/// The same notices, the first error of which says whose file it is.
fn named(entry: &ManifestAgent, mut rejected: Rejected) -> Rejected {
    if let Some(first) = rejected.notices.iter_mut().find(|notice| notice.severity == Severity::Error) {
        let file = quoted(&entry.system_prompt_file);
        first.message = format!("Failed to parse agent file '{}': {}", file.trim_matches('`'), first.message);
    }
    rejected
}
