//! The world a hostile guest runs in: a workspace, something outside worth stealing, and ways to
//! see from outside whether the sandbox held.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test makes and inspects folders of its own, and ends when something is not as it should be"
)]

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    hash::{BuildHasher as _, RandomState},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
    time::{Duration, Instant},
};

use palisade_catalog::BuiltIn;
use palisade_grants::{Access, Capability, FilesGrant, Grants, PathPattern, StorageGrant, WorkspacePath};
use palisade_sandbox::{
    Call, Compiled, Description, Engine, Limits, Network, Programs, Report, Scope, Settings, Storage, Workspace,
};
use serde_json::{Value, json};

use crate::guests::guest;

/// A temporary folder with a `workspace` and an `outside`, and what a guest in it may do.
pub struct World {
    folder: tempfile::TempDir,
    engine: Engine,
    grants: Grants,
    limits: Limits,
    storage: Option<Arc<dyn Storage>>,
    programs: Option<Arc<Programs>>,
    network: Option<Network>,
    canary: String,
    untouched: OnceCell<Tree>,
    /// Worlds of one process take turns, so that what one measures is its own.
    _turn: Option<MutexGuard<'static, ()>>,
}

/// What a step of the guest `reach` came to.
pub type Came = Result<String, String>;

/// Everything below a folder: kind, mode, time of change and contents, by path.
pub type Tree = BTreeMap<PathBuf, String>;

/// Small, so that it starts quickly and is soon full.
pub const SMALL: Settings = Settings { slots: 8, queue: 16, memory: 1 << 30, gives_way: true };
/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

static TURN: Mutex<()> = Mutex::new(());
static SHARED: OnceLock<Engine> = OnceLock::new();

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    /// A world whose guests may read and write the workspace.
    pub fn new() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let engine = SHARED.get_or_init(|| start(SMALL));
        Self::make(engine.clone(), Some(turn))
    }

    /// A world with an engine of its own.
    pub fn with_engine(settings: Settings) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        Self::make(start(settings), Some(turn))
    }

    /// A world whose guests run in a process of their own.
    pub fn apart() -> Self {
        Self::apart_in(&runner())
    }

    /// The same with another program for that process.
    pub fn apart_in(runner: &Path) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        Self::make(Engine::start_apart(SMALL, runner.to_owned()).expect("the engine starts"), Some(turn))
    }

    /// Another world on the same engine.
    pub fn neighbour(&self) -> Self {
        Self::make(self.engine.clone(), None)
    }

    fn make(engine: Engine, turn: Option<MutexGuard<'static, ()>>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let canary = format!("canary{:016x}", RandomState::new().hash_one(folder.path()));
        let world = Self {
            folder,
            engine,
            grants: Grants::workspace(Access::ReadWrite),
            limits: Limits { call_time: PATIENCE, ..Limits::STANDARD },
            storage: None,
            programs: None,
            network: None,
            canary,
            untouched: OnceCell::new(),
            _turn: turn,
        };
        fs::create_dir(world.workspace()).expect("a workspace");
        world.put_outside("secret.txt", &world.canary);
        world.put_outside("folder/inner.txt", &world.canary);
        world.put("file", "mine");
        world.put("folder/file", "mine");
        world
    }

    /// The same, with the whole workspace read-only.
    pub fn reading(self) -> Self {
        self.granting(&[(".", Access::Read)])
    }

    /// The same with these folders granted and no others.
    pub fn granting(self, folders: &[(&str, Access)]) -> Self {
        let path = |text: &str| WorkspacePath::parse(text).expect("a path inside");
        let files = FilesGrant::new(folders.iter().map(|(folder, access)| (path(folder), *access)));
        Self { grants: Grants { files, ..self.grants.clone() }, ..self }
    }

    /// The same with what fits these patterns hidden.
    pub fn hiding(self, patterns: &[&str]) -> Self {
        let files = self.grants.files.clone().hiding(parse(patterns));
        Self { grants: Grants { files, ..self.grants.clone() }, ..self }
    }

    /// The same with what fits these patterns kept from being changed.
    pub fn freezing(self, patterns: &[&str]) -> Self {
        let files = self.grants.files.clone().freezing(parse(patterns));
        Self { grants: Grants { files, ..self.grants.clone() }, ..self }
    }

    /// The same with storage.
    pub fn storing(self, storage: Arc<dyn Storage>, bytes: u64) -> Self {
        let grants = Grants { storage: Some(StorageGrant { bytes }), ..self.grants.clone() };
        Self { grants, storage: Some(storage), ..self }
    }

    /// The same with native programs: these commands, and this is what they find.
    pub fn running(self, commands: &[&str], programs: Programs) -> Self {
        let commands = commands.iter().map(|command| command.parse().expect("a command")).collect();
        let env = Grants::everything().env;
        let grants = Grants { commands, env, ..self.grants.clone() };
        Self { grants, programs: Some(Arc::new(programs)), ..self }
    }

    /// The same, where guests may ask these hosts and use these secrets.
    pub fn reaching(self, network: Network, hosts: &[&str], secrets: &[&str]) -> Self {
        let http = hosts.iter().map(|host| host.parse().expect("a host")).collect();
        let secrets = secrets.iter().map(|name| name.parse().expect("a name")).collect();
        let grants = Grants { http, secrets, ..self.grants.clone() };
        Self { grants, network: Some(network), ..self }
    }

    /// The same with other limits.
    pub fn limits(self, change: impl FnOnce(&mut Limits)) -> Self {
        let mut limits = self.limits;
        change(&mut limits);
        Self { limits, ..self }
    }

    /// The same with a short time for each call: for guests that would take for ever.
    pub fn in_a_hurry(self) -> Self {
        self.limits(|limits| limits.call_time = Duration::from_millis(200))
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The folder that guests may work in.
    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// A path inside.
    pub fn inside(&self, path: &str) -> PathBuf {
        self.workspace().join(path)
    }

    /// A folder that no guest may reach.
    pub fn outside(&self, path: &str) -> PathBuf {
        self.folder.path().join("outside").join(path)
    }

    /// What must never be seen inside.
    pub fn canary(&self) -> &str {
        &self.canary
    }

    /// Writes a file in the workspace.
    pub fn put(&self, path: &str, text: &str) {
        put(&self.inside(path), text);
    }

    /// Writes a file outside.
    pub fn put_outside(&self, path: &str, text: &str) {
        put(&self.outside(path), text);
    }

    /// Makes a symbolic link in the workspace.
    pub fn link(&self, path: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.inside(path)).expect("a link");
    }

    /// The contents of a file in the workspace.
    pub fn contents(&self, path: &str) -> String {
        fs::read_to_string(self.inside(path)).expect("a file")
    }

    /// Everything in the workspace.
    pub fn tree(&self) -> Tree {
        tree_of(&self.workspace())
    }

    /// What guests run in, without tools.
    pub fn empty_scope(&self) -> Scope {
        self.untouched.get_or_init(|| self.outer_tree());
        let mut workspace = Workspace::open(&self.workspace()).expect("the workspace opens");
        if let Some(network) = &self.network {
            workspace = workspace.with_network(network.clone());
        }
        let scope = Scope::open(&self.engine, &workspace, self.grants.clone(), self.limits, self.storage.clone());
        let scope = scope.expect("the scope opens");
        match &self.programs {
            Some(programs) => scope.with_programs(Arc::clone(programs)),
            None => scope,
        }
    }

    /// What guests run in, with these guests of `tests/guests` or core tools.
    pub fn scope(&self, names: &[&str]) -> Scope {
        let scope = self.empty_scope();
        for name in names {
            self.add(&scope, name, name);
        }
        scope
    }

    /// Adds a guest or core tool to a scope; its storage space is called `space`.
    pub fn add(&self, scope: &Scope, name: &str, space: &str) {
        let (compiled, description) = self.load(name);
        scope.add(&compiled, &description, space).expect("the guest links");
    }

    /// Loads a guest or core tool and asks it what it is.
    pub fn load(&self, name: &str) -> (Compiled, Description) {
        if let Some(tool) = BuiltIn::find(name) {
            return (tool.load(&self.engine, None).expect("the tool loads"), tool.description());
        }
        let compiled = guest(name).expect("there is such a guest").load(&self.engine).expect("the guest loads");
        let description = compiled.describe(&self.engine).expect("the guest says what it is");
        (compiled, description)
    }

    /// Calls a guest or core tool once, in a scope of its own. Whatever it does, the next call works
    /// and the process holds no more than before.
    pub fn call(&self, name: &str, input: Value) -> Report {
        self.call_in(|| self.scope(&[name]), name, &input.to_string())
    }

    /// Calls a component once, in a scope of its own, as [`World::call`] does.
    pub fn call_component(&self, component: &Compiled) -> Report {
        let scope = || {
            let scope = self.empty_scope();
            scope.add(component, &describe("handmade", &[]), "handmade").expect("it links");
            scope
        };
        self.call_in(scope, "handmade", "{}")
    }

    fn call_in(&self, scope: impl Fn() -> Scope, tool: &str, input: &str) -> Report {
        // What is linked stays linked, and a component's first memory stays to be copied: both are
        // made before the comparison.
        drop(scope().hold(tool));
        self.works_afterwards();
        let before = Baseline::now();
        let report = scope().call_here(tool, input, &Call::new());
        self.works_afterwards();
        before.returns(POOLED);
        report
    }

    /// Has the guest `reach` do some steps, and says what each came to. Whatever they are, nothing
    /// outside may be seen or changed.
    pub fn reach(&self, steps: &[Value]) -> Vec<Came> {
        let report = self.call("reach", json!({ "steps": steps }));
        self.no_canary(&report);
        self.outside_unchanged();
        let text = report.outcome.expect("reach returns what it saw");
        let came: Vec<BTreeMap<String, String>> = serde_json::from_str(&text).expect("reach returns JSON");
        let one = |came: BTreeMap<String, String>| match came.into_iter().next().expect("one entry") {
            (kind, text) if kind == "ok" => Ok(text),
            (_, text) => Err(text),
        };
        came.into_iter().map(one).collect()
    }

    /// Asserts that nothing around the workspace changed.
    pub fn outside_unchanged(&self) {
        let before = self.untouched.get().expect("a guest was called");
        assert_eq!(*before, self.outer_tree(), "something outside changed");
    }

    /// Asserts that a report holds nothing from outside, in any common spelling, and no path of the
    /// host.
    pub fn no_canary(&self, report: &Report) {
        let mut text = format!("{:?} {:?}", report.outcome, report.denials);
        text += &String::from_utf8_lossy(&report.stdout.kept);
        text += &String::from_utf8_lossy(&report.stderr.kept);
        let hex: String = self.canary.bytes().map(|byte| format!("{byte:02x}")).collect();
        let percent: String = self.canary.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let host_path = self.folder.path().to_string_lossy().into_owned();
        for hidden in [&self.canary, &hex, &percent, &host_path] {
            assert!(!text.contains(hidden.as_str()), "{hidden} leaked: {text}");
        }
    }

    /// Asserts that the sandbox still works.
    pub fn works_afterwards(&self) {
        let report = self.scope(&["echo"]).call_here("echo", r#"{"text":"still here"}"#, &Call::new());
        assert_eq!(report.outcome, Ok("still here".to_owned()));
    }

    /// What the process holds once these guests, and the control, have run: their linked code is
    /// kept, with a descriptor for each one's memory.
    pub fn baseline(&self, guests: &[&str]) -> Baseline {
        self.scope(guests);
        self.works_afterwards();
        Baseline::now()
    }

    fn outer_tree(&self) -> Tree {
        tree(self.folder.path(), &self.workspace())
    }
}

/// A description for a component that has none.
pub fn describe(name: &str, capabilities: &[Capability]) -> Description {
    Description {
        name: name.to_owned(),
        description: String::new(),
        input_schema: "{}".to_owned(),
        capabilities: capabilities.iter().copied().collect(),
        own_capabilities: BTreeSet::new(),
        read_only: false,
        idempotent: false,
    }
}

/// Pages that the pool and the allocator keep for the next call.
const POOLED: u64 = 64 << 20;

/// What the process holds, to see later whether it holds more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// Resident memory, in bytes.
    pub memory: u64,
    /// Open file descriptors.
    pub files: usize,
    /// Threads.
    pub threads: usize,
}

impl Baseline {
    /// What the process holds now.
    pub fn now() -> Self {
        let statm = fs::read_to_string("/proc/self/statm").expect("procfs");
        let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number of pages");
        let files = fs::read_dir("/proc/self/fd").expect("procfs").count();
        Self { memory: pages * 4096, files, threads: threads() }
    }

    /// Asserts that descriptors and threads come back to no more than this, within two seconds, and
    /// memory to within `slack` bytes of it.
    pub fn returns(&self, slack: u64) {
        let end = Instant::now() + Duration::from_secs(2);
        loop {
            let now = Self::now();
            if now.files <= self.files && now.threads <= self.threads && now.memory <= self.memory + slack {
                return;
            }
            assert!(Instant::now() < end, "held before: {self:?}, held now: {now:?}, slack {slack}");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Threads, without those of other tests: they are named after their test, as are those that a test
/// starts.
fn threads() -> usize {
    let name = |path: PathBuf| fs::read_to_string(path.join("comm")).unwrap_or_default();
    let own = name("/proc/thread-self".into());
    let tasks = fs::read_dir("/proc/self/task").expect("procfs").filter_map(Result::ok);
    tasks.map(|task| name(task.path())).filter(|name| *name == own || !name.contains("::")).count()
}

/// Everything below a folder.
pub fn tree_of(folder: &Path) -> Tree {
    tree(folder, Path::new("/nowhere"))
}

fn parse(patterns: &[&str]) -> Vec<PathPattern> {
    patterns.iter().map(|pattern| PathPattern::parse(pattern).expect("a pattern")).collect()
}

/// With `PALISADE_TESTS_APART` every guest runs in a process of its own.
fn start(settings: Settings) -> Engine {
    let engine = match std::env::var_os("PALISADE_TESTS_APART") {
        Some(_) => Engine::start_apart(settings, runner()),
        None => Engine::start(settings),
    };
    engine.expect("the engine starts")
}

/// The program that guests run in if they run apart. It lies beside the tests, or above them.
pub fn runner() -> PathBuf {
    let own = std::env::current_exe().expect("this program");
    let mut places = own.ancestors().skip(1).take(2).map(|folder| folder.join("tool-runner-for-tests"));
    places.find(|place| place.exists()).expect("the tool runner is built")
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    fs::write(path, text).expect("a file");
}

fn tree(folder: &Path, without: &Path) -> Tree {
    let mut found = Tree::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path == without {
                continue;
            }
            let meta = fs::symlink_metadata(&path).expect("metadata");
            let what = if meta.is_dir() {
                waiting.push(path.clone());
                "folder".to_owned()
            } else if meta.is_symlink() {
                format!("link to {}", fs::read_link(&path).expect("a link").display())
            } else if meta.is_file() {
                format!("{} links, {:?}", meta.nlink(), fs::read(&path).expect("a file"))
            } else {
                "other".to_owned()
            };
            let mode = meta.permissions().mode();
            found.insert(path, format!("{mode:o} {}.{} {what}", meta.mtime(), meta.mtime_nsec()));
        }
    }
    found
}
