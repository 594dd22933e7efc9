use std::convert::Infallible;

use futures_util::FutureExt as _;
use futures_util::stream::{self, StreamExt as _};
use palisade_agent::{Part, ReplySettings, Transcript};
use proptest::prelude::*;

use super::events::events;
use super::*;
use crate::dialect::{self, Fault, Progress};
use crate::{Dialect, Patience, ToolMode};

fn connection(base_url: &str) -> Connection {
    Connection {
        provider: "mock".into(),
        model: "test-model".into(),
        dialect: Dialect::Anthropic,
        base_url: base_url.into(),
        proxy: None,
        key: None,
        headers: std::collections::BTreeMap::new(),
        tool_mode: ToolMode::Native,
        context_window: None,
        max_tokens: None,
        price: None,
        patience: Patience::default(),
    }
}

/// Every dialect with a stream in it.
fn recorded() -> Vec<(Box<dyn Speak>, &'static [u8])> {
    vec![
        (Box::new(dialect::Anthropic), include_bytes!("../../tests/streams/anthropic.sse")),
        (Box::new(dialect::Chat), include_bytes!("../../tests/streams/chat.sse")),
        (Box::new(dialect::Responses), include_bytes!("../../tests/streams/responses.sse")),
    ]
}

/// Reads a stream in pieces; nothing if it ends before the reply does.
fn read<'a>(dialect: &dyn Speak, pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Option<Reply>, Fault> {
    let (transcript, settings) = (Transcript::new(), ReplySettings::default());
    let mut reader = dialect.reader(&Prompt::new("", &[], &transcript, &settings), &connection(""));
    let pieces = stream::iter(pieces.into_iter().map(|piece| Ok::<_, Infallible>(Bytes::copy_from_slice(piece))));
    let mut events = std::pin::pin!(events(pieces));
    while let Some(event) = events.next().now_or_never().unwrap() {
        // What is no text ends the stream.
        let Ok(event) = event else { return Ok(None) };
        if reader.event(&event.event, &event.data, &|_: Part<'_>| {})? == Progress::Complete {
            return reader.finish().map(Some);
        }
    }
    if reader.may_end() { reader.finish().map(Some) } else { Ok(None) }
}

/// PROV-03
#[test]
fn a_stream_that_ends_at_any_byte_is_a_whole_reply_or_none() {
    for (dialect, stream) in recorded() {
        let whole = read(&*dialect, [stream]).unwrap();
        assert!(whole.as_ref().is_some_and(|reply| reply.calls.len() == 2));
        for at in 0..stream.len() {
            let cut = read(&*dialect, [&stream[..at]]).unwrap();
            // Where a stream may end early, only the count of tokens may be missing.
            let cut = cut.zip(whole.clone()).map(|(cut, whole)| Reply { usage: whole.usage, ..cut });
            assert!(cut.is_none() || cut == whole, "cut at {at}: {cut:?}");
        }
    }
}

proptest! {
    /// PROV-07
    #[test]
    fn the_same_bytes_in_any_pieces_are_the_same_reply(
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..200),
        line_end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        mark in prop::sample::select(vec!["", "\u{feff}"]),
    ) {
        for (dialect, stream) in recorded() {
            let text = mark.to_owned() + &str::from_utf8(stream).unwrap().replace('\n', line_end);
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len())).collect();
            cuts.sort_unstable();
            let ends = cuts.iter().copied().chain([text.len()]);
            let starts = [0].into_iter().chain(cuts.iter().copied());
            let pieces = starts.zip(ends).map(|(start, end)| &text.as_bytes()[start..end]);
            prop_assert_eq!(read(&*dialect, pieces), read(&*dialect, [stream]));
        }
    }

    /// PROV-05
    #[test]
    fn events_in_any_order_do_no_harm(order in prop::collection::vec(any::<prop::sample::Index>(), 0..60)) {
        for (dialect, stream) in recorded() {
            let events = events_of(stream);
            let mixed: String = order.iter().map(|at| *at.get(&events)).collect();
            harmless(read(&*dialect, [mixed.as_bytes()]))?;
        }
    }

    /// CFG-14: anything anywhere, also in the input of a call, which is JSON in JSON.
    #[test]
    fn what_stands_in_a_stream_and_does_not_belong_there_does_no_harm(
        at in any::<prop::sample::Index>(),
        over in 0_usize..40,
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..40),
            "[\\[\\]{}\":,a-z0-9\\\\ \n]{0,40}".prop_map(String::into_bytes),
        ],
    ) {
        for (dialect, stream) in recorded() {
            let at = at.index(stream.len());
            let rest = (at + over).min(stream.len());
            harmless(read(&*dialect, [&stream[..at], &bytes, &stream[rest..]]))?;
            harmless(read(&*dialect, [bytes.as_slice()]))?;
        }
    }

    /// PROV-05
    #[test]
    fn events_lost_or_doubled_do_no_harm(
        times in prop::collection::vec(prop_oneof![20 => Just(1), 1 => Just(0), 1 => Just(2)], 60),
    ) {
        for (dialect, stream) in recorded() {
            let events = events_of(stream).into_iter().zip(times.iter().cycle());
            let mixed: String = events.map(|(event, times)| event.repeat(*times)).collect();
            harmless(read(&*dialect, [mixed.as_bytes()]))?;
        }
    }
}

fn events_of(stream: &[u8]) -> Vec<&str> {
    str::from_utf8(stream).unwrap().split_inclusive("\n\n").collect()
}

/// It is a fault or a reply, and every call is one that the loop can make or refuse.
fn harmless(read: Result<Option<Reply>, Fault>) -> Result<(), TestCaseError> {
    for call in read.ok().flatten().into_iter().flat_map(|reply| reply.calls) {
        prop_assert!(call.input.is_string() || call.input.is_object(), "{}", call.input);
    }
    Ok(())
}

#[test]
fn a_path_is_added_to_the_base_url_once() {
    let check = |base: &str, path: &str, expected: &str| {
        assert_eq!(address(&connection(base), path).unwrap().as_str(), expected);
    };
    check("https://api.anthropic.com", "/v1/messages", "https://api.anthropic.com/v1/messages");
    check("https://api.anthropic.com/v1/", "/v1/messages", "https://api.anthropic.com/v1/messages");
    check(" http://127.0.0.1:11434/v1 ", "/chat/completions", "http://127.0.0.1:11434/v1/chat/completions");
    check("https://a.example/x?version=2", "/responses", "https://a.example/x/responses?version=2");
}

#[test]
fn a_base_url_is_shown_without_what_it_hides() {
    assert_eq!(shown("https://user:secret@a.example:8443/v1?token=secret#secret"), "https://a.example:8443/v1");
    assert_eq!(shown("secret"), "that");
}
