//! What the formats promise, row by row.

mod bad_input;
mod config;
mod fields;
mod markdown;
mod names;
mod places;
mod plugin_agents;
mod plugins;
mod round_trip;
mod scope;
mod yaml;

use palisade_agent::{Agent, Layer, Origin};

use super::*;

/// A file of the user's, as content: without a name to fall back to.
fn source() -> Source<'static> {
    Source {
        file: "a.md",
        origin: Origin::file(Layer::User, "a.md"),
        fallback_name: None,
        required_name: None,
        description: Presence::Required,
    }
}

fn markdown(text: &str) -> Result<Parsed, Rejected> {
    parse_markdown(text.as_bytes(), &source())
}

fn yaml(text: &str) -> Result<Parsed, Rejected> {
    parse_yaml(text.as_bytes(), &source())
}

/// An agent with a name, a description and these fields, without any notice.
fn agent(fields: &str) -> Agent {
    let parsed = noted(fields);
    assert_eq!(parsed.warnings, [], "{fields}");
    parsed.agent
}

/// The same, with notices.
fn noted(fields: &str) -> Parsed {
    yaml(&format!("name: a\ndescription: b\n{fields}")).unwrap_or_else(|rejected| panic!("{fields}: {rejected}"))
}

/// The notices about an agent with these fields, as people see them.
fn notices(fields: &str) -> Vec<String> {
    let notices = match yaml(&format!("name: a\ndescription: b\n{fields}")) {
        Ok(parsed) => parsed.warnings,
        Err(rejected) => rejected.notices,
    };
    notices.iter().map(Notice::to_string).collect()
}

/// The first error, as people see it.
fn error(result: Result<Parsed, Rejected>) -> String {
    result.expect_err("it was read").to_string()
}

#[track_caller]
fn starts_with(text: &str, start: &str) {
    assert!(text.starts_with(start), "{text:?} does not start with {start:?}");
}
