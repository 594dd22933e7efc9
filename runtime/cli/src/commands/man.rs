//! `palisade man`: the manual pages.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::{Exit, render::Terminal};

/// Print the manual page, or write the pages of all commands into a folder.
#[derive(clap::Args)]
#[command(after_help = "Example: palisade man ~/.local/share/man/man1")]
pub(crate) struct Arguments {
    /// The folder to write the pages into; it must be there.
    dir: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, command: clap::Command, terminal: &Terminal) -> anyhow::Result<Exit> {
    match &arguments.dir {
        Some(dir) => clap_mangen::generate_to(command, dir)
            .with_context(|| format!("the pages cannot be written into {}", dir.display()))?,
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            terminal.text(&String::from_utf8_lossy(&page))?;
        }
    }
    Ok(Exit::Done)
}
