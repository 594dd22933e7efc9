//! `palisade plugins install`.

use std::io::{self, BufRead as _, IsTerminal as _};

use anyhow::bail;
use palisade_catalog::{Granted, Locked};
use palisade_grants::Capability;
use serde_json::{Value, json};

use super::{
    changes::Changes,
    commit::Desk,
    fetch::{Fetched, Source},
    kept,
    keys::Signatures,
    summary::Summary,
};
use crate::{
    Exit,
    assemble::Assembly,
    config::{Config, Sources},
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Install a plugin: look at what it is and asks for, and say what it may have.
///
/// Nothing of a package runs before it is installed, but for its components being asked what they are in a sandbox
/// that lends them nothing. Without --grant its tools run, and reach nothing.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// A folder with a `plugin.json`, a `.tar.gz` of one, a `.wasm` component, or `oci://registry/name[:tag|@digest]`.
    #[arg(value_name = "DIR|FILE|oci://…")]
    source: String,
    #[command(flatten)]
    choices: Choices,
}

/// What installing and updating have in common.
#[derive(clap::Args, Clone)]
pub(super) struct Choices {
    /// Let it have this, of what it asks for: fs.read, fs.write, storage, tools, exec, agents, env, net.http:HOST,
    /// secret:NAME. May be given several times; `none` for nothing.
    #[arg(long, value_name = "WORD")]
    grant: Vec<String>,
    /// Do not ask: the summary was looked at.
    #[arg(long, short)]
    yes: bool,
    /// Install an earlier version than the one that is there.
    #[arg(long)]
    older: bool,
    #[command(flatten)]
    signatures: Signatures,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  palisade plugins install ./my-plugin
  palisade plugins install weather.tar.gz --grant net.http:api.example.com --yes
  palisade plugins install get-weather.wasm
  palisade plugins install oci://registry.example.com/team/weather:1.2 --key team.pub

Exit codes: 0 it is installed, 1 it is not";

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let source = Source::parse(&arguments.source)?;
    install(&source, None, &arguments.choices, settings, terminal)
}

/// Installs from a source; `expected` is what must come of it.
pub(super) fn install(
    source: &Source,
    expected: Option<&str>,
    choices: &Choices,
    settings: &Settings,
    terminal: &Terminal,
) -> anyhow::Result<Exit> {
    let config = Config::load(&Sources::of(settings, None)).accepted(terminal)?;
    let policy = choices.signatures.policy(&config)?;
    let assembly = Assembly::start(settings, terminal)?;
    let fetched = source.fetch(&policy.keys, settings, &assembly, terminal)?;
    policy.check(&fetched.verdict)?;
    let summary = Summary::of(&fetched, &assembly)?;
    if let Some(expected) = expected.filter(|expected| *expected != summary.name) {
        bail!(
            "this is the plugin `{}` now, no longer `{expected}`; remove the one and install the other",
            summary.name
        );
    }
    let before = standing(&summary, settings)?;
    let changes = before.as_ref().map(|before| Changes::between(before, &summary, &fetched.package));
    if changes.as_ref().is_some_and(|changes| changes.is_older) && !choices.older {
        summary.print(changes.as_ref(), terminal)?;
        bail!("this is an earlier version than the one that is installed; --older installs it all the same");
    }
    if !choices.json {
        summary.print(changes.as_ref(), terminal)?;
    }
    if before.is_none() && summary.asked.holds(Capability::Storage) {
        warn_of_heritage(&summary.name, &config, settings, terminal);
    }
    let granted = choices.granted(&summary, before.as_ref(), changes.as_ref())?;
    if !choices.yes && !is_meant(&summary, &granted, choices.json, terminal)? {
        if choices.json {
            terminal.json(&report(&summary, changes.as_ref(), &granted, false))?;
        }
        return Ok(Exit::Failed);
    }
    put(&summary, &fetched, &granted, before.as_ref(), settings)?;
    if choices.json {
        terminal.json(&report(&summary, changes.as_ref(), &granted, true))?;
    } else {
        let done = Line::new().add(Style::Good, "installed ").add(Style::Bold, &summary.name);
        terminal.whole(&done.add(Style::Plain, &format!("; it may have: {granted}")))?;
    }
    Ok(Exit::Done)
}

/// Another plugin of this name may have been here before, and what it kept is not meant for everybody.
/// A database that cannot be opened keeps nobody from installing.
fn warn_of_heritage(name: &str, config: &Config, settings: &Settings, terminal: &Terminal) {
    match kept::count(name, config, settings) {
        Ok(0) => {}
        Ok(values) => terminal.warning(&format!(
            "a plugin called `{name}` was here before and kept {values} value(s), which this one reads if it is granted \
             `storage`; `palisade plugins remove {name} --forget` removes them with it"
        )),
        Err(error) => terminal.warning(&format!(
            "whether a plugin called `{name}` was here before and kept something, which this one would read if it is \
             granted `storage`, cannot be said: {error:#}"
        )),
    }
}

/// What is installed under the name of a package; what is there and was not installed, or came from elsewhere, is in
/// the way.
fn standing(summary: &Summary, settings: &Settings) -> anyhow::Result<Option<Locked>> {
    let desk = Desk::open(settings)?;
    let name = &summary.name;
    match desk.lock.get(name) {
        Some(locked) if locked.source != summary.source => bail!(
            "the plugin `{name}` is installed from {}; two sources for one name are not taken: \
             `palisade plugins remove {name}` first, or `palisade plugins update {name}`",
            locked.source
        ),
        Some(locked) => Ok(Some(locked.clone())),
        None if desk.store.has(name) => bail!(
            "there is a folder of plugins called `{name}` that was not installed by this command; move it away first"
        ),
        None => Ok(None),
    }
}

fn put(
    summary: &Summary,
    fetched: &Fetched,
    granted: &Granted,
    before: Option<&Locked>,
    settings: &Settings,
) -> anyhow::Result<()> {
    let mut desk = Desk::open(settings)?;
    if desk.lock.get(&summary.name) != before {
        bail!("the plugin `{}` was changed by somebody else in the meantime; look again", summary.name);
    }
    let locked = Locked {
        version: summary.version.clone(),
        source: summary.source.clone(),
        digest: summary.digest.clone(),
        files: fetched.package.pins().into_iter().map(|(path, pin)| (path, pin.hex())).collect(),
        tools: summary.pins(),
        asked: summary.asked.clone(),
        granted: granted.clone(),
        signer: summary.signer().map(str::to_owned),
        enabled: before.is_none_or(|before| before.enabled),
        next: None,
    };
    desk.put(&summary.name, &fetched.package, locked, |_| Ok(()))
}

impl Choices {
    /// What it may have: what is said here, else what it had if it is asked to have no more than that.
    fn granted(
        &self,
        summary: &Summary,
        before: Option<&Locked>,
        changes: Option<&Changes>,
    ) -> anyhow::Result<Granted> {
        let words: Vec<&String> = self.grant.iter().filter(|word| *word != "none").collect();
        let granted = Granted::parse(&words)?;
        let asked = &summary.asked;
        if let Some(word) = words.iter().find(|word| !summary.asks(word)) {
            bail!("`{}` does not ask for `{word}`; it asks for {asked}", summary.name);
        }
        if !self.grant.is_empty() {
            return Ok(granted);
        }
        let (Some(before), Some(changes)) = (before, changes) else { return Ok(granted) };
        if !changes.asks_for_more.is_empty() && !before.granted.is_empty() {
            bail!(
                "it asks for more than before ({}), so that what was granted ({}) no longer counts; say anew what it may \
                 have: --grant WORD for each, or --grant none",
                changes.asks_for_more.join(", "),
                before.granted
            );
        }
        // What it no longer asks for, it no longer has.
        let kept = before.granted.words().into_iter();
        Ok(Granted::parse(kept.filter(|word| summary.asks(word)))?)
    }
}

/// Asks the person at the terminal; where there is none, says what to do.
fn is_meant(summary: &Summary, granted: &Granted, json: bool, terminal: &Terminal) -> anyhow::Result<bool> {
    let rest: Vec<String> = summary.asked.words().into_iter().filter(|word| !granted.words().contains(word)).collect();
    if !json && !rest.is_empty() {
        let text = format!("it will not have: {}; --grant WORD would let it", rest.join(", "));
        terminal.note(&Line::new().add(Style::Dim, &text));
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        terminal
            .error("nothing was installed: look at what it is, then add --yes, and --grant WORD for what it may have");
        return Ok(false);
    }
    let question = format!("install `{}` and let it have {granted}? y for yes, anything else for no:", summary.name);
    terminal.note(&Line::new().add(Style::Caution, &question));
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let is_meant = ["y", "yes"].contains(&line.trim().to_ascii_lowercase().as_str());
    if !is_meant {
        terminal.note(&Line::new().add(Style::Plain, "nothing was installed"));
    }
    Ok(is_meant)
}

fn report(summary: &Summary, changes: Option<&Changes>, granted: &Granted, installed: bool) -> Value {
    let mut value = summary.value();
    value["changes"] = changes.filter(|changes| !changes.is_none()).map_or(Value::Null, Changes::value);
    value["granted"] = json!(granted);
    value["installed"] = installed.into();
    value
}
