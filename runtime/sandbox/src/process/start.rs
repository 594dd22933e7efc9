//! Starts a worker with a plan and stays with it until nobody is left.

use std::{
    collections::BTreeMap,
    fs::{File, Permissions},
    io::{self, Write as _},
    mem::MaybeUninit,
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::{fs::PermissionsExt as _, net::UnixStream},
    },
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use palisade_grants::{FilesGrant, PermittedCommand, WorkspacePath};
use rustix::{
    fs::{Mode, OFlags},
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
    pipe::PipeFlags,
};
use tempfile::TempDir;

use super::{
    NotRun, Programs, Ran, Walls,
    plan::{Plan, Word},
    pump::{Heard, Over, Pump},
};
use crate::{scratch, workspace::kernel_path};

/// A program that may be run, and in what.
pub(crate) struct Asked<'a> {
    pub(crate) command: PermittedCommand,
    /// The open workspace and what may be done in it.
    pub(crate) workspace: Option<(&'a File, &'a FilesGrant)>,
    pub(crate) directory: WorkspacePath,
    /// Begin here instead; it may be read.
    pub(crate) folder: Option<&'a Path>,
    pub(crate) input: &'a [u8],
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) deadline: Instant,
    /// Bytes of each of standard output and standard error.
    pub(crate) output: usize,
    pub(crate) is_cancelled: &'a dyn Fn() -> bool,
}

/// What the worker says is short.
const MAX_WORDS: usize = 64 << 10;
/// How long a worker may take to end after it was told to.
const GRACE: Duration = Duration::from_secs(12);

/// Runs a program. When this returns none of its processes is left, and its scratch folder is gone.
pub(crate) fn run(programs: &Programs, asked: &Asked<'_>) -> Result<Ran, NotRun> {
    run_within(programs, asked).map(|(ran, _)| ran)
}

/// Runs something that does nothing.
pub(super) fn try_walls(programs: &Programs) -> Result<Walls, String> {
    let everything = palisade_grants::Grants::everything().commands;
    let command = everything.permit("true", &[]).map_err(|denial| denial.to_string())?;
    let asked = Asked {
        command,
        workspace: None,
        directory: WorkspacePath::ROOT,
        folder: None,
        input: &[],
        env: BTreeMap::new(),
        deadline: Instant::now() + Duration::from_secs(10),
        output: 1024,
        is_cancelled: &|| false,
    };
    match run_within(programs, &asked) {
        Ok((Ran { code: Some(0), .. }, walls)) => Ok(walls),
        Ok((ran, _)) => Err(format!("`true` ended with {:?}", ran.code)),
        Err(error) => Err(error.to_string()),
    }
}

fn run_within(programs: &Programs, asked: &Asked<'_>) -> Result<(Ran, Walls), NotRun> {
    if !cfg!(target_os = "linux") {
        return Err(NotRun::Denied("programs can be confined on Linux alone, so none is run here".to_owned()));
    }
    let failed = |error: io::Error| NotRun::Failed(format!("the program cannot be started: {error}"));
    let scratch = Scratch::make(programs, asked.workspace.map(|(root, _)| root)).map_err(failed)?;
    let started = Instant::now();
    let deadline = asked.deadline.min(started + programs.time);
    let allowed = deadline.saturating_duration_since(started);
    let plan = plan(programs, asked, scratch.path(), allowed).encode().map_err(failed)?;
    let mut worker = Worker::start(&programs.worker).map_err(failed)?;
    let (input, unwritten) = pipe().map_err(failed)?;
    let root = asked.workspace.map(|(root, _)| root.as_fd());
    // A worker that is gone already has said why, or its silence says it.
    drop(hand_over(&worker.control, &plan, &input, root));
    drop(input);
    let Worker { control, output, errors, child } = &mut worker;
    let mut pump = Pump {
        input: unblocked(unwritten).ok(),
        unwritten: asked.input,
        output: Heard::new(unblocked(output.try_clone().map_err(failed)?).map_err(failed)?, asked.output),
        errors: Heard::new(unblocked(errors.try_clone().map_err(failed)?).map_err(failed)?, asked.output),
        control: Heard::new(unblocked(control.try_clone().map_err(failed)?.into()).map_err(failed)?, MAX_WORDS),
    };
    let over = pump.run(deadline, asked.is_cancelled);
    if over != Over::Ended {
        // The worker hears this, and ends whatever is there.
        drop(control.shutdown(std::net::Shutdown::Both));
    }
    end(child).map_err(failed)?;
    drop(scratch);
    match over {
        Over::OutOfTime => Err(NotRun::OutOfTime(allowed)),
        Over::Cancelled => Err(NotRun::Cancelled),
        Over::Ended => said(programs, pump),
    }
}

fn plan(programs: &Programs, asked: &Asked<'_>, scratch: &Path, time: Duration) -> Plan {
    let mut env = asked.env.clone();
    env.entry("LANG".to_owned()).or_insert_with(|| "C.UTF-8".to_owned());
    Plan {
        program: asked.command.program().to_owned(),
        arguments: asked.command.arguments().to_vec(),
        env,
        workspace: asked.workspace.is_some(),
        files: asked.workspace.map(|(_, files)| files.clone()).unwrap_or_default(),
        directory: asked.directory.clone(),
        folder: asked.folder.map(Path::to_owned),
        scratch: scratch.to_owned(),
        search: programs.search(),
        read: programs.read.iter().chain(&programs.path).cloned().chain(asked.folder.map(Path::to_owned)).collect(),
        network: programs.network,
        namespaces: programs.namespaces,
        // For each process; several threads use it up together.
        seconds: time.as_secs().saturating_add(1).saturating_mul(16),
        memory: programs.memory,
    }
}

/// What the worker's words come to.
fn said(programs: &Programs, pump: Pump<'_>) -> Result<(Ran, Walls), NotRun> {
    let Pump { output, errors, control, .. } = pump;
    let words = control.kept.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mut walls = Walls::default();
    let mut ran =
        Ran { stdout: output.kept, stderr: errors.kept, omitted: output.dropped + errors.dropped, code: None };
    for word in words {
        match serde_json::from_slice(word) {
            Ok(Word::Walls(up)) => walls = up,
            Ok(Word::Code(code)) => {
                ran.code = Some(code);
                return Ok((ran, walls));
            }
            Ok(Word::Signal(_)) => return Ok((ran, walls)),
            Ok(Word::Memory) => {
                return Err(NotRun::Failed(format!(
                    "it used more than {} MiB of memory and was ended; `[exec] memory` says how much it may have",
                    programs.memory >> 20
                )));
            }
            Ok(Word::Denied(why)) => return Err(NotRun::Denied(why)),
            Ok(Word::Failed(why)) => return Err(NotRun::Failed(why)),
            Err(_) => break,
        }
    }
    Err(NotRun::Failed("the process that confines programs ended without a word".to_owned()))
}

/// A worker and the pipes to it.
pub(super) struct Worker {
    pub(super) child: Child,
    pub(super) control: UnixStream,
    pub(super) output: OwnedFd,
    pub(super) errors: OwnedFd,
}

impl Worker {
    #[expect(clippy::disallowed_methods, reason = "this file owns starting the worker that confines programs")]
    pub(super) fn start(worker: &Path) -> io::Result<Self> {
        let (control, theirs) = UnixStream::pair()?;
        let (output, printed) = pipe()?;
        let (errors, complained) = pipe()?;
        let child = Command::new(worker)
            .arg("confine-worker")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(printed))
            .stderr(Stdio::from(complained))
            .spawn()?;
        Ok(Self { child, control, output, errors })
    }
}

pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?)
}

pub(super) fn unblocked(pipe: OwnedFd) -> io::Result<OwnedFd> {
    rustix::io::ioctl_fionbio(&pipe, true)?;
    Ok(pipe)
}

/// A length with the descriptors, then the plan.
pub(super) fn hand_over(
    control: &UnixStream,
    plan: &[u8],
    input: &OwnedFd,
    root: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let descriptors: Vec<BorrowedFd<'_>> = [input.as_fd()].into_iter().chain(root).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    let length = (plan.len() as u64).to_le_bytes();
    sendmsg(control, &[io::IoSlice::new(&length)], &mut ancillary, SendFlags::NOSIGNAL)?;
    let mut control = control;
    control.write_all(plan)
}

/// Waits for the worker, which ends when the program has or when it was told to.
pub(super) fn end(worker: &mut Child) -> io::Result<()> {
    let deadline = Instant::now() + GRACE;
    let mut pause = Duration::from_micros(200);
    while worker.try_wait()?.is_none() {
        if Instant::now() >= deadline {
            worker.kill()?;
            worker.wait()?;
            return Ok(());
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
    Ok(())
}

/// A folder for one run. It is emptied and removed when dropped.
pub(super) struct Scratch(TempDir);

impl Scratch {
    #[expect(clippy::disallowed_methods, reason = "where nobody chose a place for them, the system's is taken")]
    pub(super) fn make(programs: &Programs, workspace: Option<&File>) -> io::Result<Self> {
        let system = std::env::temp_dir();
        let parent = programs.scratch_in.as_deref().unwrap_or(&system);
        let opened = rustix::fs::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let parent = kernel_path(opened)?;
        // In the workspace it would open what was not granted.
        if let Some(workspace) = workspace
            && parent.starts_with(kernel_path(workspace)?)
        {
            return Err(io::Error::other(format!(
                "temporary files would lie in the workspace, in {}; set TMPDIR to another place",
                parent.display()
            )));
        }
        let mode = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("palisade-run-").permissions(mode).tempdir_in(parent)?;
        for inner in ["home", "tmp", "target"] {
            std::fs::create_dir(folder.path().join(inner))?;
        }
        Ok(Self(folder))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(folder) = rustix::fs::open(self.0.path(), flags, Mode::empty()) {
            // What cannot be removed is left, and never used again.
            let _ = scratch::empty(&folder.into());
        }
    }
}
