//! What lasts in a database that speaks SQL. Every statement is written once, in words that SQLite and Postgres
//! both understand; what they do not have in common is behind [`Place`].

mod begin;
mod create;
mod events;
mod fault;
mod hold;
mod idempotency;
mod keys;
mod link;
mod listing;
mod look;
mod message;
mod open_runs;
mod record;
mod schema;
mod session;
mod space;
mod store;
mod tenants;
mod usage;
mod walls;

use async_trait::async_trait;
use palisade_agent::StoreError;

pub(crate) use fault::{Fault, is_disconnection};
pub(crate) use link::{Link, Row, Value, values};
pub(crate) use schema::{Dialect, KNOWN, check_shape, migrate, save_shape, version};
pub(crate) use walls::{OPERATOR, TENANT, obeys_walls};

/// A store in a database.
#[derive(Debug)]
pub struct Sql<P> {
    pub(crate) place: P,
}

/// Where a database is and how transactions are made there.
#[async_trait]
pub(crate) trait Place: Send + Sync {
    /// Does some work in one transaction: all of it lasts when this returns `Ok`, and nothing of it otherwise.
    /// The work may be done several times, of which one counts.
    async fn write<W: Work>(&self, work: &W) -> Result<W::Made, StoreError>;

    /// Looks something up.
    async fn read<W: Work>(&self, work: &W) -> Result<W::Made, StoreError>;

    /// Looks over all tenants, on behalf of the operator. Nothing is changed that way.
    async fn survey<S: Survey>(&self, survey: &S) -> Result<S::Made, StoreError>;
}

/// Something that is done in a database for one tenant.
#[async_trait]
pub(crate) trait Work: Sync {
    /// What comes of it.
    type Made: Send;

    /// For whom it is done. A database that can is told, and then keeps what belongs to others out of sight, also
    /// from a statement that forgot to ask whose something is.
    fn tenant(&self) -> &str;

    /// The instants that are passed when it is done in a transaction.
    fn instants(&self) -> Instants {
        Instants { begin: None, before_commit: None, after_commit: None }
    }

    /// Does it.
    async fn run(&self, link: &mut Link<'_>) -> Result<Self::Made, Fault>;
}

/// Something that is looked up over all tenants. It is no [`Work`], so that none becomes one by accident.
#[async_trait]
pub(crate) trait Survey: Sync {
    /// What comes of it.
    type Made: Send;

    /// Does it.
    async fn run(&self, link: &mut Link<'_>) -> Result<Self::Made, Fault>;
}

/// The instants of a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instants {
    pub(crate) begin: Option<&'static str>,
    pub(crate) before_commit: Option<&'static str>,
    pub(crate) after_commit: Option<&'static str>,
}

/// The instants of some work by its name.
macro_rules! instants {
    ($name:literal) => {
        crate::sql::Instants {
            begin: Some(concat!("store.", $name, ".begin")),
            before_commit: Some(concat!("store.", $name, ".before_commit")),
            after_commit: Some(concat!("store.", $name, ".after_commit")),
        }
    };
}
pub(crate) use instants;

/// Passes an instant, if there is one.
pub(crate) fn passing(instant: Option<&'static str>) {
    if let Some(instant) = instant {
        palisade_agent::passing(instant);
    }
}
