//! Starts workers and kills them, until it has killed enough.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use tempfile::TempDir;

use crate::{
    check::{Acknowledged, Faults, check},
    crew,
};

/// Instants of the loop and of the tools; the store names its own.
pub(crate) const INSTANTS: [&str; 8] = [
    "run.before_write",
    "run.after_write",
    "run.before_result",
    "run.after_result",
    "run.before_end",
    "model.before_reply",
    "tool.before_effect",
    "tool.after_effect",
];

/// How often a worker may pass an instant before it dies there: later passes are other states.
const PASSES: u64 = 4;

/// The longest that a worker lives which is killed at any instant.
const LIFE: Duration = Duration::from_millis(120);

/// What was counted.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Deaths at each named instant.
    pub(crate) named: BTreeMap<&'static str, u64>,
    /// Deaths at any other instant.
    pub(crate) random: u64,
    /// Conversations that came to their end in spite of it.
    pub(crate) conversations: u64,
    /// Entries that were acknowledged.
    pub(crate) entries: u64,
    /// Effects that were counted.
    pub(crate) effects: u64,
    pub(crate) faults: Faults,
    pub(crate) seed: u64,
    pub(crate) time: Duration,
}

impl Counts {
    pub(crate) fn kills(&self) -> u64 {
        self.named.values().sum::<u64>() + self.random
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }

    /// One of the instants at which the fewest have died.
    fn rarest(&self, dice: &mut Dice) -> Death {
        const AMONG: u64 = 6;
        let mut instants: Vec<(u64, &'static str)> =
            self.named.iter().map(|(instant, kills)| (*kills, *instant)).collect();
        instants.sort_unstable();
        let at = usize::try_from(dice.below(AMONG)).unwrap_or(0);
        let (kills, instant) = instants.get(at).copied().unwrap_or((0, "run.before_write"));
        Death::At { instant, pass: if kills == 0 { 1 } else { 1 + dice.below(PASSES) } }
    }
}

/// Which way a worker dies.
enum Death {
    At { instant: &'static str, pass: u64 },
    After(Duration),
}

/// Kills at least so often. The same seed gives the same dice, but not the same instants: processes are not
/// alike.
pub(crate) fn run(kills: u64, seed: Option<u64>) -> anyhow::Result<Counts> {
    let seed = seed.map_or_else(getrandom::u64, Ok)?;
    let started = Instant::now();
    let named =
        INSTANTS.iter().chain(&crew::INSTANTS).chain(palisade_store::INSTANTS).map(|instant| (*instant, 0)).collect();
    let counts = Mutex::new(Counts { seed, named, ..Counts::default() });
    // Workers wait for the disk most of the time.
    let jobs = std::thread::available_parallelism().map_or(2, usize::from) as u64 * 2;
    let ended: Vec<anyhow::Result<()>> = std::thread::scope(|scope| {
        let begin = |job| {
            scope.spawn({
                let counts = &counts;
                move || kill(kills, Dice(seed.wrapping_add(job << 32)), counts)
            })
        };
        let jobs: Vec<_> = (0..jobs).map(begin).collect();
        jobs.into_iter().map(|job| job.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a job broke down")))).collect()
    });
    ended.into_iter().collect::<anyhow::Result<()>>()?;
    let mut counts = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
    counts.time = started.elapsed();
    Ok(counts)
}

/// Begins conversations and kills their workers until there were enough kills, each instant among them.
fn kill(kills: u64, mut dice: Dice, counts: &Mutex<Counts>) -> anyhow::Result<()> {
    let counts = || counts.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    loop {
        if !counts().is_clean() || (counts().kills() >= kills && counts().named.values().all(|kills| *kills > 0)) {
            return Ok(());
        }
        let mut conversation = Conversation::begin()?;
        let look = |conversation: &mut Conversation| {
            runtime.block_on(check(conversation.folder.path(), &mut conversation.acknowledged))
        };
        // One death after the other in the same conversation, then a life without one to its end.
        for _ in 0..1 + dice.below(15) {
            let death = match dice.below(2) {
                0 => counts().rarest(&mut dice),
                _ => Death::After(LIFE.mul_f64(dice.part())),
            };
            let (died, _) = conversation.live(Some(&death))?;
            let faults = look(&mut conversation)?;
            let mut counts = counts();
            counts.faults.add(faults);
            match death {
                Death::At { instant, .. } if died => *counts.named.entry(instant).or_default() += 1,
                Death::After(_) if died => counts.random += 1,
                _ => {}
            }
        }
        let (_, over) = conversation.live(None)?;
        anyhow::ensure!(over, "a worker that nobody killed did not finish");
        let faults = look(&mut conversation)?;
        let mut counts = counts();
        counts.faults.add(faults);
        counts.conversations += 1;
        counts.entries += conversation.acknowledged.entries.len() as u64;
        counts.effects += conversation.effects();
    }
}

/// A conversation and all that its workers acknowledged.
struct Conversation {
    folder: TempDir,
    acknowledged: Acknowledged,
}

impl Conversation {
    fn begin() -> anyhow::Result<Self> {
        Ok(Self { folder: tempfile::tempdir()?, acknowledged: Acknowledged::default() })
    }

    /// One worker from its start to its end: whether it was killed, and whether it saw the conversation's end.
    fn live(&mut self, death: Option<&Death>) -> anyhow::Result<(bool, bool)> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("work").arg("--folder").arg(self.folder.path()).stdin(Stdio::null()).stdout(Stdio::piped());
        if let Some(Death::At { instant, pass }) = death {
            command.args(["--at", instant, "--pass", &pass.to_string()]);
        }
        let mut worker = command.spawn().context("the worker cannot be started")?;
        if let Some(Death::After(time)) = death {
            // Whoever reads the pipe would wait; what was said is read when it is dead.
            std::thread::sleep(*time);
            worker.kill()?;
        }
        self.bury(worker)
    }

    /// Takes down what a worker said; whether it was killed, and whether it saw the end.
    fn bury(&mut self, mut worker: Child) -> anyhow::Result<(bool, bool)> {
        let mut over = false;
        let said = worker.stdout.take().context("the worker has no output")?;
        for line in BufReader::new(said).lines() {
            let line = line?;
            self.acknowledged.hear(&line);
            over |= line == "over";
        }
        let status = worker.wait()?;
        let killed = std::os::unix::process::ExitStatusExt::signal(&status) == Some(9);
        anyhow::ensure!(killed || status.success(), "a worker ended by itself: {status}");
        Ok((killed, over))
    }

    fn effects(&self) -> u64 {
        let ledger = std::fs::read_to_string(self.folder.path().join(crate::plan::LEDGER)).unwrap_or_default();
        ledger.lines().count() as u64
    }
}

/// Random numbers that can be had again: a counter through a hash.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        let hash = blake3::hash(&self.0.to_le_bytes());
        hash.as_bytes().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A number from zero to one.
    fn part(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a random instant need not be exact")]
        let part = self.next() as f64 / u64::MAX as f64;
        part
    }
}
