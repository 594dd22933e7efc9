//! Timing things in turn, so that a noisy machine is noisy for all of them alike.

use std::time::{Duration, Instant};

/// What one contender took, call by call.
#[derive(Clone, Default)]
pub(crate) struct Sample {
    micros: Vec<f64>,
}

impl Sample {
    pub(crate) fn add(&mut self, duration: Duration) {
        self.micros.push(duration.as_secs_f64() * 1e6);
    }

    /// The same for one of so many things that were timed together.
    pub(crate) fn divided(&self, by: f64) -> Self {
        Self { micros: self.micros.iter().map(|micros| micros / by).collect() }
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    pub(crate) fn p99(&self) -> f64 {
        self.quantile(0.99)
    }

    fn quantile(&self, quantile: f64) -> f64 {
        let mut sorted = self.micros.clone();
        sorted.sort_by(f64::total_cmp);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index"
        )]
        let at = ((sorted.len().saturating_sub(1)) as f64 * quantile).round() as usize;
        sorted.get(at).copied().unwrap_or(f64::NAN)
    }
}

/// A contender: something that is done once per turn.
pub(crate) type Contender<'a> = Box<dyn FnMut() -> anyhow::Result<()> + 'a>;

/// Lets every contender do its thing in turn, in short batches, and gives each one's sample.
pub(crate) fn side_by_side(
    rounds: usize,
    batch: usize,
    contenders: &mut [Contender<'_>],
) -> anyhow::Result<Vec<Sample>> {
    in_batches(rounds, &vec![batch; contenders.len()], contenders)
}

/// The same with a batch of its own for each, where one is a thousand times slower than another.
pub(crate) fn in_batches(
    rounds: usize,
    batches: &[usize],
    contenders: &mut [Contender<'_>],
) -> anyhow::Result<Vec<Sample>> {
    let mut samples = vec![Sample::default(); contenders.len()];
    for (contender, batch) in contenders.iter_mut().zip(batches) {
        for _ in 0..(*batch).min(50) {
            contender()?;
        }
    }
    for _ in 0..rounds {
        for ((contender, sample), batch) in contenders.iter_mut().zip(&mut samples).zip(batches) {
            for _ in 0..*batch {
                let started = Instant::now();
                contender()?;
                sample.add(started.elapsed());
            }
        }
    }
    Ok(samples)
}
