//! How a server ends, and what ends with it.

use serde_json::{Value, json};

use super::stage::Client;

impl Client {
    async fn begin_both(&mut self) {
        for (id, tool, input) in [(1, "wait", json!({})), (2, "agent_ferryman", json!({ "task": "work on" }))] {
            let params = json!({ "name": tool, "arguments": input });
            self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })).await;
            self.deed().await;
        }
    }
}

#[tokio::test]
async fn agents_end_when_their_client_leaves_and_calls_may_finish() {
    let mut client = Client::begun().await;
    client.begin_both().await;
    client.leave().await;
    assert_eq!(client.deed().await, "ended");
    client.release.notify_waiters();
    let rest = client.hear_the_rest().await;
    assert!(rest.iter().any(|answer| answer["id"] == 1 && answer["result"]["isError"] == false), "{rest:?}");
    assert!(client.served.await.unwrap().is_ok());
}

#[tokio::test]
async fn all_ends_at_once_when_the_server_is_told_to() {
    let mut client = Client::begun().await;
    client.begin_both().await;
    client.ends.cancel();
    let mut deeds = [client.deed().await, client.deed().await];
    deeds.sort();
    assert_eq!(deeds, ["ended", "given up"]);
    assert!(client.served.await.unwrap().is_ok(), "though the client is still there");
}

#[tokio::test]
async fn a_client_that_leaves_before_it_says_anything_is_no_error() {
    let mut client = Client::new();
    client.leave().await;
    assert_eq!(client.hear_the_rest().await, Vec::<Value>::new());
    assert!(client.served.await.unwrap().is_ok());
    let client = Client::new();
    client.ends.cancel();
    assert!(client.served.await.unwrap().is_ok());
}

#[tokio::test]
async fn the_last_line_counts_without_its_end() {
    let mut client = Client::begun().await;
    client.write(br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}"#).await;
    client.leave().await;
    let rest = client.hear_the_rest().await;
    assert_eq!((rest.len(), &rest[0]["id"]), (1, &json!(7)), "{rest:?}");
}
