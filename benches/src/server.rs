//! A server under load: how many runs and calls there are in a second, and what a tenant notices of its neighbour.

pub(crate) mod load;
pub(crate) mod neighbours;
pub(crate) mod timing;

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Does something that waits.
fn block_on(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
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
            let workspace = home.path().join(".local/share/palisade/workspaces").join(tenant);
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

/// Sends a request and reads the answer until the server closes the connection; the status and the answer.
async fn send(address: &str, key: &str, what: &str, body: &str) -> anyhow::Result<(u16, String)> {
    let request = format!(
        "{what} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
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
    Ok((status, body.to_owned()))
}

/// Has an agent work on something and waits for it; the status and the answer.
async fn ask(address: &str, key: &str, agent: &str, text: &str) -> anyhow::Result<(u16, Value)> {
    let body = json!({ "agent": agent, "input": text, "wait": true }).to_string();
    let (status, answer) = send(address, key, "POST /api/runs", &body).await?;
    Ok((status, serde_json::from_str(&answer).unwrap_or_default()))
}

/// What the calls of a run came to. What is measured must have happened.
async fn calls(server: &Server, key: &str, run: &Value) -> anyhow::Result<Vec<Value>> {
    let what = format!("GET /api/runs/{}/events", run["id"].as_str().context("no run")?);
    let (_, events) = send(&server.address, key, &what, "").await?;
    let events = events.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    Ok(events.filter(|event| event["event"] == "call_finished").collect())
}
