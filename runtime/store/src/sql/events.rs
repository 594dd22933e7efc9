//! Events of runs. Whoever adds some first locks the session, as whoever records something does.

use async_trait::async_trait;
use palisade_agent::{Lease, StoreError};

use super::{Fault, Instants, Link, Place, Sql, Work, hold::fenced_or_ended, instants, look::FindRun, values};
use crate::{
    events::{RunEvents, check_events, refuse_gap, told_otherwise},
    rules,
};

#[async_trait]
impl<P: Place> RunEvents for Sql<P> {
    async fn append(&self, lease: &Lease, first: u64, events: &[String]) -> Result<(), StoreError> {
        rules::findable(&lease.session)?;
        check_events(first, events)?;
        self.place.write(&Append { lease, first, events }).await
    }

    async fn events(
        &self,
        tenant: &str,
        run: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, String)>, StoreError> {
        rules::findable_run(tenant, run)?;
        self.place.read(&Events { tenant, run, after, limit }).await
    }

    async fn last_event(&self, tenant: &str, run: &str) -> Result<u64, StoreError> {
        rules::findable_run(tenant, run)?;
        self.place.read(&Last { tenant, run }).await
    }
}

/// Adds events.
struct Append<'a> {
    lease: &'a Lease,
    first: u64,
    events: &'a [String],
}

#[async_trait]
impl Work for Append<'_> {
    type Made = ();

    fn tenant(&self) -> &str {
        &self.lease.session.tenant
    }

    fn instants(&self) -> Instants {
        instants!("append")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        fenced_or_ended(link, self.lease).await?;
        let (tenant, run) = (&self.lease.session.tenant, &self.lease.run);
        let last = last(link, tenant, run).await?;
        refuse_gap(self.first, last)?;
        let known = match self.first <= last {
            true => {
                let sql = "SELECT body FROM events WHERE tenant = $1 AND run = $2 AND number >= $3 AND number < $4
                           ORDER BY number";
                let end = self.first.saturating_add(self.events.len() as u64);
                link.rows(sql, values![tenant, run, self.first, end]).await?
            }
            false => Vec::new(),
        };
        for (row, (event, number)) in known.iter().zip(self.events.iter().zip(self.first..)) {
            if row.text(0)? != *event {
                return Err(told_otherwise(number).into());
            }
        }
        for (event, number) in self.events.iter().zip(self.first..).skip(known.len()) {
            link.run(
                "INSERT INTO events (tenant, run, number, body) VALUES ($1, $2, $3, $4)",
                values![tenant, run, number, event],
            )
            .await?;
        }
        Ok(())
    }
}

async fn last(link: &mut Link<'_>, tenant: &str, run: &str) -> Result<u64, Fault> {
    let sql = "SELECT COALESCE(max(number), 0) FROM events WHERE tenant = $1 AND run = $2";
    link.row(sql, values![tenant, run]).await?.map_or(Ok(0), |row| row.count(0))
}

/// The events of a run after a number.
struct Events<'a> {
    tenant: &'a str,
    run: &'a str,
    after: u64,
    limit: usize,
}

#[async_trait]
impl Work for Events<'_> {
    type Made = Vec<(u64, String)>;

    fn tenant(&self) -> &str {
        self.tenant
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Vec<(u64, String)>, Fault> {
        let limit = u64::try_from(self.limit).unwrap_or(u64::MAX);
        let rows = link
            .rows(
                "SELECT number, body FROM events WHERE tenant = $1 AND run = $2 AND number > $3
                 ORDER BY number LIMIT $4",
                values![self.tenant, self.run, self.after, limit],
            )
            .await?;
        if rows.is_empty() {
            FindRun { tenant: self.tenant, run: self.run }.run(link).await?;
        }
        let mut events = Vec::with_capacity(rows.len());
        for (row, number) in rows.iter().zip(self.after.saturating_add(1)..) {
            // A gap is damage: whoever reads on after it would never know.
            if row.count(0)? != number {
                return Err(StoreError::Corrupt(format!("event {number} of run `{}` is missing", self.run)).into());
            }
            events.push((number, row.text(1)?));
        }
        Ok(events)
    }
}

/// The number of the last event of a run.
struct Last<'a> {
    tenant: &'a str,
    run: &'a str,
}

#[async_trait]
impl Work for Last<'_> {
    type Made = u64;

    fn tenant(&self) -> &str {
        self.tenant
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<u64, Fault> {
        let last = last(link, self.tenant, self.run).await?;
        if last == 0 {
            FindRun { tenant: self.tenant, run: self.run }.run(link).await?;
        }
        Ok(last)
    }
}
