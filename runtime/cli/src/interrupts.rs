//! Ctrl-C: the first ends the run and keeps what there is, the next one ends the program. Where many run in one program,
//! each is ended by whoever has started it.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use palisade_agent::{Cancellation, Canceller, cancellation};
use tokio::{
    runtime::Runtime,
    signal::unix::{Signal, SignalKind, signal},
};

use crate::{Exit, render::Terminal};

/// Ends runs. Its clones end the same ones.
#[derive(Clone)]
pub(crate) struct Interrupts {
    /// Ends the run that is under way, if it was not ended before.
    current: Arc<Mutex<Option<Canceller>>>,
    /// Ends them all.
    above: Option<Cancellation>,
}

impl Interrupts {
    /// Listens from now on. Without a run under way, Ctrl-C ends the program as ever.
    pub(crate) fn listen(runtime: &Runtime, terminal: &Terminal) -> io::Result<Self> {
        let _runtime = runtime.enter();
        let interrupts = Self { current: Arc::default(), above: None };
        runtime.spawn(interrupts.clone().obey(signal(SignalKind::interrupt())?, terminal.clone()));
        Ok(interrupts)
    }

    /// Listens to nobody but whoever holds the other end of this.
    pub(crate) fn under(above: Cancellation) -> Self {
        Self { current: Arc::default(), above: Some(above) }
    }

    /// A run begins.
    pub(crate) fn begin(&self) -> Cancellation {
        let (canceller, cancellation) = self.above.as_ref().map_or_else(cancellation, Cancellation::branch);
        *self.current() = Some(canceller);
        cancellation
    }

    /// Ends the run that is under way; false if there is none that was not ended before.
    pub(crate) fn stop(&self) -> bool {
        let canceller = self.current().take();
        canceller.inspect(Canceller::cancel).is_some()
    }

    /// The run is over.
    pub(crate) fn end(&self) {
        *self.current() = None;
    }

    async fn obey(self, mut interrupts: Signal, terminal: Terminal) {
        while interrupts.recv().await.is_some() {
            if !self.stop() {
                terminal.leave();
                exit_at_once();
            }
        }
    }

    fn current(&self) -> MutexGuard<'_, Option<Canceller>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(clippy::disallowed_methods, reason = "whoever presses Ctrl-C twice does not want to wait for main")]
fn exit_at_once() {
    std::process::exit(i32::from(Exit::Cancelled.code()));
}
