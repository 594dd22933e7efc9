//! `web_fetch`: reads a page of the web, as text that a model can read.

mod follow;
mod page;

use palisade_tool::{
    Failure,
    http::{self, HttpError, Request},
};
use schemars::JsonSchema;
use serde::Deserialize;
use url::{Position, Url};

use crate::{
    follow::{Answer, Arrived, follow},
    page::Format,
};

/// The input of `web_fetch`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The address, such as `https://example.com/page`.
    #[serde(alias = "uri", alias = "address")]
    url: String,
    /// `text`: a page of HTML as Markdown, the default. `raw`: as the server sent it.
    #[serde(default)]
    format: Format,
    /// The most bytes of text to show.
    #[serde(default = "shown")]
    max_bytes: usize,
}

fn shown() -> usize {
    100_000
}

/// The most bytes that are fetched of one page.
const FETCHED: usize = 4 << 20;
/// The most bytes that can be shown.
const MOST_SHOWN: usize = 900_000;

palisade_tool::tool! {
    /// Fetches a page of the web by GET and shows its text; HTML becomes Markdown. Only hosts that this agent was granted
    /// can be reached. A redirect within the host is followed; one to another host is named, to be fetched by another call.
    #[tool(needs = ["net.http"], read_only = true, idempotent = true)]
    pub fn web_fetch(input: Input) -> Result<String, Failure> {
        let url = Url::parse(input.url.trim()).map_err(|error| {
            Failure::InvalidInput(format!("`url` is no address ({error}); write it as `https://example.com/page`"))
        })?;
        match follow(url, get)? {
            Arrived::Elsewhere { from, to } => Ok(format!(
                "{from} leads to another host: {to}\nFetch that address with another call if it is wanted."
            )),
            Arrived::At { url, answer } => {
                let text = page::read(&answer, input.format).map_err(|why| Failure::Failed(format!("{url}: {why}")))?;
                Ok(page::shown(&url, &answer, &text, input.max_bytes.clamp(1, MOST_SHOWN)))
            }
        }
    }
}

fn get(url: &Url) -> Result<Answer, Failure> {
    let headers = [
        ("accept", "text/html, text/markdown, text/plain, application/json;q=0.9, */*;q=0.5"),
        ("user-agent", concat!("palisade-web-fetch/", env!("CARGO_PKG_VERSION"))),
    ];
    let request = Request {
        method: "GET",
        scheme: url.scheme(),
        // With a user, if there is one: the host refuses it, and says so.
        authority: &url[Position::BeforeUsername..Position::BeforePath],
        path: &url[Position::BeforePath..Position::AfterQuery],
        headers: &headers,
        body: b"",
    };
    let on_host = |error: HttpError| explain(url, error);
    let mut response = http::send(&request).map_err(on_host)?;
    let (body, cut) = response.read(FETCHED).map_err(on_host)?;
    let header = |name: &str| response.header(name).map(str::to_owned);
    Ok(Answer {
        status: response.status,
        location: header("location"),
        content_type: header("content-type"),
        content_encoding: header("content-encoding"),
        body,
        cut,
    })
}

fn explain(url: &Url, error: HttpError) -> Failure {
    let host = url.host_str().unwrap_or("the host");
    match error {
        HttpError::Denied => Failure::Denied(format!("a request to {host} is not granted to this agent")),
        HttpError::Invalid(text) => Failure::InvalidInput(format!("{host}: {text}")),
        HttpError::Failed(text) => Failure::Failed(format!("{host}: {text}")),
    }
}
