//! Keys that are pressed while something is live are not shown: they would tear it apart. They are kept
//! for whoever reads next.

use std::io::{self, IsTerminal as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// As long as this lives, keys are not shown.
pub(super) struct Unseen {
    before: Termios,
}

impl Unseen {
    /// Keys are not shown from now on; if there is a keyboard, and it is ours.
    pub(super) fn begin() -> Option<Self> {
        let input = io::stdin();
        // A program in the background would be stopped for this.
        if !input.is_terminal() || tcgetpgrp(&input).ok()? != rustix::process::getpgrp() {
            return None;
        }
        let before = tcgetattr(&input).ok()?;
        let mut unseen = before.clone();
        unseen.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&input, OptionalActions::Now, &unseen).ok()?;
        Some(Self { before })
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        tcsetattr(io::stdin(), OptionalActions::Now, &self.before).unwrap_or_default();
    }
}
