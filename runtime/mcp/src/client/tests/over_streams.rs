use super::*;

/// What a server writes for a line that it read; nothing at all ends it.
type Writes = Box<dyn FnMut(&Value) -> Option<Vec<u8>> + Send>;

/// A server on the other end of a pipe; gives what it was asked.
fn server(mut writes: Writes) -> (DuplexStream, mpsc::UnboundedReceiver<Value>, JoinHandle<()>) {
    let (own, theirs) = tokio::io::duplex(1 << 16);
    let (sender, asked) = mpsc::unbounded_channel();
    let serving = tokio::spawn(async move {
        let (input, mut output) = tokio::io::split(theirs);
        let mut lines = BufReader::new(input).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            let said = writes(&message);
            drop(sender.send(message));
            match said {
                Some(bytes) if output.write_all(&bytes).await.is_ok() => {}
                _ => break,
            }
        }
    });
    (own, asked, serving)
}

fn line(message: Option<Value>) -> Vec<u8> {
    message.map(|message| format!("{message}\n").into_bytes()).unwrap_or_default()
}

async fn connect(writes: impl FnMut(&Value) -> Option<Vec<u8>> + Send + 'static) -> Result<Client, ClientError> {
    let (own, _, _) = server(Box::new(writes));
    let (read, write) = tokio::io::split(own);
    Client::over_streams(read, write, LONG).await
}

/// A client of the honest server, but for what calls are answered with.
async fn calling(mut called: impl FnMut(&Value) -> Option<Vec<u8>> + Send + 'static) -> Result<Said, ClientError> {
    let writes = move |asked: &Value| if is_call(asked) { called(asked) } else { Some(line(honest(asked))) };
    let client = connect(writes).await?;
    client.call("echo", arguments("hello"), |_| (), LONG).await
}

#[tokio::test]
async fn an_honest_server_is_understood() {
    let client = connect(|asked| Some(line(honest(asked)))).await.unwrap();
    let told = client.tools(LONG).await.unwrap();
    assert_eq!((told[0].name.as_str(), told[0].description.as_str()), ("echo", "Says it again."));
    assert_eq!(told[0].schema["properties"]["text"]["type"], "string");
    let said = client.call("echo", arguments("hello"), |_| (), LONG).await;
    assert_eq!(said, Ok(Said { text: "hello".to_owned(), is_error: false }));
    assert!(!client.has_ended() && !client.has_changed());
}

/// Our own server speaks the newest version of the protocol, which has no handshake.
#[tokio::test]
async fn our_own_server_is_understood_in_the_newest_way() {
    let offer = crate::Offer {
        tools: palisade_agent::Toolbox::new(Vec::new()).unwrap(),
        agents: palisade_agent::Toolbox::new(Vec::new()).unwrap(),
        hints: std::collections::BTreeMap::new(),
        instructions: String::new(),
    };
    let (own, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(theirs);
    let (_ends, told_to_end) = palisade_agent::cancellation();
    tokio::spawn(crate::serve(offer, read, write, told_to_end));
    let (read, write) = tokio::io::split(own);
    let client = Client::over_streams(read, write, LONG).await.unwrap();
    let version = client.running.peer().peer_info().map(|info| info.protocol_version.clone());
    assert_eq!(version, Some(ProtocolVersion::V_2026_07_28));
    assert_eq!(client.tools(LONG).await, Ok(Vec::new()));
    let refused = client.call("echo", arguments("hello"), |_| (), LONG).await.unwrap_err();
    assert!(matches!(refused, ClientError::Refused { code: -32602, .. }), "{refused}");
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_ends_it() {
    let error = calling(|_| None).await.unwrap_err();
    assert!(matches!(error, ClientError::Ended(_)), "{error}");
    let error = connect(|_| None).await.map(drop).unwrap_err();
    assert!(matches!(error, ClientError::Ended(_)), "{error}");
}

#[tokio::test]
async fn a_server_that_hangs_is_not_waited_for_and_is_told_so() {
    let writes = |asked: &Value| Some(if is_call(asked) { Vec::new() } else { line(honest(asked)) });
    let (own, mut asked, _) = server(Box::new(writes));
    let (read, write) = tokio::io::split(own);
    let client = Client::over_streams(read, write, LONG).await.unwrap();
    let error = client.call("echo", arguments("hello"), |_| (), SHORT).await.unwrap_err();
    assert_eq!(error, ClientError::OutOfTime(SHORT));
    assert!(!client.has_ended(), "it may answer the next call");
    let mut call = Value::Null;
    loop {
        let message = asked.recv().await.unwrap();
        match message["method"].as_str() {
            Some("tools/call") => call = message["id"].clone(),
            Some("notifications/cancelled") => {
                assert_eq!(message["params"]["requestId"], call);
                break;
            }
            _ => {}
        }
    }
}

/// Whoever drops a call has cancelled it.
#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled() {
    let writes = |asked: &Value| Some(if is_call(asked) { Vec::new() } else { line(honest(asked)) });
    let (own, mut asked, _) = server(Box::new(writes));
    let (read, write) = tokio::io::split(own);
    let client = std::sync::Arc::new(Client::over_streams(read, write, LONG).await.unwrap());
    let calling = tokio::spawn({
        let client = std::sync::Arc::clone(&client);
        async move { client.call("echo", arguments("hello"), |_| (), LONG).await }
    });
    while asked.recv().await.unwrap()["method"] != "tools/call" {}
    calling.abort();
    while asked.recv().await.unwrap()["method"] != "notifications/cancelled" {}
}

#[tokio::test]
async fn a_line_without_an_end_is_not_kept() {
    let error = calling(|_| Some(vec![b'x'; 9 << 20])).await.unwrap_err();
    assert!(matches!(error, ClientError::TooMuch(_)), "{error}");
}

#[tokio::test]
async fn some_garbage_is_passed_over_and_much_is_not() {
    let garbage = |lines: usize| {
        move |asked: &Value| {
            let mut said = b"not a message\n{\"jsonrpc\": 3}\n".repeat(lines / 2);
            said.extend(line(honest(asked)));
            Some(said)
        }
    };
    assert_eq!(calling(garbage(20)).await.unwrap().text, "hello", "the control");
    let error = calling(garbage(1000)).await.unwrap_err();
    assert!(matches!(error, ClientError::Wrong(_)), "{error}");
}

#[tokio::test]
async fn answers_to_what_was_not_asked_are_errors_or_nothing() {
    let lies: [fn(&Value) -> Option<Value>; 5] = [
        |asked| answer(asked, json!("a text")),
        |asked| answer(asked, json!({ "content": "a text" })),
        |asked| answer(asked, json!({ "tools": [] })),
        |asked| answer(asked, json!({ "content": [{ "type": "pigeon" }] })),
        |asked| Some(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": null, "error": 7 })),
    ];
    for lie in lies {
        let error = calling(move |asked| Some(line(lie(asked)))).await.unwrap_err();
        assert!(matches!(error, ClientError::Wrong(_) | ClientError::Refused { .. }), "{error}");
    }
    // An answer to somebody else is none, and the true one is heard behind it.
    let said = calling(|asked| {
        let other = json!({ "jsonrpc": "2.0", "id": 4711, "result": { "content": [] } });
        Some([line(Some(other)), line(honest(asked))].concat())
    });
    assert_eq!(said.await.unwrap().text, "hello");
}

#[tokio::test]
async fn refusals_are_told_apart_from_failures_and_are_bounded() {
    let text = "no ".repeat(10_000);
    let refused = calling(move |asked| Some(line(refusal(asked, -32602, &text)))).await.unwrap_err();
    let ClientError::Refused { code: -32602, text } = refused else { panic!("{refused}") };
    assert!(text.len() < 4096, "{}", text.len());
    let failed = calling(|asked| {
        Some(line(answer(asked, json!({ "content": [{ "type": "text", "text": "no" }], "isError": true }))))
    });
    assert_eq!(failed.await, Ok(Said { text: "no".to_owned(), is_error: true }));
}

/// Nothing is offered to servers, so whatever they ask for is refused.
#[tokio::test]
async fn a_server_that_wants_something_from_us_gets_nothing() {
    for method in ["sampling/createMessage", "roots/list", "elicitation/create", "pigeon/feed"] {
        let (heard, mut told) = mpsc::unbounded_channel();
        let mut waiting = None;
        let writes = move |asked: &Value| {
            if is_call(asked) {
                waiting = Some(asked.clone());
                let params = json!({ "messages": [], "maxTokens": 1, "message": "m", "requestedSchema": {} });
                return Some(line(Some(json!({ "jsonrpc": "2.0", "id": "own", "method": method, "params": params }))));
            }
            if asked["id"] == "own" {
                drop(heard.send(asked.clone()));
                return Some(line(honest(&waiting.take()?)));
            }
            Some(line(honest(asked)))
        };
        let client = connect(writes).await.unwrap();
        let said = client.call("echo", arguments("hello"), |_| (), LONG).await;
        assert_eq!(said.unwrap().text, "hello", "{method}");
        let answer = told.recv().await.unwrap();
        let roots = &answer["result"]["roots"];
        assert!(answer["error"].is_object() || roots == &json!([]), "{method}: {answer}");
    }
}

#[tokio::test]
async fn lists_of_tools_are_bounded_in_every_direction() {
    let listing = |list: fn(&Value) -> Value| async move {
        let writes = move |asked: &Value| match asked["method"] == "tools/list" {
            true => Some(line(answer(asked, list(asked)))),
            false => Some(line(honest(asked))),
        };
        connect(writes).await.unwrap().tools(LONG).await
    };
    let two = |asked: &Value| match asked["params"]["cursor"].as_str() {
        None => json!({ "tools": [tool("one", "1")], "nextCursor": "second" }),
        Some(_) => json!({ "tools": [tool("two", "2")] }),
    };
    let told = listing(two).await.unwrap();
    assert_eq!(told.iter().map(|told| told.name.as_str()).collect::<Vec<_>>(), ["one", "two"], "the control");
    let circle = |_: &Value| json!({ "tools": [], "nextCursor": "again" });
    assert!(matches!(listing(circle).await.unwrap_err(), ClientError::Wrong(_)));
    let endless = |asked: &Value| {
        let cursor = asked["params"]["cursor"].as_str().unwrap_or_default();
        json!({ "tools": [], "nextCursor": format!("{cursor}x") })
    };
    assert!(matches!(listing(endless).await.unwrap_err(), ClientError::TooMuch(_)));
    let many = |_: &Value| json!({ "tools": (0..300).map(|n| tool(&format!("t{n}"), "x")).collect::<Vec<_>>() });
    assert!(matches!(listing(many).await.unwrap_err(), ClientError::TooMuch(_)));
    let wordy = |_: &Value| json!({ "tools": [tool("t", &"x".repeat(2 << 20))] });
    assert!(matches!(listing(wordy).await.unwrap_err(), ClientError::TooMuch(_)));
    let none = |_: &Value| json!({ "tools": [{ "name": 7 }] });
    assert!(matches!(listing(none).await.unwrap_err(), ClientError::Wrong(_) | ClientError::Refused { .. }));
}

#[tokio::test]
async fn progress_is_heard_by_whoever_called_and_a_change_of_tools_is_noted() {
    let writes = |asked: &Value| {
        let mut said = Vec::new();
        if is_call(asked) {
            let notify = |method: &str, params: Value| {
                line(Some(json!({ "jsonrpc": "2.0", "method": method, "params": params })))
            };
            let token = &asked["params"]["_meta"]["progressToken"];
            let told = |token: &Value, message: &str| {
                notify("notifications/progress", json!({ "progressToken": token, "progress": 1, "message": message }))
            };
            said.extend(told(token, "half"));
            said.extend(told(&json!("another"), "not for this call"));
            said.extend(notify("notifications/tools/list_changed", json!({})));
        }
        said.extend(line(honest(asked)));
        Some(said)
    };
    let client = connect(writes).await.unwrap();
    let (sender, mut heard) = mpsc::unbounded_channel();
    let said = client.call("echo", arguments("hello"), move |text| drop(sender.send(text.to_owned())), LONG).await;
    assert_eq!(said.unwrap().text, "hello");
    assert_eq!(heard.recv().await.as_deref(), Some("half"));
    assert_eq!(heard.recv().await, None, "and nothing else");
    assert!(client.has_changed());
    client.tools(LONG).await.unwrap();
    assert!(!client.has_changed());
}
