//! The one engine of a process: how code is compiled, how memory is pooled, the clock that
//! interrupts guests, and the threads they run on.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use wasmtime::{
    Config, Enabled, EngineWeak, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, WasmFeatures,
    component::{InstancePre, Linker},
};

use crate::{Compiled, Failure, Limits, artifact, component::Digest, host::Host, runner, runner::Runner, scope::Shape};

/// How large a process's sandbox is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Guests that may be alive at the same time. Each slot costs a little address space and start
    /// time: about 4 µs.
    pub slots: u32,
    /// Calls that may wait for a slot; one more is refused as [`Failure::Busy`].
    pub queue: usize,
    /// The most memory that any guest can be given.
    pub memory: usize,
    /// Whether guests that compute for long give way to everybody else on the machine.
    pub gives_way: bool,
}

impl Settings {
    /// For a command that runs one agent and ends.
    pub const ONE_AGENT: Self = Self { slots: 32, queue: 256, memory: 1 << 30, gives_way: false };
    /// For a server.
    pub const SERVER: Self = Self { slots: 1_000, queue: 10_000, memory: 1 << 30, gives_way: true };
}

/// The engine could not be started.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The machine does not have what the engine needs.
    #[error("the sandbox engine cannot start on this machine: {0:#}")]
    Unavailable(wasmtime::Error),
    /// No thread could be started.
    #[error("the sandbox's threads cannot be started: {0}")]
    Threads(#[from] std::io::Error),
    /// Guests are to run in a process of their own, and the kernel cannot confine it.
    #[error("tools cannot be run apart: {0}")]
    Apart(String),
}

/// The one engine of a process. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    wasm: wasmtime::Engine,
    settings: Settings,
    heartbeat: Arc<Heartbeat>,
    /// Slots nobody has. A plain count, because every call takes one and gives it back.
    free: AtomicU32,
    waiting: AtomicUsize,
    freed: Notify,
    /// Runs guests on its blocking threads and their timers on its one worker.
    runtime: Option<tokio::runtime::Runtime>,
    /// Components that are part of this program.
    loaded: Mutex<HashMap<Digest, Loaded>>,
    /// Components linked to what a grant shape holds. Agents with the same shape share them.
    linked: Mutex<HashMap<(Digest, Shape), InstancePre<Host>>>,
    /// The linkers of those shapes.
    linkers: Mutex<HashMap<Shape, Arc<Linker<Host>>>>,
    /// Where guests run, if not here.
    runner: Option<Runner>,
}

/// A component that is loaded by whoever needs it first.
pub(crate) type Loaded = Arc<OnceLock<Result<Compiled, Failure>>>;

/// Threads beyond those that guests run on.
const WRITERS: usize = 32;
/// How long a thread without work is kept.
const IDLE: Duration = Duration::from_secs(1);
/// Time between two looks at whether a guest must stop.
const TICK: Duration = Duration::from_millis(10);
/// A clock that has not ticked for this long is broken, and a guest might run for ever.
const STALLED: Duration = Duration::from_secs(2);
/// One stack size for all guests: wasmtime fixes it per engine.
pub(crate) const STACK: usize = Limits::STANDARD.stack;

impl Engine {
    /// Starts the engine, its clock and its threads.
    pub fn start(settings: Settings) -> Result<Self, EngineError> {
        Self::start_with(settings, None)
    }

    /// The same, but guests run apart: in processes that hold nothing but their workspace, started by
    /// running `worker tool-runner` when one is needed. Machine code is linked here, and not called.
    pub fn start_apart(settings: Settings, worker: PathBuf) -> Result<Self, EngineError> {
        runner::check().map_err(EngineError::Apart)?;
        Self::start_with(settings, Some(worker))
    }

    fn start_with(settings: Settings, worker: Option<PathBuf>) -> Result<Self, EngineError> {
        let mut config = config();
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(settings)));
        let wasm = wasmtime::Engine::new(&config).map_err(EngineError::Unavailable)?;
        let heartbeat = Arc::new(Heartbeat::new());
        heartbeat.start(wasm.weak())?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            // One for each guest, and some for the files that guests write without waiting: a guest
            // that waits for such a write must not take the thread that would do it.
            .max_blocking_threads(settings.slots as usize + WRITERS)
            .thread_keep_alive(IDLE)
            .thread_name("palisade-sandbox")
            .enable_time()
            .enable_io()
            .build()?;
        let runner = worker.map(|worker| Runner::new(worker, settings, artifact::fingerprint(&wasm)));
        Ok(Self {
            inner: Arc::new(Inner {
                wasm,
                settings,
                heartbeat,
                free: AtomicU32::new(settings.slots),
                waiting: AtomicUsize::new(0),
                freed: Notify::new(),
                runtime: Some(runtime),
                loaded: Mutex::default(),
                linked: Mutex::default(),
                linkers: Mutex::default(),
                runner,
            }),
        })
    }

    /// Whether the clock that interrupts guests still ticks. Without it no call is started.
    pub fn is_healthy(&self) -> bool {
        self.inner.heartbeat.age() < STALLED
    }

    /// Guests that are alive now.
    pub fn alive(&self) -> usize {
        self.inner.settings.slots.saturating_sub(self.inner.free.load(Ordering::Acquire)) as usize
    }

    /// How large this engine was made.
    pub fn settings(&self) -> Settings {
        self.inner.settings
    }

    /// Whether guests run in a process of their own.
    pub fn is_apart(&self) -> bool {
        self.inner.runner.is_some()
    }

    /// Whether guests could run apart: starts `worker tool-runner` with no guest in it. The error is shown.
    pub fn try_apart(&self, worker: PathBuf) -> Result<(), String> {
        Runner::new(worker, self.settings(), artifact::fingerprint(self.wasm())).try_out()
    }

    /// The processes that guests run in now, to end one in a test.
    #[doc(hidden)]
    pub fn runners(&self) -> Vec<u32> {
        self.inner.runner.as_ref().map(Runner::processes).unwrap_or_default()
    }

    pub(crate) fn runner(&self) -> Option<&Runner> {
        self.inner.runner.as_ref()
    }

    /// Stops the clock, to show in a test that this is noticed.
    #[doc(hidden)]
    pub fn stop_clock(&self) {
        self.inner.heartbeat.stopped.store(1, Ordering::Relaxed);
    }

    /// The place of a component that is part of this program.
    pub(crate) fn loaded(&self, digest: Digest) -> Loaded {
        let mut loaded = self.inner.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(loaded.entry(digest).or_default())
    }

    /// Forgets what was linked, to measure linking.
    #[doc(hidden)]
    pub fn forget_links(&self) {
        self.inner.linked.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.inner.linkers.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn wasm(&self) -> &wasmtime::Engine {
        &self.inner.wasm
    }

    pub(crate) fn runtime(&self) -> &tokio::runtime::Runtime {
        match &self.inner.runtime {
            Some(runtime) => runtime,
            None => unreachable!("the runtime is taken out only when the engine is dropped"),
        }
    }

    /// Takes a slot now or not at all.
    pub(crate) fn try_slot(&self) -> Result<Slot, Failure> {
        self.check_clock()?;
        let take = |free: u32| free.checked_sub(1);
        let taken = self.inner.free.fetch_update(Ordering::AcqRel, Ordering::Relaxed, take);
        taken.map(|_| Slot { engine: self.clone() }).map_err(|_| self.busy())
    }

    /// Waits for a slot, unless too many wait already.
    pub(crate) async fn slot(&self) -> Result<Slot, Failure> {
        if let Ok(slot) = self.try_slot() {
            return Ok(slot);
        }
        let _waiting = Waiting::join(&self.inner.waiting, self.inner.settings.queue).ok_or_else(|| self.busy())?;
        loop {
            let freed = self.inner.freed.notified();
            self.check_clock()?;
            if let Ok(slot) = self.try_slot() {
                return Ok(slot);
            }
            freed.await;
        }
    }

    fn check_clock(&self) -> Result<(), Failure> {
        if self.is_healthy() {
            return Ok(());
        }
        Err(Failure::Host { reason: "the clock that interrupts guests has stopped; no call is started".to_owned() })
    }

    fn busy(&self) -> Failure {
        Failure::Busy { slots: self.inner.settings.slots, queue: self.inner.settings.queue }
    }

    /// Finds the linker of a shape, or makes it.
    pub(crate) fn linker(
        &self,
        shape: &Shape,
        make: impl FnOnce() -> wasmtime::Result<Linker<Host>>,
    ) -> wasmtime::Result<Arc<Linker<Host>>> {
        let mut linkers = self.inner.linkers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(linker) = linkers.get(shape) {
            return Ok(Arc::clone(linker));
        }
        let linker = Arc::new(make()?);
        linkers.insert(shape.clone(), Arc::clone(&linker));
        Ok(linker)
    }

    /// Finds a component linked to a shape, or links it.
    pub(crate) fn linked(
        &self,
        key: (Digest, Shape),
        link: impl FnOnce(&Shape) -> Result<InstancePre<Host>, Failure>,
    ) -> Result<InstancePre<Host>, Failure> {
        let mut linked = self.inner.linked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pre) = linked.get(&key) {
            return Ok(pre.clone());
        }
        let pre = link(&key.1)?;
        linked.insert(key, pre.clone());
        Ok(pre)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Dropping a runtime waits for its threads, which must not happen on one of them or on
        // another runtime's; guests that still run are on their own deadline.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What decides how code is compiled. The build that makes machine code and the process that runs
/// it use this same function; machine code made with other settings does not load.
pub(crate) fn config() -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        // Component-model async is not used; without it a call is cheaper and less can go wrong.
        .concurrency_support(false)
        .cranelift_opt_level(OptLevel::Speed)
        .max_wasm_stack(STACK)
        // Host functions run on the same stack as the guest.
        .async_stack_size(STACK + (512 << 10))
        .memory_init_cow(true)
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(16))
        // What tools do not need is not compiled in or switched off.
        .wasm_features(
            WasmFeatures::MEMORY64
                | WasmFeatures::TAIL_CALL
                | WasmFeatures::EXCEPTIONS
                | WasmFeatures::STACK_SWITCHING
                | WasmFeatures::CUSTOM_PAGE_SIZES
                | WasmFeatures::WIDE_ARITHMETIC
                | WasmFeatures::RELAXED_SIMD,
            false,
        );
    config
}

/// The same settings for the usual machines of a target. On x86-64 these have AVX2 (level 3 of its specification, sold
/// since 2013); an older one compiles the built-in tools when it first needs them.
#[expect(
    unsafe_code,
    reason = "names processor features; machine code that needs more than a machine has does not load"
)]
pub(crate) fn config_for(target: &str) -> wasmtime::Result<Config> {
    let mut config = config();
    config.target(target)?;
    if target.starts_with("x86_64-") {
        // SAFETY: a preset of features that processors have, none that changes what the compiler promises. The engine
        // compares them with the processor before it loads the code.
        unsafe { config.cranelift_flag_enable("x86-64-v3") };
    }
    Ok(config)
}

/// Memory and stacks are prepared once and wiped after each call. Keeping the first pages resident
/// and asking the kernel which were touched keeps calls off the process's memory lock, so that
/// they scale with cores.
fn pool(settings: Settings) -> PoolingAllocationConfig {
    // There is as much of everything as all slots together can take, so that no guest takes what
    // another needs. Instances are only counted; a memory is address space (4 GiB, of which a
    // process has 128 TiB: above 5,000 slots not every one can have four), and a table 800 kB of it. Python's compiler makes components of about
    // forty instances, JavaScript's of three memories.
    const INSTANCES: u32 = 64;
    const MEMORIES: u32 = 4;
    const MOST_MEMORIES: u32 = 20_000;
    const TABLES: u32 = 16;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(settings.slots)
        .total_core_instances(settings.slots.saturating_mul(INSTANCES))
        .total_memories(settings.slots.saturating_mul(MEMORIES).min(MOST_MEMORIES.max(settings.slots)))
        .total_tables(settings.slots.saturating_mul(TABLES))
        .total_stacks(settings.slots)
        .max_unused_warm_slots(settings.slots)
        .max_memory_size(settings.memory)
        .table_elements(100_000)
        .max_core_instance_size(1 << 20)
        .max_component_instance_size(1 << 20)
        .max_core_instances_per_component(INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_tables_per_module(4)
        .linear_memory_keep_resident(2 << 20)
        .table_keep_resident(2 << 20)
        .pagemap_scan(Enabled::Auto);
    pool
}

/// The clock that interrupts guests, and the proof that it still runs.
struct Heartbeat {
    started: Instant,
    /// Milliseconds after `started` of the last tick.
    last: AtomicU64,
    stopped: AtomicUsize,
}

impl Heartbeat {
    fn new() -> Self {
        Self { started: Instant::now(), last: AtomicU64::new(0), stopped: AtomicUsize::new(0) }
    }

    fn start(self: &Arc<Self>, engine: EngineWeak) -> Result<(), std::io::Error> {
        let heartbeat = Arc::clone(self);
        thread::Builder::new().name("palisade-clock".to_owned()).spawn(move || {
            while heartbeat.stopped.load(Ordering::Relaxed) == 0 {
                thread::sleep(TICK);
                let Some(engine) = engine.upgrade() else { return };
                engine.increment_epoch();
                let now = u64::try_from(heartbeat.started.elapsed().as_millis()).unwrap_or(u64::MAX);
                heartbeat.last.store(now, Ordering::Relaxed);
            }
        })?;
        Ok(())
    }

    fn age(&self) -> Duration {
        self.started.elapsed().saturating_sub(Duration::from_millis(self.last.load(Ordering::Relaxed)))
    }
}

/// The right to have one guest alive, given back when dropped.
pub(crate) struct Slot {
    engine: Engine,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let inner = &self.engine.inner;
        inner.free.fetch_add(1, Ordering::SeqCst);
        if inner.waiting.load(Ordering::SeqCst) > 0 {
            inner.freed.notify_one();
        }
    }
}

/// A place in the queue, given back when dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn join(count: &'a AtomicUsize, most: usize) -> Option<Self> {
        let place = Self(count);
        (count.fetch_add(1, Ordering::SeqCst) < most).then_some(place)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
