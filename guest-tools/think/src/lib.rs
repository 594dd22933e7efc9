//! `think`: a place to write a thought down between two steps. It does nothing, on purpose.

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

/// The input of `think`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What you are thinking: a plan, a doubt, what was learned, what to do next.
    thought: String,
}

palisade_tool::tool! {
    /// Writes down a thought. It changes nothing and reads nothing; use it to plan several steps
    /// ahead, to weigh options, or to note what you have learned before going on.
    #[tool(needs = [], read_only = true, idempotent = true)]
    pub fn think(input: Input) -> Result<String, Failure> {
        if input.thought.trim().is_empty() {
            return Err(Failure::InvalidInput("`thought` is empty".to_owned()));
        }
        Ok("Noted.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thought_is_noted_and_an_empty_one_refused() {
        assert_eq!(call(r#"{"thought":"first grep, then read"}"#), Ok("Noted.".to_owned()));
        assert!(matches!(call(r#"{"thought":" "}"#), Err(Failure::InvalidInput(_))));
        assert!(matches!(call(r#"{"thoughts":"x"}"#), Err(Failure::InvalidInput(_))));
    }
}
