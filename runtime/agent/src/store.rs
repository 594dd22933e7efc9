//! The trait behind which everything lasts: sessions, what was said in them, the runs that work on them.
//! `palisade-store` implements it.
//!
//! Two rules hold for every method. What it has returned `Ok` for survives the process and a power cut. And
//! it reaches only what belongs to the tenant it is given: an id of another tenant is an id that is not there.

mod run;
mod session;

use async_trait::async_trait;
use thiserror::Error;

pub use run::{
    AuditRecord, Batch, CallRecord, CallState, Intent, Lease, NewRun, Numbered, Queued, RunEnd, RunRecord, RunState,
    Span, Spending, UsageQuery, UsageRow,
};
pub use session::{Change, LOCAL_TENANT, Listing, NewSession, Origin as SessionOrigin, Session, SessionKey};

/// What lasts.
#[async_trait]
pub trait Store: Send + Sync {
    /// Begins a session. A name that another session of the agent has is [`StoreError::NameTaken`], an id that
    /// is taken [`StoreError::IdTaken`].
    async fn create(&self, session: NewSession) -> Result<Session, StoreError>;

    /// Finds a session.
    async fn session(&self, key: &SessionKey) -> Result<Session, StoreError>;

    /// The most recently updated sessions first; [`Listing`] says which.
    async fn sessions(&self, listing: &Listing) -> Result<Vec<Session>, StoreError>;

    /// How many sessions a listing has on all its pages.
    async fn count(&self, listing: &Listing) -> Result<u64, StoreError>;

    /// Changes what is known of a session. Counts as an update.
    async fn change(&self, key: &SessionKey, change: Change) -> Result<Session, StoreError>;

    /// Takes away all that was said and keeps the rest. Refused while a run holds the session.
    async fn clear(&self, key: &SessionKey) -> Result<Session, StoreError>;

    /// Takes away the session with all that belongs to it. What its runs used up is still part of [`Store::usage`].
    /// Refused while a run holds the session.
    async fn delete(&self, key: &SessionKey) -> Result<(), StoreError>;

    /// What was said after the entry of that number, oldest first, at most `limit` of it.
    async fn entries(&self, key: &SessionKey, after: u64, limit: usize) -> Result<Vec<Numbered>, StoreError>;

    /// Begins a session with what was said elsewhere: a copy. The entries are numbered from one without a gap,
    /// and each call in them has its result.
    async fn import(&self, session: NewSession, entries: &[Numbered]) -> Result<Session, StoreError>;

    /// Begins a run of a session and holds the session for it. [`StoreError::Busy`] if another run holds it,
    /// [`StoreError::NotQueued`] if somebody else has answered the message, [`StoreError::Outdated`] if something
    /// was said since the session was read.
    /// Runs of the session that were left behind by a process that is gone are ended as interrupted.
    async fn begin(&self, run: NewRun) -> Result<Lease, StoreError>;

    /// Takes over a run that did not end, because the process that held it is gone or has let its lease
    /// lapse; from now on nothing that the other still writes counts. [`StoreError::Busy`] if it is alive.
    async fn claim(
        &self,
        tenant: &str,
        run: &str,
        owner: &str,
        lasts: std::time::Duration,
    ) -> Result<Lease, StoreError>;

    /// Says that the holder is alive.
    async fn renew(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Writes down, at once or not at all, what a run said and did. Says, too, that the holder is alive.
    async fn record(&self, lease: &Lease, batch: &Batch) -> Result<(), StoreError>;

    /// Ends a run and lets the session go.
    async fn end(&self, lease: &Lease, end: &RunEnd) -> Result<(), StoreError>;

    /// Finds a run.
    async fn run(&self, tenant: &str, run: &str) -> Result<RunRecord, StoreError>;

    /// The last run of a session, whatever became of it.
    async fn last_run(&self, key: &SessionKey) -> Result<Option<RunRecord>, StoreError>;

    /// The calls that a run meant to make, in the order it meant to.
    async fn calls(&self, tenant: &str, run: &str) -> Result<Vec<CallRecord>, StoreError>;

    /// Puts a message behind those that already wait for a session to be free. The same message twice, by its
    /// id, is one, even if it was answered in between. An id that a message for another session has is refused.
    async fn enqueue(&self, message: &Queued) -> Result<(), StoreError>;

    /// The message that waits longest for a session.
    async fn next_queued(&self, key: &SessionKey) -> Result<Option<Queued>, StoreError>;

    /// Writes down something that somebody may want to look into later.
    async fn audit(&self, record: &AuditRecord) -> Result<(), StoreError>;

    /// The newest audit records of a tenant first.
    async fn audits(&self, tenant: &str, session: Option<&str>, limit: usize) -> Result<Vec<AuditRecord>, StoreError>;

    /// What runs used up, added together as the query says, also those of sessions that were deleted.
    async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageRow>, StoreError>;
}

/// Why something could not be stored or found. Nothing of it was done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreError {
    /// There is no such session, or it belongs to somebody else.
    #[error("there is no session `{0}`; `palisade sessions list` shows those there are")]
    NoSession(String),
    /// There is no such run.
    #[error("there is no run `{0}`")]
    NoRun(String),
    /// Another session of the agent has the name.
    #[error("another session of this agent is called `{0}`; take another name, or rename that one first")]
    NameTaken(String),
    /// Another session has the id.
    #[error("there is a session with the id `{0}` already")]
    IdTaken(String),
    /// A run holds the session.
    #[error("session `{session}` is in use by {owner}; wait for it, or end it")]
    Busy {
        /// The session.
        session: String,
        /// Who holds it.
        owner: String,
    },
    /// The message waits no longer.
    #[error("message `{0}` does not wait any more: it was answered, or its session is gone")]
    NotQueued(String),
    /// Something was said in the session since it was read. Whoever reads it again may go on.
    #[error("something was said in session `{0}` meanwhile; try again")]
    Outdated(String),
    /// Somebody else has taken over the run; nothing that this holder writes counts any more.
    #[error("run `{0}` was taken over by another process; this one must not go on with it")]
    Fenced(String),
    /// There is no such tenant, or there is none any more.
    #[error("there is no tenant `{0}`")]
    NoTenant(String),
    /// A tenant has the id, or had it: what is kept elsewhere under the id of one is never another's.
    #[error("there is or was a tenant with the id `{0}`; take another id")]
    TenantTaken(String),
    /// The tenant has no such key.
    #[error("there is no key `{0}`")]
    NoKey(String),
    /// Another key has the id, or the same secret.
    #[error("there is a key `{0}`, or one with the same secret; make another one")]
    KeyTaken(String),
    /// Something that was to be stored is not fit for it.
    #[error("{0}")]
    Invalid(String),
    /// There is no space left. It works again when there is some.
    #[error("there is no space left to store anything: {0}; make some and try again")]
    Full(String),
    /// The database cannot be reached or is too busy. It may work later.
    #[error("the database cannot be used at the moment: {0}")]
    Unavailable(String),
    /// The database was made by a newer version.
    #[error("the database has version {found}, and this program knows version {known}; use a newer program")]
    Newer {
        /// The version of the database.
        found: i64,
        /// The newest version that is known here.
        known: i64,
    },
    /// The database is damaged, or is none.
    #[error("the database is damaged: {0}; restore a copy, or move it away to begin a new one")]
    Corrupt(String),
}

impl StoreError {
    /// Whether it may work when tried again.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::Outdated(_) | Self::Full(_) | Self::Unavailable(_))
    }
}
