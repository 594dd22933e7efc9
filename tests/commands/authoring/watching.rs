//! `palisade plugins dev`.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use super::Author;

/// Ends the program, also when a test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn a_change_is_built_described_and_called_at_once() {
    let Some(author) = Author::of("javascript") else { return };
    author.new_project("hello", "javascript");
    let mut child = Command::new(env!("CARGO_BIN_EXE_palisade"))
        .args(["plugins", "dev", "hello", "--call", "hello", "--input", r#"{"name":"Ada"}"#, "--test"])
        .current_dir(author.world.workspace())
        .env_clear()
        .env("HOME", author.world.home())
        .envs(author.variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    let running = Running(child);
    let mut until = |wanted: &str| {
        let seen = stdout.by_ref().map(Result::unwrap).take_while(|line| !line.contains(wanted));
        seen.collect::<Vec<_>>().join("\n")
    };
    let mut waits = || assert!(stderr.by_ref().map(Result::unwrap).any(|line| line.contains("waiting for a change")));

    let first = until("3 of 3 as expected");
    assert!(first.contains("Greets someone by name.") && first.contains("\nHello, Ada!"), "{first}");
    waits();
    author.change("hello/tools/hello.js", "Greets someone", "Hails somebody");
    let second = until("3 of 3 as expected");
    assert!(second.contains("Hails somebody by name."), "{second}");
    waits();
    // A mistake is shown, and the next change mends it.
    author.change("hello/tools/hello.js", "Hello, ${name}", "Hello, ${nobody}");
    let third = until("1 of 3 as expected");
    assert!(third.contains("nobody"), "{third}");
    waits();
    author.change("hello/tools/hello.js", "${nobody}", "${name}");
    let fourth = until("3 of 3 as expected");
    assert!(fourth.contains("\nHello, Ada!"), "{fourth}");
    drop(running);
}
