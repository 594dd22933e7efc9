//! What a server says is wrong, from the `error` object that the OpenAI dialects send in a stream.

use palisade_agent::{ProviderFailure, clip};
use serde_json::Value;

use super::Fault;
use crate::wire::is_too_long;

/// The longest message that is passed on, in bytes.
const LONGEST: usize = 1024;

/// Reads `{"error": {"code", "type", "message"}}`, or the same without the outer object, or a bare text.
/// Whatever it looks like, it is a fault.
pub(crate) fn complaint(value: &Value) -> Fault {
    let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
    let word = |name: &str| match &error[name] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    };
    let message = match error {
        Value::String(text) => text.clone(),
        _ => word("message"),
    };
    let codes = [word("code"), word("type"), word("status")];
    let kind = kind(&codes, &message);
    let message = if message.trim().is_empty() { "it gives no reason".to_owned() } else { clip(&message, LONGEST) };
    Fault { kind, message }
}

/// What kind of failure it is: by the words that servers use as codes, then by status, then by what the
/// message says. What nobody knows is the server's own fault, which may pass.
fn kind(codes: &[String], message: &str) -> ProviderFailure {
    let coded = |words: &[&str]| codes.iter().any(|code| words.iter().any(|word| code.contains(word)));
    let status = codes.iter().find_map(|code| code.parse::<u16>().ok());
    if coded(&["context_length", "context_size"]) || is_too_long(message) {
        return ProviderFailure::TooLong;
    }
    if coded(&["insufficient_quota", "billing"]) {
        return ProviderFailure::Rejected;
    }
    if coded(&["rate_limit", "too_many_requests"]) || status == Some(429) {
        return ProviderFailure::RateLimited;
    }
    if coded(&["api_key", "authentication", "permission", "unauthorized"]) || matches!(status, Some(401 | 403)) {
        return ProviderFailure::Unauthorized;
    }
    if coded(&["timeout"]) || matches!(status, Some(408 | 504)) {
        return ProviderFailure::TimedOut;
    }
    if coded(&["invalid", "not_found", "unsupported"]) || matches!(status, Some(400..500)) {
        return ProviderFailure::Rejected;
    }
    ProviderFailure::Broken
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_kind_is_read_from_code_status_or_words() {
        use ProviderFailure::{Broken, RateLimited, Rejected, TimedOut, TooLong, Unauthorized};
        let check = |value: Value, kind, message: &str| {
            assert_eq!(complaint(&value), Fault { kind, message: message.to_owned() }, "{value}");
        };
        check(json!({"error": {"code": "context_length_exceeded", "message": "m"}}), TooLong, "m");
        check(json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "m"}}), TooLong, "m");
        check(json!({"error": {"message": "maximum context length is 8"}}), TooLong, "maximum context length is 8");
        check(json!({"error": {"code": 429, "message": "slow"}}), RateLimited, "slow");
        check(json!({"error": {"type": "insufficient_quota", "code": 429, "message": "pay"}}), Rejected, "pay");
        check(json!({"error": {"code": "invalid_api_key", "message": "key"}}), Unauthorized, "key");
        check(json!({"error": {"code": 504, "message": "late"}}), TimedOut, "late");
        check(json!({"error": {"type": "invalid_request_error", "message": "what?"}}), Rejected, "what?");
        check(json!({"type": "error", "code": "server_error", "message": "oops"}), Broken, "oops");
        check(json!({"error": "upstream is gone"}), Broken, "upstream is gone");
        check(json!({"error": {}}), Broken, "it gives no reason");
        check(json!([1]), Broken, "it gives no reason");
    }
}
