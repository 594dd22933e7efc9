//! What a run may use up, and what is left of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::time::Instant;

use crate::Usage;

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
    /// Starts the clock.
    pub fn begin(self) -> Remaining {
        let now = Instant::now();
        // A time too large to add is as good as a year.
        let deadline = now.checked_add(self.time).unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 60 * 60));
        Remaining { steps: self.steps, tokens: self.tokens, calls: self.calls, cost: self.cost, deadline }
    }
}

/// What is left of a budget whose clock is running.
#[derive(Clone, Copy, Debug)]
pub struct Remaining {
    steps: u32,
    tokens: Option<u64>,
    calls: Option<u64>,
    cost: Option<u64>,
    deadline: Instant,
}

impl Remaining {
    /// Takes one step, or says what there is no more of.
    pub fn spend_step(&mut self) -> Result<(), Spent> {
        if Instant::now() >= self.deadline {
            return Err(Spent::Time);
        }
        if self.tokens == Some(0) {
            return Err(Spent::Tokens);
        }
        if self.cost == Some(0) {
            return Err(Spent::Cost);
        }
        self.steps = self.steps.checked_sub(1).ok_or(Spent::Steps)?;
        Ok(())
    }

    /// Takes what a reply cost that was given; the next step finds out that there is nothing left.
    pub fn spend_usage(&mut self, usage: Usage) {
        self.tokens = self.tokens.map(|left| left.saturating_sub(usage.total()));
        self.cost = self.cost.map(|left| left.saturating_sub(usage.cost_micros));
    }

    /// Takes as many calls as there are left, at most `wanted`, and says how many that are.
    pub fn spend_calls(&mut self, wanted: usize) -> usize {
        let Some(left) = self.calls else { return wanted };
        let taken = u64::try_from(wanted).unwrap_or(u64::MAX).min(left);
        self.calls = Some(left - taken);
        usize::try_from(taken).unwrap_or(wanted)
    }

    /// When the time is over, even in the middle of a step.
    pub fn deadline(&self) -> Instant {
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

    #[test]
    fn steps_run_out_one_by_one() {
        let mut remaining = Budget { steps: 2, ..Budget::default() }.begin();
        let spent: Vec<_> = (0..4).map(|_| remaining.spend_step()).collect();
        assert_eq!(spent, [Ok(()), Ok(()), Err(Spent::Steps), Err(Spent::Steps)]);
    }

    #[test]
    fn the_step_after_the_last_token_is_not_taken() {
        let mut remaining = Budget { tokens: Some(10), ..Budget::default() }.begin();
        assert_eq!(remaining.spend_step(), Ok(()));
        remaining.spend_usage(Usage { input_tokens: 11, ..Usage::default() });
        assert_eq!(remaining.spend_step(), Err(Spent::Tokens));
    }

    #[test]
    fn the_step_after_the_last_cent_is_not_taken() {
        let mut remaining = Budget { cost: Some(10), ..Budget::default() }.begin();
        remaining.spend_usage(Usage { cost_micros: 10, ..Usage::default() });
        assert_eq!(remaining.spend_step(), Err(Spent::Cost));
    }

    #[test]
    fn calls_are_taken_as_long_as_there_are_some() {
        let mut remaining = Budget { calls: Some(3), ..Budget::default() }.begin();
        assert_eq!([remaining.spend_calls(2), remaining.spend_calls(2), remaining.spend_calls(1)], [2, 1, 0]);
        assert_eq!(Budget::default().begin().spend_calls(9), 9);
    }

    #[test]
    fn no_time_means_no_step() {
        let mut remaining = Budget { time: Duration::ZERO, ..Budget::default() }.begin();
        assert_eq!(remaining.spend_step(), Err(Spent::Time));
    }

    #[test]
    fn endless_time_does_not_overflow() {
        let mut remaining = Budget { time: Duration::MAX, ..Budget::default() }.begin();
        assert_eq!(remaining.spend_step(), Ok(()));
    }
}
