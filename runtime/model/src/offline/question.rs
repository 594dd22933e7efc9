//! What a user asks, without what clients put around it for a language model to read.

/// Blocks of instructions and reminders; other tags are the user's own words.
const BLOCKS: [&str; 3] = ["instructions", "system-reminder", "environment_context"];

/// The question in a message; all of it if there is nothing else.
pub(super) fn question(message: &str) -> &str {
    let mut rest = message.trim();
    while let Some(shorter) = without_context(rest).or_else(|| without_block(rest)) {
        rest = shorter.trim();
    }
    if rest.is_empty() { message.trim() } else { rest }
}

/// Without a line that says where the user is.
fn without_context(text: &str) -> Option<&str> {
    let line = text.strip_prefix("<context ")?;
    let (context, rest) = line.split_once('\n')?;
    context.trim_end().ends_with("/>").then_some(rest)
}

/// Without a block before or behind the rest.
fn without_block(text: &str) -> Option<&str> {
    BLOCKS.iter().find_map(|name| {
        let (opening, closing) = (format!("<{name}>"), format!("</{name}>"));
        let before = text.strip_prefix(&opening).and_then(|inside| inside.split_once(&closing));
        let behind = || text.strip_suffix(&closing).and_then(|inside| inside.rsplit_once(&opening));
        before.map(|(_, rest)| rest).or_else(|| behind().map(|(rest, _)| rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_put_around_a_question_is_not_asked_for() {
        let around = "<instructions>\nBe short.\n</instructions>\n\n<system-reminder>\nx\n</system-reminder>\n\nwhere are parcels \
                      unloaded?\n<system-reminder>y</system-reminder>";
        assert_eq!(question(around), "where are parcels unloaded?");
        assert_eq!(question("<context panel=\"a\" />\nwhere?"), "where?");
    }

    #[test]
    fn what_a_user_says_stays() {
        for text in [
            "where is <div>x</div> made?",
            "<div>x</div> is made where?",
            "what is <instructions> for?",
            "<instructions>never closed",
            "<context is everything",
            "<instructions>Be short.</instructions>",
            "",
        ] {
            assert_eq!(question(text), text);
        }
    }
}
