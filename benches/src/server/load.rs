//! Runs over HTTP, up to more than there are places for.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use anyhow::bail;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Semaphore;

use super::{Server, ask, block_on, calls};
use crate::report::Report;

/// Calls of one run.
const CALLS: usize = 4;

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    block_on(load(report, quick))
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
    let levels = [(1, 100), (10, 300), (100, 600), (1000, 2000)];
    loaded(report, quick, "apart", &levels, &[]).await?;
    let (server, _script) = loaded(report, quick, "in the server", &levels, &["--no-apart"]).await?;
    overload(report, &server).await
}

/// The same with tools in one place; the server, and the folder of its script.
async fn loaded(
    report: &mut Report,
    quick: bool,
    place: &str,
    levels: &[(usize, usize)],
    more: &[&str],
) -> anyhow::Result<(Arc<Server>, TempDir)> {
    let folder = tempfile::tempdir()?;
    let model = format!("scripted:{}", script(folder.path())?.display());
    let arguments: Vec<String> = ["--model", &model].iter().chain(more).map(|&word| word.to_owned()).collect();
    let quotas = json!({ "runs": 1100, "waiting": 0, "requests": 10_000_000, "sandboxes": 64, "memory_mib": 32_768 });
    let server = Arc::new(Server::start(&[("load", quotas)], "", &arguments)?);
    let (_, run) = ask(&server.address, &server.keys[0], "explore", "go").await?;
    let called = calls(&server, &server.keys[0], &run).await?;
    anyhow::ensure!(called.len() == CALLS && called.iter().all(|call| call["failure"].is_null()), "{called:?}");
    let mut alone = None;
    for &(at_once, runs) in levels {
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
            &format!("{at_once} runs at the same time over HTTP, each with {CALLS} calls sandboxed {place}"),
            &format!("{each:.0} runs/s, {:.0} calls/s; {} MiB at most", each * CALLS as f64, server.peak()?),
            &format!("one at a time: {first:.0} runs/s"),
            format!("{:.2} ×", each / first),
            "reported",
        );
    }
    Ok((server, folder))
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
            Ok((other, said)) => bail!("{other} {said}"),
            // There were more connections than the server and the system hold.
            Err(_) => closed += 1,
        }
    }
    let measured = format!("{answered} answered, {refused} sent away with Retry-After, {closed} without a connection");
    report.row(
        "3,000 runs at once where 1,100 may be",
        &measured,
        "",
        format!("{closed} without a connection"),
        "0; 429 or 503",
    );
    Ok(())
}
