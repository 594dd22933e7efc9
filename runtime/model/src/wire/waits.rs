//! How long to wait before a request is repeated.

use std::time::Duration;

use backon::{BackoffBuilder as _, ConstantBuilder, ExponentialBackoff, ExponentialBuilder};

use crate::Patience;

/// The first wait, without its random part.
const FIRST: Duration = Duration::from_millis(500);

/// Gives one wait for each try that is left, each about twice the one before.
pub(crate) struct Waits {
    growing: ExponentialBackoff,
    longest: Duration,
}

impl Waits {
    pub(crate) fn new(patience: &Patience) -> Self {
        let growing = ExponentialBuilder::new()
            .with_min_delay(FIRST.min(patience.longest_wait / 2))
            .with_max_delay(patience.longest_wait / 2)
            .with_max_times(patience.retries as usize)
            // As much again at random: many runs that failed together do not come back together.
            .with_jitter();
        Self { growing: growing.build(), longest: patience.longest_wait }
    }

    /// The next wait, not shorter than what the server asked for unless that is longer than anybody
    /// waits. None when it was tried often enough.
    pub(crate) fn next(&mut self, asked: Option<Duration>) -> Option<Duration> {
        let growing = self.growing.next()?;
        // Room for a random part, so that those who were told the same time come at different ones.
        let asked = asked.unwrap_or_default().min(self.longest / 4 * 3);
        Some(growing.max(asked / 3 * 2 + at_random(asked / 3)).min(self.longest))
    }
}

/// Once to twice as long.
fn at_random(delay: Duration) -> Duration {
    ConstantBuilder::new().with_delay(delay).with_jitter().build().next().unwrap_or(delay)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(asked: Option<Duration>, longest: u64) -> Vec<Duration> {
        let patience = Patience { retries: 4, longest_wait: Duration::from_secs(longest), ..Patience::default() };
        let mut waits = Waits::new(&patience);
        std::iter::from_fn(|| waits.next(asked)).collect()
    }

    /// PROV-01
    #[test]
    fn waits_grow_at_random_and_are_capped() {
        let (first, second) = (waits(None, 60), waits(None, 60));
        assert_ne!(first, second, "two runs wait equally long");
        for (at, wait) in first.iter().enumerate() {
            let least = FIRST * (1 << at);
            assert!((least..=2 * least).contains(wait), "{at}: {wait:?}");
        }
        assert_eq!(first.len(), 4);
        assert!(waits(None, 1).iter().all(|wait| *wait <= Duration::from_secs(1)));
        assert!(waits(None, 0).iter().all(Duration::is_zero));
    }

    /// PROV-01
    #[test]
    fn what_the_server_asks_for_is_kept_unless_it_is_absurd() {
        let asked = Duration::from_secs(20);
        let (first, second) = (waits(Some(asked), 60), waits(Some(asked), 60));
        assert!(first.iter().all(|wait| (asked - FIRST..asked * 4 / 3 + FIRST).contains(wait)), "{first:?}");
        assert_ne!(first, second, "two runs come back together");
        for absurd in [Duration::from_secs(315_360_000), Duration::MAX] {
            let waits = waits(Some(absurd), 60);
            let bounds = Duration::from_secs(45)..=Duration::from_secs(60);
            assert!(waits.iter().all(|wait| bounds.contains(wait)), "{waits:?}");
        }
    }
}
