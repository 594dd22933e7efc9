//! What a run may use up, and what is left of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::time::Instant;

/// What one run may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Model replies.
    pub steps: u32,
    /// Wall time.
    #[serde(with = "seconds")]
    pub time: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self { steps: 20, time: Duration::from_secs(300) }
    }
}

impl Budget {
    /// Starts the clock.
    pub fn begin(self) -> Remaining {
        let now = Instant::now();
        // A time too large to add is as good as a year.
        let deadline = now.checked_add(self.time).unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 60 * 60));
        Remaining { steps: self.steps, deadline }
    }
}

/// What is left of a budget whose clock is running.
#[derive(Clone, Copy, Debug)]
pub struct Remaining {
    steps: u32,
    deadline: Instant,
}

impl Remaining {
    /// Takes one step, or says what there is no more of.
    pub fn spend_step(&mut self) -> Result<(), Spent> {
        if Instant::now() >= self.deadline {
            return Err(Spent::Time);
        }
        self.steps = self.steps.checked_sub(1).ok_or(Spent::Steps)?;
        Ok(())
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
        let mut remaining = Budget { steps: 2, time: Duration::from_secs(60) }.begin();
        let spent: Vec<_> = (0..4).map(|_| remaining.spend_step()).collect();
        assert_eq!(spent, [Ok(()), Ok(()), Err(Spent::Steps), Err(Spent::Steps)]);
    }

    #[test]
    fn no_time_means_no_step() {
        let mut remaining = Budget { steps: 2, time: Duration::ZERO }.begin();
        assert_eq!(remaining.spend_step(), Err(Spent::Time));
    }

    #[test]
    fn endless_time_does_not_overflow() {
        let mut remaining = Budget { steps: 1, time: Duration::MAX }.begin();
        assert_eq!(remaining.spend_step(), Ok(()));
    }
}
