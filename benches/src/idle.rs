//! What a live sandbox costs while it does nothing.

use std::time::Instant;

use anyhow::Context as _;
use palisade_agent::{Pool, PoolKey};
use palisade_sandbox::{Engine, Settings};

use crate::{
    calls::echo_scope,
    report::{Report, time},
};

pub(crate) fn measure(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let counts: &[u32] = if quick { &[1_000] } else { &[1_000, 10_000] };
    for &count in counts {
        let engine = Engine::start(Settings { slots: count + 10, ..Settings::SERVER })?;
        let scope = echo_scope(&engine)?;
        // The first one pays for what all share.
        let first = scope.hold("echo")?;
        let before = resident()?;
        let started = Instant::now();
        let held = (0..count).map(|_| scope.hold("echo")).collect::<Result<Vec<_>, _>>()?;
        let each = started.elapsed().as_secs_f64() * 1e6 / f64::from(count);
        let bytes = resident()?.saturating_sub(before) / u64::from(count);
        drop((held, first));
        report.row(
            &format!("{count} live sandboxes of `echo`"),
            &format!("{:.1} KiB each", bytes as f64 / 1024.0),
            &format!("{} each to make", time(each)),
            "–".to_owned(),
            "reported",
        );
    }
    pooled(report)
}

/// Agents that were asked and wait to be asked again. Their conversations are in the store. The bytes are counted:
/// the process has room left from what was measured before, so that it need not grow for them.
fn pooled(report: &mut Report) -> anyhow::Result<()> {
    const COUNT: u32 = 10_000;
    let pool = Pool::of(COUNT as usize);
    let mut bytes = 0;
    let started = Instant::now();
    for number in 0..COUNT {
        // As long as the real ones: a hash in full, and two UUIDs.
        let session = format!("{number:08x}-0000-4000-8000-000000000000");
        let key = PoolKey {
            fingerprint: format!("{number:064x}").into(),
            tenant: "local".into(),
            parent: format!("{number:08x}-0000-4000-8000-111111111111").into(),
        };
        let texts = [&*key.fingerprint, &*key.tenant, &*key.parent, "plugin", &session];
        // What an allocator adds to each piece.
        bytes += Pool::ENTRY + texts.iter().map(|text| text.len() + 16).sum::<usize>();
        pool.adopt(key, Some("plugin"), &session);
        pool.release("local", &session);
    }
    let each = started.elapsed().as_secs_f64() * 1e6 / f64::from(COUNT);
    let bytes = bytes / COUNT as usize;
    anyhow::ensure!(pool.statistics().idle == COUNT as usize, "not all are kept");
    report.row(
        &format!("{COUNT} idle agents in the pool, besides their history"),
        &format!("{bytes} bytes each"),
        &format!("{} each to take in", time(each)),
        "–".to_owned(),
        "≤ 16 KiB each",
    );
    Ok(())
}

fn resident() -> anyhow::Result<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statm.split_whitespace().nth(1).context("statm")?.parse()?;
    Ok(pages * 4096)
}
