//! The process that guests run in: it puts up its walls, and then does what the host says until the host is gone.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufReader},
    mem::MaybeUninit,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use palisade_grants::{FilesGrant, StorageGrant};
use rustix::{
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg},
    process::{Signal, set_parent_process_death_signal, setsid},
};

use super::{
    protocol::{self, Blob, Hello, MAX_ORDER, MAX_PACKAGES, Order, Told, VERSION, Word},
    remote::{Line, Remote},
    walls::{self, Inside},
};
use crate::{
    Artifact, Call, Compiled, Engine, Failure, Report, Workspace, artifact,
    capabilities::preopens::Preopens,
    component::Digest,
    process::sys,
    sandbox,
    scope::{self, LinkedTool, Mirrored, Tools},
};

/// Machine code that is part of this program, by the digest of its component.
type BuiltIn = HashMap<[u8; 32], &'static [u8]>;

/// The process's whole life. The host is behind the socket on standard input; the returned number is the exit code.
pub fn tool_runner(built_in: impl IntoIterator<Item = ([u8; 32], &'static [u8])>) -> u8 {
    // What was open in the host by accident is not open here.
    if sys::close_others().is_err() {
        return 1;
    }
    let Ok(socket) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return 1 };
    let (Ok(writer), mut reader) = (socket.try_clone(), BufReader::with_capacity(64 << 10, socket)) else { return 1 };
    // If whoever started this is gone, so is this. What the terminal tells the host is not meant for it.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let _ = setsid();
    let line = Arc::new(Line::new(writer));
    let (engine, workspace) = match settle(&mut reader) {
        Ok(settled) => settled,
        Err(why) => {
            drop(line.say(&Word::Refused(why)));
            return 1;
        }
    };
    let built_in: BuiltIn = built_in.into_iter().collect();
    if line.say(&Word::Ready(built_in.keys().copied().collect())).is_err() {
        return 1;
    }
    let mut process = Process {
        engine,
        workspace,
        line,
        built_in,
        code: HashMap::new(),
        scopes: HashMap::new(),
        calls: Arc::default(),
    };
    loop {
        match protocol::read(&mut reader, MAX_ORDER) {
            Ok(Some(order)) => process.carry_out(order),
            // Guests that still run are nobody's any more.
            Ok(None) => sys::end(0),
            Err(_) => sys::end(1),
        }
    }
}

/// Reads what this process is to be, and becomes that.
fn settle(reader: &mut BufReader<UnixStream>) -> Result<(Engine, Workspace), String> {
    let (hello, workspace, packages) = receive(reader).map_err(|error| format!("nothing can be read: {error}"))?;
    if hello.version != VERSION {
        return Err("it is another version of this program; it was replaced while it ran".to_owned());
    }
    // Makes, before sockets are refused, the pair of them that the runtime wants for signals.
    drop(tokio::runtime::Builder::new_current_thread().enable_io().build());
    walls::raise(&Inside {
        workspace: workspace.as_ref(),
        packages: &packages,
        writes: hello.writes,
        scratch: hello.scratch.as_deref(),
        settings: hello.settings,
    })?;
    let engine = Engine::start(hello.settings).map_err(|error| error.to_string())?;
    if artifact::fingerprint(engine.wasm()) != hello.fingerprint {
        return Err("it compiles otherwise than the host; the program was replaced while it ran".to_owned());
    }
    let packages = packages.into_iter().map(|folder| Arc::new(File::from(folder)));
    Ok((engine, Workspace::of(workspace, hello.scratch, hello.packages.into_iter().zip(packages).collect())))
}

/// The first message, and the open workspace and the folders of plugins that come with its length.
fn receive(reader: &mut BufReader<UnixStream>) -> io::Result<(Hello, Option<OwnedFd>, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_PACKAGES + 1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut length = [0; 4];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
    let received = recvmsg(reader.get_ref(), &mut [io::IoSliceMut::new(&mut length)], &mut ancillary, flags)?;
    if received.bytes != length.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut folders = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            folders.extend(rights);
        }
    }
    let hello: Hello = protocol::read_body(reader, length, MAX_ORDER).map_err(io::Error::other)?;
    if folders.len() != usize::from(hello.workspace) + hello.packages.len() {
        return Err(io::Error::other("the workspace is missing"));
    }
    let packages = folders.split_off(usize::from(hello.workspace));
    Ok((hello, folders.pop(), packages))
}

struct Process {
    engine: Engine,
    workspace: Workspace,
    line: Arc<Line>,
    built_in: BuiltIn,
    code: HashMap<Digest, Result<Compiled, Failure>>,
    scopes: HashMap<u64, Opened>,
    calls: Calls,
}

type Calls = Arc<Mutex<HashMap<u64, Call>>>;

/// A scope of the host. What went wrong while it was opened is told when it is called.
struct Opened {
    preopens: Result<Preopens, Failure>,
    tools: Tools,
    broken: HashMap<String, Failure>,
}

impl Process {
    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Code { digest, code: Blob(code) } => {
                // The host made it or vouches for it.
                let compiled = Compiled::load(&self.engine, &Artifact::trusted(digest, code));
                self.code.insert(digest, compiled);
            }
            Order::Open { scope, files } => {
                let opened = Opened { preopens: self.open(&files), tools: Tools::default(), broken: HashMap::new() };
                self.scopes.insert(scope, opened);
            }
            Order::Add { scope, name, tool } => {
                let linked = self.link(scope, *tool);
                let Some(scope) = self.scopes.get_mut(&scope) else { return };
                match linked {
                    Ok(linked) => {
                        let mut tools = scope.tools.write().unwrap_or_else(PoisonError::into_inner);
                        tools.insert(name, Arc::new(linked));
                    }
                    Err(failure) => drop(scope.broken.insert(name, failure)),
                }
            }
            Order::Close { scope } => drop(self.scopes.remove(&scope)),
            Order::Call { call, scope, tool, input, is_watched } => self.call(call, scope, &tool, input, is_watched),
            Order::Cancel { call } => {
                if let Some(call) = calls(&self.calls).get(&call) {
                    call.cancel();
                }
            }
            Order::Answer { ask, answer } => self.line.answered(ask, answer),
        }
    }

    fn open(&self, files: &str) -> Result<Preopens, Failure> {
        let failed = |reason: String| Failure::Host { reason };
        let files: FilesGrant = serde_json::from_str(files).map_err(|error| failed(error.to_string()))?;
        Preopens::open(&self.workspace, &files).map_err(|error| failed(error.to_string()))
    }

    fn link(&mut self, scope: u64, told: Told) -> Result<LinkedTool, Failure> {
        let Told { digest, entry, limits, files, storage, process, http, package } = told;
        let compiled = self.compiled(digest)?;
        let scope = self.scopes.get(&scope).ok_or_else(unknown_scope)?;
        let preopens = scope.preopens.as_ref().map_err(Clone::clone)?;
        let files = serde_json::from_str(&files).map_err(|error| Failure::Host { reason: error.to_string() })?;
        let storage = storage.map(|bytes| StorageGrant { bytes });
        LinkedTool::mirrored(Mirrored {
            engine: &self.engine,
            compiled,
            entry,
            preopens,
            files,
            storage,
            process,
            http,
            package,
            limits,
        })
    }

    fn compiled(&mut self, digest: Digest) -> Result<Compiled, Failure> {
        let load = || match self.built_in.get(&digest) {
            Some(code) => Compiled::load(&self.engine, &Artifact::built_in(digest, code)),
            None => Err(Failure::BadComponent { reason: "its machine code is not part of this program".to_owned() }),
        };
        self.code.entry(digest).or_insert_with(load).clone()
    }

    fn call(&self, number: u64, scope: u64, tool: &str, input: String, is_watched: bool) {
        let (line, all) = (Arc::clone(&self.line), Arc::clone(&self.calls));
        let found = self.scopes.get(&scope).ok_or_else(unknown_scope).and_then(|scope| {
            let linked = scope::find(&scope.tools, tool);
            let linked = linked.ok_or_else(|| scope.broken.get(tool).cloned().unwrap_or_else(|| scope::unknown(tool)));
            linked.map(|linked| (linked, Arc::clone(&scope.tools)))
        });
        let (linked, tools) = match found {
            Ok(found) => found,
            Err(failure) => return done(&line, number, Report::failed(failure)),
        };
        let call = Call::asked_by(Remote::new(Arc::clone(&line), number), is_watched);
        calls(&all).insert(number, call.clone());
        self.engine.runtime().spawn_blocking(move || {
            let report = sandbox::call_here(&linked, &tools, &input, &call);
            drop((linked, tools));
            calls(&all).remove(&number);
            done(&line, number, report);
        });
    }
}

fn calls(calls: &Calls) -> MutexGuard<'_, HashMap<u64, Call>> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

fn done(line: &Line, call: u64, report: Report) {
    // Without a host nobody wants to know.
    drop(line.say(&Word::Done { call, report }));
}

fn unknown_scope() -> Failure {
    Failure::Host { reason: "the scope is not open".to_owned() }
}
