//! Answers that are no reply, and servers that are not there: each is one kind of failure, with words
//! that help.

use palisade_agent::ProviderFailure;
use palisade_model::Patience;
use tokio::net::TcpListener;

use super::recorded::{RECORDED, Recorded, check};
use super::server::{Answer, Server};
use super::world::{PATIENCE, ask, connection, in_every_dialect};

const ONE_RETRY: Patience = Patience { retries: 1, ..PATIENCE };

/// PROV-02
#[tokio::test]
async fn what_may_pass_is_tried_again_and_the_reply_comes_once() {
    for (answer, kind) in [
        (Answer::error(500, "{}"), ProviderFailure::Broken),
        (Answer::error(503, "{}"), ProviderFailure::Broken),
        (Answer::error(529, "{}"), ProviderFailure::Broken),
        (Answer::error(408, "{}"), ProviderFailure::TimedOut),
        (Answer::error(429, "{}"), ProviderFailure::RateLimited),
        (Answer::reset(), ProviderFailure::Unreachable),
        (Answer::stream(""), ProviderFailure::Cut),
    ] {
        let script = |recorded: Recorded| vec![answer.clone(), Answer::stream(recorded.stream)];
        for (asked, server) in in_every_dialect(ONE_RETRY, script).await {
            check(&asked.reply.unwrap());
            assert_eq!((asked.again.len(), server.requests().len()), (1, 2), "{answer:?}");
        }
        for (asked, server) in in_every_dialect(ONE_RETRY, |_| vec![answer.clone(); 3]).await {
            assert_eq!((asked.failure().0, server.requests().len()), (kind, 2), "{answer:?}");
            assert!(asked.failure().1.contains("(2 tries)"), "{}", asked.failure().1);
        }
    }
}

#[tokio::test]
async fn what_does_not_pass_is_tried_once() {
    for (status, body, kind) in [
        (400, "{}", ProviderFailure::Rejected),
        (400, r#"{"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}"#, ProviderFailure::TooLong),
        (401, "{}", ProviderFailure::Unauthorized),
        (403, "{}", ProviderFailure::Unauthorized),
        (404, "{}", ProviderFailure::Rejected),
        (413, "{}", ProviderFailure::TooLong),
        (422, "{}", ProviderFailure::Rejected),
    ] {
        for (asked, server) in in_every_dialect(ONE_RETRY, |_| vec![Answer::error(status, body)]).await {
            assert_eq!((asked.failure().0, server.requests().len()), (kind, 1), "{status} {body}");
        }
    }
}

#[tokio::test]
async fn an_error_says_what_happened_and_what_would_help() {
    let script = [
        Answer::error(401, r#"{"error": {"type": "authentication_error", "message": "invalid\n key"}}"#),
        Answer::error(404, r#"{"error": "model 'test-model' not found"}"#),
        Answer::error(529, r#"{"error": {"type": "overloaded_error", "message": "Overloaded"}}"#),
    ];
    let server = Server::start(script).await;
    for expected in [
        "mock: test-model: status 401: authentication_error: invalid key; is the key right? \
         `palisade doctor` tells where the one of `mock` comes from",
        "mock: test-model: status 404: model 'test-model' not found; does `mock` have this model, \
         and does it take these settings? see `palisade models`",
        "mock: test-model: status 529: overloaded_error: Overloaded; it may work later: try again",
    ] {
        let asked = ask(connection(RECORDED[0].dialect, &server.url, PATIENCE)).await;
        assert_eq!(asked.reply.unwrap_err().to_string(), expected);
    }
}

/// PROV-02
#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_its_password() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    for recorded in RECORDED {
        let mut connection = connection(recorded.dialect, "", ONE_RETRY);
        connection.base_url = format!("http://user:canary@{address}/v1?token=canary");
        let asked = ask(connection).await;
        let (kind, message) = asked.failure();
        assert_eq!((kind, asked.again.len()), (ProviderFailure::Unreachable, 1));
        assert!(
            message.contains(&format!("is http://{address}/v1 up, and the right providers.mock.base_url?")),
            "{message}"
        );
        assert!(!message.contains("canary"), "{message}");
    }
}

/// PROV-02
#[tokio::test]
async fn a_name_that_means_nothing_is_unreachable() {
    // No label of a name is that long, so nobody is asked for it.
    let url = format!("http://{}.invalid", "x".repeat(64));
    for recorded in RECORDED {
        let asked = ask(connection(recorded.dialect, &url, PATIENCE)).await;
        assert_eq!(asked.failure().0, ProviderFailure::Unreachable, "{}", asked.failure().1);
    }
}

/// PROV-02
#[tokio::test]
async fn a_server_that_ends_the_handshake_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            drop(listener.accept().await.unwrap());
        }
    });
    for recorded in RECORDED {
        let asked = ask(connection(recorded.dialect, &url, PATIENCE)).await;
        assert_eq!(asked.failure().0, ProviderFailure::Unreachable, "{}", asked.failure().1);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::start([]).await;
    for status in [301, 302, 303, 307, 308] {
        let answer = Answer::error(status, "{}").header("location", &elsewhere.url);
        for (asked, server) in in_every_dialect(ONE_RETRY, |_| vec![answer.clone()]).await {
            assert_eq!((asked.failure().0, server.requests().len()), (ProviderFailure::Rejected, 1));
        }
    }
    assert!(elsewhere.requests().is_empty());
}
