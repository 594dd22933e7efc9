//! `palisade tools inspect`: what a component needs, read from its imports.

use palisade_sandbox::{Compiled, Description, Failure, digest};
use serde_json::json;

use super::{capabilities, described, effect, fact, first_sentence, import_json, print_imports, source::Source};
use crate::{
    Exit,
    assemble::Assembly,
    render::{Line, Style, Terminal, words},
    settings::Settings,
};

/// Show what a component needs, before anybody runs it.
///
/// A file is compiled in a process of its own. Its `describe` is then called in a sandbox that lends it
/// nothing; with --no-describe none of its code runs.
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
    let description = (!arguments.no_describe).then(|| compiled.describe(&assembly.engine));
    if arguments.json {
        terminal.json(&report(&source, &compiled, description.as_ref()))?;
    } else {
        print(&source, &compiled, description.as_ref(), terminal)?;
    }
    Ok(if let Some(Err(_)) = description { Exit::Failed } else { Exit::Done })
}

type Described = Result<Description, Failure>;

fn report(source: &Source, compiled: &Compiled, described_as: Option<&Described>) -> serde_json::Value {
    let needs = compiled.needs();
    json!({
        "source": source.name(),
        "bytes": source.wasm().len(),
        "digest": hexadecimal(&digest(source.wasm())),
        "imports": needs.imports.iter().map(import_json).collect::<Vec<_>>(),
        "toolbox": needs.toolbox,
        "description": described_as.and_then(|described| described.as_ref().ok()).map(described),
        "error": described_as.and_then(|described| described.as_ref().err()).map(ToString::to_string),
    })
}

fn print(
    source: &Source,
    compiled: &Compiled,
    described_as: Option<&Described>,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    terminal.line(&Line::new().add(Style::Bold, &source.name()))?;
    terminal.line(&fact("size", &words::size(source.wasm().len() as u64)))?;
    terminal.line(&fact("digest", &hexadecimal(&digest(source.wasm()))))?;
    print_imports(&compiled.needs().imports, terminal)?;
    match described_as {
        None => {}
        Some(Ok(description)) => {
            terminal.line(&fact("name", &description.name))?;
            terminal.line(&fact("says", &first_sentence(&description.description)))?;
            terminal.line(&fact("needs", &capabilities(description)))?;
            terminal.line(&fact("effect", effect(description)))?;
        }
        Some(Err(failure)) => terminal.error(&failure.to_string()),
    }
    Ok(())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
