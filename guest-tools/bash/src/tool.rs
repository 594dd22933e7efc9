//! The tool: from the model's input to a script that ran, and back.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use palisade_tool::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    files, host,
    interpreter::{self, Ended},
    kept::text,
    place::{WORKSPACE, in_workspace},
};

/// The input of `bash`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// The script.
    #[serde(alias = "cmd", alias = "script")]
    command: String,
    /// The most seconds it may take.
    #[serde(default)]
    timeout: Option<u32>,
}

palisade_tool::tool! {
    /// Runs a bash script over the workspace, which is `/workspace` and where the first call begins; the
    /// next call begins in the directory where this one ended. Pipes, redirections, loops, functions,
    /// here-documents and the usual commands (ls cat find grep sed awk sort jq diff …) are there; there is
    /// no network, no other program and no file outside of the workspace, except `/tmp` if you may
    /// write. What you may not change stays as it is, whatever the script says. The answer is the exit
    /// code, then what was written to stderr and to stdout, each with its length.
    #[tool(needs = ["fs.read", "fs.write", "exec"], read_only = false, idempotent = false)]
    pub fn bash(input: Input) -> Result<String, Failure> {
        let last = host::directory();
        let asked = if last.is_empty() { PathBuf::from(WORKSPACE) } else { Path::new(WORKSPACE).join(&last) };
        // The workspace is there even if only folders in it are granted.
        let is_there = last.is_empty() || files::look(&asked).is_ok_and(|there| !there.file_type.is_file());
        let begin = if is_there { asked.as_path() } else { Path::new(WORKSPACE) };
        let time = input.timeout.map(|seconds| Duration::from_secs(u64::from(seconds.max(1))));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(|error| Failure::Failed(format!("the shell cannot start: {error}")))?;
        let Ended { code, stdout, mut stderr, directory } = runtime.block_on(interpreter::run(&input.command, begin, time));
        if !is_there {
            stderr.push(format!("bash: {} is gone; this call began in {WORKSPACE}\n", asked.display()).as_bytes());
        }
        if let Some(Err(reason)) = in_workspace(&directory).filter(|directory| *directory != last).map(host::enter) {
            stderr.push(format!("bash: the next call begins where this one did: {reason}\n").as_bytes());
        }
        Ok(text(code, &stderr, &stdout))
    }
}
