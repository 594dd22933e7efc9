//! A message as it comes in by a request, and whether the headers of the request fit it.

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use palisade_agent::{clip, strict_json};
use palisade_mcp::{NEWEST, Outline, VERSIONS};
use serde_json::{Value, json};

/// The longest id of a session that is looked at.
const SESSION: usize = 128;
/// What older versions have and the newest has not.
const REMOVED: [&str; 5] = ["initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];

/// A message.
pub(super) struct Message {
    pub(super) value: Value,
    pub(super) outline: Outline,
    /// The version that the headers name.
    pub(super) said: Option<String>,
    /// What the client was told when it began, if it says it.
    pub(super) session: Option<String>,
    /// Whether the client takes an answer in pieces.
    pub(super) streams: bool,
}

impl Message {
    /// Reads a message, or says what is answered to something that is none.
    pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Result<Self, Box<Response>> {
        let is_json = text(headers, "content-type").is_some_and(|kind| {
            kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
        });
        if !is_json {
            return Err(Box::new(StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response()));
        }
        let value = match strict_json(body) {
            Ok(message @ Value::Object(_)) => message,
            Ok(_) => return Err(refused(-32600, "a message is one JSON object", &Value::Null)),
            Err(error) => return Err(refused(-32700, &format!("this is not JSON: {error}"), &Value::Null)),
        };
        let message = Self {
            outline: Outline::of(&value),
            value,
            said: text(headers, "mcp-protocol-version"),
            session: text(headers, "mcp-session-id").filter(|id| id.len() <= SESSION),
            streams: text(headers, "accept")
                .is_none_or(|kinds| kinds.contains("text/event-stream") || kinds.contains("*/*")),
        };
        message.agree(headers)?;
        Ok(message)
    }

    /// Whether it is of the newest version, in which nothing is remembered.
    pub(super) fn is_newest(&self) -> bool {
        [&self.outline.version, &self.said].into_iter().any(|version| version.as_deref() == Some(NEWEST))
    }

    /// Whether a tool is called.
    pub(super) fn is_call(&self) -> bool {
        self.outline.method.as_deref() == Some("tools/call")
    }

    /// What the headers say has to be what the message says: those on the way look at nothing else.
    fn agree(&self, headers: &HeaderMap) -> Result<(), Box<Response>> {
        let (id, own) = (&self.value["id"], self.outline.version.as_deref());
        // A header that says something else than a message of the newest version is refused as such, below.
        let said = self.said.as_deref().filter(|_| own != Some(NEWEST));
        for version in [said, own].into_iter().flatten() {
            if !VERSIONS.contains(&version) {
                let version = clip(version, 32);
                let text = format!("the version `{version}` is not spoken here; {} are", VERSIONS.join(", "));
                let data = json!({ "supported": VERSIONS, "requested": version });
                return Err(refused_with(-32022, &text, id, Some(data)));
            }
        }
        if !self.outline.is_request || !self.is_newest() {
            return Ok(());
        }
        let meta = &self.value["params"]["_meta"];
        if own.is_none() || !meta["io.modelcontextprotocol/clientCapabilities"].is_object() {
            let text = format!(
                "a request of {NEWEST} says in `_meta` which version it is of (`io.modelcontextprotocol/protocolVersion`) \
                 and what its client can do (`io.modelcontextprotocol/clientCapabilities`)"
            );
            return Err(refused(-32602, &text, id));
        }
        let name = if self.is_call() { self.outline.name.as_deref() } else { None };
        let pairs = [("mcp-protocol-version", own), ("mcp-method", self.outline.method.as_deref()), ("mcp-name", name)];
        for (name, own) in pairs {
            if own.is_some() && text(headers, name).as_deref() != own {
                return Err(refused(-32020, &format!("the header `{name}` does not say what the message says"), id));
            }
        }
        match self.outline.method.as_deref().filter(|method| REMOVED.contains(method)) {
            None => Ok(()),
            Some(method) => {
                let mut response = refused(-32601, &format!("there is no method `{method}` in {NEWEST}"), id);
                *response.status_mut() = StatusCode::NOT_FOUND;
                Err(response)
            }
        }
    }
}

/// The status of an answer of the newest version, in which those on the way are told of errors, too.
pub(super) fn status(answer: &str) -> StatusCode {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    match answer["error"]["code"].as_i64() {
        None => StatusCode::OK,
        Some(-32601) => StatusCode::NOT_FOUND,
        Some(-32603) => StatusCode::INTERNAL_SERVER_ERROR,
        Some(_) => StatusCode::BAD_REQUEST,
    }
}

/// An answer that is an error.
fn refused(code: i32, text: &str, id: &Value) -> Box<Response> {
    refused_with(code, text, id, None)
}

fn refused_with(code: i32, text: &str, id: &Value, data: Option<Value>) -> Box<Response> {
    let mut error = json!({ "code": code, "message": text });
    if let (Some(error), Some(data)) = (error.as_object_mut(), data) {
        error.insert("data".to_owned(), data);
    }
    Box::new(as_json(StatusCode::BAD_REQUEST, json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()))
}

/// An answer that is one message.
pub(super) fn as_json(status: StatusCode, text: String) -> Response {
    let mut response = text.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    *response.status_mut() = status;
    response
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}
