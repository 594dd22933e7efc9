//! Clients that take their time, and those that send much.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    process::Command,
    time::Duration,
};

use super::Server;
use crate::world::World;

/// HTTP-09
#[test]
fn whoever_dribbles_is_sent_away_and_keeps_nobody_from_being_served() {
    let server = Server::start(World::new(), &[]);
    let dribbling: Vec<TcpStream> = (0..800)
        .map(|number| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            let begun = match number % 3 {
                0 => "GET /api/agents HT",
                1 => "GET /api/agents HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
                // Not a word.
                _ => "",
            };
            stream.write_all(begun.as_bytes()).unwrap();
            stream
        })
        .collect();
    server.get("/api/agents", "").with(200);
    for mut stream in dribbling {
        // It is closed by the server; this is only how long a broken one is waited for.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
        }
    }
    server.get("/api/agents", "").with(200);
}

/// HTTP-09
#[test]
fn a_system_that_lets_few_files_be_open_is_asked_for_more() {
    let mut command = Command::new("sh");
    let few = "ulimit -Sn 64; exec \"$0\" serve --listen 127.0.0.1:0";
    command.args(["-c", few, env!("CARGO_BIN_EXE_palisade")]).env_clear().env("PATH", "/usr/bin:/bin");
    let server = Server::start_by(command, World::new());
    let connected: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    server.get("/api/agents", "").with(200);
    drop(connected);
}

/// HTTP-08
#[test]
fn a_body_without_an_end_is_cut_off() {
    let server = Server::start(World::new(), &[]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!(
        "POST /api/runs HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        server.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    // A thousand times as much as a request may have; the server does not read that far.
    let written = (0..64_000).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok()).count();
    assert!(written < 1_000, "{written}");
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer));
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    server.get("/api/agents", "").with(200);
}

/// HTTP-08
#[test]
fn what_is_packed_is_not_unpacked() {
    let server = Server::start(World::new(), &[]);
    let body = "\x1f\u{8b}";
    let request = format!(
        "POST /api/runs HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Encoding: gzip\r\nContent-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    );
    assert_eq!(server.send(&request).status, 400);
}

/// HTTP-10
#[test]
fn streams_that_are_begun_and_taken_back_again_and_again_end_the_connection() {
    let server = Server::start(World::new(), &[]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    let frame = |kind: u8, flags: u8, stream: u32, payload: &[u8]| {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
    };
    stream.write_all(&frame(4, 0, 0, &[])).unwrap();
    // `:method GET`, `:scheme http`, `:path /health`, `:authority localhost`.
    let head = [&[0x82, 0x86, 0x04, 7][..], b"/health", &[0x01, 9], b"localhost"].concat();
    let mut taken_back = 0_u32;
    for number in (1..200_001_u32).step_by(2) {
        let begun_and_taken_back = [frame(1, 5, number, &head), frame(3, 0, number, &8_u32.to_be_bytes())].concat();
        if stream.write_all(&begun_and_taken_back).is_err() {
            break;
        }
        taken_back += 1;
    }
    assert!(taken_back < 100_000, "it was let go on for ever");
    server.get("/api/agents", "").with(200);
}
