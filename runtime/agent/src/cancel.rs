//! Ending a run from outside, at once: whoever holds the [`Canceller`] may, the run waits for it. Whoever ends
//! a run ends all that it has started.

use tokio_util::sync::CancellationToken;

/// Makes a pair: one end cancels, the other is told.
pub fn cancellation() -> (Canceller, Cancellation) {
    let token = CancellationToken::new();
    (Canceller(token.clone()), Cancellation(token))
}

/// The end that cancels.
#[derive(Clone, Debug)]
pub struct Canceller(CancellationToken);

impl Canceller {
    /// Cancels every run that holds the other end, or a branch of it; there is no way back.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

/// The end that is told.
#[derive(Clone, Debug)]
pub struct Cancellation(CancellationToken);

impl Cancellation {
    /// A cancellation that never comes.
    pub fn never() -> Self {
        cancellation().1
    }

    /// A pair of its own that is cancelled with this one, but not the other way round.
    pub fn branch(&self) -> (Canceller, Self) {
        let token = self.0.child_token();
        (Canceller(token.clone()), Self(token))
    }

    /// Whether it has come.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Returns when cancelled.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_ends_a_run_ends_what_it_started_and_not_what_started_it() {
        let (canceller, above) = cancellation();
        let (own, middle) = above.branch();
        let (_, below) = middle.branch();
        let (_, beside) = above.branch();
        own.cancel();
        let ended = [&above, &middle, &below, &beside].map(Cancellation::is_cancelled);
        assert_eq!(ended, [false, true, true, false]);
        canceller.cancel();
        assert!(beside.is_cancelled() && above.branch().1.is_cancelled());
    }
}
