//! One line becomes one message, or an answer that says what is wrong with it. Whoever is on the other side may send
//! anything: each request that has an id gets exactly one answer with that id.

use rmcp::{
    RoleServer,
    model::{ErrorData, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
};
use serde_json::{Map, Value};

/// What a line comes to.
#[derive(Debug)]
pub(crate) enum Received {
    /// A message.
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// What to answer to something that is none.
    Wrong(Box<TxJsonRpcMessage<RoleServer>>),
    /// Nothing that anybody waits for an answer to.
    Nothing,
}

/// Reads a line.
pub(crate) fn read(line: &[u8]) -> Received {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Received::Nothing;
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return wrong(ErrorData::parse_error(format!("this is not JSON: {error}"), None), None),
    };
    let Value::Object(object) = value else {
        let text = "a message is one JSON object; several at once are not part of the protocol";
        return wrong(ErrorData::invalid_request(text, None), None);
    };
    let id = object.get("id").map(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    match (object.get("method"), id) {
        // Nobody is asked anything from here, so nobody answers.
        (None, _) if object.contains_key("result") || object.contains_key("error") => Received::Nothing,
        (_, Some(None)) => invalid("`id` has to be a string or a whole number", None),
        (Some(Value::String(_)), id) if is_json_rpc(&object) => parsed(object, id.flatten()),
        (Some(Value::String(_)), id) => invalid("`jsonrpc` has to be \"2.0\"", id.flatten()),
        (_, id) => invalid("`method` has to be a string", id.flatten()),
    }
}

/// What is answered to a line that is too long to be read.
pub(crate) fn too_long(limit: usize) -> Received {
    invalid(&format!("a message may have {limit} bytes and no more"), None)
}

fn is_json_rpc(object: &Map<String, Value>) -> bool {
    object.get("jsonrpc").and_then(Value::as_str) == Some("2.0")
}

/// A request, or without an id a notification, to which nothing is ever answered.
fn parsed(object: Map<String, Value>, id: Option<RequestId>) -> Received {
    match (serde_json::from_value(Value::Object(object)), id) {
        (Ok(message), _) => Received::Message(Box::new(message)),
        (Err(_), None) => Received::Nothing,
        (Err(error), Some(id)) => invalid(&format!("this is no request: {error}"), Some(id)),
    }
}

fn invalid(text: &str, id: Option<RequestId>) -> Received {
    wrong(ErrorData::invalid_request(text.to_owned(), None), id)
}

fn wrong(error: ErrorData, id: Option<RequestId>) -> Received {
    Received::Wrong(Box::new(TxJsonRpcMessage::<RoleServer>::error(error, id)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The answer to a line, without its text.
    fn answer(line: &str) -> Value {
        match read(line.as_bytes()) {
            Received::Message(_) => json!("a message"),
            Received::Nothing => json!("nothing"),
            Received::Wrong(answer) => {
                let mut answer = serde_json::to_value(answer).unwrap();
                assert!(answer["error"].as_object_mut().unwrap().remove("message").is_some());
                answer
            }
        }
    }

    fn check(line: &str, expected: Value) {
        assert_eq!(answer(line), expected, "{line}");
    }

    fn error(code: i32, id: Value) -> Value {
        match id {
            Value::Null => json!({ "jsonrpc": "2.0", "error": { "code": code } }),
            id => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code } }),
        }
    }

    #[test]
    fn a_line_that_is_no_message_gets_the_answer_of_the_protocol() {
        let null = || Value::Null;
        check("{", error(-32700, null()));
        check("\u{feff}{}", error(-32700, null()));
        check(&"[".repeat(100_000), error(-32700, null()));
        check("[]", error(-32600, null()));
        check(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, error(-32600, null()));
        check("7", error(-32600, null()));
        check("{}", error(-32600, null()));
        check(r#"{"jsonrpc":"2.0","id":1}"#, error(-32600, json!(1)));
        check(r#"{"jsonrpc":"2.0","id":1,"method":7}"#, error(-32600, json!(1)));
        check(r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, error(-32600, json!("a")));
        check(r#"{"id":1,"method":"ping"}"#, error(-32600, json!(1)));
        for id in ["null", "1.5", "true", "[]", "{}", "1e400", "99999999999999999999"] {
            let answer = answer(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
            assert!(answer == error(-32600, null()) || answer == error(-32700, null()), "{id}: {answer}");
        }
    }

    #[test]
    fn what_wants_no_answer_gets_none() {
        check("", json!("nothing"));
        check("  \t", json!("nothing"));
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, json!("nothing"));
        check(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}"#, json!("nothing"));
        check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}"#, json!("nothing"));
    }

    #[test]
    fn requests_and_notifications_are_messages() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, json!("a message"));
        check(r#"{"jsonrpc":"2.0","id":-7,"method":"tools/list","params":{}}"#, json!("a message"));
        check(r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"read"}}"#, json!("a message"));
        check(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, json!("a message"));
    }

    /// A few shapes that the fields of a message can have.
    fn shape() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            prop::sample::select(vec!["2.0", "initialize", "tools/call", "tools/list", "notifications/cancelled"])
                .prop_map(Value::from),
            Just(json!([])),
            Just(json!({ "name": "read", "arguments": {}, "_meta": { "progressToken": [] } })),
            Just(json!({ "requestId": 1 })),
        ]
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(line in prop::collection::vec(any::<u8>(), 0..200)) {
            read(&line);
        }

        /// Whoever asks with an id gets an answer with that id, from here or from whoever gets the message.
        #[test]
        fn a_request_is_passed_on_or_answered_with_its_id(
            id in prop_oneof![any::<i64>().prop_map(Value::from), any::<String>().prop_map(Value::from)],
            version in shape(),
            method in shape(),
            params in shape(),
        ) {
            let line = json!({ "jsonrpc": version, "id": id, "method": method, "params": params }).to_string();
            match read(line.as_bytes()) {
                Received::Message(message) => {
                    prop_assert_eq!(&serde_json::to_value(message).unwrap()["id"], &id);
                }
                Received::Wrong(answer) => prop_assert_eq!(&serde_json::to_value(answer).unwrap()["id"], &id),
                Received::Nothing => prop_assert!(false, "{line} is not answered"),
            }
        }
    }
}
