//! The live line: what goes on, for how long, what it cost so far, and how to stop it.

use std::time::{Duration, Instant};

use palisade_agent::Usage;

use crate::render::{Line, Style, words};

/// What the live line says.
#[derive(Clone, Debug)]
pub(super) struct Status {
    started: Instant,
    pub(super) activity: Activity,
    /// What the replies so far cost.
    pub(super) usage: Usage,
}

/// What goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    Starting,
    Asking,
    Thinking,
    Speaking,
    Writing { tool: String, bytes: usize },
    Waiting { until: Instant },
    Calling(Vec<String>),
}

/// How many tools are named.
const NAMED: usize = 4;

impl Status {
    pub(super) fn begin(now: Instant) -> Self {
        Self { started: now, activity: Activity::Starting, usage: Usage::default() }
    }

    /// `asking the model · 12.4 s · 1,204 tokens · $0.013 · Ctrl-C to stop`
    pub(super) fn line(&self, now: Instant) -> Line {
        let mut facts = vec![words::seconds(now.saturating_duration_since(self.started))];
        if self.usage.total() > 0 {
            facts.push(format!("{} tokens", words::thousands(self.usage.total())));
        }
        if self.usage.cost_micros > 0 {
            facts.push(words::dollars(self.usage.cost_micros));
        }
        facts.push("Ctrl-C to stop".to_owned());
        let line = Line::new().add(Style::Caution, &self.activity.words(now));
        line.add(Style::Dim, &format!(" · {}", facts.join(" · ")))
    }
}

impl Activity {
    fn words(&self, now: Instant) -> String {
        match self {
            Self::Starting => "starting".to_owned(),
            Self::Asking => "asking the model".to_owned(),
            Self::Thinking => "the model is thinking".to_owned(),
            Self::Speaking => "the model is answering".to_owned(),
            Self::Writing { tool, bytes: 0 } => format!("writing a call of {tool}"),
            Self::Writing { tool, bytes } => format!("writing a call of {tool}, {}", words::size(*bytes as u64)),
            Self::Waiting { until } => {
                let left = until.saturating_duration_since(now) + Duration::from_millis(999);
                format!("asking again in {} s", left.as_secs())
            }
            Self::Calling(tools) => {
                let named = tools.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
                match tools.len().saturating_sub(NAMED) {
                    0 => format!("running {named}"),
                    more => format!("running {named} and {more} more"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_goes_on_and_what_it_cost() {
        let start = Instant::now();
        let mut status = Status::begin(start);
        let check = |status: &Status, millis, expected: &str| {
            assert_eq!(status.line(start + Duration::from_millis(millis)).plain(), expected);
        };
        check(&status, 0, "starting · 0.0 s · Ctrl-C to stop");
        status.activity = Activity::Calling(["grep", "ls", "read", "read", "glob"].map(str::to_owned).to_vec());
        status.usage = Usage { input_tokens: 12_000, output_tokens: 345, cost_micros: 13_400, ..Usage::default() };
        let expected = "running grep, ls, read, read and 1 more · 12.4 s · 12,345 tokens · $0.0134 · Ctrl-C to stop";
        check(&status, 12_400, expected);
        status.activity = Activity::Waiting { until: start + Duration::from_secs(75) };
        status.usage = Usage::default();
        check(&status, 72_500, "asking again in 3 s · 1 m 12 s · Ctrl-C to stop");
        status.activity = Activity::Writing { tool: "write".to_owned(), bytes: 2048 };
        check(&status, 72_500, "writing a call of write, 2.0 KiB · 1 m 12 s · Ctrl-C to stop");
    }
}
