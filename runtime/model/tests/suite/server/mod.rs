//! A server on loopback that answers as a script says: whole, late, slowly, broken off, too much, or not
//! at all. One answer per request, each on a connection of its own.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with one request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    delay: Duration,
    body: Bytes,
    /// How many bytes of the body are sent at once, and the pause after them.
    pieces: (usize, Duration),
    end: End,
}

/// What comes after the body.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// The mark that says that the body is whole.
    Whole,
    /// The connection is closed without that mark.
    Broken,
    /// The connection is reset, before anything is answered.
    Reset,
    /// The body once more, and again.
    Forever,
    /// Nothing, but the connection stays open.
    Silence,
}

impl Answer {
    /// A stream of events, whole and at once.
    pub(crate) fn stream(events: impl Into<Bytes>) -> Self {
        Self::new(200, "text/event-stream; charset=utf-8", events)
    }

    /// A status with a JSON body.
    pub(crate) fn error(status: u16, body: &'static str) -> Self {
        Self::new(status, "application/json", body)
    }

    /// Any body.
    pub(crate) fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        let pieces = (usize::MAX, Duration::ZERO);
        Self { status, headers, delay: Duration::ZERO, body: body.into(), pieces, end: End::Whole }
    }

    /// Takes the request and closes the connection by force.
    pub(crate) fn reset() -> Self {
        Self { end: End::Reset, ..Self::stream("") }
    }

    /// Takes the request and says nothing.
    pub(crate) fn silence() -> Self {
        Self::stream("").after(Duration::from_secs(3600))
    }

    /// One more header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, but it comes late.
    pub(crate) fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// The same, broken off after so many bytes of the body.
    pub(crate) fn cut_at(self, bytes: usize) -> Self {
        Self { body: self.body.slice(..bytes), end: End::Broken, ..self }
    }

    /// The same, which falls silent after so many bytes of the body.
    pub(crate) fn silent_at(self, bytes: usize) -> Self {
        Self { body: self.body.slice(..bytes), end: End::Silence, ..self }
    }

    /// The same, so many bytes at a time.
    pub(crate) fn dripping(self, bytes: usize, pause: Duration) -> Self {
        Self { pieces: (bytes, pause), ..self }
    }

    /// The body over and over again.
    pub(crate) fn forever(self) -> Self {
        Self { end: End::Forever, ..self }
    }
}

/// One request, as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The first line and the headers, their names in small letters.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: Value,
}

/// The server. It ends with the test's runtime.
pub(crate) struct Server {
    /// Where it is: `http://127.0.0.1:…`.
    pub(crate) url: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    script: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<Request>>,
    written: AtomicUsize,
}

impl Server {
    /// Starts a server that answers one request after the other as the script says, and those after the
    /// script's end with status 418.
    pub(crate) async fn start(script: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State { script: Mutex::new(script.into_iter().collect()), ..State::default() });
        let serving = state.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let state = serving.clone();
                // A client that gives up in the middle is what many tests are about.
                tokio::spawn(async move { state.serve(stream).await.ok() });
            }
        });
        Self { url, state }
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        lock(&self.state.requests).clone()
    }

    /// How many bytes of bodies it was able to send.
    pub(crate) fn written(&self) -> usize {
        self.state.written.load(Ordering::SeqCst)
    }
}

impl State {
    async fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let request = read(&mut stream).await?;
        lock(&self.requests).push(request);
        let over = || Answer::error(418, r#"{"error": "the script is over"}"#);
        let answer = lock(&self.script).pop_front().unwrap_or_else(over);
        if answer.end == End::Reset {
            return stream.set_zero_linger();
        }
        tokio::time::sleep(answer.delay).await;
        let mut head = format!("HTTP/1.1 {} Scripted\r\nconnection: close\r\n", answer.status);
        for (name, value) in &answer.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += "transfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await?;
        loop {
            let (most, pause) = answer.pieces;
            for piece in answer.body.chunks(most) {
                let framed = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
                stream.write_all(&framed).await?;
                self.written.fetch_add(piece.len(), Ordering::SeqCst);
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
            }
            match answer.end {
                End::Whole => return stream.write_all(b"0\r\n\r\n").await,
                End::Broken | End::Reset => return Ok(()),
                End::Forever => {}
                End::Silence => std::future::pending().await,
            }
        }
    }
}

async fn read(stream: &mut TcpStream) -> std::io::Result<Request> {
    let mut bytes = Vec::new();
    let (head, length, start) = loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            break (head, length.unwrap_or(0), end + 4);
        }
    };
    while bytes.len() < start + length {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Request { head, body: serde_json::from_slice(&bytes[start..]).unwrap() })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
