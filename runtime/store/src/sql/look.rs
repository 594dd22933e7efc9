//! Looking up what was said, the runs and their calls.

use std::time::Duration;

use async_trait::async_trait;
use palisade_agent::{
    CallRecord, CallState, Intent, Numbered, RunRecord, RunState, SessionKey, Spending, StoreError, Usage,
};

use super::{Fault, Link, Row, Work, link::parse, session::Find, values};
use crate::{clock::moment, rules};

/// What was said in a session after some entry.
pub(super) struct Entries<'a> {
    pub(super) key: &'a SessionKey,
    pub(super) after: u64,
    pub(super) limit: usize,
}

#[async_trait]
impl Work for Entries<'_> {
    type Made = Vec<Numbered>;

    fn tenant(&self) -> &str {
        &self.key.tenant
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Vec<Numbered>, Fault> {
        // One row is asked for at least: it says whether there is such a session.
        let limit = u64::try_from(self.limit.max(1)).unwrap_or(u64::MAX);
        let rows = link
            .rows(
                "SELECT s.entries, e.number, e.at, e.body FROM sessions s LEFT JOIN entries e
                 ON e.tenant = s.tenant AND e.session = s.id AND e.number > $3
                 WHERE s.tenant = $1 AND s.id = $2 ORDER BY e.number LIMIT $4",
                values![&self.key.tenant, &self.key.id, self.after, limit],
            )
            .await?;
        let count = rows.first().ok_or_else(|| rules::no_session(self.key))?.count(0)?;
        let mut entries = Vec::new();
        for (row, number) in rows.iter().zip(self.after.saturating_add(1)..=count) {
            if row.maybe_number(1)?.is_none_or(|found| u64::try_from(found) != Ok(number)) {
                return Err(self.missing(number));
            }
            entries.push(Numbered { number, at: moment(row.number(2)?)?, entry: row.json(3)? });
        }
        let expected = count.saturating_sub(self.after).min(limit);
        if u64::try_from(entries.len()) != Ok(expected) {
            return Err(self.missing(count));
        }
        entries.truncate(self.limit);
        Ok(entries)
    }
}

impl Entries<'_> {
    /// An entry that should be there and is not found: an index is damaged. Less than there is is never told.
    fn missing(&self, number: u64) -> Fault {
        StoreError::Corrupt(format!("entry {number} of session `{}` is missing", self.key.id)).into()
    }
}

/// The columns that [`read_run`] reads.
macro_rules! run_columns {
    () => {
        "tenant, id, session, agent, model, parent, parent_call, budget, owner, started_at, ended_at, ending, steps, \
         calls, input_tokens, output_tokens, cached_tokens, cache_written_tokens, cost_micros, micros"
    };
}

pub(super) use run_columns;

/// A run from its row.
pub(super) fn read_run(row: &Row) -> Result<RunRecord, Fault> {
    let (parent_call, ending) = (row.maybe_text(6)?, row.maybe_text(11)?);
    let state = match row.maybe_number(10)? {
        Some(at) => RunState::Ended { ending: ending.as_deref().map(parse).transpose()?, at: moment(at)? },
        None => RunState::Open { owner: row.text(8)? },
    };
    Ok(RunRecord {
        id: row.text(1)?,
        session: SessionKey::new(row.text(0)?, row.text(2)?),
        agent: row.text(3)?,
        model: row.text(4)?,
        parent: row.maybe_text(5)?,
        parent_call: parent_call.as_deref().map(parse).transpose()?,
        budget: row.json(7)?,
        spending: read_spending(row, 12)?,
        started_at: moment(row.number(9)?)?,
        state,
    })
}

/// Spending from eight columns.
pub(super) fn read_spending(row: &Row, first: usize) -> Result<Spending, Fault> {
    Ok(Spending {
        steps: u32::try_from(row.count(first)?).unwrap_or(u32::MAX),
        calls: row.count(first + 1)?,
        usage: Usage {
            input_tokens: row.count(first + 2)?,
            output_tokens: row.count(first + 3)?,
            cached_tokens: row.count(first + 4)?,
            cache_written_tokens: row.count(first + 5)?,
            cost_micros: row.count(first + 6)?,
        },
        time: Duration::from_micros(row.count(first + 7)?),
    })
}

/// A run.
pub(super) struct FindRun<'a> {
    pub(super) tenant: &'a str,
    pub(super) run: &'a str,
}

#[async_trait]
impl Work for FindRun<'_> {
    type Made = RunRecord;

    fn tenant(&self) -> &str {
        self.tenant
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<RunRecord, Fault> {
        let sql = concat!("SELECT ", run_columns!(), " FROM runs WHERE tenant = $1 AND id = $2");
        let row = link.row(sql, values![self.tenant, self.run]).await?;
        read_run(&row.ok_or_else(|| rules::no_run(self.run))?)
    }
}

/// The last run of a session.
pub(super) struct LastRun<'a>(pub(super) &'a SessionKey);

#[async_trait]
impl Work for LastRun<'_> {
    type Made = Option<RunRecord>;

    fn tenant(&self) -> &str {
        &self.0.tenant
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Option<RunRecord>, Fault> {
        let sql = concat!(
            "SELECT ",
            run_columns!(),
            " FROM runs WHERE tenant = $1 AND session = $2 ORDER BY token DESC LIMIT 1"
        );
        let row = link.row(sql, values![&self.0.tenant, &self.0.id]).await?;
        if row.is_none() {
            Find(self.0).run(link).await?;
        }
        row.as_ref().map(read_run).transpose()
    }
}

/// The calls of a run.
pub(super) struct Calls<'a> {
    pub(super) tenant: &'a str,
    pub(super) run: &'a str,
}

#[async_trait]
impl Work for Calls<'_> {
    type Made = Vec<CallRecord>;

    fn tenant(&self) -> &str {
        self.tenant
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Vec<CallRecord>, Fault> {
        let rows = link
            .rows(
                "SELECT call, idempotent, result FROM calls WHERE tenant = $1 AND run = $2 ORDER BY number",
                values![self.tenant, self.run],
            )
            .await?;
        if rows.is_empty() {
            FindRun { tenant: self.tenant, run: self.run }.run(link).await?;
        }
        let call = |row: &Row| {
            let state = match row.maybe_text(2)? {
                Some(result) => CallState::Finished(parse(&result)?),
                None => CallState::Unfinished,
            };
            Ok(CallRecord { intent: Intent { call: row.json(0)?, idempotent: row.number(1)? != 0 }, state })
        };
        rows.iter().map(call).collect()
    }
}
