//! Starts a process that guests run in, and ends it.

use std::{
    fs::{File, Permissions},
    io::{self, BufReader, IoSlice, Write as _},
    mem::MaybeUninit,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::{fs::PermissionsExt as _, net::UnixStream, process::ExitStatusExt as _},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{Mode, OFlags},
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
};
use tempfile::TempDir;

use super::protocol::{self, Hello, MAX_PACKAGES, MAX_WORD, VERSION, Word};
use crate::{
    Settings,
    component::Digest,
    scratch,
    workspace::{Packages, kernel_path},
};

/// What a process is started with.
pub(super) struct Plan {
    /// This program.
    pub(super) worker: PathBuf,
    pub(super) settings: Settings,
    pub(super) fingerprint: Digest,
    pub(super) workspace: Option<Arc<File>>,
    pub(super) packages: Arc<Packages>,
    pub(super) writes: bool,
    pub(super) scratch_in: Option<Arc<Path>>,
}

/// A process that does not read for this long is ended.
const WRITE: Duration = Duration::from_secs(10);

#[expect(clippy::disallowed_methods, reason = "this file owns starting the process that guests run in")]
pub(super) fn start(worker: &Path, socket: UnixStream) -> io::Result<Child> {
    Command::new(worker)
        .arg("tool-runner")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(socket)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// Tells the process what it is to be, and waits until it is that. Gives the components whose machine code it has, and what
/// to hear it with.
pub(super) fn begin(
    plan: &Plan,
    socket: &UnixStream,
    scratch: Option<&Scratch>,
) -> Result<(Vec<Digest>, BufReader<UnixStream>), String> {
    let lost = |error: io::Error| format!("it cannot be spoken to: {error}");
    if plan.packages.len() > MAX_PACKAGES {
        return Err(format!("its agent has tools of more than {MAX_PACKAGES} plugins; give it fewer"));
    }
    let hello = Hello {
        version: VERSION,
        fingerprint: plan.fingerprint,
        settings: plan.settings,
        workspace: plan.workspace.is_some(),
        writes: plan.writes,
        scratch: scratch.map(|scratch| scratch.0.path().to_owned()),
        packages: plan.packages.keys().cloned().collect(),
    };
    socket.set_write_timeout(Some(WRITE)).map_err(lost)?;
    // A process that is gone already has said why, or its silence says it.
    drop(greet(socket, &hello, plan));
    let mut reader = BufReader::with_capacity(64 << 10, socket.try_clone().map_err(lost)?);
    match protocol::read(&mut reader, MAX_WORD) {
        Ok(Some(Word::Ready(code))) => Ok((code, reader)),
        Ok(Some(Word::Refused(why))) => Err(why),
        Ok(None) | Err(protocol::FrameError::Lost(_)) => Err("it ended without a word".to_owned()),
        Ok(Some(_)) => Err("it did not begin as it should".to_owned()),
        Err(error) => Err(format!("it sent {error}")),
    }
}

/// The first message; the open workspace and the folders of plugins go with its length.
fn greet(socket: &UnixStream, hello: &Hello, plan: &Plan) -> io::Result<()> {
    let frame = protocol::frame(hello)?;
    let (length, body) = frame.split_at_checked(4).ok_or(io::ErrorKind::InvalidData)?;
    let folders = plan.workspace.iter().chain(plan.packages.values());
    let descriptors: Vec<_> = folders.map(|folder| folder.as_fd()).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_PACKAGES + 1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    sendmsg(socket, &[IoSlice::new(length)], &mut ancillary, SendFlags::NOSIGNAL)?;
    let mut socket = socket;
    socket.write_all(body)
}

/// Waits for a process that ends by itself, a moment, and ends it.
pub(super) fn end(child: &mut Child, by_itself: bool) -> Option<ExitStatus> {
    let patience = Instant::now() + Duration::from_millis(200);
    while by_itself && Instant::now() < patience {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(1));
    }
    drop(child.kill());
    child.wait().ok()
}

pub(super) fn in_words(status: Option<ExitStatus>) -> String {
    match status.map(|status| (status.signal(), status.code())) {
        Some((Some(signal), _)) => format!("signal {signal}"),
        Some((_, Some(code))) => format!("exit code {code}"),
        _ => "nobody knows how".to_owned(),
    }
}

/// The place for scratch folders of one process. It is emptied and removed when dropped.
pub(super) struct Scratch(TempDir);

impl Scratch {
    /// None where it would lie in the workspace and have two names there.
    #[expect(clippy::disallowed_methods, reason = "where nobody chose a place for them, the system's is taken")]
    pub(super) fn make(plan: &Plan) -> Option<Self> {
        let system = std::env::temp_dir();
        let parent = plan.scratch_in.as_deref().unwrap_or(&system);
        let opened =
            rustix::fs::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let parent = kernel_path(opened).ok()?;
        if let Some(workspace) = &plan.workspace
            && parent.starts_with(kernel_path(&**workspace).ok()?)
        {
            return None;
        }
        let mode = Permissions::from_mode(0o700);
        tempfile::Builder::new().prefix("palisade-runner-").permissions(mode).tempdir_in(parent).ok().map(Self)
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
