//! Requests that are done once, however often they come: a client that does not hear an answer asks again with the
//! same key, and gets what came of the first time.
//!
//! A record is made when work on a request begins, and is held by the process that began it. It ends in one of four
//! ways:
//!
//! - [`Idempotency::finish`] writes down the answer, which is kept for [`KEPT`];
//! - [`Idempotency::forget`] takes it away, because nothing was done and it may be tried again;
//! - the process is gone, which is known at once if it was one of this machine: whoever comes next begins afresh;
//! - nothing was heard of it for as long as it `lasts`, wherever the process was: the same.
//!
//! So `lasts` has to be longer than the work takes. Work that outlives its request, such as a run, is finished as
//! soon as it is begun for good, with an answer that says where it is found.

use std::time::Duration;

use async_trait::async_trait;
use palisade_agent::StoreError;

use crate::rules::{Hold, invalid, json};

/// How long an answer is kept.
pub const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest key in bytes.
const KEY: usize = 255;
/// The largest answer in bytes.
const ANSWER: usize = 1024 * 1024;

/// Where it is kept which requests were done. What a method returned `Ok` for survives the process.
#[async_trait]
pub trait Idempotency: Send + Sync {
    /// Begins to work on a request of a tenant. The fingerprint is of all that makes the request what it is: the
    /// same key with another one is another request, which is refused.
    async fn begin(&self, tenant: &str, key: &str, fingerprint: [u8; 32], lasts: Duration)
    -> Result<Begun, StoreError>;

    /// Writes down what came of a request, a text of JSON. The first answer stays: [`StoreError::Invalid`] if
    /// nothing is under way for the key.
    async fn finish(&self, tenant: &str, key: &str, answer: &str) -> Result<(), StoreError>;

    /// Takes away what is under way for a key, because nothing was done. An answer that is there stays.
    async fn forget(&self, tenant: &str, key: &str) -> Result<(), StoreError>;
}

/// Whether a request is to be worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Begun {
    /// It is, by whoever asked.
    Fresh,
    /// Somebody does.
    UnderWay,
    /// It was done, and this came of it.
    Done(String),
    /// The key was used for another request.
    Conflict,
}

/// What is known of a request.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) fingerprint: [u8; 32],
    pub(crate) owner: String,
    /// When it was begun, or done.
    pub(crate) at: i64,
    /// For how long it counts from then on.
    pub(crate) lasts: i64,
    pub(crate) answer: Option<String>,
}

impl Record {
    /// What it means for the same key; nothing, if it counts no longer.
    pub(crate) fn begun(self, fingerprint: &[u8; 32], now: i64) -> Option<Begun> {
        let counts = match &self.answer {
            // Who gave an answer may be gone.
            Some(_) => now.abs_diff(self.at) < self.lasts.unsigned_abs(),
            None => Hold { run: String::new(), owner: self.owner, renewed_at: self.at, lasts: self.lasts }.is_live(now),
        };
        if !counts {
            return None;
        }
        Some(match self.answer {
            _ if self.fingerprint != *fingerprint => Begun::Conflict,
            Some(answer) => Begun::Done(answer),
            None => Begun::UnderWay,
        })
    }
}

/// Refuses a key that nobody keeps.
pub(crate) fn check_request(tenant: &str, key: &str) -> Result<(), StoreError> {
    let is_fit = |text: &str| !text.is_empty() && text.len() <= KEY && !text.contains('\0');
    if !is_fit(tenant) || !is_fit(key) {
        return Err(invalid(format!("the key of a request has 1 to {KEY} bytes, none of them zero")));
    }
    Ok(())
}

/// Refuses an answer that nobody keeps.
pub(crate) fn check_answer(answer: &str) -> Result<(), StoreError> {
    if answer.len() > ANSWER {
        return Err(invalid(format!("an answer has {} bytes, and {ANSWER} are the most that is kept", answer.len())));
    }
    let value: serde_json::Value = serde_json::from_str(answer).map_err(|_| invalid("an answer is a text of JSON"))?;
    json("an answer", &value).map(drop)
}

pub(crate) fn nothing_under_way(key: &str) -> StoreError {
    invalid(format!("nothing is under way for the key `{}`", palisade_agent::clip(key, KEY)))
}

/// [`KEPT`] in microseconds.
pub(crate) fn kept() -> i64 {
    crate::rules::lasts(KEPT)
}
