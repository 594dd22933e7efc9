//! Ending a run from outside, at once: whoever holds the [`Canceller`] may, the run waits for it.

use tokio::sync::watch;

/// Makes a pair: one end cancels, the other is told.
pub fn cancellation() -> (Canceller, Cancellation) {
    let (sender, receiver) = watch::channel(false);
    (Canceller(sender), Cancellation(receiver))
}

/// The end that cancels.
#[derive(Clone, Debug)]
pub struct Canceller(watch::Sender<bool>);

impl Canceller {
    /// Cancels every run that holds the other end; there is no way back.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }
}

/// The end that is told.
#[derive(Clone, Debug)]
pub struct Cancellation(watch::Receiver<bool>);

impl Cancellation {
    /// A cancellation that never comes.
    pub fn never() -> Self {
        cancellation().1
    }

    /// Returns when cancelled; never, when nobody is left who could cancel.
    pub async fn cancelled(&self) {
        if self.0.clone().wait_for(|cancelled| *cancelled).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
