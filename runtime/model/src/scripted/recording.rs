//! Writes down what a provider replies, as a script that replays it.
#![expect(clippy::disallowed_methods, reason = "this file owns the file that a run is recorded in")]

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use palisade_agent::{Listener, Prompt, Provider, ProviderError, Reply};
use rustix::fs::OFlags;
use serde_json::Value;

use super::script::ScriptedReply;
use crate::Secrets;

/// Passes on what a provider replies and writes it down, one line per reply, without keys. A line is
/// written whole and at once, so that the file can be replayed whenever the program ended.
/// A copy records into the same file.
#[derive(Clone)]
pub struct Recording {
    provider: Arc<dyn Provider>,
    secrets: Secrets,
    script: Arc<Mutex<Script>>,
}

struct Script {
    file: File,
    /// The first thing that went wrong.
    fault: Option<io::Error>,
}

impl Recording {
    /// Records into a file that is made, readable for its owner alone, or continued. Half a line at its
    /// end, from a program that was ended while it wrote, is taken away. A file that is something else
    /// is refused, and so is a link: what it leads to may be worth more than a recording.
    pub fn append(provider: Box<dyn Provider>, path: &Path, secrets: Secrets) -> io::Result<Self> {
        let wrong = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        let mut file = match options.open(path) {
            Err(_) if path.is_symlink() => return wrong("the file is a link; name the file that it leads to"),
            file => file?,
        };
        if !file.metadata()?.is_file() {
            return wrong("it is there and is no file");
        }
        if !begins_as_recording(&file)? {
            return wrong("the file is there and is no recording");
        }
        let whole = end_of_last_line(&mut file)?;
        file.set_len(whole)?;
        let script = Arc::new(Mutex::new(Script { file, fault: None }));
        Ok(Self { provider: provider.into(), secrets, script })
    }

    /// Says whether everything was written. A run goes on without its recording: the replies are worth more.
    pub fn finish(&self) -> io::Result<()> {
        match self.script.lock().unwrap_or_else(PoisonError::into_inner).fault.take() {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }

    fn record(&self, reply: &Result<Reply, ProviderError>) {
        let reply = match reply {
            Ok(reply) => ScriptedReply::of(reply),
            Err(error) => ScriptedReply::of_failure(error),
        };
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        let written =
            serde_json::to_value(&reply).map_err(io::Error::from).and_then(|reply| script.write(&self.clean(&reply)));
        if let Err(fault) = written {
            script.fault.get_or_insert(fault);
        }
    }

    /// Only what a reply says is cleaned, not the names of its fields.
    fn clean(&self, reply: &Value) -> Value {
        let members = reply.as_object().into_iter().flatten();
        members.map(|(name, value)| (name.clone(), self.clean_field(name, value))).collect()
    }

    fn clean_field(&self, name: &str, value: &Value) -> Value {
        match (name, value) {
            // Words of ours and numbers.
            ("usage" | "ended", _) => value.clone(),
            ("error", _) => {
                let message = value["message"].as_str().unwrap_or_default();
                serde_json::json!({ "kind": value["kind"], "message": self.secrets.remove(message) })
            }
            ("calls", Value::Array(calls)) => calls
                .iter()
                .map(|call| call.as_object().into_iter().flatten())
                .map(|call| {
                    call.map(|(name, value)| (name.clone(), self.secrets.remove_from(value))).collect::<Value>()
                })
                .collect(),
            ("kept", _) => serde_json::json!({ "by": value["by"], "value": self.secrets.remove_from(&value["value"]) }),
            _ => self.secrets.remove_from(value),
        }
    }
}

impl Script {
    fn write(&mut self, reply: &Value) -> io::Result<()> {
        let mut line = reply.to_string();
        line.push('\n');
        self.file.write_all(line.as_bytes())?;
        self.file.sync_data()
    }
}

/// Whether the first line of a file is a reply, or as much of one as was written.
fn begins_as_recording(file: &File) -> io::Result<bool> {
    let mut line = Vec::new();
    BufReader::new(file).read_until(b'\n', &mut line)?;
    Ok(match serde_json::from_slice::<ScriptedReply>(&line) {
        Ok(reply) => reply != ScriptedReply::default(),
        Err(error) => error.is_eof() && !line.ends_with(b"\n"),
    })
}

/// Where the last whole line of a file ends.
fn end_of_last_line(file: &mut File) -> io::Result<u64> {
    const BLOCK: u64 = 64 << 10;
    let mut end = file.seek(SeekFrom::End(0))?;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(start))?;
        let mut block = Vec::new();
        file.take(end - start).read_to_end(&mut block)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[async_trait]
impl Provider for Recording {
    fn name(&self) -> &str {
        self.provider.name()
    }

    fn model(&self) -> &str {
        self.provider.model()
    }

    fn context_window(&self) -> Option<u64> {
        self.provider.context_window()
    }

    fn counts_cost(&self) -> bool {
        self.provider.counts_cost()
    }

    async fn reply(&self, prompt: Prompt<'_>, listener: &dyn Listener) -> Result<Reply, ProviderError> {
        let reply = self.provider.reply(prompt, listener).await;
        self.record(&reply);
        reply
    }
}
