//! Adding up what runs used.

use std::collections::BTreeMap;

use palisade_agent::{Ending, RunRecord, RunState, Span, Spending, UsageQuery, UsageRow};

use crate::rules;

/// One row for each agent, session or day, in the order of their names.
pub(crate) fn add_up<'a>(runs: impl Iterator<Item = &'a RunRecord>, query: &UsageQuery) -> Vec<UsageRow> {
    let is_wanted = |run: &&RunRecord| {
        query.since.is_none_or(|since| run.started_at >= since)
            && query.agent.as_ref().is_none_or(|agent| run.agent == *agent)
    };
    let mut rows: BTreeMap<String, UsageRow> = BTreeMap::new();
    for run in runs.filter(is_wanted) {
        let of = match query.by {
            Span::Agent => run.agent.clone(),
            Span::Session => run.session.id.clone(),
            Span::Day => rules::day(run.started_at),
        };
        let row = rows.entry(of.clone()).or_insert_with(|| UsageRow { of, ..UsageRow::default() });
        row.runs += 1;
        row.answered += u64::from(matches!(run.state, RunState::Ended { ending: Some(Ending::Answered), .. }));
        add(&mut row.spending, &run.spending);
    }
    rows.into_values().collect()
}

fn add(to: &mut Spending, spending: &Spending) {
    to.steps = to.steps.saturating_add(spending.steps);
    to.calls = to.calls.saturating_add(spending.calls);
    to.usage += spending.usage;
    to.time = to.time.saturating_add(spending.time);
}
