//! Asking the person at the terminal whether a call may be made.

use std::{
    io::{self, BufRead as _, IsTerminal as _},
    sync::Arc,
};

use async_trait::async_trait;
use palisade_agent::{Answer, Asker, ToolCall};
use tokio::sync::Mutex;

use crate::render::{Line, Style, Terminal, words};

/// The person at the terminal.
pub(crate) struct Person {
    terminal: Terminal,
    /// One question at a time, whatever runs side by side.
    turn: Mutex<()>,
}

impl Person {
    /// Somebody, if standard input and standard error are a terminal.
    pub(crate) fn at(terminal: &Terminal) -> Option<Arc<dyn Asker>> {
        let is_there = io::stdin().is_terminal() && io::stderr().is_terminal();
        is_there.then(|| Arc::new(Self { terminal: terminal.clone(), turn: Mutex::new(()) }) as Arc<dyn Asker>)
    }
}

#[async_trait]
impl Asker for Person {
    async fn ask(&self, call: &ToolCall, why: &str) -> Answer {
        let _turn = self.turn.lock().await;
        let _held = self.terminal.hold();
        let what = format!("{} {}", call.tool, words::arguments(&call.input.to_string()));
        self.terminal.note(&Line::new().add(Style::Caution, "may it? ").add(Style::Bold, &what));
        self.terminal.note(&Line::new().add(Style::Dim, &format!("        {why}")));
        self.terminal.note(&Line::new().add(Style::Plain, "        y for this once, anything else for no:"));
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line).map(|_| line)
        });
        match line.await {
            Ok(Ok(line)) if ["y", "yes"].contains(&line.trim().to_ascii_lowercase().as_str()) => Answer::Yes,
            _ => Answer::No,
        }
    }
}
