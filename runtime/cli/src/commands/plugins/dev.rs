//! `palisade plugins dev`.

use std::{
    path::PathBuf,
    thread,
    time::{Duration, SystemTime},
};

use anyhow::Context as _;
use palisade_sandbox::Description;
use serde_json::{Map, Value};

use super::{author, build, test};
use crate::{
    Exit,
    assemble::Assembly,
    authoring::{BuiltTool, Mistake, Project, Workshop, call, newest, read_cases, try_cases},
    render::{Line, Style, Terminal, words},
    settings::Settings,
};

/// Build a plugin again whenever one of its files changes, until Ctrl-C.
///
/// After each build it shows what is new in a tool's description, and with --call calls one of them, with
/// --test tries the cases.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  palisade plugins dev hello --call hello --input '{\"name\": \"Ada\"}'")]
pub(crate) struct Arguments {
    /// The project's folder.
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Call this tool after each build.
    #[arg(long, value_name = "TOOL")]
    call: Option<String>,
    /// What to call it with, a JSON object.
    #[arg(long, value_name = "JSON", default_value = "{}", requires = "call")]
    input: String,
    /// What the call is granted; may be given several times.
    #[arg(long, value_name = "WORD", requires = "call")]
    grant: Vec<String>,
    /// Try the cases in `tests/*.json` after each build.
    #[arg(long)]
    test: bool,
}

/// How often the files are looked at. That costs little, and works on every file system.
const PAUSE: Duration = Duration::from_millis(200);

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let input: Map<String, Value> = serde_json::from_str(&arguments.input).context("--input is no JSON object")?;
    let root = Project::open(&arguments.folder)?.root;
    let assembly = Assembly::start(settings, terminal)?;
    let workshop = Workshop { settings, terminal, assembly: &assembly };
    let mut known: Vec<Description> = Vec::new();
    loop {
        let seen = newest(&root)?;
        match round(arguments, &input, &workshop, &mut known) {
            Ok(()) => {}
            Err(error) if error.is::<Mistake>() => {
                author::mistake(error, false, terminal)?;
            }
            Err(error) => terminal.error(&format!("{error:#}")),
        }
        terminal.note(&Line::new().add(Style::Dim, "waiting for a change (Ctrl-C ends)"));
        wait(&root, seen)?;
    }
}

/// Builds, and shows what came of it.
fn round(
    arguments: &Arguments,
    input: &Map<String, Value>,
    workshop: &Workshop<'_>,
    known: &mut Vec<Description>,
) -> anyhow::Result<()> {
    let (terminal, assembly) = (workshop.terminal, workshop.assembly);
    // Read again: the manifest may be what was changed.
    let project = Project::open(&arguments.folder)?;
    let built = workshop.build(&project)?;
    for tool in &built {
        if known.contains(&tool.description) {
            let change = if tool.changed { "built again, says the same" } else { "unchanged" };
            terminal.line(&Line::new().add(Style::Bold, &tool.name).add(Style::Dim, &format!("  {change}")))?;
        } else {
            build::print(tool, terminal)?;
        }
    }
    *known = built.iter().map(|tool| tool.description.clone()).collect();
    if let Some(tool) = &arguments.call {
        show_call(tool, input, &arguments.grant, &built, assembly, terminal)?;
    }
    if arguments.test {
        test::print(&try_cases(read_cases(&project.root)?, &built, assembly)?, terminal)?;
    }
    Ok(())
}

fn show_call(
    tool: &str,
    input: &Map<String, Value>,
    grant: &[String],
    built: &[BuiltTool],
    assembly: &Assembly,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    let report = call(tool, input, grant, built, assembly)?;
    let time = words::time(report.cost.duration);
    terminal.line(&Line::new().add(Style::Dim, &format!("{tool} {} ({time})", Value::Object(input.clone()))))?;
    match &report.outcome {
        Ok(output) => terminal.text(output)?,
        Err(failure) => terminal.error(&format!("{}: {failure}", failure.kind())),
    }
    if !report.stderr.kept.is_empty() {
        terminal.block("standard error:", &String::from_utf8_lossy(&report.stderr.kept));
    }
    Ok(())
}

/// Waits until the files are no longer what they were, and nobody writes them any more.
fn wait(root: &std::path::Path, mut seen: (usize, Option<SystemTime>)) -> anyhow::Result<()> {
    let mut changed = false;
    loop {
        thread::sleep(PAUSE);
        // An editor may be replacing a file just now.
        let Ok(now) = newest(root) else { continue };
        if now == seen && changed {
            return Ok(());
        }
        changed |= now != seen;
        seen = now;
    }
}
