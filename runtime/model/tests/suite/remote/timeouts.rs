//! Servers that are late: with the connection, the first byte, the next one, or the last.

use std::time::Duration;

use palisade_agent::ProviderFailure;
use palisade_model::Patience;
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::recorded::{RECORDED, Recorded, check};
use super::server::{Answer, Server};
use super::world::{Asked, LONG, PATIENCE, ask, ask_until, connection, in_every_dialect};

const SHORT: Duration = Duration::from_millis(150);

fn is_late(asked: &Asked, words: &str) {
    let (kind, message) = asked.failure();
    assert_eq!(kind, ProviderFailure::TimedOut, "{message}");
    assert!(message.contains(words), "{message}");
    assert!((SHORT..LONG).contains(&asked.took), "{:?}", asked.took);
}

/// PROV-02
#[tokio::test]
async fn no_connection_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    for recorded in RECORDED {
        let asked = ask(connection(recorded.dialect, &url, Patience { connect: SHORT, ..PATIENCE })).await;
        is_late(&asked, "timed out");
    }
}

/// PROV-02
#[tokio::test]
async fn no_first_byte_in_time() {
    let patience = Patience { first_byte: SHORT, ..PATIENCE };
    let silent_after_head = |recorded: Recorded| vec![Answer::stream(recorded.stream).silent_at(0)];
    for (asked, _) in in_every_dialect(patience, silent_after_head).await {
        is_late(&asked, "nothing came for 150ms");
    }
    for (asked, _) in in_every_dialect(patience, |_| vec![Answer::silence()]).await {
        is_late(&asked, "nothing came for 150ms");
    }
}

/// PROV-02
#[tokio::test]
async fn no_next_byte_in_time() {
    let script = |recorded: Recorded| vec![Answer::stream(recorded.stream).silent_at(100)];
    for (asked, _) in in_every_dialect(Patience { idle: SHORT, ..PATIENCE }, script).await {
        is_late(&asked, "nothing more came for 150ms");
    }
}

/// PROV-02
#[tokio::test]
async fn no_last_byte_in_time() {
    let script = |recorded: Recorded| vec![Answer::stream(recorded.stream).dripping(1, Duration::from_millis(10))];
    for (asked, _) in in_every_dialect(Patience { total: SHORT, ..PATIENCE }, script).await {
        is_late(&asked, "not complete in time");
    }
}

/// PROV-02
#[tokio::test]
async fn an_error_whose_body_does_not_come_is_still_that_error() {
    let patience = Patience { idle: SHORT, ..PATIENCE };
    let answer = Answer::error(401, r#"{"error": "no"}"#).silent_at(8);
    for (asked, _) in in_every_dialect(patience, |_| vec![answer.clone()]).await {
        assert_eq!(asked.failure().0, ProviderFailure::Unauthorized);
    }
}

#[tokio::test]
async fn the_run_is_over_before_the_reply() {
    for recorded in RECORDED {
        let server = Server::start([Answer::silence()]).await;
        let begun = Instant::now();
        let asked = ask_until(connection(recorded.dialect, &server.url, PATIENCE), begun + SHORT).await;
        // Its time begins before it is asked.
        is_late(&Asked { took: begun.elapsed(), ..asked }, "not complete in time");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_slow_reply_that_comes_steadily_is_waited_for() {
    let patience = Patience { first_byte: LONG, idle: 20 * SHORT, ..PATIENCE };
    let script = |recorded: Recorded| {
        vec![Answer::stream(recorded.stream).dripping(500, Duration::from_millis(20)).after(SHORT)]
    };
    for (asked, _) in in_every_dialect(patience, script).await {
        check(&asked.reply.unwrap());
    }
}
