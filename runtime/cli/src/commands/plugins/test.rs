//! `palisade plugins test`.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::author;
use crate::{
    Exit,
    assemble::Assembly,
    authoring::{Project, Tried, Workshop, read_cases, try_cases},
    render::{Line, Style, Terminal, words},
    settings::Settings,
};

/// Build a plugin and try its tools: the cases in `tests/*.json`.
///
/// A case is a call of a tool and what should come of it. Each runs in the real sandbox, in a workspace of its
/// own that has the files it names, with what it grants and nothing else.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The project's folder.
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Try only cases with this in their name.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
A case, in a file of its own or in a list:
  { \"name\": \"counts words\", \"tool\": \"count\", \"input\": { \"path\": \"a.txt\" },
    \"files\": { \"a.txt\": \"one two\" }, \"grant\": [\"fs.read\"], \"expect\": \"2\" }

What can be expected:
  \"text\"                                        this output
  { \"contains\": \"text\" }                        an output with this in it
  { \"json\": { \"words\": 2 } }                    this JSON, however it is written
  { \"failure\": \"invalid_input\" }                a failure: invalid_input, denied, failed or crashed;
                                                `contains` says what is in its text
and with \"leaves\": { \"a.txt\": \"one\" } how files are afterwards; null is one that is not there.

Exit codes: 0 all is as expected, 1 something is not, or it does not build";

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let project = Project::open(&arguments.folder)?;
    let mut cases = read_cases(&project.root)?;
    cases.retain(|case| arguments.only.as_deref().is_none_or(|part| case.name.contains(part)));
    let assembly = Assembly::start(settings, terminal)?;
    let built = match (Workshop { settings, terminal, assembly: &assembly }).build(&project) {
        Ok(built) => built,
        Err(error) => return author::mistake(error, arguments.json, terminal),
    };
    let tried = try_cases(cases, &built, &assembly)?;
    let passed = tried.iter().all(|tried| tried.differences.is_empty());
    if arguments.json {
        terminal.json(&tried.iter().map(value).collect::<Vec<_>>())?;
    } else {
        print(&tried, terminal)?;
    }
    Ok(if passed { Exit::Done } else { Exit::Failed })
}

/// One line per case, and below it what is not as expected.
pub(super) fn print(tried: &[Tried], terminal: &Terminal) -> anyhow::Result<()> {
    for Tried { case, time, differences, printed } in tried {
        let (style, word) = if differences.is_empty() { (Style::Good, "ok    ") } else { (Style::Bad, "FAILED") };
        let line = Line::new().add(style, word).add(Style::Plain, &format!(" {}", case.name));
        let place = if differences.is_empty() { words::time(*time) } else { format!("{}, {}", case.file, case.tool) };
        terminal.line(&line.add(Style::Dim, &format!("  ({place})")))?;
        for difference in differences {
            let style = match difference.as_bytes().first() {
                Some(b'-') => Style::Bad,
                Some(b'+') => Style::Good,
                _ => Style::Plain,
            };
            terminal.whole(&Line::new().add(Style::Plain, "         ").add(style, difference))?;
        }
        if !differences.is_empty() && !printed.is_empty() {
            terminal.whole(&Line::new().add(Style::Dim, "         it printed:"))?;
            for row in printed.lines() {
                terminal.whole(&Line::new().add(Style::Plain, &format!("           {row}")))?;
            }
        }
    }
    let passed = tried.iter().filter(|tried| tried.differences.is_empty()).count();
    terminal.line(&Line::new().add(Style::Bold, &format!("{passed} of {} as expected", tried.len())))?;
    Ok(())
}

fn value(tried: &Tried) -> Value {
    let Tried { case, time, differences, printed } = tried;
    json!({
        "name": case.name,
        "file": case.file,
        "tool": case.tool,
        "passed": differences.is_empty(),
        "differences": differences,
        "printed": printed,
        "duration_us": u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
    })
}
