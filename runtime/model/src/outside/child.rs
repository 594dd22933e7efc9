//! The process: started with nothing but what it is given, read line by line within bounds, and ended with
//! all that it started, also when nobody waits for it any longer.

use std::{
    fs::File,
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use palisade_agent::ProviderFailure;
use rustix::process::Pid;
use serde_json::Value;
use tokio::{
    io::AsyncReadExt as _,
    process::{Child, ChildStderr, ChildStdout, Command},
    time::{Instant, sleep_until},
};

use super::{
    Environment, family,
    fault::{fault, tail},
    lines::{Bounds, Lines},
    program::Finished,
};
use crate::{
    Secrets,
    dialect::{Fault, Progress},
};

/// How much of its complaints is kept, from the end.
const COMPLAINT: usize = 8 << 10;

/// How long a program that has said its last word may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// Takes one event of a program.
type Take<'a> = dyn FnMut(&Value) -> Result<Progress, Fault> + Send + 'a;

/// What is started.
pub(super) struct Launch<'a> {
    pub(super) command: &'a Path,
    pub(super) arguments: &'a [String],
    pub(super) environment: &'a Environment,
    pub(super) folder: &'a Path,
    /// What it reads as its standard input.
    pub(super) input: File,
    /// What it is given and must not be quoted.
    pub(super) secrets: &'a Secrets,
}

/// A program that runs. Dropped, it is ended.
pub(super) struct Running {
    child: Child,
    leader: Pid,
    lines: Lines<ChildStdout>,
    complaint: Complaint,
    /// How it ended, once it has.
    status: Option<ExitStatus>,
    /// Nothing is left of it.
    is_over: bool,
}

/// A program that is no more.
pub(super) struct Ended {
    /// None: it was ended, because it did not end itself.
    status: Option<ExitStatus>,
    complaint: String,
}

impl Running {
    pub(super) fn start(launch: Launch<'_>) -> Result<Self, Fault> {
        let cannot = |error: io::Error| {
            let command = launch.command.display();
            let help = match error.kind() {
                io::ErrorKind::NotFound => "; install it, or say where it is with `command`",
                _ => "",
            };
            fault(ProviderFailure::Exhausted, format!("`{command}` cannot be started: {error}{help}"))
        };
        let mut child = Command::new(launch.command)
            .args(launch.arguments)
            .env_clear()
            .envs(launch.environment.iter())
            .current_dir(launch.folder)
            .stdin(Stdio::from(launch.input))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(cannot)?;
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        match (leader, child.stdout.take(), child.stderr.take()) {
            (Some(leader), Some(output), Some(errors)) => {
                let lines = Lines::of(output, Bounds::USUAL, launch.secrets.clone());
                let complaint = Complaint::of(errors, launch.secrets.clone());
                Ok(Self { child, leader, lines, complaint, status: None, is_over: false })
            }
            _ => Err(fault(ProviderFailure::Exhausted, "it was started without pipes")),
        }
    }

    /// Reads what it says until it ends, or has said its last word and does not end.
    pub(super) async fn read(&mut self, take: &mut Take<'_>) -> Result<Ended, Fault> {
        let read = self.lines(take).await;
        self.end();
        read?;
        self.complaint.rest();
        Ok(Ended { status: self.status, complaint: self.complaint.text() })
    }

    async fn lines(&mut self, take: &mut Take<'_>) -> Result<(), Fault> {
        let (mut progress, mut silent) = (Progress::More, false);
        let mut heard = Instant::now();
        while !(silent && self.status.is_some()) {
            let waiting_for_its_end = silent || self.status.is_some() || progress == Progress::Complete;
            tokio::select! {
                biased;
                line = self.lines.next(), if !silent => {
                    match line? {
                        Some(event) => progress = take(&event)?,
                        None => silent = true,
                    }
                    heard = Instant::now();
                }
                status = self.child.wait(), if self.status.is_none() => {
                    self.status = Some(status.map_err(|error| fault(ProviderFailure::Broken, error.to_string()))?);
                    heard = Instant::now();
                }
                () = sleep_until(heard + GRACE), if waiting_for_its_end => break,
                // The last, because it may never end.
                () = self.complaint.more(), if !self.complaint.over => {}
            }
        }
        Ok(())
    }

    /// Ends whatever is left of it, once.
    fn end(&mut self) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        match self.status {
            None => family::end(self.leader),
            // It was waited for, so its number is free, unless something it started is still in its group.
            Some(_) => family::end_group(self.leader),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

impl Ended {
    /// What came of a run, unless the way it ended says otherwise.
    pub(super) fn unless_failed(self, finished: Result<Finished, Fault>) -> Result<Finished, Fault> {
        let how = match self.status {
            Some(status) if !status.success() => match status.code() {
                Some(code) => format!("it ended with exit code {code}"),
                None => "it was ended by a signal".to_owned(),
            },
            _ => return finished,
        };
        match finished {
            // It said itself what went wrong.
            Err(fault) if fault.kind != ProviderFailure::Cut => Err(fault),
            _ if self.complaint.trim().is_empty() => Err(fault(ProviderFailure::Broken, how)),
            _ => Err(fault(ProviderFailure::Broken, format!("{how}: {}", tail(&self.complaint)))),
        }
    }
}

/// What it says on standard error: only the end is kept.
struct Complaint {
    errors: ChildStderr,
    secrets: Secrets,
    end: Vec<u8>,
    over: bool,
}

impl Complaint {
    fn of(errors: ChildStderr, secrets: Secrets) -> Self {
        Self { errors, secrets, end: Vec::new(), over: false }
    }

    /// Takes some more. May be dropped while it waits.
    async fn more(&mut self) {
        let mut bytes = [0; 4096];
        match self.errors.read(&mut bytes).await {
            Ok(length) if length > 0 => self.keep(&bytes[..length]),
            // Complaints that cannot be read are no reason to end.
            _ => self.over = true,
        }
    }

    /// Takes what is there already, when nobody waits any longer.
    fn rest(&mut self) {
        use futures_util::FutureExt as _;
        while !self.over && self.more().now_or_never().is_some() {}
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.end.extend_from_slice(bytes);
        let excess = self.end.len().saturating_sub(COMPLAINT);
        self.end.drain(..excess);
    }

    fn text(&self) -> String {
        self.secrets.remove(&String::from_utf8_lossy(&self.end))
    }
}
