//! The program while it runs: what it says is waited for, and it can be interrupted and killed.
#![expect(clippy::disallowed_methods, reason = "a test starts the program and ends it")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its stage has failed")]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStderr, Command, Stdio},
};

use crate::world::World;

/// The program while it runs.
pub(crate) struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Running {
    /// Starts it with something on standard input.
    pub(crate) fn start(world: &World, arguments: &[&str], input: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_palisade"))
            .args(arguments)
            .current_dir(world.workspace())
            .env_clear()
            .env("HOME", world.home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr }
    }

    /// Waits for a line with this in it.
    pub(crate) fn wait_for_line(&mut self, part: &str) {
        let mut seen = String::new();
        while !seen.lines().last().is_some_and(|line| line.contains(part)) {
            assert!(self.stderr.read_line(&mut seen).unwrap() > 0, "it ended without `{part}`:\n{seen}");
        }
    }

    /// What Ctrl-C does.
    pub(crate) fn interrupt(&mut self) {
        assert!(self.child.try_wait().unwrap().is_none(), "it ended by itself");
        let sent = Command::new("kill").args(["-s", "INT", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// What `kill -9` does.
    pub(crate) fn kill(&mut self) {
        assert!(self.child.try_wait().unwrap().is_none(), "it ended by itself");
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    pub(crate) fn stdout(&mut self) -> String {
        let mut text = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed must not leave it running; one that did not has waited for its end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
