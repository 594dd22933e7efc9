//! What runs used up, added together: those that are there, and those that went with their sessions.

use async_trait::async_trait;
use palisade_agent::{SessionKey, Span, Spending, UsageQuery, UsageRow};

use super::{Fault, Link, Row, Value, Work, look::read_spending, values};
use crate::{
    rules,
    usage::{Group, Sum, Sums},
};

/// Keeps what the runs of a session used up that is about to go: the runs go with it.
pub(super) async fn keep(link: &mut Link<'_>, key: &SessionKey) -> Result<(), Fault> {
    let rows = link
        .rows(
            "SELECT day, agent, model, CAST(CASE WHEN ending = '\"answered\"' THEN 1 ELSE 0 END AS BIGINT), steps, calls,
             input_tokens, output_tokens, cached_tokens, cache_written_tokens, cost_micros, micros
             FROM runs WHERE tenant = $1 AND session = $2",
            values![&key.tenant, &key.id],
        )
        .await?;
    let mut sums = Sums::default();
    for row in &rows {
        let group = Group { day: row.text(0)?, agent: row.text(1)?, model: row.text(2)? };
        sums.add(group, &Sum { runs: 1, answered: row.count(3)?, spending: read_spending(row, 4)? });
    }
    // In one order, so that nobody waits for somebody who waits.
    for (group, sum) in sums.iter() {
        add(link, &key.tenant, group, sum).await?;
    }
    Ok(())
}

/// Adds to a sum that is kept. It stays at the most that is counted: nobody keeps a session because of it.
async fn add(link: &mut Link<'_>, tenant: &str, group: &Group, sum: &Sum) -> Result<(), Fault> {
    macro_rules! more {
        ($($column:literal)+) => {
            concat!(
                "INSERT INTO spent (tenant, day, agent, model, runs, answered, steps, calls, input_tokens, output_tokens, \
                 cached_tokens, cache_written_tokens, cost_micros, micros) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) \
                 ON CONFLICT (tenant, day, agent, model) DO UPDATE SET runs = spent.runs + excluded.runs, \
                 answered = spent.answered + excluded.answered",
                $(
                    ", ", $column, " = CASE WHEN spent.", $column, " + excluded.", $column,
                    " > 1000000000000000 THEN 1000000000000000 ELSE spent.", $column, " + excluded.", $column, " END",
                )+
            )
        };
    }
    let Group { day, agent, model } = group;
    let Spending { steps, calls, usage, time } = rules::bounded(sum.spending);
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    link.run(
        more!("steps" "calls" "input_tokens" "output_tokens" "cached_tokens" "cache_written_tokens" "cost_micros" "micros"),
        values![
            tenant,
            day,
            agent,
            model,
            sum.runs,
            sum.answered,
            u64::from(steps),
            calls,
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_tokens,
            usage.cache_written_tokens,
            usage.cost_micros,
            micros
        ],
    )
    .await?;
    Ok(())
}

/// What runs used up.
pub(super) struct AddUp<'a>(pub(super) &'a UsageQuery);

#[async_trait]
impl Work for AddUp<'_> {
    type Made = Vec<UsageRow>;

    fn tenant(&self) -> &str {
        &self.0.tenant
    }

    /// In one statement: between two, a run might go, and be counted twice or not at all.
    async fn run(&self, link: &mut Link<'_>) -> Result<Vec<UsageRow>, Fault> {
        macro_rules! numbers {
            () => {
                "steps, calls, input_tokens, output_tokens, cached_tokens, cache_written_tokens, cost_micros, micros"
            };
        }
        const SUMS: &str = "SELECT what, CAST(sum(runs) AS BIGINT), CAST(sum(answered) AS BIGINT), \
                            CAST(sum(steps) AS BIGINT), CAST(sum(calls) AS BIGINT), CAST(sum(input_tokens) AS BIGINT), \
                            CAST(sum(output_tokens) AS BIGINT), CAST(sum(cached_tokens) AS BIGINT), \
                            CAST(sum(cache_written_tokens) AS BIGINT), CAST(sum(cost_micros) AS BIGINT), \
                            CAST(sum(micros) AS BIGINT) FROM";
        const RUNS: &str = concat!(
            " AS what, 1 AS runs, CASE WHEN ending = '\"answered\"' THEN 1 ELSE 0 END AS answered, ",
            numbers!(),
            " FROM runs WHERE tenant = $1 AND started_at >= $2"
        );
        const GONE: &str =
            concat!(" AS what, runs, answered, ", numbers!(), " FROM spent WHERE tenant = $1 AND day >= $3");
        let query = self.0;
        let (of_run, of_sum) = match query.by {
            Span::Agent => ("agent", "agent"),
            // Nobody knows any more which it was.
            Span::Session => ("session", "''"),
            Span::Day => ("day", "day"),
        };
        let since = query.since.map_or(i64::MIN, |since| since.as_microsecond());
        let day = query.since.map_or_else(String::new, rules::day);
        let mut values: Vec<Value<'_>> = vec![query.tenant.as_str().into(), since.into(), day.as_str().into()];
        let of_agent = query.agent.as_deref().map_or("", |agent| {
            values.push(agent.into());
            " AND agent = $4"
        });
        let sql = format!(
            "{SUMS} (SELECT {of_run}{RUNS}{of_agent} UNION ALL SELECT {of_sum}{GONE}{of_agent}) AS used GROUP BY what"
        );
        let rows = link.assembled(sql, &values).await?;
        let sum = |row: &Row| {
            let (runs, answered, spending) = (row.count(1)?, row.count(2)?, read_spending(row, 3)?);
            Ok(UsageRow { of: row.text(0)?, runs, answered, spending })
        };
        let mut rows = rows.iter().map(sum).collect::<Result<Vec<_>, Fault>>()?;
        // Databases disagree about the order of texts.
        rows.sort_by(|one, other| one.of.cmp(&other.of));
        Ok(rows)
    }
}
