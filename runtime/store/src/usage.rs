//! Adding up what runs used, those that are there and those that went with their sessions. Of the latter a sum is
//! kept for each day, agent and model.

use std::collections::{BTreeMap, btree_map::Iter};

use palisade_agent::{Ending, RunRecord, RunState, Span, Spending, UsageQuery, UsageRow};

use crate::rules;

/// What is known of runs whose session is gone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Group {
    /// On which they began, in UTC.
    pub(crate) day: String,
    pub(crate) agent: String,
    pub(crate) model: String,
}

/// What some runs used up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) runs: u64,
    pub(crate) answered: u64,
    pub(crate) spending: Spending,
}

/// What runs used up, each kind of them for itself.
#[derive(Debug, Default)]
pub(crate) struct Sums(BTreeMap<Group, Sum>);

impl Sums {
    /// Adds to one.
    pub(crate) fn add(&mut self, group: Group, sum: &Sum) {
        let kept = self.0.entry(group).or_default();
        kept.runs = kept.runs.saturating_add(sum.runs);
        kept.answered = kept.answered.saturating_add(sum.answered);
        add(&mut kept.spending, &sum.spending);
        kept.spending = rules::bounded(kept.spending);
    }

    /// Adds a run.
    pub(crate) fn add_run(&mut self, run: &RunRecord) {
        let group = Group { day: rules::day(run.started_at), agent: run.agent.clone(), model: run.model.clone() };
        self.add(group, &Sum { runs: 1, answered: answered(run), spending: run.spending });
    }

    pub(crate) fn iter(&self) -> Iter<'_, Group, Sum> {
        self.0.iter()
    }
}

/// One row for each agent, session or day, in the order of their names. Runs that are gone are of a session without a
/// name, and began as early as their day did.
pub(crate) fn add_up<'a>(
    runs: impl Iterator<Item = &'a RunRecord>,
    gone: Option<&Sums>,
    query: &UsageQuery,
) -> Vec<UsageRow> {
    let is_agent = |agent: &str| query.agent.as_ref().is_none_or(|wanted| agent == *wanted);
    let mut rows: BTreeMap<String, UsageRow> = BTreeMap::new();
    let mut count = |of: String, sum: &Sum| {
        let row = rows.entry(of.clone()).or_insert_with(|| UsageRow { of, ..UsageRow::default() });
        row.runs = row.runs.saturating_add(sum.runs);
        row.answered = row.answered.saturating_add(sum.answered);
        add(&mut row.spending, &sum.spending);
    };
    for run in runs.filter(|run| is_agent(&run.agent) && query.since.is_none_or(|since| run.started_at >= since)) {
        let of = match query.by {
            Span::Agent => run.agent.clone(),
            Span::Session => run.session.id.clone(),
            Span::Day => rules::day(run.started_at),
        };
        count(of, &Sum { runs: 1, answered: answered(run), spending: run.spending });
    }
    let first = query.since.map(rules::day);
    for (group, sum) in gone.into_iter().flat_map(Sums::iter) {
        if !is_agent(&group.agent) || first.as_ref().is_some_and(|first| group.day < *first) {
            continue;
        }
        let of = match query.by {
            Span::Agent => group.agent.clone(),
            Span::Session => String::new(),
            Span::Day => group.day.clone(),
        };
        count(of, sum);
    }
    rows.into_values().collect()
}

fn answered(run: &RunRecord) -> u64 {
    u64::from(matches!(run.state, RunState::Ended { ending: Some(Ending::Answered), .. }))
}

fn add(to: &mut Spending, spending: &Spending) {
    to.steps = to.steps.saturating_add(spending.steps);
    to.calls = to.calls.saturating_add(spending.calls);
    to.usage += spending.usage;
    to.time = to.time.saturating_add(spending.time);
}
