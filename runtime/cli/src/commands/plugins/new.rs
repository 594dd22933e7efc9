//! `palisade plugins new`.

use std::path::PathBuf;

use serde_json::json;

use crate::{
    Exit,
    authoring::{Language, NewProject, names_for},
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Write the sources of a new plugin, ready to be built.
///
/// The project has one tool, cases that try it, and all it needs beside the language's own compiler.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The folder to make; its last part is the plugin's name.
    name: PathBuf,
    /// The language to write it in.
    #[arg(long, value_name = "LANGUAGE")]
    lang: Language,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Example:
  palisade plugins new hello --lang rust
  palisade plugins test hello
  palisade plugins install hello/dist
  palisade tools call hello --input '{\"name\": \"Ada\"}'";

pub(crate) fn run(arguments: &Arguments, _: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (folder, language) = (arguments.name.clone(), arguments.lang);
    let (name, tool) = names_for(&folder, language)?;
    let project = NewProject { folder, name, tool, language };
    let files = project.write()?;
    let folder = project.folder.display();
    if arguments.json {
        let (name, tool) = (&project.name, &project.tool);
        terminal.json(&json!({ "name": name, "tool": tool, "path": project.folder, "files": files }))?;
        return Ok(Exit::Done);
    }
    terminal.line(&Line::new().add(Style::Good, "written: ").add(Style::Plain, &folder.to_string()))?;
    // What comes along ready-made is not for reading.
    for file in files.iter().filter(|file| !file.starts_with("sdk/")) {
        terminal.line(&Line::new().add(Style::Dim, &format!("  {file}")))?;
    }
    terminal.note(&Line::new().add(Style::Dim, &format!("next: palisade plugins test {folder}")));
    Ok(Exit::Done)
}
