//! Waits between tries: what the server asks for, within reason and within the run's time.

use std::time::{Duration, SystemTime};

use palisade_agent::ProviderFailure;
use palisade_model::Patience;
use tokio::time::Instant;

use super::recorded::{RECORDED, check};
use super::server::{Answer, Server};
use super::world::{PATIENCE, ask, ask_until, connection};

const BUSY: &str = r#"{"error": {"type": "rate_limit_error", "message": "slow down"}}"#;

fn busy(retry_after: &str) -> Answer {
    Answer::error(429, BUSY).header("retry-after", retry_after)
}

/// PROV-01
#[tokio::test]
async fn a_wait_of_any_kind_is_capped() {
    let longest_wait = Duration::from_millis(40);
    let tomorrow = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(24 * 60 * 60));
    for recorded in RECORDED {
        let whole = Answer::stream(recorded.stream);
        let script = [busy("7"), busy(&tomorrow), busy("315360000"), Answer::error(429, BUSY), whole];
        let server = Server::start(script).await;
        let patience = Patience { retries: 4, longest_wait, ..PATIENCE };
        let asked = ask(connection(recorded.dialect, &server.url, patience)).await;
        check(&asked.reply.unwrap());
        let waits: Vec<Duration> = asked.again.iter().map(|(_, wait)| *wait).collect();
        assert!(waits.iter().all(|wait| *wait <= longest_wait), "{waits:?}");
        assert!(waits[..3].iter().all(|wait| *wait >= longest_wait / 4 * 3), "{waits:?}");
        assert!(asked.took >= waits.iter().sum(), "{:?} of {waits:?}", asked.took);
        assert!(asked.again.iter().all(|(why, _)| why == "status 429: rate_limit_error: slow down"));
        assert_eq!(server.requests().len(), 5);
    }
}

/// PROV-01
#[tokio::test]
async fn a_wait_is_as_long_as_the_server_asks_for() {
    for recorded in RECORDED {
        let server = Server::start([busy("1"), Answer::stream(recorded.stream)]).await;
        let patience = Patience { retries: 1, longest_wait: Duration::from_secs(60), ..PATIENCE };
        let asked = ask(connection(recorded.dialect, &server.url, patience)).await;
        check(&asked.reply.unwrap());
        assert!((1000..1400).contains(&asked.again[0].1.as_millis()), "{:?}", asked.again);
        assert!(asked.took >= asked.again[0].1);
    }
}

/// PROV-01
#[tokio::test]
async fn a_wait_past_the_deadline_is_not_begun() {
    for recorded in RECORDED {
        let server = Server::start([busy("60")]).await;
        let patience = Patience { retries: 4, longest_wait: Duration::from_secs(90), ..PATIENCE };
        let deadline = Instant::now() + Duration::from_secs(30);
        let asked = ask_until(connection(recorded.dialect, &server.url, patience), deadline).await;
        assert_eq!(asked.failure().0, ProviderFailure::RateLimited);
        assert!(asked.again.is_empty() && asked.took < Duration::from_secs(20), "{:?}", asked.took);
        assert_eq!(server.requests().len(), 1);
    }
}
