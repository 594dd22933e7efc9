//! Why a sandboxed call gave no value, and whose fault it is.

use std::time::Duration;

use palisade_grants::Denial;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::Captured;

/// Why a call gave no value. Whatever a guest does ends in one of these; the host goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Failure {
    /// The tool says that its input is wrong.
    #[error("{0}")]
    InvalidInput(String),
    /// The tool says that it was refused something it needed.
    #[error("{0}")]
    Refused(String),
    /// The tool tried and did not succeed.
    #[error("{0}")]
    Failed(String),
    /// The guest crashed.
    #[error("the tool crashed: {reason}")]
    Trap {
        /// What wasmtime said.
        reason: String,
    },
    /// The call took longer than it may.
    #[error("the tool ran out of time after {limit:?}")]
    OutOfTime {
        /// How long it could have taken.
        limit: Duration,
    },
    /// The guest asked for more memory, tables or instances than it may have, and gave up.
    #[error("the tool ran out of {what} (limit {limit})")]
    OutOfMemory {
        /// What it wanted more of.
        #[serde(deserialize_with = "known")]
        what: What,
        /// How much it could have had.
        limit: usize,
    },
    /// The guest opened more handles, or handed over more data in one host call, than it may.
    #[error("the tool used too many {what} (limit {limit})")]
    TooMany {
        /// What there was too much of.
        #[serde(deserialize_with = "known")]
        what: What,
        /// How much it could have had.
        limit: usize,
    },
    /// The result is larger than it may be.
    #[error("the tool's output is too large (limit {limit} bytes)")]
    OutputTooLarge {
        /// How large it could have been.
        limit: usize,
    },
    /// Something was refused by a grant before the guest ran.
    #[error("{0}")]
    Denied(Denial),
    /// The bytes are no component that could be run.
    #[error("this is not a usable tool component: {reason}")]
    BadComponent {
        /// What is wrong with it.
        reason: String,
    },
    /// Every slot is taken and the queue is full.
    #[error("all {slots} sandboxes are busy and {queue} calls wait already; try again later")]
    Busy {
        /// Guests that may be alive at the same time.
        slots: u32,
        /// Calls that may wait.
        queue: usize,
    },
    /// Whoever asked for the call no longer wants it.
    #[error("the call was cancelled")]
    Cancelled,
    /// The process that the guest ran in is no more.
    #[error("the tool runner ended: {how}; it is started again at the next call")]
    RunnerEnded {
        /// How it ended.
        how: String,
    },
    /// The host could not do its part.
    #[error("the sandbox failed: {reason}")]
    Host {
        /// What went wrong.
        reason: String,
    },
}

/// One of [`KNOWN`]. Under this name it is not taken for a text that lies in what is read.
type What = &'static str;

/// Everything that there can be too much of.
const KNOWN: [&str; 7] = [
    "memory",
    "table elements",
    "instances",
    "memory, tables or instances",
    "handles",
    "bytes in one host call",
    "tools calling tools",
];

/// Reads one of the words that failures have.
fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static str, D::Error> {
    let word = String::deserialize(deserializer)?;
    KNOWN.into_iter().find(|known| *known == word).ok_or_else(|| de::Error::custom("no such limit"))
}

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The input or the timing of whoever called.
    Caller,
    /// The guest.
    Guest,
    /// Nobody: a grant does not allow it.
    Grant,
    /// The host or its machine.
    Host,
}

impl Failure {
    /// A guest that crashes says on standard error where in its source, as panics and assertions do.
    pub(crate) fn with_last_words(self, stderr: &Captured) -> Self {
        const MOST: usize = 2000;
        let Self::Trap { reason } = self else { return self };
        let said = String::from_utf8_lossy(&stderr.kept);
        let said = match said.rfind("panicked at ") {
            Some(panic) => said[panic..].split("\nnote: run with `RUST_BACKTRACE").next().unwrap_or_default(),
            None => &said[said.ceil_char_boundary(said.len().saturating_sub(MOST))..],
        };
        let said = said[..said.floor_char_boundary(MOST)].trim();
        match said.is_empty() {
            true => Self::Trap { reason },
            false => Self::Trap { reason: format!("{said}\n({reason})") },
        }
    }

    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        match self {
            Self::InvalidInput(_) | Self::Cancelled | Self::Busy { .. } => Blame::Caller,
            Self::Failed(_)
            | Self::Trap { .. }
            | Self::OutOfTime { .. }
            | Self::OutOfMemory { .. }
            | Self::TooMany { .. }
            | Self::OutputTooLarge { .. }
            | Self::BadComponent { .. } => Blame::Guest,
            Self::Refused(_) | Self::Denied(_) => Blame::Grant,
            Self::Host { .. } | Self::RunnerEnded { .. } => Blame::Host,
        }
    }

    /// One stable word for each kind, for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::InvalidInput(_) => "invalid-input",
            Self::Refused(_) => "refused",
            Self::Failed(_) => "failed",
            Self::Trap { .. } => "trap",
            Self::OutOfTime { .. } => "out-of-time",
            Self::OutOfMemory { .. } => "out-of-memory",
            Self::TooMany { .. } => "too-many",
            Self::OutputTooLarge { .. } => "output-too-large",
            Self::Denied(_) => "denied",
            Self::BadComponent { .. } => "bad-component",
            Self::Busy { .. } => "busy",
            Self::Cancelled => "cancelled",
            Self::RunnerEnded { .. } => "runner-ended",
            Self::Host { .. } => "host",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_the_same_after_they_were_written_and_read() {
        for what in KNOWN {
            for failure in [Failure::OutOfMemory { what, limit: 7 }, Failure::TooMany { what, limit: 8 }] {
                let written = postcard::to_allocvec(&failure).unwrap();
                assert_eq!(postcard::from_bytes::<Failure>(&written), Ok(failure));
            }
        }
        let made_up = postcard::to_allocvec(&Failure::TooMany { what: "ideas", limit: 1 }).unwrap();
        assert!(postcard::from_bytes::<Failure>(&made_up).is_err());
    }
}
