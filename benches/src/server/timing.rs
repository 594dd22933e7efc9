//! Whether the time of an answer tells what another tenant has.

use std::time::Instant;

use anyhow::Context as _;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{Server, ask, block_on};
use crate::{
    measure::Sample,
    report::{Ratio, Report},
};

/// How many things the other tenant has.
const THEIRS: usize = 20;

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    block_on(timing(report, quick))
}

async fn timing(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("script.jsonl");
    std::fs::write(&script, json!({ "text": "done" }).to_string() + "\n")?;
    let often = || json!({ "requests": 10_000_000 });
    let model = ["--model".to_owned(), format!("scripted:{}", script.display())];
    let server = Server::start(&[("own", often()), ("other", often())], "", &model)?;
    let mut theirs = Vec::new();
    for _ in 0..THEIRS {
        let (status, run) = ask(&server.address, &server.keys[1], "explore", "go").await?;
        anyhow::ensure!(status == 200, "{status} {run}");
        let id = |field: &str| run[field].as_str().map(str::to_owned).context("no id");
        theirs.push((id("id")?, id("session")?));
    }
    let rounds = if quick { 20 } else { 250 };
    for (what, ids) in [
        ("runs", theirs.iter().map(|(run, _)| run.as_str()).collect::<Vec<_>>()),
        ("sessions", theirs.iter().map(|(_, session)| session.as_str()).collect()),
    ] {
        let (theirs, nobodys) = in_turn(&server, what, &ids, rounds).await?;
        let row = format!("`GET /api/{what}/ID` of another tenant's");
        report.compare(&row, &theirs, "of nobody's", &nobodys, Ratio::Slower, "0.9 to 1.1 ×");
    }
    Ok(())
}

/// What answers take to whoever asks for what is another tenant's, and for what never was; in turn, on one connection.
async fn in_turn(server: &Server, what: &str, ids: &[&str], rounds: usize) -> anyhow::Result<(Sample, Sample)> {
    let mut asker = Asker::connect(server).await?;
    let (mut theirs, mut nobodys) = (Sample::default(), Sample::default());
    let mut number = 0_u32;
    for round in 0..rounds + 1 {
        for id in ids {
            number = number.wrapping_add(1);
            // As long as an id is, and none: only its first digits are others.
            let nobody = format!("{:08x}{}", number.wrapping_mul(0x9e37_79b1), id.get(8..).context("a short id")?);
            // Whoever is first has another cache; they take turns at that, too.
            let both = [(*id, true), (nobody.as_str(), false)];
            for (id, is_theirs) in if number.is_multiple_of(2) { both } else { [both[1], both[0]] } {
                let started = Instant::now();
                let status = asker.get(&format!("/api/{what}/{id}")).await?;
                let took = started.elapsed();
                anyhow::ensure!(status == 404, "{status}");
                // The first round is for warming up.
                if round > 0 {
                    if is_theirs { &mut theirs } else { &mut nobodys }.add(took);
                }
            }
        }
    }
    Ok((theirs, nobodys))
}

/// Somebody who asks again and again.
struct Asker<'a> {
    server: &'a Server,
    stream: TcpStream,
    heard: Vec<u8>,
}

impl<'a> Asker<'a> {
    async fn connect(server: &'a Server) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(&server.address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { server, stream, heard: Vec::new() })
    }

    /// The status of an answer, once all of it is there.
    async fn get(&mut self, path: &str) -> anyhow::Result<u16> {
        let Server { address, keys, .. } = self.server;
        let key = keys.first().context("no key")?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\r\n");
        self.stream.write_all(request.as_bytes()).await?;
        self.heard.clear();
        loop {
            anyhow::ensure!(self.stream.read_buf(&mut self.heard).await? > 0, "the connection was closed");
            let heard = std::str::from_utf8(&self.heard)?;
            let Some((head, body)) = heard.split_once("\r\n\r\n") else { continue };
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).context("no length")?;
            if body.len() >= length.parse()? {
                return head.split(' ').nth(1).context("no status")?.parse().context("no status");
            }
        }
    }
}
