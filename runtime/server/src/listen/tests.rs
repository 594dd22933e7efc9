use axum::routing::get;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

/// A server with places for so many.
fn start(connections: usize) -> SocketAddr {
    let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let (address, router) = (listener.local_addr().unwrap(), Router::new().route("/", get(|| async { "served" })));
    tokio::spawn(serve(listener, router, Bounds { connections, ..Bounds::default() }, std::future::pending()));
    address
}

/// Says something and hears everything until the server closes the connection.
async fn say(address: SocketAddr, words: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(words).await.unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).await.unwrap();
    heard
}

/// A connection that is served and stays.
async fn seated(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"served") {
        assert_ne!(stream.read_buf(&mut heard).await.unwrap(), 0);
    }
    stream
}

const ASK: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// HTTP-09
#[tokio::test]
async fn whoever_finds_no_place_is_told_when_to_come_back() {
    let address = start(1);
    let seated = seated(address).await;
    // One after the other, more than are turned away at the same time.
    for _ in 0..5 {
        let heard = say(address, ASK).await;
        let (head, body) = heard.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
        for line in ["content-type: application/problem+json", "retry-after: 2", "connection: close"] {
            assert!(head.lines().any(|header| header == line), "{line}: {head}");
        }
        let problem: Value = serde_json::from_str(body).unwrap();
        assert_eq!((&problem["type"], &problem["status"]), (&"/problems/unavailable".into(), &503.into()));
    }
    drop(seated);
    // The place is free once the server has noticed.
    while !say(address, ASK).await.ends_with("served") {}
}

#[tokio::test]
async fn whoever_sends_much_is_told_all_the_same() {
    let address = start(1);
    let _seated = seated(address).await;
    let body = "x".repeat(1 << 20);
    let request = format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    assert!(say(address, request.as_bytes()).await.starts_with("HTTP/1.1 503 "));
    let asked_for_the_head = say(address, b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(asked_for_the_head.starts_with("HTTP/1.1 503 ") && asked_for_the_head.ends_with("\r\n\r\n"));
}

#[tokio::test]
async fn whoever_is_silent_keeps_nobody_from_being_told() {
    let address = start(1);
    let _seated = seated(address).await;
    let mut silent = TcpStream::connect(address).await.unwrap();
    assert!(say(address, ASK).await.starts_with("HTTP/1.1 503 "));
    assert_eq!(silent.read(&mut [0; 16]).await.unwrap(), 0);
    // Half a request is one that nobody waits for to become whole.
    assert!(say(address, b"GET / HT").await.starts_with("HTTP/1.1 503 "));
    assert_eq!(say(address, HTTP2).await, "");
}
