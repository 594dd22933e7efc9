//! What of a conversation becomes a summary, and what the summary is made from.

use crate::{Entry, ToolSpec, Transcript, clip};

/// What a model is told that has to write a summary.
pub(crate) const INSTRUCTIONS: &str = include_str!("prompt/summary.md");

/// About how many bytes one token has. Only whether room is needed depends on it.
const BYTES_PER_TOKEN: u64 = 4;

/// The most bytes of one entry that a summary is made from.
const ENTRY_PART: usize = 2048;

/// About how many tokens a text of that many bytes has.
pub(crate) fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(BYTES_PER_TOKEN)
}

/// About how many tokens a model reads with the next prompt.
pub(crate) fn size(instructions: &str, tools: &[ToolSpec], transcript: &Transcript) -> u64 {
    let tools = tools.iter().map(|tool| tool.description.len() + tool.input_schema.to_string().len()).sum::<usize>();
    let entries: u64 = transcript.visible().into_iter().map(entry_size).sum();
    tokens(instructions.len() + tools).saturating_add(entries)
}

fn entry_size(entry: &Entry) -> u64 {
    tokens(match entry {
        Entry::User { text } | Entry::Notice { text } | Entry::Summary { text, .. } => text.len(),
        // What the provider keeps holds the words and the calls once more, and is sent in their place.
        Entry::Reply { kept: Some(kept), .. } => kept.value.to_string().len(),
        Entry::Reply { text, calls, .. } => {
            text.len() + calls.iter().map(|call| call.tool.len() + call.input.to_string().len()).sum::<usize>()
        }
        Entry::Result { result, .. } => result.text().len(),
    })
}

/// Which entries a summary will stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// How many of the first entries.
    pub(crate) covers: usize,
    /// How many of them an earlier summary stands for already.
    covered: usize,
    /// About how many tokens they have.
    pub(crate) saved: u64,
}

impl Plan {
    /// Keeps about as many tokens of the newest entries as `keep`, and at least the last step. The cut
    /// never falls between a call and its result. Nothing, if all there is has to be kept.
    pub(crate) fn of(transcript: &Transcript, keep: u64) -> Option<Self> {
        let entries = transcript.entries();
        let covered = transcript.covered();
        let may_begin = |entry: &Entry| matches!(entry, Entry::User { .. } | Entry::Reply { .. });
        let (mut kept, mut cut) = (0u64, None);
        for (at, entry) in entries.iter().enumerate().skip(covered).rev() {
            kept = kept.saturating_add(entry_size(entry));
            if kept > keep && cut.is_some() {
                break;
            }
            if may_begin(entry) {
                cut = Some(at);
            }
        }
        let covers = cut.filter(|cut| *cut > covered)?;
        let saved = entries.get(covered..covers)?.iter().map(entry_size).sum();
        Some(Self { covers, covered, saved })
    }

    /// What the summary is made from, in at most so many tokens: an earlier summary, and each entry by
    /// its beginning and its end.
    pub(crate) fn rendering(self, transcript: &Transcript, most: u64) -> String {
        let entries = transcript.entries().get(self.covered..self.covers).unwrap_or_default();
        let earlier = transcript.visible().into_iter().filter(|entry| matches!(entry, Entry::Summary { .. }));
        let parts: Vec<String> = earlier.chain(entries).filter_map(rendered).collect();
        let most = usize::try_from(most.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
        clip(&parts.join("\n\n"), most.min(crate::ENTRY_LIMIT / 2))
    }

    /// The summary as the model reads it: the task stays word for word.
    pub(crate) fn introduce(self, transcript: &Transcript, summary: &str) -> String {
        let task = clip(transcript.first_task(), 4 * ENTRY_PART);
        format!(
            "[The conversation became too long. This stands for its first part.]\n\nThe task was:\n{task}\n\n{summary}"
        )
    }
}

fn rendered(entry: &Entry) -> Option<String> {
    let part = |text: &str| clip(text.trim(), ENTRY_PART);
    match entry {
        Entry::User { text } => Some(format!("User: {}", part(text))),
        Entry::Summary { text, .. } => Some(format!("Earlier summary: {}", clip(text, 8 * ENTRY_PART))),
        Entry::Reply { text, calls, .. } => {
            let calls = calls.iter().map(|call| format!("\nCalled {} {}", call.tool, part(&call.input.to_string())));
            Some(format!("Agent: {}{}", part(text), calls.collect::<String>()))
        }
        Entry::Result { result, .. } if result.is_done() => Some(format!("Result: {}", part(result.text()))),
        Entry::Result { result, .. } => Some(format!("Failed: {}", part(result.text()))),
        Entry::Notice { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Reply, ToolCall, ToolResult};

    fn long(steps: usize) -> Transcript {
        let mut transcript = Transcript::new();
        transcript.record_user("find it");
        for step in 0..steps {
            let call =
                ToolCall { id: step.to_string(), tool: "read".into(), input: json!({ "path": step.to_string() }) };
            transcript.record_reply(&Reply { text: format!("step {step}"), calls: vec![call], ..Reply::default() });
            transcript.record_result(&step.to_string(), ToolResult::done("x".repeat(4000)));
        }
        transcript
    }

    #[test]
    fn the_newest_steps_stay_and_no_result_loses_its_call() {
        let transcript = long(10);
        for keep in [0, 100, 1500, 5000] {
            let plan = Plan::of(&transcript, keep).unwrap();
            assert!(matches!(transcript.entries()[plan.covers], Entry::Reply { .. }), "{keep}: {plan:?}");
        }
        assert_eq!(Plan::of(&transcript, 2100).unwrap().covers, transcript.entries().len() - 4);
    }

    #[test]
    fn what_fits_is_left_alone() {
        assert_eq!(Plan::of(&long(10), 1_000_000), None);
        assert_eq!(Plan::of(&long(0), 0), None);
    }

    #[test]
    fn a_summary_of_a_summary_keeps_the_first() {
        let mut transcript = long(6);
        let plan = Plan::of(&transcript, 0).unwrap();
        transcript.record_summary(&plan.introduce(&transcript, "it began"), plan.covers);
        let before = size("", &[], &transcript);
        assert!(before < size("", &[], &long(6)) / 3, "{before}");
        for step in 6..12 {
            transcript.record_reply(&Reply::answer(format!("more {step}")));
        }
        let plan = Plan::of(&transcript, 0).unwrap();
        let text = plan.rendering(&transcript, 100_000);
        assert!(text.contains("it began") && text.contains("more 8") && !text.contains("step 1"), "{text}");
        assert!(plan.introduce(&transcript, "s").contains("The task was:\nfind it"));
    }
}
