//! Writing down what a run said and did.

use async_trait::async_trait;
use palisade_agent::{Batch, Entry, Lease, SessionKey, Spending, StoreError, passing};

use super::{
    Fault, Instants, Link, Work,
    hold::{Held, fenced, next_moment},
    instants, values,
};
use crate::rules;

/// What was said, ready to be written.
pub(super) struct Words {
    bodies: Vec<String>,
    snippet: Option<String>,
}

impl Words {
    pub(super) fn new(entries: &[Entry]) -> Result<Self, StoreError> {
        let bodies = entries.iter().map(|entry| rules::json("an entry", entry)).collect::<Result<_, _>>()?;
        Ok(Self { bodies, snippet: rules::snippet(entries.iter()) })
    }

    /// Adds it to a session. Counts as an update, also of nothing.
    pub(super) async fn append(&self, link: &mut Link<'_>, key: &SessionKey, held: &Held) -> Result<(), Fault> {
        let now = link.now;
        let mut number = held.entries;
        for body in &self.bodies {
            number += 1;
            link.run(
                "INSERT INTO entries (tenant, session, number, at, body) VALUES ($1, $2, $3, $4, $5)",
                values![&key.tenant, &key.id, number, now, body],
            )
            .await?;
        }
        let at = next_moment(link, &key.tenant).await?;
        link.run(
            "UPDATE sessions SET updated_at = $3, entries = $4, snippet = COALESCE($5, snippet), renewed_at = $6
             WHERE tenant = $1 AND id = $2",
            values![&key.tenant, &key.id, at, number, &self.snippet, now],
        )
        .await?;
        Ok(())
    }
}

/// Writes down a batch.
pub(super) struct Record<'a> {
    lease: &'a Lease,
    batch: &'a Batch,
    words: Words,
    /// The id of each call that is meant to be made, and the call.
    intents: Vec<(String, String)>,
    /// The id of each call that has a result, and the result.
    results: Vec<(String, String)>,
}

impl<'a> Record<'a> {
    pub(super) fn new(lease: &'a Lease, batch: &'a Batch) -> Result<Self, StoreError> {
        let words = Words::new(&batch.entries)?;
        let intent = |call| Ok((rules::call_id(call)?, rules::json("a call", call)?));
        let intents = batch.intents.iter().map(|intent_| intent(&intent_.call)).collect::<Result<_, StoreError>>()?;
        let result = |(id, result): &(String, _)| Ok((rules::quoted(id), rules::json("a result", result)?));
        let results = batch.results.iter().map(result).collect::<Result<_, StoreError>>()?;
        Ok(Self { lease, batch, words, intents, results })
    }

    async fn intend(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        let (tenant, run) = (&self.lease.session.tenant, &self.lease.run);
        let last =
            link.row("SELECT max(number) FROM calls WHERE tenant = $1 AND run = $2", values![tenant, run]).await?;
        let last = last.map_or(Ok(None), |row| row.maybe_number(0))?.unwrap_or_default();
        for ((intent, (id, call)), number) in self.batch.intents.iter().zip(&self.intents).zip(last + 1..) {
            let idempotent = i64::from(intent.idempotent);
            let made = link
                .run(
                    "INSERT INTO calls (tenant, run, number, id, call, idempotent) VALUES ($1, $2, $3, $4, $5, $6)
                     ON CONFLICT DO NOTHING",
                    values![tenant, run, number, id, call, idempotent],
                )
                .await?;
            if made == 0 {
                return Err(rules::meant_twice(&intent.call.id).into());
            }
        }
        Ok(())
    }

    async fn finish(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        let (tenant, run) = (&self.lease.session.tenant, &self.lease.run);
        for ((call, _), (id, result)) in self.batch.results.iter().zip(&self.results) {
            let finished = link
                .run(
                    "UPDATE calls SET result = $4 WHERE tenant = $1 AND run = $2 AND id = $3 AND result IS NULL",
                    values![tenant, run, id, result],
                )
                .await?;
            if finished == 0 {
                return Err(rules::no_intent(call).into());
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Work for Record<'_> {
    type Made = ();

    fn tenant(&self) -> &str {
        &self.lease.session.tenant
    }

    fn instants(&self) -> Instants {
        instants!("record")
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<(), Fault> {
        let held = fenced(link, self.lease).await?;
        if self.batch.is_empty() {
            return Ok(());
        }
        if !self.batch.intents.is_empty() {
            self.intend(link).await?;
        }
        passing("store.record.intents");
        self.finish(link).await?;
        passing("store.record.results");
        if let Some(spending) = self.batch.spending {
            save_spending(link, self.lease, spending).await?;
        }
        self.words.append(link, &self.lease.session, &held).await?;
        passing("store.record.entries");
        Ok(())
    }
}

/// Writes down what a run has used up so far.
pub(super) async fn save_spending(link: &mut Link<'_>, lease: &Lease, spending: Spending) -> Result<(), Fault> {
    let Spending { steps, calls, usage, time } = rules::bounded(spending);
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    link.run(
        "UPDATE runs SET steps = $3, calls = $4, input_tokens = $5, output_tokens = $6, cached_tokens = $7,
         cache_written_tokens = $8, cost_micros = $9, micros = $10 WHERE tenant = $1 AND id = $2",
        values![
            &lease.session.tenant,
            &lease.run,
            u64::from(steps),
            calls,
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_tokens,
            usage.cache_written_tokens,
            usage.cost_micros,
            micros,
        ],
    )
    .await?;
    Ok(())
}
