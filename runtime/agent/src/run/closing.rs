//! A reply without calls: the answer, or something the model has to be told.

use serde_json::Value;

use super::{Run, Stop};
use crate::{Event, ProviderError, ProviderFailure, Reply, ReplyEnd, Spent};

/// How often in a row a model is told what is wrong with its answer before the run ends.
const CORRECTIONS: u32 = 3;

/// What was tried in a row to get an answer.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    /// How often the model was told what is wrong.
    corrections: u32,
    /// The answer as far as it was written before its replies were cut.
    begun: String,
}

impl Run<'_> {
    /// Ends the run with the answer, or tells the model why it is none.
    pub(super) fn close(&mut self, reply: &Reply) -> Result<(), Stop> {
        let is_blank = reply.text.trim().is_empty();
        match reply.ended {
            ReplyEnd::Length => {
                self.attempts.begun.push_str(&reply.text);
                self.correct(CUT, Stop::Spent(Spent::Reply))
            }
            ReplyEnd::Refused if is_blank => Err(Stop::Failed(self.no_answer(DECLINED))),
            ReplyEnd::Complete if is_blank && self.attempts.begun.is_empty() => {
                let stop = Stop::Failed(self.no_answer(BLANK));
                self.correct(ASK_FOR_WORDS, stop)
            }
            ReplyEnd::Complete | ReplyEnd::Refused => {
                let answer = std::mem::take(&mut self.attempts.begun) + &reply.text;
                self.accept(answer)
            }
        }
    }

    /// Holds an answer against what was expected.
    fn accept(&mut self, answer: String) -> Result<(), Stop> {
        let Some(schema) = &self.expected else { return Err(Stop::Answered(answer)) };
        let bare = without_fence(&answer);
        let faults = match serde_json::from_str::<Value>(bare) {
            Ok(value) => schema.faults(&value),
            Err(error) => vec![format!("it is not JSON: {error}")],
        };
        if faults.is_empty() {
            return Err(Stop::Answered(bare.to_owned()));
        }
        let faults = faults.join("; ");
        let told = format!("your answer has to be one JSON value that fits the schema, and nothing else; {faults}");
        self.correct(&told, Stop::Unfit(faults))
    }

    /// Tells the model what is wrong, unless it was told too often.
    fn correct(&mut self, text: &str, otherwise: Stop) -> Result<(), Stop> {
        self.attempts.corrections += 1;
        if self.attempts.corrections > CORRECTIONS {
            return Err(otherwise);
        }
        self.tell(text);
        Ok(())
    }

    /// Tells the model something, for all to see.
    pub(super) fn tell(&mut self, text: &str) {
        self.transcript.record_notice(text);
        self.watcher.watch(Event::Noticed { text: text.to_owned() });
    }

    fn no_answer(&self, message: &str) -> ProviderError {
        ProviderError {
            provider: self.provider.name().to_owned(),
            kind: ProviderFailure::Rejected,
            message: message.to_owned(),
        }
    }
}

const CUT: &str = "your reply reached the most tokens it may have and was cut; a call that you were writing was not made. \
                   Go on exactly where it ends, in smaller pieces";
const ASK_FOR_WORDS: &str = "your reply was empty; call a tool or give your answer in words";
pub(crate) const BLANK: &str = "the model gives empty replies; try again, or another model";
const DECLINED: &str = "the model declined to answer; put the task in other words, or try another model";

/// Models like to wrap JSON into a fence although they were told not to.
fn without_fence(answer: &str) -> &str {
    let text = answer.trim();
    let inner = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    inner.and_then(|text| text.split_once('\n')).map_or(text, |(_, body)| body.trim())
}
