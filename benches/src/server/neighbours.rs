//! What a tenant notices of a neighbour that loops and takes all memory it can get.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::{Server, ask, block_on, calls};
use crate::{
    measure::Sample,
    report::{Report, time},
};

/// The MiB that all tools of the hostile one together may take.
const CAP: u64 = 1024;

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    block_on(neighbours(report, quick))
}

/// What a tenant's calls take alone, and beside one that loops and takes all memory it can get.
async fn neighbours(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let config = format!(
        "model = \"here:tiny\"\n[providers.here]\nbase_url = \"http://{}/v1\"\ndialect = \"chat\"\n",
        listener.local_addr()?
    );
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move { drop(reply(stream).await) });
        }
    });
    // As usual, but that the quiet one may ask as often as is measured.
    let quiet = ("quiet", json!({ "requests": 1_000_000 }));
    let server = Arc::new(Server::start(&[quiet, ("hostile", json!({ "memory_mib": CAP }))], &config, &[])?);
    let idle = server.peak()?;
    control(&server).await?;
    let rounds = if quick { 30 } else { 300 };
    let alone = calls_of_the_quiet_one(&server, rounds).await?;
    let short = Arc::new(AtomicUsize::new(0));
    let hostile = tokio::spawn(hostile(Arc::clone(&server), Arc::clone(&short)));
    tokio::time::sleep(Duration::from_secs(3)).await;
    let beside = calls_of_the_quiet_one(&server, rounds).await?;
    hostile.abort();
    anyhow::ensure!(short.load(Ordering::Relaxed) == 0, "the hostile one did not loop");
    report.row(
        "a tenant's call beside one that loops and takes all memory it can get",
        &format!("{} / {}", time(beside.median()), time(beside.p99())),
        &format!("alone: {} / {}", time(alone.median()), time(alone.p99())),
        format!("{:.2} × at the 99th percentile", beside.p99() / alone.p99()),
        "≤ 3 ×",
    );
    let peak = server.peak()?;
    report.row(
        "memory of the server and all its tools meanwhile",
        &format!("{peak} MiB at most"),
        &format!("at rest: {idle} MiB; `memory_mib` of the hostile one: {CAP}"),
        format!("{:.2} × of that", peak.saturating_sub(idle) as f64 / CAP as f64),
        "≤ 1 ×",
    );
    Ok(())
}

/// Both do what is measured.
async fn control(server: &Server) -> anyhow::Result<()> {
    let (_, run) = ask(&server.address, &server.keys[0], "explore", "read").await?;
    let read = calls(server, &server.keys[0], &run).await?;
    anyhow::ensure!(read.len() == 1 && read.iter().all(|call| call["failure"].is_null()), "{read:?}");
    let (_, run) = ask(&server.address, &server.keys[1], "general", "bomb").await?;
    let bomb = calls(server, &server.keys[1], &run).await?;
    let taken = bomb.first().and_then(|call| call["peak_memory"].as_u64());
    anyhow::ensure!(taken.is_some_and(|bytes| bytes > 100 << 20), "{bomb:?}");
    Ok(())
}

/// Twelve runs at a time, half of which loop until they are ended and half of which take memory until they get no more.
async fn hostile(server: Arc<Server>, short: Arc<AtomicUsize>) {
    let mut asked = tokio::task::JoinSet::new();
    for number in 0..12 {
        let (server, short) = (Arc::clone(&server), Arc::clone(&short));
        asked.spawn(async move {
            loop {
                let (text, began) = (if number % 2 == 0 { "loop" } else { "bomb" }, Instant::now());
                let asked = ask(&server.address, &server.keys[1], "general", text).await;
                let answered = asked.is_ok_and(|(status, _)| status == 200);
                if answered && text == "loop" && began.elapsed() < Duration::from_secs(20) {
                    short.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
    drop(asked.join_all().await);
}

/// How long one call takes from question to answer, again and again.
async fn calls_of_the_quiet_one(server: &Server, rounds: usize) -> anyhow::Result<Sample> {
    let mut sample = Sample::default();
    for _ in 0..rounds {
        let started = Instant::now();
        let (status, run) = ask(&server.address, &server.keys[0], "explore", "read").await?;
        anyhow::ensure!(status == 200 && run["ending"] == "answered", "{status} {run}");
        sample.add(started.elapsed());
    }
    Ok(sample)
}

/// A model that has tools called as the question says.
async fn reply(mut stream: TcpStream) -> anyhow::Result<()> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 16384]);
    let asked: Value = loop {
        let length = stream.read(&mut buffer).await?;
        anyhow::ensure!(length > 0);
        bytes.extend_from_slice(&buffer[..length]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((_, body)) = text.split_once("\r\n\r\n") else { continue };
        if let Ok(asked) = serde_json::from_str(body) {
            break asked;
        }
    };
    let messages = asked["messages"].as_array().context("no messages")?;
    let is_new = !messages.iter().any(|message| message["role"] == "tool");
    let said = messages.iter().rev().find(|message| message["role"] == "user").map(|it| it["content"].to_string());
    let call = match said.as_deref().unwrap_or_default() {
        text if text.contains("loop") => ("bash", json!({ "command": "while :; do :; done" })),
        text if text.contains("bomb") => ("bash", json!({ "command": "x=xxxxxxxx; while :; do x=$x$x; done" })),
        _ => ("read", json!({ "path": "a.txt" })),
    };
    let (delta, finish) = match is_new {
        true => {
            let function = json!({ "name": call.0, "arguments": call.1.to_string() });
            (json!({ "tool_calls": [{ "index": 0, "id": "c", "function": function }] }), "tool_calls")
        }
        false => (json!({ "content": "done" }), "stop"),
    };
    let first = json!({ "choices": [{ "delta": delta }] });
    let last = json!({ "choices": [{ "delta": {}, "finish_reason": finish }] });
    let body = format!("data: {first}\n\ndata: {last}\n\ndata: [DONE]\n\n");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await?;
    Ok(())
}
