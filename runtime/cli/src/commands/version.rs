//! `palisade --version --verbose`: what the program was built from.

use clap::Parser as _;
use palisade_catalog::BuiltIn;
use serde::Serialize;

use crate::{Exit, render::Terminal};

/// The whole command line: `--version` alone is clap's, which ends the program before it looks at anything else.
#[derive(clap::Parser)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct Arguments {
    #[arg(short = 'V', long, required = true)]
    version: bool,
    #[arg(long, required = true)]
    verbose: bool,
    #[arg(long)]
    json: bool,
}

/// Returns the arguments if the program was started with them.
pub(crate) fn wanted() -> Option<Arguments> {
    Arguments::try_parse().ok()
}

/// The origin of this program; what is not known is `None`.
#[derive(Serialize)]
struct BuildInfo {
    version: &'static str,
    commit: Option<&'static str>,
    /// Whether the sources differed from the commit.
    dirty: Option<bool>,
    commit_date: Option<&'static str>,
    profile: Option<&'static str>,
    target: Option<&'static str>,
    rustc: Option<&'static str>,
    wasmtime: Option<&'static str>,
    tools: Vec<&'static str>,
}

impl BuildInfo {
    /// Returns what `build/provenance.rs` found out.
    fn of_this_program() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: option_env!("PALISADE_BUILD_COMMIT"),
            dirty: option_env!("PALISADE_BUILD_DIRTY").map(|dirty| dirty == "true"),
            commit_date: option_env!("PALISADE_BUILD_COMMIT_DATE"),
            profile: option_env!("PALISADE_BUILD_PROFILE"),
            target: option_env!("PALISADE_BUILD_TARGET"),
            rustc: option_env!("PALISADE_BUILD_RUSTC"),
            wasmtime: option_env!("PALISADE_BUILD_WASMTIME"),
            tools: BuiltIn::all().map(|tool| tool.name).collect(),
        }
    }

    fn text(&self) -> String {
        let known = |value: Option<&'static str>| value.unwrap_or("unknown");
        let changed = if self.dirty == Some(true) { ", with uncommitted changes" } else { "" };
        format!(
            "palisade {}\ncommit:      {}{changed}\ncommit date: {}\nprofile:     {}\ntarget:      {}\nrustc:       {}\n\
             wasmtime:    {}\ntools:       {}\n",
            self.version,
            known(self.commit),
            known(self.commit_date),
            known(self.profile),
            known(self.target),
            known(self.rustc).trim_start_matches("rustc "),
            known(self.wasmtime),
            self.tools.join(", "),
        )
    }
}

pub(crate) fn run(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let info = BuildInfo::of_this_program();
    match arguments.json {
        true => terminal.json(&info)?,
        false => terminal.text(&info.text())?,
    }
    Ok(Exit::Done)
}
