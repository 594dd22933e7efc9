//! `bash` as a test uses it: one call in a world of its own, taken apart.

use palisade_sandbox::{Call, Compiled, Description, Report, Scope};
use serde_json::json;

use crate::world::World;

/// The shell, loaded once: its machine code is large.
pub struct Shell {
    compiled: Compiled,
    description: Description,
}

/// What a script came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The exit code.
    pub code: i32,
    /// What it printed.
    pub stdout: String,
    /// What it printed as errors.
    pub stderr: String,
}

impl Shell {
    /// Loads it for worlds with this one's engine.
    pub fn load(world: &World) -> Self {
        let (compiled, description) = world.load("bash");
        Self { compiled, description }
    }

    /// A scope with nothing but the shell.
    pub fn scope(&self, world: &World) -> Scope {
        let scope = world.empty_scope();
        assert_eq!(scope.add(&self.compiled, &self.description, "core"), Ok(()));
        scope
    }

    /// Runs a script in a scope of its own.
    pub fn call(&self, world: &World, script: &str) -> Report {
        call(&self.scope(world), script)
    }

    /// The same, taken apart.
    pub fn run(&self, world: &World, script: &str) -> Ran {
        take_apart(script, &self.call(world, script))
    }
}

/// Runs a script in a scope that has been used before, or will be again.
pub fn call(scope: &Scope, script: &str) -> Report {
    scope.call_here("bash", &json!({ "command": script }).to_string(), &Call::new())
}

/// Takes apart what the model would read.
#[expect(clippy::panic, clippy::missing_panics_doc, reason = "a test ends when something is not as it should be")]
pub fn take_apart(script: &str, report: &Report) -> Ran {
    let text = match &report.outcome {
        Ok(text) => text,
        Err(failure) => panic!("{script}: {failure}"),
    };
    read(text).unwrap_or_else(|| panic!("{script}: not in the form that is promised: {text}"))
}

fn read(text: &str) -> Option<Ran> {
    let (code, mut rest) = text.strip_prefix("exit code ")?.split_once('\n')?;
    let mut ran = Ran { code: code.parse().ok()?, stdout: String::new(), stderr: String::new() };
    while !rest.is_empty() {
        let (title, after) = rest.split_once(":\n")?;
        let (name, length) = title.strip_suffix(" bytes)")?.split_once(" (")?;
        let length = length.strip_prefix("the first ").map_or(length, |length| length.split(' ').next().unwrap_or(""));
        let (stream, after) = after.split_at_checked(length.parse().ok()?)?;
        match name {
            "stdout" => stream.clone_into(&mut ran.stdout),
            "stderr" => stream.clone_into(&mut ran.stderr),
            _ => return None,
        }
        // A stream that does not end its last line has it ended.
        rest = if stream.ends_with('\n') { after } else { after.strip_prefix('\n')? };
    }
    Some(ran)
}
