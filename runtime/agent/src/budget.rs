//! What a run may use up, and what is left of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::time::Instant;

use crate::{Spending, Usage};

/// What one run may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Model replies.
    pub steps: u32,
    /// Tokens, read and written; absent: as many as the steps and the time bring.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tokens: Option<u64>,
    /// Tool calls; absent: as many as the steps bring.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub calls: Option<u64>,
    /// Millionths of a dollar; absent: as many as the tokens bring.
    #[serde(rename = "cost_micros", skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<u64>,
    /// Agents that start agents that start agents.
    pub depth: u32,
    /// Wall time.
    #[serde(with = "seconds")]
    pub time: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self { steps: 50, tokens: None, calls: None, cost: None, depth: 3, time: Duration::from_secs(300) }
    }
}

impl Budget {
    /// What is left when some of it was used up before.
    pub fn less(self, spent: &Spending) -> Self {
        Self {
            steps: self.steps.saturating_sub(spent.steps),
            tokens: self.tokens.map(|tokens| tokens.saturating_sub(spent.usage.total())),
            calls: self.calls.map(|calls| calls.saturating_sub(spent.calls)),
            cost: self.cost.map(|cost| cost.saturating_sub(spent.usage.cost_micros)),
            depth: self.depth,
            time: self.time.saturating_sub(spent.time),
        }
    }

    /// What both allow.
    pub fn lower(self, other: Self) -> Self {
        let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        Self {
            steps: self.steps.min(other.steps),
            tokens: least(self.tokens, other.tokens),
            calls: least(self.calls, other.calls),
            cost: least(self.cost, other.cost),
            depth: self.depth.min(other.depth),
            time: self.time.min(other.time),
        }
    }

    /// Starts the clock.
    pub(crate) fn begin(self) -> Remaining {
        let now = Instant::now();
        // A time too large to add is as good as a year.
        let deadline = now.checked_add(self.time).unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 60 * 60));
        Remaining { steps: self.steps, tokens: self.tokens, calls: self.calls, cost: self.cost, deadline }
    }
}

/// What is left of a budget whose clock is running. [`crate::Account`] takes from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remaining {
    steps: u32,
    tokens: Option<u64>,
    calls: Option<u64>,
    cost: Option<u64>,
    deadline: Instant,
}

impl Remaining {
    /// The same, but no longer than until `end`.
    pub(crate) fn until(self, end: Instant) -> Self {
        Self { deadline: self.deadline.min(end), ..self }
    }

    /// Whether there is a step to take, or what there is no more of.
    pub(crate) fn may_step(&self) -> Result<(), Spent> {
        if Instant::now() >= self.deadline {
            return Err(Spent::Time);
        }
        if self.tokens == Some(0) {
            return Err(Spent::Tokens);
        }
        if self.cost == Some(0) {
            return Err(Spent::Cost);
        }
        if self.steps == 0 { Err(Spent::Steps) } else { Ok(()) }
    }

    pub(crate) fn take_step(&mut self) {
        self.steps = self.steps.saturating_sub(1);
    }

    /// Takes what a reply cost that was given; the next step finds out that there is nothing left.
    pub(crate) fn spend_usage(&mut self, usage: Usage) {
        self.tokens = self.tokens.map(|left| left.saturating_sub(usage.total()));
        self.cost = self.cost.map(|left| left.saturating_sub(usage.cost_micros));
    }

    /// How many of `wanted` calls are left.
    pub(crate) fn calls_left(&self, wanted: usize) -> usize {
        self.calls.map_or(wanted, |left| usize::try_from(left).unwrap_or(usize::MAX).min(wanted))
    }

    pub(crate) fn spend_calls(&mut self, taken: usize) {
        self.calls = self.calls.map(|left| left.saturating_sub(taken as u64));
    }

    /// When the time is over.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }
}

/// What a run has no more of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spent {
    /// Every step was taken.
    #[error("the run has used all of its steps")]
    Steps,
    /// Every token was read or written.
    #[error("the run has used all of its tokens")]
    Tokens,
    /// Every call was made.
    #[error("the run has made all of its tool calls")]
    Calls,
    /// The money is spent.
    #[error("the run has cost all that it may")]
    Cost,
    /// One reply did not fit into the most tokens that a reply may have, again and again.
    #[error("the model's replies are longer than a reply may be")]
    Reply,
    /// The time is over.
    #[error("the run has used all of its time")]
    Time,
    /// Whoever asked has used up all that it may in a day.
    #[error("all that may be used up in a day is used up")]
    Day,
    /// There may be no more agents below.
    #[error("agents may not be started any deeper")]
    Depth,
}

mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(time.as_secs())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_secs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Account;

    #[test]
    fn steps_run_out_one_by_one() {
        let account = Account::open(Budget { steps: 2, ..Budget::default() });
        let spent = [(); 4].map(|()| account.spend_step());
        assert_eq!(spent, [Ok(()), Ok(()), Err(Spent::Steps), Err(Spent::Steps)]);
    }

    #[test]
    fn the_step_after_the_last_token_is_not_taken() {
        let account = Account::open(Budget { tokens: Some(10), ..Budget::default() });
        assert_eq!(account.spend_step(), Ok(()));
        account.spend_usage(Usage { input_tokens: 11, ..Usage::default() });
        assert_eq!(account.spend_step(), Err(Spent::Tokens));
    }

    #[test]
    fn the_step_after_the_last_cent_is_not_taken() {
        let account = Account::open(Budget { cost: Some(10), ..Budget::default() });
        account.spend_usage(Usage { cost_micros: 10, ..Usage::default() });
        assert_eq!(account.spend_step(), Err(Spent::Cost));
    }

    #[test]
    fn calls_are_taken_as_long_as_there_are_some() {
        let account = Account::open(Budget { calls: Some(3), ..Budget::default() });
        assert_eq!([account.spend_calls(2), account.spend_calls(2), account.spend_calls(1)], [2, 1, 0]);
        assert_eq!(Account::open(Budget::default()).spend_calls(9), 9);
    }

    #[test]
    fn no_time_means_no_step() {
        let account = Account::open(Budget { time: Duration::ZERO, ..Budget::default() });
        assert_eq!(account.spend_step(), Err(Spent::Time));
    }

    #[test]
    fn endless_time_does_not_overflow() {
        let account = Account::open(Budget { time: Duration::MAX, ..Budget::default() });
        assert_eq!(account.spend_step(), Ok(()));
    }

    /// DEL-05
    #[test]
    fn the_lower_of_two_budgets_is_no_higher_than_either() {
        let began = Budget { steps: 3, tokens: Some(100), ..Budget::default() };
        let now = Budget { steps: 50, tokens: None, calls: Some(4), ..Budget::default() };
        let both = began.lower(now);
        assert_eq!((both.steps, both.tokens, both.calls), (3, Some(100), Some(4)));
        assert_eq!(both, now.lower(began));
    }

    /// DEL-05
    #[test]
    fn what_was_used_up_before_is_not_given_again() {
        let budget = Budget { tokens: Some(10), calls: Some(3), ..Budget::default() };
        let usage = Usage { input_tokens: 4, output_tokens: 4, ..Usage::default() };
        let left = budget.less(&Spending { steps: 49, calls: 9, usage, time: Duration::from_secs(200) });
        assert_eq!((left.steps, left.tokens, left.calls, left.time), (1, Some(2), Some(0), Duration::from_secs(100)));
    }
}
