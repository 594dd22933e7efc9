//! The agents that are part of this program. Their files are the ones in the folder `agents` of the
//! repository, compiled in.

use palisade_agent::Origin;

use super::found::{Found, State};
use crate::definition::{Parsed, Presence, Source, parse_markdown};

/// Each agent and its file.
pub(super) const FILES: [(&str, &str); 5] = [
    ("explore", include_str!("../../../../agents/explore.md")),
    ("general", include_str!("../../../../agents/general.md")),
    ("plan", include_str!("../../../../agents/plan.md")),
    ("review", include_str!("../../../../agents/review.md")),
    ("verification", include_str!("../../../../agents/verification.md")),
];

/// The agents of this program. One that cannot be read would be a bug, which a test shows; it is
/// reported like any other file, so that the rest still works.
pub(super) fn agents() -> Vec<Found> {
    FILES.into_iter().map(|(name, text)| agent(name, text)).collect()
}

fn agent(name: &str, text: &str) -> Found {
    let source = Source {
        file: &format!("agents/{name}.md"),
        origin: Origin::builtin(),
        fallback_name: None,
        required_name: Some(name),
        description: Presence::Required,
    };
    match parse_markdown(text.as_bytes(), &source) {
        Ok(Parsed { agent, warnings }) => Found { warnings, ..Found::new(agent.native()) },
        Err(rejected) => Found {
            name: name.to_owned(),
            origin: Origin::builtin(),
            state: State::Broken(rejected.into()),
            warnings: Vec::new(),
            project: None,
        },
    }
}
