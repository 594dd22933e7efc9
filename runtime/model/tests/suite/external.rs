//! Agents elsewhere, played by a small server on this machine that takes a message and answers it later.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    thread,
    time::Duration,
};

use palisade_agent::{ENTRY_LIMIT, Part, Prompt, Provider as _, ProviderError, ProviderFailure, Reply, Transcript};
use palisade_model::{External, ExternalError, OutsideGrant, SessionId};
use serde_json::Value;
use tokio::time::Instant;

/// What the agent elsewhere does with a message, before and after it says that it took it.
struct Elsewhere {
    status: &'static str,
    /// Whether it answers before it says that it took the message.
    hasty: bool,
    /// The bodies it sends back, and below which paths; none: to the address it was told.
    answers: Vec<(Option<&'static str>, Vec<u8>)>,
}

impl Elsewhere {
    fn answering(text: &str) -> Self {
        Self { status: "200 OK", hasty: false, answers: vec![(None, text.as_bytes().to_vec())] }
    }

    /// Serves one message; gives the address, and later the message and the statuses of the answers.
    fn serve(self) -> (String, mpsc::Receiver<(Value, Vec<u16>)>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/input?key=secret", listener.local_addr().unwrap());
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let message: Value = serde_json::from_slice(&body(&mut stream)).unwrap();
            let callback = message["callbackUrl"].as_str().unwrap().to_owned();
            let accept = |stream: &mut TcpStream| {
                write!(stream, "HTTP/1.1 {}\r\ncontent-length: 0\r\n\r\n", self.status).unwrap();
            };
            if !self.hasty {
                accept(&mut stream);
            }
            let statuses = self.answers.iter().map(|(path, text)| post(&callback, *path, text)).collect();
            if self.hasty {
                accept(&mut stream);
            }
            sender.send((message, statuses)).unwrap();
        });
        (url, receiver)
    }
}

fn body(stream: &mut TcpStream) -> Vec<u8> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    body
}

/// Sends a text to an address, or to another path of the same server. Gives the status.
fn post(url: &str, path: Option<&str>, text: &[u8]) -> u16 {
    let (host, own) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let path = path.map_or_else(|| format!("/{own}"), str::to_owned);
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {}\r\n\r\n", text.len()).unwrap();
    // A server that has seen enough may close before it has read everything.
    drop(stream.write_all(text));
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

fn external(input: &str, session: Option<&str>) -> External {
    let permitted = OutsideGrant::of_operator(["external".to_owned()]).unwrap().permit_external().unwrap();
    let session: Option<SessionId> = session.map(|session| session.parse().unwrap());
    External::new(permitted, "helper", input, "http://127.0.0.1:0/base", session).unwrap()
}

async fn ask(external: &External, transcript: &Transcript, time: Duration) -> Result<Reply, ProviderError> {
    let settings = Default::default();
    let prompt = Prompt { deadline: Instant::now() + time, ..Prompt::new("", &[], transcript, &settings) };
    external.reply(prompt, &|_: Part<'_>| {}).await
}

fn asking(task: &str) -> Transcript {
    let mut transcript = Transcript::new();
    transcript.record_user(task);
    transcript
}

const LONG: Duration = Duration::from_secs(30);

/// O5
#[tokio::test]
async fn a_message_is_sent_and_the_answer_comes_back() {
    let (url, heard) = Elsewhere::answering("Here is a *reply*.\n").serve();
    let reply = ask(&external(&url, Some("EXTERNAL-123")), &asking("hello"), LONG).await.unwrap();
    assert_eq!(reply.text, "Here is a *reply*.\n");
    let (message, statuses) = heard.recv().unwrap();
    assert_eq!(statuses, [200]);
    let members: Vec<&str> = message.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["sessionId", "agentId", "callbackUrl", "message"]);
    assert_eq!((&message["sessionId"], &message["agentId"]), (&"EXTERNAL-123".into(), &"helper".into()));
    let callback = message["callbackUrl"].as_str().unwrap();
    assert!(callback.ends_with("/base/external/sessions/EXTERNAL-123/messages"), "{callback}");
    assert_eq!((&message["message"]["type"], &message["message"]["text"]), (&"user".into(), &"hello".into()));
    assert_eq!(message["message"]["createdAt"].as_str().unwrap().len(), 24);
}

/// O5
#[tokio::test]
async fn a_conversation_stays_in_its_session() {
    let mut transcript = asking("one");
    let (url, heard) = Elsewhere::answering("first").serve();
    let reply = ask(&external(&url, None), &transcript, LONG).await.unwrap();
    let first = heard.recv().unwrap().0["sessionId"].clone();
    transcript.record_reply(&reply);
    transcript.record_user("two");
    let (url, heard) = Elsewhere::answering("second").serve();
    ask(&external(&url, None), &transcript, LONG).await.unwrap();
    let (message, _) = heard.recv().unwrap();
    assert_eq!((&message["sessionId"], &message["message"]["text"]), (&first, &"two".into()));
}

#[tokio::test]
async fn an_answer_may_come_before_the_message_is_accepted() {
    let (url, _heard) = Elsewhere { hasty: true, ..Elsewhere::answering("quick") }.serve();
    assert_eq!(ask(&external(&url, None), &asking("hello"), LONG).await.unwrap().text, "quick");
}

/// O5
#[tokio::test]
async fn only_a_message_of_the_session_is_taken() {
    let answers = vec![
        (Some("/base/external/sessions/other/messages"), b"for somebody else".to_vec()),
        (Some("/"), b"nothing".to_vec()),
        (None, vec![0xff, 0xfe]),
        (None, vec![b'x'; ENTRY_LIMIT + 1]),
        (None, b"the answer".to_vec()),
    ];
    let (url, heard) = Elsewhere { answers, ..Elsewhere::answering("") }.serve();
    assert_eq!(ask(&external(&url, None), &asking("hello"), LONG).await.unwrap().text, "the answer");
    assert_eq!(heard.recv().unwrap().1, [404, 404, 400, 413, 200]);
}

#[tokio::test]
async fn failures_are_typed_and_name_no_key() {
    let check = |failure: ProviderError, kind: ProviderFailure, message: &str| {
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(failure.message.contains(message) && !failure.message.contains("secret"), "{failure}");
    };
    let (url, _heard) = Elsewhere { status: "500 No", answers: Vec::new(), ..Elsewhere::answering("") }.serve();
    let failure = ask(&external(&url, None), &asking("hello"), LONG).await.unwrap_err();
    check(failure, ProviderFailure::Broken, "status 500");
    // A redirect is not followed: the message is for one address.
    let (url, _heard) =
        Elsewhere { status: "302 There\r\nlocation: /x", answers: Vec::new(), ..Elsewhere::answering("") }.serve();
    let failure = ask(&external(&url, None), &asking("hello"), LONG).await.unwrap_err();
    check(failure, ProviderFailure::Rejected, "status 302");
    let (url, _heard) = Elsewhere { answers: Vec::new(), ..Elsewhere::answering("") }.serve();
    let failure = ask(&external(&url, None), &asking("hello"), Duration::from_millis(500)).await.unwrap_err();
    check(failure, ProviderFailure::TimedOut, "no answer came");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let failure =
        ask(&external(&format!("http://{closed}/?key=secret"), None), &asking("hello"), LONG).await.unwrap_err();
    check(failure, ProviderFailure::Unreachable, "could not be sent");
}

#[tokio::test]
async fn a_message_that_nobody_accepts_is_given_up_after_five_seconds() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let begun = Instant::now();
    let failure = ask(&external(&url, None), &asking("hello"), LONG).await.unwrap_err();
    assert_eq!(failure.kind, ProviderFailure::TimedOut, "{failure}");
    assert!((4..10).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

#[test]
fn messages_do_not_cross_a_network_in_the_clear() {
    let permitted = OutsideGrant::of_operator(["external".to_owned()]).unwrap().permit_external().unwrap();
    let new = |input: &str| External::new(permitted, "helper", input, "http://127.0.0.1:4100", None);
    for input in ["http://agents.example.com/", "ftp://127.0.0.1/", "nothing"] {
        assert!(matches!(new(input), Err(ExternalError::Input(_))), "{input}");
    }
    assert!(new("https://agents.example.com/input").is_ok());
    let error = new("http://me:canary@agents.example.com/in?key=canary").unwrap_err();
    assert!(!format!("{error} {error:?}").contains("canary") && error.to_string().contains("agents.example.com"));
    let external = new("https://me:canary@agents.example.com/in?key=canary").unwrap();
    assert!(!format!("{external:?}").contains("canary"), "{external:?}");
}
