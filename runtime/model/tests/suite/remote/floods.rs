//! Servers that say too much, or something else.

use std::time::Duration;

use palisade_agent::ProviderFailure;
use palisade_model::Patience;

use super::recorded::Recorded;
use super::server::Answer;
use super::world::{LONG, PATIENCE, in_every_dialect};

/// A client that stopped reading leaves this much at most in the buffers of both sides.
const IN_BUFFERS: usize = 32 << 20;
const GIGABYTE: usize = 1 << 30;

/// PROV-06
#[tokio::test]
async fn a_page_instead_of_a_stream_is_malformed() {
    let page = Answer::new(200, "text/html", "<html>\n<h1>Log in</h1>".to_owned() + &" ".repeat(1 << 20));
    for (asked, _) in in_every_dialect(PATIENCE, |_| vec![page.clone()]).await {
        let (kind, message) = asked.failure();
        assert_eq!(kind, ProviderFailure::Malformed);
        assert!(
            message.contains("answered with `text/html` instead of a stream of events: <html> <h1>Log in"),
            "{message}"
        );
        assert!(message.len() < 500, "{message}");
    }
    let json = Answer::new(200, "application/json", r#"{"choices": []}"#);
    for (asked, _) in in_every_dialect(PATIENCE, |_| vec![json.clone()]).await {
        assert_eq!(asked.failure().0, ProviderFailure::Malformed);
    }
}

/// PROV-06
#[tokio::test]
async fn a_body_without_end_is_read_up_to_the_limit() {
    let patience = Patience { retries: 1, ..PATIENCE };
    for body in ["x".repeat(1 << 16), "data: x\n".repeat(1 << 13), ": x\n".repeat(1 << 14), "\n".repeat(1 << 16)] {
        let answer = Answer::stream(body).forever();
        for (asked, server) in in_every_dialect(patience, |_| vec![answer.clone()]).await {
            let (kind, message) = asked.failure();
            assert_eq!((kind, asked.again.len()), (ProviderFailure::TooLarge, 0), "{message}");
            assert!(message.contains("longer than 1048576 bytes"), "{message}");
            assert!(server.written() < IN_BUFFERS && IN_BUFFERS < GIGABYTE, "{}", server.written());
        }
    }
}

/// PROV-06
#[tokio::test]
async fn an_event_without_end_is_read_up_to_its_own_limit() {
    let patience = Patience { bytes: 1 << 30, retries: 1, ..PATIENCE };
    for body in ["x".repeat(1 << 16), "data: x\n".repeat(1 << 13)] {
        let answer = Answer::stream(body).forever();
        for (asked, server) in in_every_dialect(patience, |_| vec![answer.clone()]).await {
            let (kind, message) = asked.failure();
            assert_eq!((kind, asked.again.len()), (ProviderFailure::TooLarge, 0), "{message}");
            assert!(message.contains("longer than 4194304 bytes"), "{message}");
            assert!(server.written() < IN_BUFFERS, "{}", server.written());
        }
    }
}

/// PROV-06
#[tokio::test]
async fn an_error_without_end_is_read_up_to_its_own_limit() {
    for status in [200, 400] {
        let answer = Answer::new(status, "text/html", "sorry ".repeat(1 << 13)).forever();
        let patience = Patience { bytes: 1 << 30, ..PATIENCE };
        for (asked, server) in in_every_dialect(patience, |_| vec![answer.clone()]).await {
            let (kind, message) = asked.failure();
            let expected = if status == 200 { ProviderFailure::Malformed } else { ProviderFailure::Rejected };
            assert_eq!(kind, expected);
            assert!(message.len() < 600 && server.written() < IN_BUFFERS, "{} {message}", server.written());
        }
    }
}

/// PROV-06
#[tokio::test]
async fn comments_keep_no_connection_for_ever() {
    let script =
        |_: Recorded| vec![Answer::stream(": keep-alive\n\n").dripping(14, Duration::from_millis(5)).forever()];
    let total = Duration::from_millis(300);
    let patience = Patience { idle: Duration::from_millis(100), total, ..PATIENCE };
    for (asked, _) in in_every_dialect(patience, script).await {
        assert_eq!(asked.failure().0, ProviderFailure::TimedOut);
        assert!((total..LONG).contains(&asked.took), "{:?}", asked.took);
    }
    for (asked, _) in in_every_dialect(Patience { bytes: 200, ..PATIENCE }, script).await {
        assert_eq!(asked.failure().0, ProviderFailure::TooLarge);
    }
}
