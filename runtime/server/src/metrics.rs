//! What the server counts, as Prometheus reads it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// What is counted. Nothing in it says whose it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metrics(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// By the first digit of the status.
    answers: [AtomicU64; 6],
    runs_begun: AtomicU64,
    runs_refused: AtomicU64,
}

impl Metrics {
    /// A request was answered.
    pub(crate) fn answered(&self, status: u16) {
        if let Some(count) = self.0.answers.get(usize::from(status / 100)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A run began.
    pub(crate) fn run_begun(&self) {
        self.0.runs_begun.fetch_add(1, Ordering::Relaxed);
    }

    /// A run was refused for want of room.
    pub(crate) fn run_refused(&self) {
        self.0.runs_refused.fetch_add(1, Ordering::Relaxed);
    }

    /// As text, with what is counted elsewhere.
    pub(crate) fn text(&self, working: u32, waiting: usize) -> String {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let mut text = "# HELP palisade_http_requests_total Requests that were answered.\n\
                        # TYPE palisade_http_requests_total counter\n"
            .to_owned();
        for (class, count) in self.0.answers.iter().enumerate().skip(1) {
            text += &format!("palisade_http_requests_total{{class=\"{class}xx\"}} {}\n", read(count));
        }
        let numbers = [
            ("palisade_runs_begun_total", "counter", "Runs that clients began.", read(&self.0.runs_begun)),
            ("palisade_runs_refused_total", "counter", "Runs for which there was no room.", read(&self.0.runs_refused)),
            ("palisade_runs_working", "gauge", "Runs at work.", u64::from(working)),
            ("palisade_runs_waiting", "gauge", "Runs that wait for their turn.", waiting as u64),
        ];
        for (name, kind, help, value) in numbers {
            text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
        }
        text
    }
}
