//! `palisade plugins inspect`.

use palisade_packages::signature::Verdict;

use super::{
    commit::{Desk, pins},
    fetch::{Fetched, Source},
    keys::Signatures,
    summary::Summary,
};
use crate::{
    Exit,
    assemble::Assembly,
    commands::completions,
    config::{Config, Sources},
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Show what a plugin is: its tools and what they import, its agents, what it asks for and what it was granted.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// A plugin that is installed, or one that is not: a folder, a .tar.gz, a .wasm or oci://registry/name.
    #[arg(value_name = "NAME|DIR|FILE|oci://…", add = completions::plugins())]
    plugin: String,
    #[command(flatten)]
    signatures: Signatures,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  palisade plugins inspect weather
  palisade plugins inspect ./my-plugin --json

Exit codes: 0 it can be used, 1 it cannot";

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let config = Config::load(&Sources::of(settings, None)).accepted(terminal)?;
    let policy = arguments.signatures.policy(&config)?;
    let assembly = Assembly::start(settings, terminal)?;
    let installed = {
        let desk = Desk::open(settings)?;
        let locked = desk.lock.get(&arguments.plugin).cloned();
        locked.map(|locked| anyhow::Ok((desk.store.open_package(&arguments.plugin)?, locked))).transpose()?
    };
    let Some((package, locked)) = installed else {
        let fetched = Source::parse(&arguments.plugin)?.fetch(&policy.keys, settings, &assembly, terminal)?;
        policy.check(&fetched.verdict)?;
        let summary = Summary::of(&fetched, &assembly)?;
        match arguments.json {
            true => terminal.json(&summary.value())?,
            false => summary.print(None, terminal)?,
        }
        return Ok(Exit::Done);
    };
    let changed = Desk::open(settings)?.store.verify(&arguments.plugin, &pins(&locked)?).err();
    let verdict = locked.signer.clone().map_or(Verdict::Unsigned, |by| Verdict::Signed { by });
    let fetched = Fetched { package, source: locked.source.clone(), verdict };
    let summary = Summary { digest: locked.digest.clone(), ..Summary::of(&fetched, &assembly)? };
    if arguments.json {
        let mut value = summary.value();
        value["granted"] = serde_json::json!(locked.granted);
        value["enabled"] = locked.enabled.into();
        value["changed"] = changed.as_ref().map(ToString::to_string).into();
        terminal.json(&value)?;
    } else {
        summary.print(None, terminal)?;
        let fact =
            |name: &str, value: &str| terminal.whole(&Line::new().column(Style::Dim, name, 8).add(Style::Plain, value));
        fact("granted", &locked.granted.to_string())?;
        if !locked.enabled {
            fact("state", "switched off")?;
        }
        if let Some(changed) = &changed {
            terminal.error(&format!("it is not what was installed: {changed}"));
        }
    }
    Ok(if changed.is_some() { Exit::Failed } else { Exit::Done })
}
