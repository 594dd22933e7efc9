//! A server under load: how many runs and calls there are in a second, and what a tenant notices of its neighbour.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use crate::{
    measure::Sample,
    report::{Report, time},
};

/// Calls of one run.
const CALLS: usize = 4;

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(load(report, quick)).context("load")?;
    runtime.block_on(neighbours(report, quick)).context("neighbours")
}

/// A server with tenants, ended with the measurement.
struct Server {
    _home: TempDir,
    child: Child,
    address: String,
    keys: Vec<String>,
}

impl Server {
    fn start(tenants: &[(&str, Value)], config: &str, more: &[String]) -> anyhow::Result<Self> {
        let here = std::env::current_exe()?.parent().map(Path::to_owned).context("no folder")?;
        let palisade = here.join("palisade");
        let home = tempfile::tempdir()?;
        let settings = home.path().join(".config/palisade");
        std::fs::create_dir_all(&settings)?;
        std::fs::write(settings.join("config.toml"), config)?;
        let command = |arguments: &[&str]| {
            let mut command = Command::new(&palisade);
            command.args(arguments).env_clear().env("HOME", home.path()).current_dir(home.path());
            command
        };
        let mut keys = Vec::new();
        for (tenant, quotas) in tenants {
            let settings = json!({ "quotas": quotas }).to_string();
            anyhow::ensure!(command(&["tenants", "add", tenant, "--settings", &settings]).output()?.status.success());
            let key = command(&["tenants", "key", tenant]).output()?;
            keys.push(String::from_utf8(key.stdout)?.trim().to_owned());
            let workspace = home.path().join(".local/share/palisade/tenants").join(tenant).join("workspace");
            std::fs::create_dir_all(&workspace)?;
            std::fs::write(workspace.join("a.txt"), "one\ntwo\nthree\n".repeat(100))?;
        }
        let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--keys", "--runs", "1200", "--log", "warn"]);
        let mut child = serve.args(more).stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut said = BufReader::new(child.stderr.take().context("no standard error")?);
        let mut line = String::new();
        let address = loop {
            line.clear();
            if said.read_line(&mut line)? == 0 {
                bail!("the server did not start");
            }
            if let Some(rest) = line.trim().strip_prefix("listening http://") {
                break rest.split_whitespace().next().unwrap_or_default().to_owned();
            }
        };
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::stderr()));
        Ok(Self { _home: home, child, address, keys })
    }

    /// The most memory that it and its children held, in MiB.
    fn peak(&self) -> anyhow::Result<u64> {
        let mut peak = 0;
        for entry in std::fs::read_dir("/proc")?.flatten() {
            let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
            let field = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name))?;
                line.trim().split(' ').next()?.parse::<u64>().ok()
            };
            let own = u64::from(self.child.id());
            if field("Pid:") == Some(own) || field("PPid:") == Some(own) {
                peak += field("VmHWM:").unwrap_or(0) / 1024;
            }
        }
        Ok(peak)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Has an agent work on something and waits for it; the status and the answer.
async fn ask(address: &str, key: &str, agent: &str, text: &str) -> anyhow::Result<(u16, Value)> {
    let body = json!({ "agent": agent, "input": text, "wait": true }).to_string();
    let request = format!(
        "POST /api/runs HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
    if status == 429 || status == 503 {
        anyhow::ensure!(head.to_ascii_lowercase().contains("retry-after:"), "{head}");
    }
    Ok((status, serde_json::from_str(body).unwrap_or_default()))
}

fn script(folder: &Path) -> anyhow::Result<PathBuf> {
    let file = folder.join("script.jsonl");
    let call = |number: usize| json!({ "id": format!("c{number}"), "tool": "read", "input": { "path": "a.txt" } });
    let calls: Vec<Value> = (0..CALLS).map(call).collect();
    let replies = [json!({ "text": "", "calls": calls }), json!({ "text": "done" })];
    std::fs::write(&file, replies.map(|reply| reply.to_string() + "\n").concat())?;
    Ok(file)
}

/// Runs with a scripted model, so many at the same time.
async fn load(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let model = format!("scripted:{}", script(folder.path())?.display());
    let quotas = json!({ "runs": 1100, "waiting": 0, "requests": 10_000_000, "sandboxes": 64, "memory_mib": 32_768 });
    let server = Arc::new(Server::start(&[("load", quotas)], "", &["--model".to_owned(), model])?);
    let mut alone = None;
    for (at_once, runs) in [(1, 100), (10, 300), (100, 600), (1000, 2000)] {
        let runs = if quick { runs / 10 + at_once } else { runs };
        let (turns, started) = (Arc::new(Semaphore::new(at_once)), Instant::now());
        let mut asked = tokio::task::JoinSet::new();
        for _ in 0..runs {
            let (turn, server) = (Arc::clone(&turns).acquire_owned().await?, Arc::clone(&server));
            asked.spawn(async move {
                let answered = ask(&server.address, &server.keys[0], "explore", "go").await;
                drop(turn);
                answered
            });
        }
        while let Some(answered) = asked.join_next().await {
            let (status, run) = answered??;
            anyhow::ensure!(status == 200 && run["ending"] == "answered", "{status} {run}");
        }
        let each = runs as f64 / started.elapsed().as_secs_f64();
        let first = *alone.get_or_insert(each);
        report.row(
            &format!("{at_once} runs at the same time over HTTP, each with {CALLS} sandboxed calls"),
            &format!("{each:.0} runs/s, {:.0} calls/s; {} MiB at most", each * CALLS as f64, server.peak()?),
            &format!("one at a time: {first:.0} runs/s"),
            format!("{:.2} ×", each / first),
            "reported",
        );
    }
    overload(report, &server).await
}

/// More than there is room for.
async fn overload(report: &mut Report, server: &Arc<Server>) -> anyhow::Result<()> {
    let mut asked = tokio::task::JoinSet::new();
    for _ in 0..3000 {
        let server = Arc::clone(server);
        asked.spawn(async move { ask(&server.address, &server.keys[0], "explore", "go").await });
    }
    let (mut answered, mut refused, mut closed) = (0, 0, 0);
    while let Some(ended) = asked.join_next().await {
        match ended? {
            Ok((200, _)) => answered += 1,
            Ok((429 | 503, _)) => refused += 1,
            Ok((other, _)) => bail!("{other}"),
            // There are more connections than the server and the system hold.
            Err(_) => closed += 1,
        }
    }
    let measured = format!("{answered} answered, {refused} sent away with Retry-After, {closed} without a connection");
    report.row("3,000 runs at once where 1,100 may be", &measured, "", "reported".to_owned(), "429 or 503");
    Ok(())
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
    let server = Arc::new(Server::start(&[("quiet", json!({})), ("hostile", json!({}))], &config, &[])?);
    let rounds = if quick { 30 } else { 300 };
    let alone = calls_of_the_quiet_one(&server, rounds).await?;
    let hostile = tokio::spawn({
        let server = Arc::clone(&server);
        async move {
            let mut asked = tokio::task::JoinSet::new();
            loop {
                while asked.len() < 12 {
                    let (server, text) = (Arc::clone(&server), if asked.len() % 2 == 0 { "loop" } else { "bomb" });
                    asked.spawn(async move { drop(ask(&server.address, &server.keys[1], "general", text).await) });
                }
                drop(asked.join_next().await);
            }
        }
    });
    tokio::time::sleep(Duration::from_secs(3)).await;
    let beside = calls_of_the_quiet_one(&server, rounds).await?;
    hostile.abort();
    report.row(
        "a tenant's call beside one that loops and takes all memory it can get",
        &format!("{} / {}; {} MiB at most", time(beside.median()), time(beside.p99()), server.peak()?),
        &format!("alone: {} / {}", time(alone.median()), time(alone.p99())),
        format!("{:.2} × at the 99th percentile", beside.p99() / alone.p99()),
        "≤ 3 ×",
    );
    Ok(())
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
