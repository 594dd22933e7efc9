//! `palisade tools call`: one tool, one call, in an agent's sandbox.

use std::{
    io::{self, Read as _},
    path::Path,
    sync::Arc,
};

use anyhow::{Context as _, bail};
use palisade_catalog::{BuiltIn, Effective, EffectiveTool, available, effective};
use palisade_grants::Decision;
use palisade_sandbox::{Blame, Bounds, Call, Captured, Compiled, Cost, Failure, LinkRefusal, Offer, Report, Scope};
use serde_json::{Value, json};

use super::{
    hexadecimal, nothing_offered, plugin,
    source::{self, Source},
};
use crate::{
    Exit,
    assemble::Assembly,
    places::Lookup,
    render::{Line, Style, Terminal, words},
    settings::Settings,
};

/// Call one tool in an agent's sandbox.
///
/// The result is printed on standard output, what the call used up and what was refused on standard
/// error. A file is a tool from outside: it is linked to what the agent's grants hold and no more.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// A built-in tool of the agent, a tool of a plugin (also as `plugin/tool`), or a component's file.
    #[arg(value_name = "NAME|FILE.wasm")]
    pub(super) tool: String,
    /// The agent whose sandbox it runs in; a tool of a plugin runs without one, with what its plugin was granted.
    #[arg(long, value_name = "AGENT")]
    pub(super) agent: Option<String>,
    /// The function to call of a component that was not written for Palisade; needed if it offers several.
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// The input, a JSON object; `@FILE` reads it from a file, `-` from standard input.
    #[arg(long, value_name = "JSON|@FILE|-", default_value = "{}")]
    input: String,
    #[command(flatten)]
    lookup: Lookup,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  palisade tools call read --agent explore --input '{\"path\": \"README.md\"}'
  palisade tools call ./my-tool.wasm --agent explore --input @input.json --json
  palisade tools call todo_add --input '{\"text\": \"water the plants\"}'
  palisade tools call ./files.wasm --function list_directory --agent explore --input '{\"path\": \".\"}'

Exit codes: 0 the call gave a result, 1 it failed or there was an error";

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (workspace, registry) = arguments.lookup.open(settings)?;
    if let Some(tool) = plugin::find(&arguments.tool, &registry)? {
        if arguments.function.is_some() {
            bail!("a tool of a plugin is one tool; leave out --function");
        }
        let config = arguments.lookup.config(settings, &workspace, &registry).accepted(terminal)?;
        let assembly = Assembly::start_at(settings, terminal, config.typed.apart)?.reaching(&config);
        let effective = tool.effective(arguments.agent.as_deref(), &registry)?;
        let (input, call) = (input(&arguments.input)?, call(arguments.json, terminal.clone()));
        let report = tool.call(&assembly, &effective, &workspace, input, call)?;
        return told(tool.name(), &effective.agent.name, &report, arguments.json, terminal);
    }
    let Some(agent) = &arguments.agent else {
        bail!("say whose sandbox it runs in, with --agent; only tools of plugins run without");
    };
    let effective = effective(registry.find(agent)?, &available(&registry), &registry);
    let source = Source::find(&arguments.tool)?;
    let input = input(&arguments.input)?;
    if arguments.function.is_some() && matches!(source, Source::BuiltIn(_)) {
        bail!("a built-in tool is one tool; leave out --function");
    }
    if let Source::BuiltIn(tool) = &source {
        check_scope(tool, &input, &effective)?;
    }
    let config = arguments.lookup.config(settings, &workspace, &registry).accepted(terminal)?;
    let assembly = Assembly::start_at(settings, terminal, config.typed.apart)?.reaching(&config);
    let (tool, report) = match link(&source, arguments.function.as_deref(), &assembly, &effective, &workspace)? {
        Ok((tool, scope)) => {
            // On the sandbox's own thread, so that even a call stuck in the kernel comes back.
            let runtime = tokio::runtime::Builder::new_current_thread().build()?;
            let report = runtime.block_on(scope.call(&tool, input, call(arguments.json, terminal.clone())));
            (tool, report)
        }
        Err(refusal) => (source.name(), refused(refusal)),
    };
    told(&tool, &effective.agent.name, &report, arguments.json, terminal)
}

/// Says what came of a call.
fn told(tool: &str, agent: &str, report: &Report, json: bool, terminal: &Terminal) -> anyhow::Result<Exit> {
    if json {
        terminal.json(&report_json(tool, agent, report))?;
    } else {
        print(tool, agent, report, terminal)?;
    }
    Ok(if report.outcome.is_ok() { Exit::Done } else { Exit::Failed })
}

/// The lists and rules decide here as in a run; nobody is asked.
fn check_scope(tool: &BuiltIn, input: &str, effective: &Effective) -> anyhow::Result<()> {
    let agent = &effective.agent.name;
    let names: Vec<&str> = effective.tools.iter().map(|tool| tool.candidate.name()).collect();
    if !names.contains(&tool.name) {
        bail!("the tool `{}` is not in the scope of `{agent}`; in it are {}", tool.name, names.join(", "));
    }
    let verdict = effective.decide(tool.name, &serde_json::from_str(input)?).without_asking();
    if verdict.decision != Decision::Allow {
        bail!("the rules of `{agent}` refuse this call: {}", verdict.reason);
    }
    Ok(())
}

/// The tool whose commands other tools may be.
const SHELL: &str = "bash";

/// Links one tool and, of the agent's tools, only those that it calls: the rest is not needed.
fn link(
    source: &Source,
    function: Option<&str>,
    assembly: &Assembly,
    effective: &Effective,
    workspace: &Path,
) -> anyhow::Result<Result<(String, Arc<Scope>), LinkRefusal>> {
    match source {
        Source::BuiltIn(tool) => {
            // Tools of plugins may be commands of the shell.
            let is_command = |own: &EffectiveTool| own.command.is_some() && own.unavailable.is_none();
            let commands = effective.tools.iter().filter(|own| tool.name == SHELL && is_command(own));
            let wanted = |name: &str| name == tool.name || commands.clone().any(|own| own.candidate.name() == name);
            let mut equipped = assembly.equip(&with_tools(effective, wanted), workspace, &[])?;
            Ok(match equipped.left_out.pop() {
                None => Ok((tool.name.to_owned(), equipped.scope)),
                Some(left_out) => Err(left_out.reason.into()),
            })
        }
        Source::File { .. } => {
            let described = source.load(assembly).and_then(|compiled| {
                let offers = compiled.offers(&assembly.engine)?;
                Ok((compiled, offers))
            });
            let (compiled, offers) = match described {
                Ok(described) => described,
                Err(failure) => return Ok(Err(LinkRefusal::Unusable(failure))),
            };
            if offers.is_empty() {
                let failure = Failure::BadComponent { reason: nothing_offered(&compiled) };
                return Ok(Err(LinkRefusal::Unusable(failure)));
            }
            let Offer { description, entry } = chosen(offers, function, &compiled)?;
            let called = &compiled.needs().toolbox;
            let scope = assembly.equip(&with_tools(effective, |name| called.contains(name)), workspace, &[])?.scope;
            let bounds = Bounds { entry, ..Bounds::default() };
            // Nobody says who it is but itself, so what it keeps is under what it is.
            let space = format!("file:{}", hexadecimal(&compiled.digest()));
            let added = scope.add_within(&compiled, &description, &space, bounds);
            Ok(added.map(|()| (description.name, scope)))
        }
    }
}

/// The tool of a component that is meant.
fn chosen(offers: Vec<Offer>, function: Option<&str>, compiled: &Compiled) -> anyhow::Result<Offer> {
    let names = offers.iter().map(|offer| offer.description.name.as_str()).collect::<Vec<_>>().join(", ");
    let Some(function) = function else {
        let mut offers = offers.into_iter();
        return match (offers.next(), offers.next()) {
            (Some(offer), None) => Ok(offer),
            _ => bail!("the component offers several tools; choose one with --function: {names}"),
        };
    };
    if compiled.is_tool() {
        bail!("the component is one tool, `{names}`; leave out --function");
    }
    let is_meant = |offer: &Offer| offer.description.name == function || offer.entry.to_string() == function;
    if let Some(offer) = offers.into_iter().find(is_meant) {
        return Ok(offer);
    }
    match compiled.not_offered().into_iter().find(|left| left.function == function) {
        Some(left) => bail!("`{function}` cannot be called as a tool: {}", left.reason),
        None => bail!("the component offers no `{function}`; there are {names}"),
    }
}

fn with_tools(effective: &Effective, wanted: impl Fn(&str) -> bool) -> Effective {
    let mut effective = effective.clone();
    effective.tools.retain(|tool| wanted(tool.candidate.name()));
    effective
}

/// A call whose progress is shown, unless a program reads the output.
fn call(json: bool, terminal: Terminal) -> Call {
    match json {
        true => Call::new(),
        false => Call::new().watched_by(Arc::new(move |message: &str| terminal.progress(message))),
    }
}

pub(super) fn refused(refusal: LinkRefusal) -> Report {
    let (failure, denials) = match refusal {
        LinkRefusal::NotGranted { denial, .. } => (Failure::Denied(denial.clone()), vec![denial]),
        LinkRefusal::Unusable(failure) => (failure, Vec::new()),
    };
    Report {
        outcome: Err(failure),
        cost: Cost::default(),
        denials,
        stdout: Captured::default(),
        stderr: Captured::default(),
    }
}

fn input(given: &str) -> anyhow::Result<String> {
    let text = match given.strip_prefix('@') {
        Some(path) => {
            let bytes = source::read(Path::new(path)).with_context(|| format!("the input {path} cannot be read"))?;
            String::from_utf8(bytes).context("the input is not UTF-8")?
        }
        None if given == "-" => {
            let mut text = String::new();
            io::stdin().lock().read_to_string(&mut text).context("the input cannot be read")?;
            text
        }
        None => given.to_owned(),
    };
    let value: Value = serde_json::from_str(&text).context("the input is not JSON")?;
    if !value.is_object() {
        bail!("the input must be a JSON object, such as {{\"path\": \"README.md\"}}");
    }
    Ok(text)
}

fn print(tool: &str, agent: &str, report: &Report, terminal: &Terminal) -> anyhow::Result<()> {
    match &report.outcome {
        Ok(text) => terminal.text(text)?,
        Err(failure) => terminal.error(&format!("{} ({}): {failure}", failure.kind(), blame(failure))),
    }
    let Cost { duration, peak_memory, epochs, written } = report.cost;
    let cost = format!(
        "{tool} in {agent}: {}, peak memory {}, {epochs} epochs, {} written",
        words::time(duration),
        words::size(peak_memory as u64),
        words::size(written)
    );
    terminal.note(&Line::new().add(Style::Dim, &cost));
    for denial in &report.denials {
        terminal.note(&Line::new().add(Style::Caution, "refused ").add(Style::Plain, &denial.to_string()));
    }
    for (name, captured) in [("standard output", &report.stdout), ("standard error", &report.stderr)] {
        if !captured.kept.is_empty() {
            let title = match captured.dropped {
                0 => format!("{name}:"),
                dropped => format!("{name} ({dropped} more bytes were dropped):"),
            };
            terminal.block(&title, &String::from_utf8_lossy(&captured.kept));
        }
    }
    Ok(())
}

fn report_json(tool: &str, agent: &str, report: &Report) -> Value {
    let Cost { duration, peak_memory, epochs, written } = report.cost;
    let mut value = json!({ "tool": tool, "agent": agent });
    match &report.outcome {
        Ok(text) => {
            value["outcome"] = "ok".into();
            value["output"] = text.as_str().into();
        }
        Err(failure) => {
            value["outcome"] = failure.kind().into();
            value["error"] = failure.to_string().into();
            value["blame"] = blame(failure).into();
        }
    }
    value["duration_us"] = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX).into();
    value["peak_memory"] = peak_memory.into();
    value["epochs"] = epochs.into();
    value["written"] = written.into();
    value["denials"] = json!(report.denials);
    for (name, captured) in [("stdout", &report.stdout), ("stderr", &report.stderr)] {
        value[name] = String::from_utf8_lossy(&captured.kept).into();
        if captured.dropped > 0 {
            value[format!("{name}_dropped")] = captured.dropped.into();
        }
    }
    value
}

fn blame(failure: &Failure) -> &'static str {
    match failure.blame() {
        Blame::Caller => "caller",
        Blame::Guest => "guest",
        Blame::Grant => "grant",
        Blame::Host => "host",
    }
}
