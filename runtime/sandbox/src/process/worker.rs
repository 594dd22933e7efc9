//! The worker: a process of this program that puts up the walls and becomes another one.
//!
//! It has one thread and reads nothing but its plan. Where there are namespaces it starts a first
//! process of a tree of its own, which starts the program and waits for it; when that first process
//! ends, the kernel ends all others. Elsewhere it waits itself, as the one that orphans are handed to.

use std::{
    convert::Infallible,
    io,
    mem::MaybeUninit,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::process::CommandExt as _,
    },
    path::Path,
    process::{Command, Stdio},
};

use rustix::{
    fs::OFlags,
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg},
    process::{Signal, WaitOptions, chdir, set_child_subreaper, set_parent_process_death_signal, setsid, waitpid},
};

use super::{
    apart, carve,
    carve::Carved,
    find,
    plan::{MAX_PLAN, Plan, Walls, Word},
    sys,
    system_calls::{Allowed, filters},
    tend::{Tended, tend},
    walls::{self, Opened},
};
use crate::workspace::kernel_path;

/// What was handed over.
struct Handed {
    plan: Plan,
    input: OwnedFd,
    workspace: Option<OwnedFd>,
}

/// The worker's whole life. What it has to say it says over the socket on its standard input; the
/// returned number is its exit code.
pub fn confine_worker() -> u8 {
    let Ok(control) = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3) else { return 1 };
    // If whoever started this is gone, so is this.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let word = match receive(&control) {
        Ok(handed) => match work(&handed, &control) {
            Ok(word) => word,
            Err(word) => Some(word),
        },
        Err(error) => Some(Word::Failed(format!("the plan cannot be read: {error}"))),
    };
    if let Some(word) = word {
        say(&control, &word);
    }
    0
}

fn say(control: &OwnedFd, word: &Word) {
    // Who does not listen any more does not want to know.
    let _ = rustix::io::write(control, &word.line());
}

/// A length, the descriptors with it, and the plan.
fn receive(control: &OwnedFd) -> io::Result<Handed> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut length = [0; 8];
    let received = recvmsg(
        control,
        &mut [io::IoSliceMut::new(&mut length)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL,
    )?;
    let broken = |what| io::Error::new(io::ErrorKind::InvalidData, what);
    let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
    if received.bytes != 8 || length > MAX_PLAN {
        return Err(broken("no length"));
    }
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    let mut plan = vec![0; length];
    let mut filled = 0;
    while let Some(rest) = plan.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::io::read(control, rest)? {
            0 => return Err(broken("it ends early")),
            read => filled += read,
        }
    }
    let plan: Plan = serde_json::from_slice(&plan)?;
    let mut descriptors = descriptors.into_iter();
    let input = descriptors.next().ok_or_else(|| broken("no standard input"))?;
    let workspace = descriptors.next().filter(|_| plan.workspace);
    if plan.workspace && workspace.is_none() {
        return Err(broken("no workspace"));
    }
    Ok(Handed { plan, input, workspace })
}

/// Runs the program. `Err` is what to say if it does not come to that; nothing is to be said if
/// somebody else has.
fn work(handed: &Handed, control: &OwnedFd) -> Result<Option<Word>, Word> {
    let plan = &handed.plan;
    let version = sys::landlock_version();
    // Before the tree is left: what can be read of the machine can be read now.
    let tasks = own_tasks();
    let carved = match &handed.workspace {
        Some(root) => carve::carve(root, &plan.files).map_err(Word::Denied)?,
        None => Carved::default(),
    };
    keeps_its_word(handed)?;
    let apart = version >= walls::NEEDED && plan.namespaces && apart::leave(plan.network);
    if version < if apart { walls::NEEDED } else { walls::NEEDED_ALONE } {
        return Err(Word::Denied(too_old(version)));
    }
    let run = Run { handed, control, carved, version, apart, tasks };
    if !apart {
        set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|error| Word::Denied(format!("orphans cannot be taken in: {error}")))?;
        return run.start().map(Some);
    }
    match sys::fork() {
        Ok(Some(first)) => {
            let _ = waitpid(Some(first), WaitOptions::empty());
            Ok(None)
        }
        Ok(None) => {
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            let word = run.start().unwrap_or_else(|word| word);
            say(control, &word);
            sys::end(0)
        }
        Err(error) => Err(Word::Failed(format!("no process can be started: {error}"))),
    }
}

/// What every program may read must not hold the workspace, or grants would mean nothing there.
fn keeps_its_word(handed: &Handed) -> Result<(), Word> {
    let Some(root) = &handed.workspace else { return Ok(()) };
    let path = kernel_path(root).map_err(|error| Word::Failed(format!("the workspace cannot be found: {error}")))?;
    match walls::readable_around(&path, &handed.plan.read) {
        Some(folder) => Err(Word::Denied(format!(
            "the workspace lies in {}, which every program may read; work elsewhere",
            folder.display()
        ))),
        None => Ok(()),
    }
}

fn too_old(version: u32) -> String {
    let found = match version {
        0 => "it has no Landlock".to_owned(),
        version => format!("its Landlock has version {version}"),
    };
    format!(
        "this kernel cannot confine programs: {found}. Linux 6.12 (version {}) is needed, or Linux 6.2 (version {}) \
         with user namespaces",
        walls::NEEDED_ALONE,
        walls::NEEDED
    )
}

struct Run<'a> {
    handed: &'a Handed,
    control: &'a OwnedFd,
    carved: Carved,
    version: u32,
    apart: bool,
    /// Processes and threads that the user had before.
    tasks: u64,
}

impl Run<'_> {
    /// Starts the program and waits for its end.
    fn start(self) -> Result<Word, Word> {
        let plan = &self.handed.plan;
        let proc = self.apart && apart::own_proc();
        let mounts = self.apart && self.mount_read_only();
        let walls = Walls { landlock: self.version, processes: self.apart, mounts, proc };
        match sys::fork() {
            Ok(Some(program)) => {
                let memory = proc.then_some(plan.memory);
                Ok(tend(&Tended { program, control: self.control, memory, sweeps: !self.apart }))
            }
            Ok(None) => {
                let Err(word) = self.become_program(walls);
                say(self.control, &word);
                sys::end(127)
            }
            Err(error) => Err(Word::Failed(format!("no process can be started: {error}"))),
        }
    }

    /// The scratch folder and what may be changed stay as they are.
    fn mount_read_only(&self) -> bool {
        let mut places = vec![self.handed.plan.scratch.clone()];
        if let Some(root) = &self.handed.workspace {
            if self.carved.write.len() > MAX_MOUNTS {
                return false;
            }
            for path in &self.carved.write {
                let Ok(place) = carve::open_real(root, path, OFlags::PATH) else { continue };
                let Ok(place) = kernel_path(place) else { return false };
                places.push(place);
            }
        }
        apart::read_only_but(&places).is_ok()
    }

    /// Puts up the walls, one after the other, and becomes the program.
    fn become_program(&self, walls: Walls) -> Result<Infallible, Word> {
        let plan = &self.handed.plan;
        let failed = |what: &str, error: &dyn std::fmt::Display| Word::Failed(format!("{what}: {error}"));
        setsid().map_err(|error| failed("no session of its own", &error))?;
        self.enter()?;
        let program = find::find(plan, self.handed.workspace.as_ref()).map_err(Word::Failed)?;
        let mut command = self.command(&program)?;
        let processes = if self.apart { walls::PROCESSES } else { self.tasks + walls::PROCESSES };
        walls::limit(plan.seconds, plan.memory, processes).map_err(|error| failed("no limits", &error))?;
        sys::close_others_on_exec().map_err(|error| failed("descriptors cannot be closed", &error))?;
        walls::drop_privileges().map_err(|error| failed("privileges cannot be given up", &error))?;
        let opened = Opened {
            workspace: self.handed.workspace.as_ref().map(|root| (root, &self.carved)),
            scratch: &plan.scratch,
            read: &plan.read,
            network: plan.network,
            own_proc: walls.proc,
        };
        walls::raise(&opened).map_err(Word::Denied)?;
        let allowed = Allowed { network: plan.network, metadata: walls.mounts, others: walls.processes };
        for filter in filters(allowed).map_err(Word::Denied)? {
            seccompiler::apply_filter(&filter).map_err(|error| Word::Denied(format!("no system calls: {error}")))?;
        }
        say(self.control, &Word::Walls(walls));
        let error = command.exec();
        Err(Word::Failed(format!("`{}` cannot be run: {error}", plan.program)))
    }

    /// Goes where the program begins: by name, because a handle from before leads around the mounts.
    fn enter(&self) -> Result<(), Word> {
        let plan = &self.handed.plan;
        let failed = |error: &dyn std::fmt::Display| {
            Word::Failed(format!("the folder `{}` cannot be entered: {error}", plan.directory))
        };
        if let Some(folder) = &plan.folder {
            return chdir(folder).map_err(|error| failed(&error));
        }
        let Some(root) = &self.handed.workspace else {
            return chdir(&plan.scratch).map_err(|error| failed(&error));
        };
        let folder = carve::open_real(root, &plan.directory, OFlags::PATH | OFlags::DIRECTORY);
        let folder = folder.map_err(|error| failed(&error))?;
        chdir(kernel_path(&folder).map_err(|error| failed(&error))?).map_err(|error| failed(&error))?;
        let here = rustix::fs::stat(".").map_err(|error| failed(&error))?;
        let meant = rustix::fs::fstat(folder.as_fd()).map_err(|error| failed(&error))?;
        if (here.st_dev, here.st_ino) == (meant.st_dev, meant.st_ino) { Ok(()) } else { Err(failed(&"it was moved")) }
    }

    #[expect(clippy::disallowed_methods, reason = "this file owns becoming the program")]
    fn command(&self, program: &Path) -> Result<Command, Word> {
        let plan = &self.handed.plan;
        let input = self.handed.input.try_clone().map_err(|error| Word::Failed(error.to_string()))?;
        let search = std::env::join_paths(&plan.search).unwrap_or_default();
        let mut command = Command::new(program);
        command
            .arg0(&plan.program)
            .args(&plan.arguments)
            .env_clear()
            .envs(&plan.env)
            .env("PATH", search)
            .env("HOME", plan.scratch.join("home"))
            .env("TMPDIR", plan.scratch.join("tmp"))
            .envs(self.handed.workspace.as_ref().and_then(|root| Some(("PALISADE_WORKSPACE", kernel_path(root).ok()?))))
            .env("CARGO_TARGET_DIR", plan.scratch.join("target"))
            .stdin(Stdio::from(input));
        Ok(command)
    }
}

/// More mounts than this cost more than they are worth; modes and times are then kept by refusing the calls.
const MAX_MOUNTS: usize = 200;

/// How many processes and threads this user has: without a tree of its own a limit counts them, too.
#[expect(clippy::disallowed_methods, reason = "reads what the kernel says of the processes there are")]
pub(crate) fn own_tasks() -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let own = rustix::process::getuid().as_raw();
    let Ok(entries) = std::fs::read_dir("/proc") else { return 0 };
    let tasks = entries.flatten().filter_map(|entry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        entry.metadata().ok().filter(|meta| meta.uid() == own)?;
        Some(std::fs::read_dir(entry.path().join("task")).ok()?.count() as u64)
    });
    tasks.sum()
}
