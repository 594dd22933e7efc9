//! Streams that break off, and streams in pieces.

use std::time::Duration;

use palisade_agent::ProviderFailure;
use palisade_model::{Patience, connect};
use tokio::time::Instant;

use crate::recorded::{RECORDED, Recorded, check};
use crate::server::{Answer, Server};
use crate::world::{LONG, PATIENCE, ask_provider, connection, in_every_dialect};

/// PROV-03
#[tokio::test]
async fn a_stream_cut_at_any_byte_gives_no_reply_and_the_next_try_works() {
    for recorded in RECORDED {
        let whole = Answer::stream(recorded.stream);
        let cuts = 0..recorded.stream.len();
        let script = cuts.clone().flat_map(|at| [whole.clone().cut_at(at), whole.clone().cut_at(at), whole.clone()]);
        let server = Server::start(script).await;
        let once = connect(connection(recorded.dialect, &server.url, PATIENCE)).unwrap();
        let twice = connection(recorded.dialect, &server.url, Patience { retries: 1, ..PATIENCE });
        let twice = connect(twice).unwrap();
        let deadline = Instant::now() + 20 * LONG;
        // A dialect may say twice that a reply is over; the second time is not waited for.
        let mut complete = 0;
        for at in cuts {
            let first = ask_provider(&*once, deadline).await;
            match &first.reply {
                Ok(reply) => {
                    check(reply);
                    complete += 1;
                    check(&ask_provider(&*once, deadline).await.reply.unwrap());
                    check(&ask_provider(&*once, deadline).await.reply.unwrap());
                }
                Err(error) => {
                    assert_eq!(error.kind, ProviderFailure::Cut, "cut at {at}: {error}");
                    let second = ask_provider(&*twice, deadline).await;
                    check(&second.reply.unwrap());
                    assert_eq!(second.again.len(), 1, "cut at {at}");
                }
            }
        }
        assert!(complete <= recorded.stream.len() - last_event(recorded.stream), "{complete} cuts gave a reply");
        assert_eq!(server.requests().len(), 3 * recorded.stream.len());
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
            |recorded: crate::recorded::Recorded| vec![Answer::stream(recorded.stream).dripping(bytes, Duration::ZERO)];
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
    for garbage in ["data: {\"cut\n\n", "data: nonsense\n\n", "data: \u{0}\n\n"] {
        let script = |recorded: Recorded| {
            let middle = last_event(recorded.stream);
            let broken = [&recorded.stream[..middle], b"\n\n", garbage.as_bytes()].concat();
            vec![Answer::stream(broken), Answer::stream(recorded.stream)]
        };
        for (asked, server) in in_every_dialect(Patience { retries: 1, ..PATIENCE }, script).await {
            check(&asked.reply.unwrap());
            assert_eq!(server.requests().len(), 2);
        }
    }
}
