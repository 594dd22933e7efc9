//! The one table.

use crate::measure::Sample;

/// The one table, with the conditions it was made under.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

struct Row {
    what: String,
    measured: String,
    beside: String,
    ratio: String,
    target: &'static str,
}

impl Report {
    /// A row of two samples.
    pub(crate) fn compare(
        &mut self,
        what: &str,
        ours: &Sample,
        beside: &str,
        theirs: &Sample,
        ratio: Ratio,
        target: &'static str,
    ) {
        self.row(
            what,
            &times(ours),
            &format!("{beside}: {}", times(theirs)),
            ratio.of(ours.median(), theirs.median()),
            target,
        );
    }

    /// A row of anything.
    pub(crate) fn row(&mut self, what: &str, measured: &str, beside: &str, ratio: String, target: &'static str) {
        eprintln!("{what}: {measured} | {beside} | {ratio}");
        self.rows.push(Row {
            what: what.to_owned(),
            measured: measured.to_owned(),
            beside: beside.to_owned(),
            ratio,
            target,
        });
    }

    pub(crate) fn markdown(&self) -> String {
        let mut text = format!(
            "# Benchmarks\n\nMade by `just bench`. Every ratio compares things measured in turn in one run, on a machine that may be \
             busy: read the ratios, not the times. Times are median / 99th percentile.\n\n{}\n\n\
             | what | measured | beside it | ratio | goal |\n|---|---|---|---|---|\n",
            conditions()
        );
        for Row { what, measured, beside, ratio, target } in &self.rows {
            text += &format!("| {what} | {measured} | {beside} | **{ratio}** | {target} |\n");
        }
        text
    }
}

/// Which way a ratio is told.
#[derive(Clone, Copy)]
pub(crate) enum Ratio {
    /// How much longer ours takes.
    Slower,
    /// How much less ours takes.
    Cheaper,
}

impl Ratio {
    pub(crate) fn of(self, ours: f64, theirs: f64) -> String {
        match self {
            Self::Slower => format!("{:.2} ×", ours / theirs),
            Self::Cheaper => format!("{:.0} × cheaper", theirs / ours),
        }
    }
}

pub(crate) fn times(sample: &Sample) -> String {
    format!("{} / {}", time(sample.median()), time(sample.p99()))
}

pub(crate) fn time(micros: f64) -> String {
    match micros {
        micros if micros < 1e3 => format!("{micros:.1} µs"),
        micros if micros < 1e6 => format!("{:.1} ms", micros / 1e3),
        micros => format!("{:.2} s", micros / 1e6),
    }
}

fn conditions() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
    format!(
        "{cores} cores ({}), Linux {}, optimised build (`opt-level = 3`).",
        cpu.trim_start_matches([' ', '\t', ':']),
        kernel.trim()
    )
}
