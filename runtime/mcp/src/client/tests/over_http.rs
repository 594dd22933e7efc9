use std::sync::Mutex;

use async_trait::async_trait;

use super::*;

/// What a server answers with: a status, headers, and the pieces of a body.
type Answered = (u16, Vec<(&'static str, &'static str)>, Vec<Vec<u8>>);
type Answers = Box<dyn Fn(&Value, &[(String, String)]) -> Answered + Send + Sync>;

/// The method and the headers of a request.
type Sent = (String, Vec<(String, String)>);

/// A server that is asked without a network.
struct Near {
    answers: Answers,
    /// The headers of each request, and its method.
    seen: Mutex<Vec<Sent>>,
}

struct Parts(std::vec::IntoIter<Vec<u8>>);

#[async_trait]
impl Pieces for Parts {
    async fn piece(&mut self) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.next())
    }
}

#[async_trait]
impl Posting for Near {
    async fn post(&self, headers: Vec<(String, String)>, body: Vec<u8>) -> Result<Posted, String> {
        let message: Value = serde_json::from_slice(&body).unwrap();
        let (status, own, pieces) = (self.answers)(&message, &headers);
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        self.seen.lock().unwrap().push((method, headers));
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Ok(Posted { status, headers: own, body: Box::new(Parts(pieces.into_iter())) })
    }

    async fn delete(&self, headers: Vec<(String, String)>) -> Result<(), String> {
        self.seen.lock().unwrap().push(("DELETE".to_owned(), headers));
        Ok(())
    }
}

impl Near {
    fn new(answers: impl Fn(&Value, &[(String, String)]) -> Answered + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { answers: Box::new(answers), seen: Mutex::default() })
    }

    fn header(&self, method: &str, name: &str) -> Option<String> {
        let seen = self.seen.lock().unwrap();
        let (_, headers) = seen.iter().find(|(own, _)| own == method)?;
        headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone())
    }
}

fn as_json(message: Option<Value>) -> Answered {
    match message {
        Some(message) => {
            let session = [("content-type", "application/json"), ("mcp-session-id", "s-1")];
            (200, session.to_vec(), vec![message.to_string().into_bytes()])
        }
        None => (202, Vec::new(), Vec::new()),
    }
}

fn as_events(message: Option<Value>) -> Answered {
    match message {
        Some(message) => {
            let stream = format!(": hello\n\nevent: message\ndata: {message}\n\n").into_bytes();
            let pieces = stream.chunks(7).map(<[u8]>::to_vec).collect();
            (200, vec![("content-type", "text/event-stream; charset=utf-8")], pieces)
        }
        None => (202, Vec::new(), Vec::new()),
    }
}

async fn call(server: &Arc<Near>) -> Result<Said, ClientError> {
    let client = Client::over_http(Arc::clone(server) as Arc<dyn Posting>, LONG).await?;
    client.tools(LONG).await?;
    client.call("echo", arguments("hello"), |_| (), LONG).await
}

#[tokio::test]
async fn answers_come_as_one_message_or_as_a_stream_of_events() {
    let plain = Near::new(|asked, _| as_json(honest(asked)));
    assert_eq!(call(&plain).await.unwrap().text, "hello");
    assert_eq!(plain.header("initialize", "mcp-session-id"), None);
    assert_eq!(plain.header("tools/call", "mcp-session-id").as_deref(), Some("s-1"));
    assert_eq!(plain.header("tools/call", "mcp-protocol-version").as_deref(), Some("2025-11-25"));
    let accepted = plain.header("tools/call", "accept").unwrap();
    assert!(accepted.contains("application/json") && accepted.contains("text/event-stream"));
    let streamed = Near::new(|asked, _| as_events(honest(asked)));
    assert_eq!(call(&streamed).await.unwrap().text, "hello");
}

/// A server of the newest version is told with each request what it is.
#[tokio::test]
async fn the_newest_version_has_its_own_headers() {
    let server = Near::new(|asked, _| match asked["method"] == "server/discover" {
        true => as_json(answer(
            asked,
            json!({
                "supportedVersions": ["2026-07-28"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "new", "version": "1" },
                "resultType": "complete",
                "ttlMs": 0,
                "cacheScope": "private",
            }),
        )),
        false => as_json(honest(asked)),
    });
    assert_eq!(call(&server).await.unwrap().text, "hello");
    assert_eq!(server.header("tools/call", "mcp-protocol-version").as_deref(), Some("2026-07-28"));
    assert_eq!(server.header("tools/call", "mcp-method").as_deref(), Some("tools/call"));
    assert_eq!(server.header("tools/call", "mcp-name").as_deref(), Some("echo"));
    assert_eq!(server.header("initialize", "mcp-method"), None, "there is no handshake");
}

#[tokio::test]
async fn whatever_is_no_answer_is_an_error_at_once() {
    let bad: [fn(&Value) -> Answered; 6] = [
        |_| (500, Vec::new(), vec![b"out of order".to_vec()]),
        |_| (200, vec![("content-type", "text/html")], vec![b"<html>".to_vec()]),
        |_| (200, vec![("content-type", "text/event-stream")], Vec::new()),
        |_| (200, vec![("content-type", "text/event-stream")], vec![b"data: {\"jsonrpc\"".to_vec()]),
        |_| (302, vec![("location", "http://169.254.169.254/")], Vec::new()),
        |_| (404, Vec::new(), vec![b"{}".to_vec()]),
    ];
    for bad in bad {
        let server = Near::new(move |asked, _| if is_call(asked) { bad(asked) } else { as_json(honest(asked)) });
        let error = call(&server).await.unwrap_err();
        assert!(matches!(error, ClientError::Refused { .. } | ClientError::Wrong(_)), "{error}");
    }
    let flood = Near::new(|asked, _| match is_call(asked) {
        true => (200, vec![("content-type", "application/json")], vec![vec![b' '; 1 << 20]; 9]),
        false => as_json(honest(asked)),
    });
    let error = call(&flood).await.unwrap_err();
    assert!(matches!(error, ClientError::TooMuch(_)), "{error}");
}
