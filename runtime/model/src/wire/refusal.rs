//! An answer that is no reply: what kind of failure its status and words mean, what the server said,
//! and when it wants to be asked again.

use std::time::{Duration, SystemTime};

use palisade_agent::ProviderFailure;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// What kind of failure a status means, given what the server said.
pub(crate) fn failure(status: u16, said: &str) -> ProviderFailure {
    match status {
        401 | 403 => ProviderFailure::Unauthorized,
        408 | 504 => ProviderFailure::TimedOut,
        413 => ProviderFailure::TooLong,
        // Said of an account without money, which no wait helps.
        429 if said.contains("insufficient_quota") => ProviderFailure::Rejected,
        429 => ProviderFailure::RateLimited,
        500.. => ProviderFailure::Broken,
        _ if is_too_long(said) => ProviderFailure::TooLong,
        _ => ProviderFailure::Rejected,
    }
}

/// Whether a server says, in one of the ways they have, that the conversation is too long.
pub(crate) fn is_too_long(said: &str) -> bool {
    const WORDS: [&str; 8] = [
        "context length",
        "context_length",
        "context window",
        "context size",
        "maximum context",
        "prompt is too long",
        "input is too long",
        "request_too_large",
    ];
    let said = said.to_ascii_lowercase();
    WORDS.iter().any(|words| said.contains(words))
}

/// What a server says in the body of an error: the kind and the message if it is JSON in one of the
/// known shapes, the body itself otherwise.
pub(crate) fn said(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let Ok(value) = serde_json::from_str::<Value>(&text) else { return text.into_owned() };
    let error = value.get("error").unwrap_or(&value);
    let part = |name: &str| error.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let kind = part("type").filter(|kind| *kind != "error").or_else(|| part("code"));
    let message = part("message").or_else(|| part("detail")).or_else(|| error.as_str());
    match (kind, message) {
        (Some(kind), Some(message)) => format!("{kind}: {message}"),
        (None, Some(message)) => message.to_owned(),
        (_, None) => text.into_owned(),
    }
}

/// How long a server wants to be left alone: seconds, or a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        // More than fits is more than anybody waits.
        return (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn a_status_and_its_words_mean_one_kind_of_failure() {
        let check = |status, said, expected| assert_eq!(failure(status, said), expected, "{status} {said}");
        check(400, "bad", ProviderFailure::Rejected);
        check(400, "prompt is too long: 210000 tokens > 200000 maximum", ProviderFailure::TooLong);
        check(400, "context_length_exceeded: This model's maximum context length is", ProviderFailure::TooLong);
        check(400, "the request exceeds the available context size", ProviderFailure::TooLong);
        check(401, "", ProviderFailure::Unauthorized);
        check(403, "", ProviderFailure::Unauthorized);
        check(302, "", ProviderFailure::Rejected);
        check(404, "", ProviderFailure::Rejected);
        check(408, "", ProviderFailure::TimedOut);
        check(413, "", ProviderFailure::TooLong);
        check(422, "", ProviderFailure::Rejected);
        check(429, "", ProviderFailure::RateLimited);
        check(429, "insufficient_quota: check your plan", ProviderFailure::Rejected);
        check(500, "context window", ProviderFailure::Broken);
        check(504, "", ProviderFailure::TimedOut);
        check(529, "", ProviderFailure::Broken);
        check(999, "", ProviderFailure::Broken);
    }

    #[test]
    fn errors_are_read_in_every_known_shape() {
        let check = |body: &str, expected: &str| assert_eq!(said(body.as_bytes()), expected);
        check(
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "overloaded_error: Overloaded",
        );
        check(r#"{"error":{"message":"no","type":"","param":null,"code":"bad"}}"#, "bad: no");
        check(r#"{"error":"model not found"}"#, "model not found");
        check(r#"{"object":"error","message":"no","type":"BadRequestError","code":400}"#, "BadRequestError: no");
        check(r#"{"detail":"Not Found"}"#, "Not Found");
        check(r#"{"other":1}"#, r#"{"other":1}"#);
        check("<html>", "<html>");
        assert_eq!(said(b"\xff"), "\u{fffd}");
    }

    /// PROV-01
    #[test]
    fn a_wait_is_asked_for_in_seconds_or_by_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let check = |value: &'static str, expected: Option<Duration>| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(value))]);
            assert_eq!(retry_after(&headers, now), expected, "{value}");
        };
        check("7", Some(Duration::from_secs(7)));
        check("0.5", Some(Duration::from_millis(500)));
        check("Sun, 06 Nov 1994 08:50:07 GMT", Some(Duration::from_secs(30)));
        check("Sun, 06 Nov 1994 08:00:00 GMT", Some(Duration::ZERO));
        check("315360000", Some(Duration::from_secs(315_360_000)));
        check("1e300", Some(Duration::MAX));
        check("-1", None);
        check("NaN", None);
        check("soon", None);
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
