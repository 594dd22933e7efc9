//! A run that is over: what is printed of it, and the exit code it has.

use std::{io, time::Duration};

use palisade_agent::{Agent, Entry, Outcome, RunError, Spent, Transcript, Usage};
use serde_json::{Value, json};

use crate::{
    Exit,
    conversation::Asked,
    events::VERSION,
    render::{Line, Style, Terminal, Timeline, Totals, words},
    sessions::{Ids, short},
};

/// A run that is over.
pub(crate) struct Ended {
    outcome: Result<Outcome, RunError>,
    totals: Totals,
    usage: Usage,
    time: Duration,
    /// What the model said last, if it is not an answer.
    said_last: Option<String>,
    /// It is on the screen already.
    shown: bool,
    /// What it is known by, if anything is kept of it.
    ids: Option<Ids>,
}

impl Ended {
    pub(crate) fn new(
        Asked { outcome, usage, ids }: Asked,
        timeline: &Timeline,
        transcript: &Transcript,
        time: Duration,
    ) -> Self {
        let said_last = timeline.broken_off().or_else(|| said_last(transcript));
        let shown = match &outcome {
            Ok(Outcome::Answered(answer)) => timeline.has_shown(answer),
            _ => timeline.speaks(),
        };
        Self { outcome, totals: timeline.totals(), usage, time, said_last, shown, ids }
    }

    pub(crate) fn exit(&self) -> Exit {
        match &self.outcome {
            Ok(Outcome::Answered(_)) => Exit::Done,
            Ok(Outcome::Spent(_)) => Exit::Spent,
            Ok(Outcome::Circling) => Exit::Circling,
            Ok(Outcome::Cancelled) => Exit::Cancelled,
            Err(RunError::Provider(_)) => Exit::NoReply,
            Err(RunError::Unfit { .. }) => Exit::Unfit,
            Err(RunError::CostUnknown { .. } | RunError::Unwritten(_)) => Exit::Failed,
        }
    }

    /// Prints what was answered, or why there is no answer and what there is instead.
    pub(crate) fn print(&self, terminal: &Terminal) -> io::Result<()> {
        match &self.outcome {
            Ok(Outcome::Answered(_)) if self.shown => return Ok(()),
            Ok(Outcome::Answered(answer)) => return terminal.markdown(answer),
            Ok(Outcome::Spent(spent)) => terminal.error(&format!("{spent}; {}", remedy(*spent))),
            Ok(Outcome::Circling) => terminal.error(CIRCLING),
            Ok(Outcome::Cancelled) => terminal.error(CANCELLED),
            Err(error) => terminal.error(&error.to_string()),
        }
        if let Some(text) = self.said_last.as_ref().filter(|_| !self.shown) {
            terminal.block("what was said last:", text);
        }
        Ok(())
    }

    /// The same; but an answer is data, and printed as it is.
    pub(crate) fn print_data(&self, terminal: &Terminal) -> io::Result<()> {
        match &self.outcome {
            Ok(Outcome::Answered(answer)) => terminal.text(answer),
            _ => self.print(terminal),
        }
    }

    /// The answer, or why there is none and what there is instead; for a program that passes it on.
    pub(crate) fn told(&self) -> Result<String, String> {
        let why = match &self.outcome {
            Ok(Outcome::Answered(answer)) => return Ok(answer.clone()),
            Ok(Outcome::Spent(spent)) => format!("{spent}; {}", remedy(*spent)),
            Ok(Outcome::Circling) => CIRCLING.to_owned(),
            Ok(Outcome::Cancelled) => CANCELLED.to_owned(),
            Err(error) => error.to_string(),
        };
        let last = self.said_last.as_ref().map(|text| format!("\n\nwhat was said last:\n{text}"));
        Err(why + &last.unwrap_or_default())
    }

    /// The session, if it can be gone on with.
    pub(crate) fn session_id(&self) -> Option<&str> {
        self.ids.as_ref().map(|ids| ids.session.as_str())
    }

    /// `3 steps, 12 calls (1 failed), 2 refusals, 1,204 tokens, $0.013, 140 ms`
    pub(crate) fn summary(&self) -> Line {
        let Totals { steps, calls, failed, denials, asked } = self.totals;
        let mut facts = vec![words::count(steps as usize, "step", "steps"), words::count(calls, "call", "calls")];
        if failed > 0 {
            facts[1] += &format!(" ({failed} failed)");
        }
        if denials > 0 {
            facts.push(words::count(denials, "refusal", "refusals"));
        }
        if asked > 0 {
            facts.push(format!("{} asked", words::count(asked, "agent", "agents")));
        }
        if self.usage.total() > 0 {
            facts.push(format!("{} tokens", words::thousands(self.usage.total())));
        }
        if self.usage.cost_micros > 0 {
            facts.push(words::dollars(self.usage.cost_micros));
        }
        facts.push(words::time(self.time));
        Line::new().add(Style::Dim, &facts.join(", "))
    }

    /// `session 0198c5a4`, if it can be gone on with.
    pub(crate) fn session(&self) -> Option<Line> {
        let session = &self.ids.as_ref()?.session;
        Some(Line::new().add(Style::Dim, &format!("session {}", short(session))))
    }

    /// All of it for programs; `docs/events.md` describes it.
    pub(crate) fn json(&self, agent: &Agent, transcript: Option<&Transcript>) -> Value {
        let (outcome, answer, error) = match &self.outcome {
            Ok(Outcome::Answered(answer)) => ("answered", Some(answer.as_str()), None),
            Ok(Outcome::Spent(spent)) => ("spent", None, Some(spent.to_string())),
            Ok(Outcome::Circling) => ("circling", None, Some(CIRCLING.to_owned())),
            Ok(Outcome::Cancelled) => ("cancelled", None, Some(CANCELLED.to_owned())),
            Err(error @ RunError::Unfit { .. }) => ("unfit", None, Some(error.to_string())),
            Err(error @ (RunError::Provider(_) | RunError::CostUnknown { .. } | RunError::Unwritten(_))) => {
                ("failed", None, Some(error.to_string()))
            }
        };
        let mut value = json!({
            "v": VERSION,
            "event": "result",
            "agent": agent.name,
            "outcome": outcome,
            "answer": answer,
            "steps": self.totals.steps,
            "calls": self.totals.calls,
            "usage": self.usage,
        });
        if let Some(Ids { session, run }) = &self.ids {
            value["session"] = session.as_str().into();
            value["run"] = run.as_str().into();
        }
        if let Some(error) = error {
            value["error"] = error.into();
            value["said_last"] = self.said_last.clone().into();
        }
        if let Some(transcript) = transcript {
            value["transcript"] = json!(transcript);
        }
        value
    }
}

fn said_last(transcript: &Transcript) -> Option<String> {
    transcript.entries().iter().rev().find_map(|entry| match entry {
        Entry::Reply { text, .. } if !text.trim().is_empty() => Some(text.clone()),
        _ => None,
    })
}

const CANCELLED: &str = "the run was cancelled";

const CIRCLING: &str = "the model did nothing but repeat itself; put the task in other words, or try another model";

fn remedy(spent: Spent) -> &'static str {
    match spent {
        Spent::Steps => "ask for less, or let it take more steps (--max-steps, or `max_steps` of the agent)",
        Spent::Tokens => {
            "ask for less, or let it use more tokens (--max-tokens, or `budget: { tokens: … }` of the agent)"
        }
        Spent::Calls => "ask for less, or let it make more calls (`budget: { calls: … }` of the agent)",
        Spent::Cost => "ask for less, or let it cost more (--max-cost, or `budget: { cost: … }` of the agent)",
        Spent::Reply => "let replies be longer (`max_tokens` of the agent), or ask for less at once",
        Spent::Depth => "let agents be started deeper (`budget: { depth: … }` of the agent)",
        Spent::Day => "wait for the next day (UTC), or ask the operator for more (`quotas` of the tenant)",
        Spent::Time => "ask for less, or let it take more time (--timeout, or `timeout` of the agent)",
    }
}
