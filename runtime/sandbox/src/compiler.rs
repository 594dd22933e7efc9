//! Compiling a component nobody vouches for: in a process of its own that can be killed.
//!
//! Compilers promise nothing about hostile input, so the work happens in a worker with a memory
//! and CPU limit, under a deadline, after a size check. The result is sealed into the cache.

use std::{
    collections::HashMap,
    io::{self, Read as _, Write as _},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{LazyLock, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::{Artifact, ArtifactCache, ArtifactError, Compiled, Engine, Failure, Offer, artifact, component::Digest};

/// Makes components ready to run, compiling each only once.
pub struct Compiler {
    worker: PathBuf,
    cache: LazyLock<Option<ArtifactCache>, OpenCache>,
    limits: CompileLimits,
    /// What components said of themselves, or why they said nothing, in the time of this process.
    said: Mutex<HashMap<Digest, Result<Vec<Offer>, Failure>>>,
    /// What was made ready in the time of this process: runs of agents with the same tools share their machine code.
    ready: Mutex<HashMap<Digest, Compiled>>,
}

type OpenCache = Box<dyn FnOnce() -> Option<ArtifactCache> + Send>;

/// What compiling one component may use up.
#[derive(Clone, Copy, Debug)]
struct CompileLimits {
    size: usize,
    memory: u64,
    time: Duration,
}

/// Enough for a 30 MB interpreter, far below what hurts the machine.
const LIMITS: CompileLimits = CompileLimits { size: 64 << 20, memory: 4 << 30, time: Duration::from_secs(120) };

/// Machine code is a few times larger than its component, not more.
const MAX_CODE: u64 = 256 << 20;

/// Why a component could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// Larger than any tool.
    #[error("the component has {size} bytes; at most {limit} are accepted")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The most there may be.
        limit: usize,
    },
    /// Not a component, or not a valid one.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The worker said why it does not compile.
    #[error("it does not compile: {0}")]
    Invalid(String),
    /// The worker hit its time or memory limit.
    #[error("compiling it took more than {0}; it was stopped")]
    TooCostly(&'static str),
    /// The worker could not be run.
    #[error("the compile worker cannot be run: {0}")]
    Worker(#[from] io::Error),
}

impl Compiler {
    /// Compiles by running `worker compile-worker`; keeps what it made in the cache, if any.
    pub fn new(worker: PathBuf, cache: Option<ArtifactCache>) -> Self {
        Self::opening(worker, move || cache)
    }

    /// The same, with a cache that is opened when something is first looked for in it.
    pub fn opening(worker: PathBuf, cache: impl FnOnce() -> Option<ArtifactCache> + Send + 'static) -> Self {
        Self {
            worker,
            cache: LazyLock::new(Box::new(cache)),
            limits: LIMITS,
            said: Mutex::default(),
            ready: Mutex::default(),
        }
    }

    /// The same with a shorter deadline, for tests.
    #[doc(hidden)]
    pub fn with_deadline(self, time: Duration) -> Self {
        Self { limits: CompileLimits { time, ..self.limits }, ..self }
    }

    /// Makes a component ready. The bytes that are hashed are the bytes that are compiled.
    pub fn prepare(&self, engine: &Engine, wasm: &[u8]) -> Result<Compiled, Failure> {
        let bad = |error: CompileError| Failure::BadComponent { reason: error.to_string() };
        self.check(wasm).map_err(bad)?;
        let digest = artifact::digest(wasm);
        let ready = || self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = ready().get(&digest).filter(|compiled| compiled.is_of(engine)) {
            return Ok(compiled.clone());
        }
        let compiled = self.find_or_make(engine, wasm, digest)?.documented_by(wasm);
        ready().insert(digest, compiled.clone());
        Ok(compiled)
    }

    fn find_or_make(&self, engine: &Engine, wasm: &[u8], digest: Digest) -> Result<Compiled, Failure> {
        if let Some(artifact) = self.cache.as_ref().and_then(|cache| cache.find(engine, digest))
            && let Ok(compiled) = Compiled::load(engine, &artifact)
        {
            return Ok(compiled);
        }
        let code = self.compile(wasm).map_err(|error| Failure::BadComponent { reason: error.to_string() })?;
        let artifact = Artifact::trusted(digest, code);
        let compiled = Compiled::load(engine, &artifact)?;
        if let Some(cache) = &*self.cache {
            // A full disk costs time at the next start, not this call.
            drop(cache.add(engine, &artifact));
        }
        Ok(compiled)
    }

    /// The tools that a component offers. It is asked once: what it said first is kept with its machine code, and a tool
    /// that would say something else another time is what it said.
    pub fn offers(&self, engine: &Engine, wasm: &[u8]) -> Result<Vec<Offer>, Failure> {
        let digest = artifact::digest(wasm);
        let cache = self.cache.as_ref();
        let kept = cache.and_then(|cache| cache.find_said(engine, &digest));
        if let Some(offers) = kept.and_then(|kept| serde_json::from_slice(&kept).ok()) {
            return Ok(offers);
        }
        let said = || self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(said) = said().get(&digest).cloned() {
            return said;
        }
        let offers = self.prepare(engine, wasm).and_then(|compiled| compiled.offers(engine));
        if let (Ok(offers), Some(cache)) = (&offers, cache)
            && let Ok(text) = serde_json::to_vec(offers)
        {
            drop(cache.add_said(engine, &digest, &text));
        }
        // That all sandboxes are busy says nothing of the component.
        match offers {
            Err(Failure::Busy { .. }) => offers,
            offers => said().entry(digest).or_insert(offers).clone(),
        }
    }

    fn check(&self, wasm: &[u8]) -> Result<(), CompileError> {
        if wasm.len() > self.limits.size {
            return Err(CompileError::TooLarge { size: wasm.len(), limit: self.limits.size });
        }
        Ok(artifact::check_header(wasm)?)
    }

    #[expect(clippy::disallowed_methods, reason = "this file owns running the compile worker")]
    fn compile(&self, wasm: &[u8]) -> Result<Vec<u8>, CompileError> {
        let mut child = Command::new(&self.worker)
            .arg("compile-worker")
            .arg(self.limits.memory.to_string())
            .arg(self.limits.time.as_secs().max(1).to_string())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("the worker has no pipes").into());
        };
        let reader = thread::spawn(move || {
            let mut code = Vec::new();
            stdout.take(MAX_CODE + 1).read_to_end(&mut code).map(|_| code)
        });
        let complaint = thread::spawn(move || {
            let mut text = String::new();
            stderr.take(64 << 10).read_to_string(&mut text).map(|_| text)
        });
        thread::scope(|scope| {
            // A worker that dies early closes the pipe; how it died is what matters.
            scope.spawn(move || drop(stdin.write_all(wasm)));
            wait(&mut child, self.limits.time)
        })?;
        let status = child.wait()?;
        let code = reader.join().map_err(|_| io::Error::other("reading the worker's output failed"))??;
        let complaint = complaint.join().map_err(|_| io::Error::other("reading the worker's errors failed"))?;
        if code.len() as u64 > MAX_CODE {
            return Err(CompileError::TooCostly("the machine code there may be"));
        }
        if status.success() {
            return Ok(code);
        }
        match (status.code(), complaint) {
            (Some(1), Ok(complaint)) => Err(CompileError::Invalid(complaint.trim().to_owned())),
            _ => Err(CompileError::TooCostly("the memory or processor time it may use")),
        }
    }
}

/// Waits for the worker, and kills it at the deadline.
fn wait(child: &mut Child, limit: Duration) -> Result<(), CompileError> {
    let deadline = Instant::now() + limit;
    let mut pause = Duration::from_millis(1);
    while child.try_wait()?.is_none() {
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Err(CompileError::TooCostly("the time it may take"));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
    Ok(())
}

/// The worker's whole life: limit itself, read a component, write machine code. It runs in a
/// process of its own and ends by exit code 0, or 1 with the reason on standard error.
pub fn compile_worker(
    memory: u64,
    seconds: u64,
    input: &mut impl io::Read,
    output: &mut impl io::Write,
) -> Result<(), CompileError> {
    let limit = |most| Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::As, limit(memory)).map_err(io::Error::from)?;
    setrlimit(Resource::Cpu, limit(seconds.saturating_mul(4))).map_err(io::Error::from)?;
    setrlimit(Resource::Core, limit(0)).map_err(io::Error::from)?;
    let mut wasm = Vec::new();
    input.take(LIMITS.size as u64 + 1).read_to_end(&mut wasm)?;
    let code = artifact::precompile(&wasm)?;
    output.write_all(&code)?;
    Ok(())
}
