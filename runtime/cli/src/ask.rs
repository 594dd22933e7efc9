//! Asking the person at the terminal whether a call may be made.

use std::{
    io::{self, BufRead as _, IsTerminal as _},
    sync::{Arc, Weak},
};

use async_trait::async_trait;
use palisade_agent::{Answer, Asker, ToolCall, clip};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    termios::{QueueSelector, tcflush},
};
use tokio::sync::Mutex;

use crate::render::{Line, Style, Terminal, words};

/// The person at the terminal.
pub(crate) struct Person {
    terminal: Terminal,
    /// One question at a time, whatever runs side by side.
    turn: Mutex<()>,
}

/// The most bytes of a call that are shown: more would push the beginning of the question off the
/// screen, and a model chooses what stands at the end of it.
const SHOWN: usize = 1200;

/// How soon a question that is no longer asked is no longer waited for.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

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
        // What was typed before is no answer: nobody had seen the question. A keyboard that is gone has none.
        tcflush(io::stdin(), QueueSelector::IFlush).unwrap_or_default();
        self.terminal.note(&Line::new().add(Style::Caution, "may it? ").add(Style::Bold, &shown(call)));
        self.terminal.note(&Line::new().add(Style::Dim, &format!("        {why}")));
        self.terminal.note(&Line::new().add(Style::Plain, "        y for this once, anything else for no:"));
        // As long as this lives somebody waits; a run that is cancelled drops it.
        let waiting = Arc::new(());
        let wanted = Arc::downgrade(&waiting);
        match tokio::task::spawn_blocking(move || line(&wanted)).await {
            Ok(Ok(line)) if ["y", "yes"].contains(&line.trim().to_ascii_lowercase().as_str()) => Answer::Yes,
            _ => Answer::No,
        }
    }
}

/// A call as it is asked about; of a long one the beginning and the end.
fn shown(call: &ToolCall) -> String {
    clip(&format!("{} {}", call.tool, words::arguments(&call.input.to_string())), SHOWN)
}

/// The next line that is typed. Nobody reads on when it is no longer wanted: that would take keys from
/// whoever reads next, and the program would wait for it at its end.
fn line(wanted: &Weak<()>) -> io::Result<String> {
    let input = io::stdin();
    let mut line = String::new();
    while wanted.strong_count() > 0 {
        let mut keyboard = [PollFd::new(&input, PollFlags::IN)];
        // What comes while nobody wants it any more is for whoever reads next.
        if poll(&mut keyboard, Some(&LOOK_AGAIN))? > 0 && wanted.strong_count() > 0 {
            input.lock().read_line(&mut line)?;
            break;
        }
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_call_is_shown_with_its_end_and_what_is_left_out() {
        let call =
            |command: String| ToolCall { id: String::new(), tool: "bash".into(), input: json!({ "command": command }) };
        assert_eq!(shown(&call("ls".to_owned())), "bash command=ls");
        let hidden = shown(&call(format!("ls{}; rm -rf src", " ".repeat(100_000))));
        assert!(hidden.len() < 2 * SHOWN && hidden.starts_with("bash command=\"ls "), "{hidden}");
        assert!(hidden.contains("bytes omitted") && hidden.ends_with("; rm -rf src\""), "{hidden}");
    }
}
