//! Keys: sent, and never shown.

use palisade_agent::ProviderFailure;
use palisade_model::{ConnectError, Connection, Dialect, Patience, ToolMode, connect};

use super::recorded::{RECORDED, Recorded};
use super::server::Answer;
use super::world::{KEY, PATIENCE, connection, in_every_dialect};

/// PROV-10
#[tokio::test]
async fn an_error_that_repeats_the_key_does_not_show_it() {
    let body: &'static str =
        format!("{{\"error\": {{\"type\": \"authentication_error\", \"message\": \"bad key {KEY}\"}}}}").leak();
    let page: &'static str = format!("<h1>{KEY}</h1>").leak();
    let event: &'static str =
        format!("event: error\ndata: {{\"type\": \"error\", \"error\": {{\"message\": \"{KEY}\"}}}}\n\n").leak();
    let garbage: &'static str = format!("data: {{\"{KEY}\": \n\n").leak();
    for answer in [
        Answer::error(401, body),
        Answer::error(500, body),
        Answer::new(500, "text/html", page),
        Answer::new(200, "text/html", page),
        Answer::new(200, KEY, page),
        Answer::stream(event),
        Answer::stream(garbage),
    ] {
        for (asked, server) in in_every_dialect(Patience { retries: 1, ..PATIENCE }, |_| vec![answer.clone(); 2]).await
        {
            let error = asked.reply.unwrap_err();
            assert!(!format!("{error} {error:?} {:?}", asked.again).contains(KEY), "{error}");
            assert!(error.message.contains("[key]") || error.kind == ProviderFailure::Malformed, "{error}");
            assert!(server.requests().iter().all(|request| request.head.contains(KEY)), "the key was not sent");
        }
    }
}

/// PROV-10
#[tokio::test]
async fn a_reply_that_repeats_the_key_does_not_keep_it() {
    let script = |recorded: Recorded| {
        let text = str::from_utf8(recorded.stream).unwrap();
        vec![Answer::stream(text.replace("I read ", &format!("I read {KEY} ")))]
    };
    for (asked, _) in in_every_dialect(PATIENCE, script).await {
        assert_eq!(asked.reply.unwrap().text, "I read [key] größe.txt 📄.");
    }
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_without_being_shown() {
    for recorded in RECORDED {
        let fine = connection(recorded.dialect, "http://127.0.0.1:9", PATIENCE);
        let check = |connection, expected: ConnectError| {
            let error = connect(connection).err().unwrap();
            assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
            assert_eq!(error, expected);
        };
        let provider = || "mock".to_owned();
        let mut wrong = fine.clone();
        wrong.key = Some("canary\n\u{7}canary".into());
        check(wrong, ConnectError::Header { provider: provider(), header: "key".into() });
        let mut wrong = fine.clone();
        wrong.headers.insert("x-project".into(), "canary\ncanary".into());
        check(wrong, ConnectError::Header { provider: provider(), header: "x-project".into() });
        if recorded.dialect != Dialect::Chat {
            let wrong = Connection { tool_mode: ToolMode::Json, ..fine.clone() };
            check(wrong, ConnectError::ToolMode { provider: provider() });
        }
        for base_url in ["", "canary", "ftp://canary", "file:///canary", "127.0.0.1:80/canary"] {
            let wrong = Connection { base_url: base_url.into(), ..fine.clone() };
            check(wrong, ConnectError::BaseUrl { provider: provider() });
        }
    }
}
