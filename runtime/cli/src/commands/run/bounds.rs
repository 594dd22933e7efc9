//! Budgets as flags. They can only lower what the agent's definition says.

use std::time::Duration;

use palisade_agent::Agent;

/// What a run may use up, if less than the agent may.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Budget (can only be lowered)")]
pub(crate) struct Bounds {
    /// Take fewer steps than the agent may.
    #[arg(long, value_name = "N")]
    max_steps: Option<u32>,
    /// Read and write fewer tokens than the agent may.
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Cost less than the agent may, in dollars; only with a model whose price is known.
    #[arg(long, value_name = "DOLLARS", value_parser = micros)]
    max_cost: Option<u64>,
    /// Take less time than the agent may.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

impl Bounds {
    /// The agent with no more than these.
    pub(crate) fn lower(&self, agent: &Agent) -> Agent {
        let own = agent.budget();
        let mut agent = agent.clone();
        agent.budget.steps = Some(own.steps.min(self.max_steps.unwrap_or(u32::MAX)));
        agent.budget.tokens = least(own.tokens, self.max_tokens);
        agent.budget.cost = least(own.cost, self.max_cost);
        agent.budget.time = Some(own.time.min(self.timeout.map_or(Duration::MAX, Duration::from_secs)));
        agent
    }
}

/// Dollars as millionths of a dollar.
fn micros(dollars: &str) -> Result<u64, String> {
    let wrong = || format!("`{dollars}` is not an amount in dollars, such as 0.50");
    let (whole, part) =
        dollars.trim_start_matches('$').split_once('.').unwrap_or((dollars.trim_start_matches('$'), "0"));
    if part.len() > 6 || ![whole, part].iter().all(|digits| digits.bytes().all(|digit| digit.is_ascii_digit())) {
        return Err(wrong());
    }
    let micros: u64 = format!("{part:0<6}").parse().map_err(|_| wrong())?;
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    whole.checked_mul(1_000_000).and_then(|whole| whole.checked_add(micros)).ok_or_else(wrong)
}

fn least(own: Option<u64>, asked: Option<u64>) -> Option<u64> {
    own.into_iter().chain(asked).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_lowered_and_never_raised() {
        let mut agent = Agent::new("a", "b");
        agent.budget.tokens = Some(100);
        let check = |bounds: Bounds, expected: (u32, Option<u64>, Option<u64>, u64)| {
            let budget = bounds.lower(&agent).budget();
            assert_eq!((budget.steps, budget.tokens, budget.cost, budget.time.as_secs()), expected);
        };
        check(Bounds::default(), (50, Some(100), None, 300));
        let low = Bounds { max_steps: Some(2), max_tokens: Some(7), max_cost: Some(5), timeout: Some(0) };
        check(low, (2, Some(7), Some(5), 0));
        let high = Bounds { max_steps: Some(900), max_tokens: Some(900), max_cost: None, timeout: Some(900) };
        check(high, (50, Some(100), None, 300));
    }

    #[test]
    fn dollars_are_read_to_the_millionth() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(micros(text).ok(), expected, "{text}");
        check("1", Some(1_000_000));
        check("$0.5", Some(500_000));
        check("12.000001", Some(12_000_001));
        for wrong in ["", ".", "-1", "1.0000001", "1e3", "one", "99999999999999999999", "1.2.3"] {
            check(wrong, None);
        }
    }
}
