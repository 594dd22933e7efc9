//! What a server sent, as text.

use htmd::HtmlToMarkdown;
use palisade_tool::text::size;
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use crate::follow::Answer;

/// How a page is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// HTML as Markdown.
    #[default]
    #[serde(alias = "markdown")]
    Text,
    /// As it was sent.
    #[serde(alias = "html")]
    Raw,
}

/// Parts of a page that nobody reads.
const LEFT_OUT: [&str; 8] = ["script", "style", "noscript", "template", "svg", "iframe", "canvas", "head"];

/// The text of a page, or why there is none.
pub(crate) fn read(answer: &Answer, format: Format) -> Result<String, String> {
    if let Some(coding) = answer.content_encoding.as_deref().filter(|coding| !coding.eq_ignore_ascii_case("identity")) {
        return Err(format!("it is packed as {coding}, which was not asked for"));
    }
    let content_type = answer.content_type.as_deref().unwrap_or_default().to_ascii_lowercase();
    let (kind, parameters) = content_type.split_once(';').unwrap_or((&content_type, ""));
    let kind = kind.trim();
    if is_binary(kind, &answer.body) {
        let kind = if kind.is_empty() { "of an unknown kind" } else { kind };
        return Err(format!("it is no text: {kind}, {}", size(answer.body.len() as u64)));
    }
    let text = decode(&answer.body, parameters);
    let is_html = matches!(kind, "text/html" | "application/xhtml+xml") || kind.is_empty() && looks_like_html(&text);
    if !is_html || format == Format::Raw {
        return Ok(text);
    }
    let title = title(&text);
    let converter = HtmlToMarkdown::builder().skip_tags(LEFT_OUT.to_vec()).build();
    let body = converter.convert(&text).map_err(|error| format!("it cannot be read as HTML: {error}"))?;
    let body = tidy(&body);
    Ok(match title.filter(|title| !body.contains(title.as_str())) {
        Some(title) => format!("# {title}\n\n{body}"),
        None => body,
    })
}

/// The page as the model sees it: where it is from, what it is, its text.
pub(crate) fn shown(url: &Url, answer: &Answer, text: &str, most: usize) -> String {
    let kind = answer.content_type.as_deref().unwrap_or("no content type");
    let more = if answer.cut { " and more" } else { "" };
    let clipped = text.get(..text.floor_char_boundary(most)).unwrap_or(text);
    let rest = text.len() - clipped.len();
    let end = if rest > 0 {
        format!("\n… {} more; raise `max_bytes` to see them", size(rest as u64))
    } else {
        String::new()
    };
    format!("{url}\n{} {kind}, {}{more}\n\n{clipped}{end}", answer.status, size(answer.body.len() as u64))
}

fn is_binary(kind: &str, body: &[u8]) -> bool {
    let is_text = kind.is_empty()
        || kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || ["json", "xml", "javascript", "yaml", "toml", "x-ndjson", "xhtml+xml", "x-sh", "graphql"].iter().any(
            |name| kind.strip_prefix("application/").is_some_and(|rest| rest == *name || rest == format!("x-{name}")),
        );
    !is_text || body.iter().take(8192).any(|byte| *byte == 0)
}

/// The old charset of the web is written in every byte; whatever else is said is UTF-8 in the end.
fn decode(body: &[u8], parameters: &str) -> String {
    let charset = parameters.split(';').find_map(|parameter| parameter.trim().strip_prefix("charset="));
    let is_latin = charset.is_some_and(|charset| {
        ["iso-8859-1", "latin1", "windows-1252", "us-ascii"].contains(&charset.trim_matches(['"', '\'', ' ']))
    });
    match is_latin && std::str::from_utf8(body).is_err() {
        true => body.iter().map(|byte| char::from(*byte)).collect(),
        false => String::from_utf8_lossy(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)).into_owned(),
    }
}

fn looks_like_html(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(64).collect::<String>().to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// What stands between the first `<title>` and its end.
fn title(html: &str) -> Option<String> {
    let lower = html.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let start = start + lower.get(start..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find("</title")?;
    let title = html.get(start..end)?.split_whitespace().collect::<Vec<_>>().join(" ");
    (!title.is_empty() && title.len() <= 300).then_some(title)
}

/// Without more than one empty line in a row.
fn tidy(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines().map(str::trim_end) {
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 {
            tidy += line;
            tidy.push('\n');
        }
    }
    tidy.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(content_type: &str, body: &[u8]) -> Answer {
        let content_type = (!content_type.is_empty()).then(|| content_type.to_owned());
        Answer { status: 200, content_type, body: body.to_vec(), ..Answer::default() }
    }

    fn text(content_type: &str, body: &str) -> Result<String, String> {
        read(&answer(content_type, body.as_bytes()), Format::Text)
    }

    #[test]
    fn a_page_becomes_markdown_without_what_nobody_reads() {
        let html = "<html><head><title>A  page</title><style>p{}</style></head><body><h1>Hello</h1>\
                    <script>steal()</script><p>One <a href=\"/x\">link</a>.</p><ul><li>a</li><li>b</li></ul></body></html>";
        let text = text("text/html; charset=utf-8", html).unwrap();
        assert!(text.starts_with("# A page\n\n# Hello\n"), "{text}");
        assert!(text.contains("[link](/x)") && !text.contains("steal") && !text.contains("p{}"), "{text}");
        let raw = read(&answer("text/html", html.as_bytes()), Format::Raw).unwrap();
        assert_eq!(raw, html);
        assert!(self::text("", "<!DOCTYPE html><p>x</p>").unwrap() == "x");
    }

    #[test]
    fn text_stays_as_it_is() {
        assert_eq!(text("application/json", "{\"a\": 1}").unwrap(), "{\"a\": 1}");
        assert_eq!(text("text/plain", "<b>").unwrap(), "<b>");
        assert_eq!(text("application/vnd.api+json", "{}").unwrap(), "{}");
        let latin = read(&answer("text/plain; charset=ISO-8859-1", b"caf\xe9"), Format::Text).unwrap();
        assert_eq!(latin, "café");
    }

    #[test]
    fn what_is_no_text_is_refused() {
        for (kind, body) in [("image/png", &b"x"[..]), ("text/plain", b"a\0b"), ("application/octet-stream", b"x")] {
            let refused = read(&answer(kind, body), Format::Text).unwrap_err();
            assert!(refused.starts_with("it is no text"), "{refused}");
        }
        let packed = Answer { content_encoding: Some("gzip".to_owned()), ..answer("text/html", b"x") };
        assert!(read(&packed, Format::Text).unwrap_err().contains("packed as gzip"));
    }

    #[test]
    fn long_text_is_cut_and_says_so() {
        let url = Url::parse("https://a.test/").unwrap();
        let text = "é".repeat(100);
        let shown = shown(&url, &answer("text/plain", text.as_bytes()), &text, 51);
        assert!(shown.contains(&format!("\n\n{}\n… ", "é".repeat(25))), "{shown}");
        assert!(shown.starts_with("https://a.test/\n200 text/plain, 200 B\n\n"), "{shown}");
    }
}
