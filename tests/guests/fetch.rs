//! Makes the requests it is told to, through raw `wasi:http`, and says what came of each.
#![cfg(target_family = "wasm")]

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::{Position, Url};
use wasip2::{
    http::{
        outgoing_handler,
        types::{
            self, ErrorCode, Fields, FutureIncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions,
            Scheme,
        },
    },
    io::streams::StreamError,
};

/// The input of `fetch`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// What to ask for, in order.
    requests: Vec<Ask>,
    /// Whether all are sent before any answer is read.
    #[serde(default)]
    at_once: bool,
}

/// One request.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ask {
    /// Where to; the parts below say it otherwise.
    #[serde(default)]
    url: String,
    #[serde(default)]
    method: String,
    #[serde(default)]
    scheme: String,
    #[serde(default)]
    authority: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    /// How many bytes to send.
    #[serde(default)]
    send: usize,
    /// All three waits, in nanoseconds.
    #[serde(default)]
    wait: Option<u64>,
    /// How many redirects to follow, wherever they lead.
    #[serde(default)]
    follow: u32,
    /// The most bytes to read.
    #[serde(default = "all")]
    read: usize,
}

/// What came of a request.
#[derive(Default, Serialize)]
struct Came {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    bytes: usize,
    error: Option<String>,
    /// How many requests were made.
    made: u32,
}

fn all() -> usize {
    usize::MAX
}

palisade_tool::tool! {
    /// Makes requests.
    #[tool(needs = ["net.http", "secrets"], read_only = false, idempotent = false)]
    pub fn fetch(input: Input) -> Result<String, Failure> {
        let came: Vec<Came> = if input.at_once {
            let sent: Vec<_> = input.requests.iter().map(send).collect();
            sent.into_iter().map(|sent| sent.and_then(|pending| receive(&pending, all())).unwrap_or_else(failed)).collect()
        } else {
            input.requests.into_iter().map(ask).collect()
        };
        serde_json::to_string(&came).map_err(|error| Failure::Failed(error.to_string()))
    }
}

fn failed(error: String) -> Came {
    Came { error: Some(error), ..Came::default() }
}

fn ask(mut ask: Ask) -> Came {
    let mut made = 0;
    loop {
        made += 1;
        let came = send(&ask).and_then(|pending| receive(&pending, ask.read)).unwrap_or_else(failed);
        let location = came.headers.iter().find(|(name, _)| name == "location").map(|(_, to)| to.clone());
        match location.filter(|_| (300..400).contains(&came.status) && made <= ask.follow) {
            Some(to) => match Url::parse(&ask.url).and_then(|url| url.join(&to)) {
                Ok(url) => ask.url = url.into(),
                Err(error) => return Came { made, ..failed(error.to_string()) },
            },
            None => return Came { made, ..came },
        }
    }
}

fn send(ask: &Ask) -> Result<FutureIncomingResponse, String> {
    let mut ask = ask.clone();
    if !ask.url.is_empty() {
        let url = Url::parse(&ask.url).map_err(|error| format!("url: {error}"))?;
        url.scheme().clone_into(&mut ask.scheme);
        url[Position::BeforeUsername..Position::BeforePath].clone_into(&mut ask.authority);
        url[Position::BeforePath..Position::AfterQuery].clone_into(&mut ask.path);
    }
    let headers: Vec<(String, Vec<u8>)> =
        ask.headers.iter().map(|(name, value)| (name.clone(), value.as_bytes().to_vec())).collect();
    let headers = Fields::from_list(&headers).map_err(|error| format!("header: {error:?}"))?;
    let request = OutgoingRequest::new(headers);
    let method = match ask.method.as_str() {
        "" | "GET" => Method::Get,
        "POST" => Method::Post,
        "CONNECT" => Method::Connect,
        "TRACE" => Method::Trace,
        other => Method::Other(other.to_owned()),
    };
    let scheme = match ask.scheme.as_str() {
        "" | "https" => Scheme::Https,
        "http" => Scheme::Http,
        other => Scheme::Other(other.to_owned()),
    };
    request.set_method(&method).map_err(|()| "method")?;
    request.set_scheme(Some(&scheme)).map_err(|()| "scheme")?;
    request.set_authority(Some(&ask.authority)).map_err(|()| "authority")?;
    request.set_path_with_query(Some(&ask.path)).map_err(|()| "path")?;
    let options = ask.wait.map(|wait| {
        let options = RequestOptions::new();
        let set = [
            options.set_connect_timeout(Some(wait)),
            options.set_first_byte_timeout(Some(wait)),
            options.set_between_bytes_timeout(Some(wait)),
        ];
        set.iter().all(Result::is_ok).then_some(options)
    });
    let body = if ask.send > 0 { Some(request.body().map_err(|()| "body")?) } else { None };
    let pending = outgoing_handler::handle(request, options.flatten()).map_err(code)?;
    if let Some(body) = body {
        let stream = body.write().map_err(|()| "body")?;
        let piece = [b'x'; 4096];
        let mut left = ask.send;
        while left > 0 {
            let next = left.min(piece.len());
            if stream.blocking_write_and_flush(&piece[..next]).is_err() {
                break;
            }
            left -= next;
        }
        drop(stream);
        drop(OutgoingBody::finish(body, None));
    }
    Ok(pending)
}

fn receive(pending: &FutureIncomingResponse, most: usize) -> Result<Came, String> {
    pending.subscribe().block();
    let response = pending.get().ok_or("nothing")?.map_err(|()| "taken")?.map_err(code)?;
    let entries = response.headers().entries();
    let headers =
        entries.into_iter().map(|(name, value)| (name, String::from_utf8_lossy(&value).into_owned())).collect();
    let mut came = Came { status: response.status(), headers, ..Came::default() };
    let body = response.consume().map_err(|()| "consumed")?;
    let stream = body.stream().map_err(|()| "streamed")?;
    let mut bytes = Vec::new();
    while came.bytes < most {
        match stream.blocking_read(64 << 10) {
            Ok(piece) => {
                came.bytes += piece.len();
                bytes.extend_from_slice(&piece[..piece.len().min(4096_usize.saturating_sub(bytes.len()))]);
            }
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(error)) => {
                came.error = Some(types::http_error_code(&error).map_or_else(|| "broken".to_owned(), code));
                break;
            }
        }
    }
    came.body = String::from_utf8_lossy(&bytes).into_owned();
    Ok(came)
}

fn code(code: ErrorCode) -> String {
    let name = format!("{code:?}");
    name.split(['(', ' ']).next().unwrap_or_default().rsplit("::").next().unwrap_or_default().to_owned()
}
