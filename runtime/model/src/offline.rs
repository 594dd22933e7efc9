//! The provider that is there when nothing is configured: a planner, not a language model.
//!
//! It explores a code base with the agent's own tools and reports what it found, with places. It keeps
//! no state: where it stands is read from the transcript. It costs nothing, reaches no network, and
//! gives the same answer for the same repository.

mod forms;
mod keywords;
mod map;
mod map_report;
mod markdown;
mod matching;
mod paths;
mod places;
mod plan;
mod question;
mod rank;
mod report;
mod role;
mod seen;
mod shape;
mod stop_words;

use async_trait::async_trait;
use palisade_agent::{Listener, Prompt, Provider, ProviderError, Reply, ToolCall};

use self::keywords::keywords;
use self::plan::{Tools, Wanted};
use self::seen::Seen;

/// The most replies with calls before an answer: a safeguard, the plans need three.
const STEPS: usize = 5;

/// Explores with tools and reports what it found; no language model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offline;

impl Offline {
    /// What it is known by.
    pub const NAME: &str = "offline";
}

#[async_trait]
impl Provider for Offline {
    fn name(&self) -> &str {
        Self::NAME
    }

    /// It costs nothing.
    fn counts_cost(&self) -> bool {
        true
    }

    async fn reply(&self, prompt: Prompt<'_>, _: &dyn Listener) -> Result<Reply, ProviderError> {
        let seen = Seen::of(prompt.transcript);
        let tools = Tools(prompt.tools);
        let keywords = keywords(&seen.task);

        // A question without a word to look for is answered with a map.
        let (wanted, saying) = match keywords.is_empty() {
            true => (map::calls(tools, &seen), MAPPING),
            false => (plan::question(&keywords, tools, &seen), SEARCHING),
        };
        if seen.steps < STEPS && !wanted.is_empty() {
            return Ok(calls(wanted, seen.steps, saying));
        }
        Ok(Reply::answer(match keywords.is_empty() {
            true => map_report::write(tools, &seen),
            false => report::write(&keywords, tools, &seen),
        }))
    }
}

/// What is said with the calls of each step.
const SEARCHING: &[&str] =
    &["Looking where the words occur.", "Looking at the lines they are in.", "Reading the best places."];
const MAPPING: &[&str] =
    &["Listing the files.", "Reading what describes the whole.", "Reading what the parts say of themselves."];

fn calls(wanted: Vec<Wanted>, steps: usize, saying: &[&str]) -> Reply {
    let calls = wanted.into_iter().enumerate().map(|(at, wanted)| ToolCall {
        id: format!("offline-{}-{}", steps + 1, at + 1),
        tool: wanted.tool.to_owned(),
        input: wanted.input,
    });
    let text = saying.get(steps).copied().unwrap_or_default().to_owned();
    Reply { text, calls: calls.collect(), ..Reply::default() }
}
