//! A run as lines of JSON, for programs. `docs/events.md` describes them, `docs/events.schema.json` in
//! detail; a test holds every line of real runs against it.

use std::{
    io,
    sync::{Mutex, PoisonError},
};

use palisade_agent::{Event, Watcher};
use serde::Serialize;
use serde_json::json;

use crate::{conversation::Conversation, interrupts::Interrupts, render::Terminal};

/// The version of the lines: within one, fields and events are added, never removed or changed.
pub(crate) const VERSION: u32 = 1;

/// Prints each event as one line.
pub(crate) struct EventLines<'a> {
    terminal: &'a Terminal,
    interrupts: Interrupts,
    /// The first line that could not be printed.
    failed: Mutex<Option<io::Error>>,
}

#[derive(Serialize)]
struct Versioned<'a> {
    v: u32,
    #[serde(flatten)]
    event: &'a Event,
}

impl<'a> EventLines<'a> {
    /// Prints the first line: who works where, and which program this is.
    pub(crate) fn begin(terminal: &'a Terminal, conversation: &Conversation<'_>) -> io::Result<Self> {
        terminal.json_line(&json!({
            "v": VERSION,
            "event": "started",
            "agent": conversation.effective.agent.name,
            "provider": conversation.provider.name(),
            "model": conversation.provider.model(),
            "workspace": conversation.workspace.display().to_string(),
            "version": env!("CARGO_PKG_VERSION"),
        }))?;
        Ok(Self { terminal, interrupts: conversation.interrupts.clone(), failed: Mutex::default() })
    }

    /// Whether every line was printed.
    pub(crate) fn end(self) -> io::Result<()> {
        self.failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

impl Watcher for EventLines<'_> {
    fn watch(&self, event: Event) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.is_none()
            && let Err(error) = self.terminal.json_line(&Versioned { v: VERSION, event: &event })
        {
            // Nobody reads any more, so nobody wants the rest.
            self.interrupts.stop();
            *failed = Some(error);
        }
    }
}
