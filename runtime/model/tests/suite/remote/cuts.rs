//! Streams that break off, and streams in pieces.

use std::time::Duration;

use palisade_agent::ProviderFailure;
use palisade_model::{Dialect, Patience, connect};
use tokio::time::Instant;

use super::recorded::{RECORDED, Recorded, check};
use super::server::{Answer, Server};
use super::world::{LONG, PATIENCE, ask_provider, connection, in_every_dialect};

/// Cuts the recorded stream of a dialect at every byte. The try that was cut gives nothing, and the one
/// after it gives the whole reply.
async fn cut_at_every_byte(dialect: Dialect) {
    let recorded = RECORDED.iter().find(|recorded| recorded.dialect == dialect).unwrap();
    let whole = Answer::stream(recorded.stream);
    let script = (0..recorded.stream.len()).flat_map(|at| [whole.clone().cut_at(at), whole.clone()]);
    let server = Server::start(script).await;
    let patience = Patience { retries: 1, longest_wait: Duration::ZERO, ..PATIENCE };
    let provider = connect(connection(dialect, &server.url, patience)).unwrap();
    for at in 0..recorded.stream.len() {
        let asked = ask_provider(&*provider, Instant::now() + LONG).await;
        check(&asked.reply.unwrap());
        let [(why, _)] = &asked.again[..] else { panic!("cut at {at}: {:?}", asked.again) };
        assert!(why.starts_with(&format!("the connection broke after {at} bytes of the reply: ")), "{why}");
    }
    assert_eq!(server.requests().len(), 2 * recorded.stream.len());
}

/// PROV-03
#[tokio::test]
async fn a_messages_stream_cut_at_any_byte_gives_nothing_and_the_next_try_works() {
    cut_at_every_byte(Dialect::Anthropic).await;
}

/// PROV-03
#[tokio::test]
async fn a_chat_stream_cut_at_any_byte_gives_nothing_and_the_next_try_works() {
    cut_at_every_byte(Dialect::Chat).await;
}

/// PROV-03
#[tokio::test]
async fn a_responses_stream_cut_at_any_byte_gives_nothing_and_the_next_try_works() {
    cut_at_every_byte(Dialect::Responses).await;
}

/// PROV-03
#[tokio::test]
async fn a_cut_stream_is_typed_and_gives_no_reply() {
    let script = |recorded: Recorded| vec![Answer::stream(recorded.stream).cut_at(recorded.stream.len() - 1)];
    for (asked, _) in in_every_dialect(PATIENCE, script).await {
        assert_eq!(asked.failure().0, ProviderFailure::Cut);
    }
}

/// Where the last event with data begins.
fn last_event(stream: &[u8]) -> usize {
    let text = str::from_utf8(stream).unwrap().trim_end();
    text.rfind("\n\n").unwrap()
}

/// PROV-07
#[tokio::test]
async fn a_stream_in_pieces_of_any_size_is_the_same_reply() {
    for bytes in [1, 2, 3, 7, 64, 1000] {
        let script =
            |recorded: super::recorded::Recorded| vec![Answer::stream(recorded.stream).dripping(bytes, Duration::ZERO)];
        for (asked, _) in in_every_dialect(PATIENCE, script).await {
            check(&asked.reply.unwrap());
        }
    }
}

/// PROV-07
#[tokio::test]
async fn line_ends_a_byte_order_mark_and_comments_change_nothing() {
    let script = |recorded: Recorded| {
        let text = str::from_utf8(recorded.stream).unwrap();
        let text = format!("\u{feff}: hello\r\n\r\n{}", text.replace('\n', "\r\n").replace("data: ", "data:"));
        vec![Answer::stream(text).dripping(5, Duration::ZERO)]
    };
    for (asked, _) in in_every_dialect(PATIENCE, script).await {
        check(&asked.reply.unwrap());
    }
}

/// PROV-02, PROV-03
#[tokio::test]
async fn garbage_in_the_middle_is_a_failure_that_may_pass() {
    let garbage: [&[u8]; 4] = [b"data: {\"cut\n\n", b"data: nonsense\n\n", b"data: \0\n\n", b"data: \xff\n\n"];
    for garbage in garbage {
        let script = |recorded: Recorded| {
            let middle = last_event(recorded.stream);
            let broken = [&recorded.stream[..middle], b"\n\n", garbage].concat();
            vec![Answer::stream(broken), Answer::stream(recorded.stream)]
        };
        for (asked, server) in in_every_dialect(Patience { retries: 1, ..PATIENCE }, script).await {
            check(&asked.reply.unwrap());
            assert_eq!(server.requests().len(), 2);
        }
    }
}

/// PROV-05
#[tokio::test]
async fn what_comes_after_the_end_is_not_read() {
    let script = |recorded: Recorded| {
        let twice = [recorded.stream, recorded.stream, b"data: nonsense\n\n"].concat();
        vec![Answer::stream(twice)]
    };
    for (asked, server) in in_every_dialect(PATIENCE, script).await {
        check(&asked.reply.unwrap());
        assert_eq!(server.requests().len(), 1);
    }
}
