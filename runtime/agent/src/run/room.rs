//! Making room: a conversation that becomes too long for its model is continued from a summary.

use super::{Run, Stop};
use crate::compact::{self, Plan};
use crate::{Event, Prompt, ProviderError, ReplySettings, Transcript};

/// The part of a model's window that may be full before room is made, in hundredths. The rest is for
/// the reply, and for our counting being a guess.
const FULL: u64 = 75;

/// The part that is kept word for word, in hundredths.
const KEPT: u64 = 30;

/// What is taken for the window of a model that has refused a conversation and whose window is unknown:
/// half of what was refused.
const AFTER_REFUSAL: u64 = 2;

impl Run<'_> {
    /// Continues from a summary where the model's window is nearly full.
    pub(super) async fn make_room(&mut self, instructions: &str) -> Result<(), Stop> {
        let Some(window) = self.provider.context_window() else { return Ok(()) };
        let size = compact::size(instructions, self.toolbox.specs(), &self.transcript);
        if size <= window / 100 * FULL {
            return Ok(());
        }
        self.compact(size, window).await.map(|_| ())
    }

    /// Continues from a summary because the provider said that it is too much.
    pub(super) async fn shorten(&mut self, instructions: &str, error: ProviderError) -> Result<(), Stop> {
        let size = compact::size(instructions, self.toolbox.specs(), &self.transcript);
        let window = self.provider.context_window().unwrap_or(size).min(size / AFTER_REFUSAL);
        if self.compact(size, window).await? { Ok(()) } else { Err(Stop::Failed(error)) }
    }

    /// Says whether anything could be put into a summary.
    async fn compact(&mut self, size: u64, window: u64) -> Result<bool, Stop> {
        let Some(plan) = Plan::of(&self.transcript, window / 100 * KEPT) else { return Ok(false) };
        let text = plan.rendering(&self.transcript, window / 2);
        let summary = self.summary(&text).await?.unwrap_or(text);
        self.transcript.record_summary(&plan.introduce(&self.transcript, &summary), plan.covers);
        let entries = plan.covers;
        let after = size.saturating_sub(plan.saved).saturating_add(compact::tokens(summary.len()));
        self.watcher.watch(Event::Compacted { entries, before: size, after });
        Ok(true)
    }

    /// The model's own words for what happened; nothing if it has none, which is no reason to stop.
    async fn summary(&mut self, text: &str) -> Result<Option<String>, Stop> {
        let mut transcript = Transcript::new();
        transcript.record_user(text);
        let settings = ReplySettings { answer_schema: None, ..self.settings.clone() };
        let (instructions, deadline) = (compact::INSTRUCTIONS, self.account.deadline());
        let prompt = Prompt { instructions, tools: &[], transcript: &transcript, settings: &settings, deadline };
        let unheard = |_: crate::Part<'_>| {};
        let reply = self.unless_stopped(self.provider.reply(prompt, &unheard)).await?;
        let Ok(reply) = reply else { return Ok(None) };
        self.spend(reply.usage);
        Ok(Some(reply.text).filter(|text| !text.trim().is_empty()))
    }
}
