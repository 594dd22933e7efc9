//! Feeds a program and hears it until it ends or has to: what it prints is bounded while it is
//! printed, and what is dropped is counted.

use std::{
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

/// The ends of the pipes on this side. None of them blocks.
pub(super) struct Pump<'a> {
    pub(super) input: Option<OwnedFd>,
    pub(super) unwritten: &'a [u8],
    pub(super) output: Heard,
    pub(super) errors: Heard,
    /// Where the worker says how it goes; it is closed when the worker and all others are gone.
    pub(super) control: Heard,
}

/// What comes out of a pipe.
pub(super) struct Heard {
    pipe: Option<OwnedFd>,
    limit: usize,
    pub(super) kept: Vec<u8>,
    pub(super) dropped: u64,
}

/// Why it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    Ended,
    OutOfTime,
    Cancelled,
}

/// How soon a cancel is noticed.
const TICK: Duration = Duration::from_millis(20);
/// A worker that is gone has closed its pipes a moment later.
const ECHO: Duration = Duration::from_secs(1);

impl Heard {
    pub(super) fn new(pipe: OwnedFd, limit: usize) -> Self {
        Self { pipe: Some(pipe), limit, kept: Vec::new(), dropped: 0 }
    }

    /// Takes what is there, and closes the pipe at its end.
    fn hear(&mut self) {
        let mut buffer = [0; 64 << 10];
        while let Some(pipe) = &self.pipe {
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(read) => {
                    let heard = buffer.get(..read).unwrap_or_default();
                    let room = self.limit.saturating_sub(self.kept.len()).min(heard.len());
                    let (kept, dropped) = heard.split_at(room);
                    self.kept.extend_from_slice(kept);
                    self.dropped += dropped.len() as u64;
                    // Others wait to be heard, too.
                    if read < buffer.len() {
                        return;
                    }
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => self.pipe = None,
            }
        }
    }
}

impl Pump<'_> {
    /// Goes on until the worker is gone, time is up, or nobody wants it any more.
    pub(super) fn run(&mut self, deadline: Instant, is_cancelled: &dyn Fn() -> bool) -> Over {
        let mut last = None;
        loop {
            if self.unwritten.is_empty() {
                self.input = None;
            }
            if self.control.pipe.is_none() {
                let echo = *last.get_or_insert_with(|| Instant::now() + ECHO);
                if self.output.pipe.is_none() && self.errors.pipe.is_none() || Instant::now() >= echo {
                    return Over::Ended;
                }
            }
            if is_cancelled() {
                return Over::Cancelled;
            }
            let now = Instant::now();
            if now >= deadline {
                return Over::OutOfTime;
            }
            self.wait((deadline - now).min(TICK));
            self.write();
            self.output.hear();
            self.errors.hear();
            self.control.hear();
        }
    }

    fn wait(&self, most: Duration) {
        let heard = [&self.output, &self.errors, &self.control];
        let mut polled: Vec<PollFd<'_>> =
            heard.iter().filter_map(|heard| Some(PollFd::new(heard.pipe.as_ref()?, PollFlags::IN))).collect();
        polled.extend(self.input.as_ref().map(|input| PollFd::new(input, PollFlags::OUT)));
        let most = Timespec { tv_sec: 0, tv_nsec: i64::from(most.subsec_nanos()).max(1_000_000) };
        // Whatever it says, the pipes are looked at next.
        let _ = poll(&mut polled, Some(&most));
    }

    fn write(&mut self) {
        while let Some(input) = self.input.as_ref().filter(|_| !self.unwritten.is_empty()) {
            match rustix::io::write(input, self.unwritten) {
                Ok(written) => self.unwritten = self.unwritten.get(written..).unwrap_or_default(),
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                // It does not want to read any more.
                Err(_) => self.unwritten = &[],
            }
        }
    }
}
