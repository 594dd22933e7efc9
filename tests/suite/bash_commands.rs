//! Other tools as commands of the shell: each runs in its own sandbox, after its own gate.

use std::sync::Arc;

use palisade_grants::{Capability, Denial};
use palisade_sandbox::{Bounds, CommandTool, Printed, Scope, ShellCommand};
use palisade_tests::{
    shell::{call, take_apart},
    world::World,
};
use serde_json::json;

/// A command that passes its arguments on to a guest that says them again.
fn say(tool: &str) -> ShellCommand {
    ShellCommand {
        name: "say".to_owned(),
        read: Arc::new(|arguments, piped| match arguments {
            [] => Ok(json!({ "text": String::from_utf8_lossy(piped) }).to_string()),
            [help] if help == "--help" => Err(Printed::Help("says it".to_owned())),
            [text] => Ok(json!({ "text": text }).to_string()),
            _ => Err(Printed::Wrong("one word only".to_owned())),
        }),
        gate: Arc::new(|input| match input.contains("secret") {
            false => Ok(()),
            true => Err(Denial {
                capability: Capability::Tools,
                asked: "calling say".to_owned(),
                rule: "no secrets".to_owned(),
                remedy: "say something else".to_owned(),
            }),
        }),
        tool: CommandTool::Linked(tool.to_owned()),
    }
}

pub(crate) fn scope(world: &World, tool: &str) -> Scope {
    let scope = world.empty_scope();
    world.add(&scope, "echo", "x");
    let (compiled, description) = world.load("bash");
    let bounds = Bounds { commands: vec![say(tool)], ..Bounds::default() };
    assert_eq!(scope.add_within(&compiled, &description, "core", bounds), Ok(()));
    scope
}

/// N2, CF-30
#[test]
fn a_tool_is_a_command_with_pipes_and_exit_codes() {
    let world = World::new();
    let scope = scope(&world, "echo");
    let run = |script: &str| take_apart(script, &call(&scope, script));
    assert_eq!(run("say hello | tr a-z A-Z; echo word | say | wc -c").stdout, "HELLO\n5\n");
    assert_eq!(run("say a b; echo $?; say --help").stdout, "2\nsays it\n");
    assert_eq!(run("say a b").stderr, "say: one word only\n");
    let scope = self::scope(&world, "missing");
    let ran = take_apart("say", &call(&scope, "say x"));
    assert_eq!(ran.code, 1, "{ran:?}");
}

/// N8, CF-30. What the gate refuses is not called, and the refusal is recorded.
#[test]
fn a_command_goes_through_the_gate_of_its_tool() {
    let world = World::new();
    let scope = scope(&world, "echo");
    let report = call(&scope, "x=sec; say ${x}ret; echo $?");
    let ran = take_apart("say", &report);
    assert_eq!(ran.stdout, "126\n");
    assert!(ran.stderr.contains("no secrets"), "{ran:?}");
    assert_eq!(report.denials.len(), 1);
}

/// N8. The interface alone gives nothing: another guest with the same scope has no such command.
#[test]
fn only_the_shell_that_was_bound_to_them_has_commands() {
    let world = World::new();
    let scope = world.empty_scope();
    world.add(&scope, "echo", "x");
    world.add(&scope, "bash", "core");
    assert_eq!(take_apart("say", &call(&scope, "say x")).code, 127);
}
