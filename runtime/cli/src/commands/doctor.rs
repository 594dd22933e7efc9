//! `palisade doctor`: whether it works on this machine, and what to do if not.

mod database;
mod kernel;
mod model;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use palisade_catalog::{BuiltIn, Registry, available, effective};
use palisade_sandbox::{Call, Compiler, Engine, Report, Workspace};
use serde::Serialize;
use serde_json::json;

use crate::{
    Exit, assemble,
    places::Lookup,
    render::{Line, Style, Terminal, words},
    settings::Settings,
};

/// Check whether everything works on this machine.
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 it works, maybe with warnings, 1 something fails")]
pub(crate) struct Arguments {
    #[command(flatten)]
    lookup: Lookup,
    /// Do not ask the provider of the configured model whether it is there.
    #[arg(long)]
    offline: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// One thing that was looked at.
#[derive(Serialize)]
struct Check {
    name: &'static str,
    health: Health,
    found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Health {
    Ok,
    Warn,
    Fail,
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, health: Health::Ok, found: found.into(), remedy: None }
    }

    fn warn(name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, health: Health::Warn, found: found.into(), remedy: Some(remedy.into()) }
    }

    fn fail(name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, health: Health::Fail, found: found.into(), remedy: Some(remedy.into()) }
    }

    fn with_remedy(self, remedy: Option<String>) -> Self {
        Self { remedy: remedy.filter(|remedy| !remedy.is_empty()), ..self }
    }
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let checks = examine(arguments, settings);
    let worst = |health| checks.iter().any(|check| check.health == health);
    if arguments.json {
        terminal.json(&json!({ "ok": !worst(Health::Fail), "checks": checks }))?;
    } else {
        for check in &checks {
            print(check, terminal)?;
        }
    }
    Ok(if worst(Health::Fail) { Exit::Failed } else { Exit::Done })
}

fn print(check: &Check, terminal: &Terminal) -> std::io::Result<()> {
    let (style, health) = match check.health {
        Health::Ok => (Style::Good, "ok"),
        Health::Warn => (Style::Caution, "warn"),
        Health::Fail => (Style::Bad, "fail"),
    };
    let line = Line::new().column(style, health, 4).column(Style::Bold, check.name, 12);
    terminal.line(&line.add(Style::Plain, &check.found))?;
    match &check.remedy {
        Some(remedy) => terminal.line(&Line::new().column(Style::Plain, "", 18).add(Style::Dim, remedy)),
        None => Ok(()),
    }
}

fn examine(arguments: &Arguments, settings: &Settings) -> Vec<Check> {
    let version =
        format!("palisade {} for {}-{}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH, std::env::consts::OS);
    let mut checks = vec![Check::ok("version", version), kernel::release()];
    let engine = match start() {
        Ok((engine, check)) => {
            checks.push(check);
            checks.extend(with_engine(&engine, settings));
            Some(engine)
        }
        Err(check) => {
            checks.push(check);
            None
        }
    };
    checks.extend(model::examine(arguments, settings, engine.as_ref()));
    checks
}

fn start() -> Result<(Engine, Check), Check> {
    let started = Instant::now();
    match Engine::start(palisade_sandbox::Settings::ONE_AGENT) {
        Ok(engine) => {
            let check = Check::ok("engine", format!("starts in {}", words::time(started.elapsed())));
            Ok((engine, check))
        }
        Err(error) => Err(Check::fail(
            "engine",
            error.to_string(),
            "it reserves much address space and a few threads: look at `ulimit -v` and `ulimit -u`",
        )),
    }
}

fn with_engine(engine: &Engine, settings: &Settings) -> Vec<Check> {
    // Long enough for the clock to have ticked.
    std::thread::sleep(Duration::from_millis(25));
    let clock = match engine.is_healthy() {
        true => Check::ok("clock", "ticks, so endless guests are stopped"),
        false => Check::fail("clock", "does not tick, so no call is started", "the machine is overloaded; try again"),
    };
    let mut checks = vec![clock, tools(engine), compiler(engine, settings)];
    checks.extend(sandbox(engine));
    checks
}

fn tools(engine: &Engine) -> Check {
    let started = Instant::now();
    let all: Vec<&BuiltIn> = BuiltIn::all().collect();
    let broken: Vec<&str> = all.iter().filter(|tool| tool.load(engine, None).is_err()).map(|tool| tool.name).collect();
    if broken.is_empty() {
        return Check::ok("tools", format!("{} load in {}", all.len(), words::time(started.elapsed())));
    }
    let found = format!("made for another processor: {}", broken.join(", "));
    Check::warn("tools", found, "they are compiled at the first start and kept in the cache")
}

/// Compiles the smallest component there is, through the worker and the cache.
fn compiler(engine: &Engine, settings: &Settings) -> Check {
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";
    let (cache, why) = match assemble::cache(settings) {
        Ok(cache) => (Some(cache), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let place = settings.cache.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
    match (Compiler::new(settings.worker.clone(), cache).prepare(engine, EMPTY), why) {
        (Err(failure), _) => Check::fail("compiler", failure.to_string(), "this program must be able to start itself"),
        (Ok(_), None) => Check::ok("compiler", format!("works; the cache in {place} is private")),
        (Ok(_), Some(why)) => Check::warn(
            "compiler",
            format!("works, but compiled tools are not kept: {why}"),
            "set PALISADE_CACHE_DIR and PALISADE_DATA_DIR to folders that only you can write",
        ),
    }
}

/// Two real calls over a throw-away workspace: one that must work, one that must not.
fn sandbox(engine: &Engine) -> Vec<Check> {
    const REMEDY: &str = "please report this, with the output of `palisade doctor --json`";
    let folder = match stage() {
        Ok(folder) => folder,
        Err(error) => return vec![Check::fail("sandbox", format!("no temporary folder: {error}"), "set TMPDIR")],
    };
    let started = Instant::now();
    let think = call(engine, &folder.path().join("workspace"), "think", r#"{"thought": "does it work?"}"#);
    let first = started.elapsed();
    let works = match think.map(|report| (report.outcome, report.cost.duration)) {
        Ok((Ok(_), time)) => {
            Check::ok("sandbox", format!("a call takes {}, with linking {}", words::time(time), words::time(first)))
        }
        Ok((Err(failure), _)) => Check::fail("sandbox", failure.to_string(), REMEDY),
        Err(error) => Check::fail("sandbox", format!("{error:#}"), REMEDY),
    };
    let read = call(engine, &folder.path().join("workspace"), "read", r#"{"path": "link"}"#);
    let confines = match read.map(|report| report.outcome) {
        Ok(Err(failure)) if !failure.to_string().contains(BAIT) => {
            Check::ok("confinement", "openat2 keeps path lookups inside the workspace")
        }
        Ok(_) => Check::fail("confinement", "a link out of the workspace was followed", REMEDY),
        Err(error) => Check::fail("confinement", format!("{error:#}"), "Linux 5.6 or newer is needed"),
    };
    vec![works, confines]
}

/// What lies outside of the workspace.
const BAIT: &str = "bait";

#[expect(clippy::disallowed_methods, reason = "makes a temporary folder of its own")]
fn stage() -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::Builder::new().prefix("palisade-doctor-").tempdir()?;
    std::fs::create_dir(folder.path().join("workspace"))?;
    std::fs::write(folder.path().join("outside.txt"), BAIT)?;
    std::os::unix::fs::symlink("../outside.txt", folder.path().join("workspace/link"))?;
    Ok(folder)
}

fn call(engine: &Engine, workspace: &Path, tool: &str, input: &str) -> anyhow::Result<Report> {
    let registry = Registry::built_in();
    let mut effective = effective(registry.find("explore")?, &available(&registry), &registry);
    effective.tools.retain(|other| other.candidate.name() == tool);
    let equipped = palisade_catalog::equip(engine, None, &Workspace::open(workspace)?, &effective, &[])?;
    Ok(equipped.scope.call_here(tool, input, &Call::new()))
}
