//! `palisade tools inspect`: what a component needs, read from its imports.

use palisade_sandbox::{Compiled, Failure, Offer, digest};
use serde_json::json;

use super::{
    capabilities, described, effect, fact, first_sentence, hexadecimal, import_json, nothing_offered, print_imports,
    source::Source,
};
use crate::{
    Exit,
    assemble::Assembly,
    render::{Line, Style, Terminal, words},
    settings::Settings,
};

/// Show what a component needs, before anybody runs it.
///
/// A file is compiled in a process of its own. Its `describe` is then called in a sandbox that lends it
/// nothing; with --no-describe none of its code runs. A component that was not written for Palisade offers
/// each function that it exports: they are listed with what they take, those that cannot be tools with the
/// reason, and none of its code runs.
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 a usable tool, 1 not a component, or it imports more than it declares")]
pub(crate) struct Arguments {
    /// A component's file, or the name of a built-in tool.
    #[arg(value_name = "FILE.wasm|NAME")]
    tool: String,
    /// Do not ask the component what it is; only its imports are read.
    #[arg(long)]
    no_describe: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let source = Source::find(&arguments.tool)?;
    let assembly = Assembly::start(settings, terminal)?;
    let compiled = source.load(&assembly)?;
    let offers = match compiled.is_tool() && arguments.no_describe {
        true => None,
        false => Some(compiled.offers(&assembly.engine)),
    };
    if arguments.json {
        terminal.json(&report(&source, &compiled, offers.as_ref()))?;
    } else {
        print(&source, &compiled, offers.as_ref(), terminal)?;
    }
    let is_usable = offers.is_none_or(|offers| offers.is_ok_and(|offers| !offers.is_empty()));
    Ok(if is_usable { Exit::Done } else { Exit::Failed })
}

type Offers = Result<Vec<Offer>, Failure>;

fn report(source: &Source, compiled: &Compiled, offers: Option<&Offers>) -> serde_json::Value {
    let needs = compiled.needs();
    let offered = offers.and_then(|offers| offers.as_ref().ok());
    let own = offered.filter(|_| compiled.is_tool()).and_then(|offers| offers.first());
    json!({
        "source": source.name(),
        "bytes": source.wasm().len(),
        "digest": hexadecimal(&digest(source.wasm())),
        "imports": needs.imports.iter().map(import_json).collect::<Vec<_>>(),
        "toolbox": needs.toolbox,
        "absent": needs.absent,
        "settings": needs.settings,
        "written_for_palisade": compiled.is_tool(),
        "description": own.map(|offer| described(&offer.description)),
        "functions": offered.filter(|_| !compiled.is_tool()).map(|offers| offers.iter().map(offer_json).collect::<Vec<_>>()),
        "not_offered": compiled.not_offered(),
        "error": offers.and_then(|offers| offers.as_ref().err()).map(ToString::to_string),
    })
}

fn offer_json(offer: &Offer) -> serde_json::Value {
    let mut value = described(&offer.description);
    value["function"] = offer.entry.to_string().into();
    value
}

fn print(source: &Source, compiled: &Compiled, offers: Option<&Offers>, terminal: &Terminal) -> anyhow::Result<()> {
    terminal.line(&Line::new().add(Style::Bold, &source.name()))?;
    terminal.line(&fact("size", &words::size(source.wasm().len() as u64)))?;
    terminal.line(&fact("digest", &hexadecimal(&digest(source.wasm()))))?;
    print_imports(&compiled.needs().imports, terminal)?;
    for absent in &compiled.needs().absent {
        terminal.line(&fact("imports", &format!("{absent} → no tool has it; calling it ends the call")))?;
    }
    for settings in &compiled.needs().settings {
        terminal.line(&fact("imports", &format!("{settings} → no settings are in it")))?;
    }
    match offers {
        None => {}
        Some(Ok(offers)) if !compiled.is_tool() => print_functions(offers, compiled, terminal)?,
        Some(Ok(offers)) => {
            for Offer { description, .. } in offers {
                terminal.line(&fact("name", &description.name))?;
                terminal.line(&fact("says", &first_sentence(&description.description)))?;
                terminal.line(&fact("needs", &capabilities(description)))?;
                terminal.line(&fact("effect", effect(description)))?;
            }
        }
        Some(Err(failure)) => terminal.error(&failure.to_string()),
    }
    Ok(())
}

/// The functions of a component that was not written for Palisade.
fn print_functions(offers: &[Offer], compiled: &Compiled, terminal: &Terminal) -> anyhow::Result<()> {
    for Offer { description, entry } in offers {
        terminal.line(&Line::new().add(Style::Bold, &description.name).add(Style::Dim, &format!("  {entry}")))?;
        terminal.line(&fact("says", &first_sentence(&description.description)))?;
        terminal.line(&fact("needs", &capabilities(description)))?;
        terminal.line(&fact("input", &description.input_schema))?;
    }
    for left in compiled.not_offered() {
        let line = Line::new()
            .add(Style::Bold, &left.function)
            .add(Style::Caution, &format!("  not offered: {}", left.reason));
        terminal.line(&line)?;
    }
    if offers.is_empty() {
        terminal.error(&Failure::BadComponent { reason: nothing_offered(compiled) }.to_string());
    }
    Ok(())
}
