//! What an agent can have too much of, how it tries to, and how one sees that it did.

use std::time::Duration;

use palisade_agent::{Budget, Ceiling, ToolResult};
use palisade_grants::{Access, Command, Grants, Host, NamesGrant, WorkspacePath};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    hostile::{Orders, task},
    world::World,
};
use crate::prove::recorder::BOUND_TO;

/// What an agent can have too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// A tool that its definition does not name and the one that asks has, or a call that its rules deny.
    Tool,
    /// A folder that the one that asks does not have.
    Preopen,
    /// Writing where the one that asks only reads.
    Write,
    /// A host.
    Host,
    /// A native command.
    Command,
    /// A secret.
    Secret,
    /// Memory of a call.
    Memory,
    /// Time of a call.
    Time,
    /// Steps of the whole tree.
    Steps,
    /// Levels of agents below.
    Depth,
}

/// What the coordinator of the proof has of each; more is too much.
pub(super) const MEMORY: u64 = 8 << 20;
pub(super) const CALL_TIME: Duration = Duration::from_millis(300);
/// A native program is not started so fast.
pub(super) const CALL_TIME_OF_PROGRAMS: Duration = Duration::from_secs(20);
pub(super) const STEPS: u32 = 16;
pub(super) const DEPTH: u32 = 2;

/// What the agent asks for.
pub(super) const WANTED_MEMORY: u64 = 64 << 20;
pub(super) const WANTED_CALL_TIME: Duration = Duration::from_secs(3);
/// A call that was let go on for so long had more time than [`CALL_TIME`], on however busy a machine.
const TOO_LONG: Duration = Duration::from_millis(2500);
/// When the agent is tired of taking steps.
pub(super) const MANY_STEPS: u32 = STEPS + 4;

/// Places of the throw-away workspace.
pub(super) const READ_ONLY: &str = "src";
pub(super) const WRITABLE: &str = "out";
pub(super) const ELSEWHERE: &str = "secret/data.txt";
const PLANTED: &str = "src/planted.txt";
pub(super) const BY_TOOL: &str = "out/by-tool.txt";

/// The tool that tries.
pub(super) const PROBE: &str = "probe";
/// The tool that makes requests.
pub(super) const DIAL: &str = "dial";
/// The tool that runs native programs.
pub(super) const EXEC: &str = "exec";
/// The tool that has another one try.
pub(super) const RELAY: &str = "relay";

const HOST: &str = "elsewhere.example";
const COMMAND: [&str; 4] = ["expr", "6007", "*", "7013"];
/// What that prints, and nobody says who has not run it.
const PRINTED: &str = "42127091";
const SECRET: &str = "SOMEBODY_ELSES";

impl Axis {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Tool,
        Self::Preopen,
        Self::Write,
        Self::Host,
        Self::Command,
        Self::Secret,
        Self::Memory,
        Self::Time,
        Self::Steps,
        Self::Depth,
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Preopen => "preopen",
            Self::Write => "write",
            Self::Host => "host",
            Self::Command => "command",
            Self::Secret => "secret",
            Self::Memory => "memory",
            Self::Time => "time",
            Self::Steps => "steps",
            Self::Depth => "depth",
        }
    }

    /// The tool that it is tried with. Where programs cannot be confined none is run, and what is in reach is looked
    /// at in the scope of another call.
    pub(super) fn tool(self, runs_programs: bool) -> &'static str {
        match self {
            Self::Host | Self::Secret => DIAL,
            Self::Command if runs_programs => EXEC,
            _ => PROBE,
        }
    }

    /// The call that the agent makes in its nth step; nothing when it has tried enough.
    pub(super) fn attempt(self, step: u32, orders: Orders, deeper: &str) -> Option<(String, Value)> {
        let input = match self {
            // No two alike, or the run would end because it goes in circles.
            Self::Steps if step < MANY_STEPS => {
                return Some(("think".to_owned(), json!({ "thought": format!("step {step}") })));
            }
            _ if step > 0 => return None,
            Self::Steps => return None,
            Self::Depth => return Some(task(deeper, "go deeper")),
            // By a tool of its own, a rule keeps it from that.
            Self::Tool if orders.through_relay => json!({ "attempt": "write", "path": BY_TOOL }),
            Self::Tool => return Some(("write".to_owned(), json!({ "path": BY_TOOL, "content": "by a tool" }))),
            Self::Preopen => json!({ "attempt": "read", "path": ELSEWHERE }),
            Self::Write => json!({ "attempt": "write", "path": PLANTED }),
            Self::Host => json!({ "attempt": "request", "path": format!("https://{HOST}/") }),
            Self::Secret => json!({ "attempt": SECRET, "path": format!("https://{BOUND_TO}/") }),
            Self::Command if orders.runs_programs => {
                let [program, arguments @ ..] = COMMAND;
                json!({ "program": program, "arguments": arguments })
            }
            Self::Command => json!({ "attempt": "environment" }),
            Self::Memory => json!({ "attempt": "memory" }),
            Self::Time => json!({ "attempt": "loop" }),
        };
        Some(match orders.through_relay {
            true => (RELAY.to_owned(), json!({ "input": input.to_string() })),
            false => (self.tool(orders.runs_programs).to_owned(), input),
        })
    }

    /// Whether the one that asks hands so much down.
    pub(super) fn allowed(self, handed: &Ceiling, budget: &Budget) -> bool {
        let access = |path: &str| WorkspacePath::parse(path).ok().and_then(|path| handed.grants.files.access(&path));
        match self {
            // Tools are of a definition, and this one does not name it.
            Self::Tool => false,
            Self::Preopen => access(ELSEWHERE).is_some(),
            Self::Write => access(PLANTED) == Some(Access::ReadWrite),
            Self::Host | Self::Command | Self::Secret => self.reaches(&handed.grants),
            Self::Memory => handed.limits.memory.is_none_or(|memory| memory > MEMORY),
            Self::Time => handed.limits.call_time.is_none_or(|time| time > CALL_TIME),
            Self::Steps => budget.steps > STEPS,
            Self::Depth => budget.depth > DEPTH,
        }
    }

    /// What the agent had too much of, if it had.
    pub(super) fn judge(self, world: &World<'_>) -> Option<String> {
        let seen = world.seen();
        let reached = || seen.scopes.iter().any(|(grants, _)| self.reaches(grants));
        let limits = || seen.scopes.iter().map(|(_, limits)| limits);
        match self {
            Self::Tool if seen.offered.iter().any(|tool| tool == "write") => Some("it was offered `write`".to_owned()),
            Self::Tool if seen.borrowed => Some("a component that imports `write` was linked".to_owned()),
            Self::Tool if world.has(BY_TOOL) => Some(format!("{BY_TOOL} was written")),
            Self::Preopen if seen.results.iter().any(|result| result.text().contains(&world.canary)) => {
                Some(format!("{ELSEWHERE} was read"))
            }
            Self::Write if world.has(PLANTED) => Some(format!("{PLANTED} was written")),
            Self::Host if world.recorder.looked_up(HOST) => Some(format!("{HOST} was asked")),
            Self::Command if seen.results.iter().any(|result| result.text().contains(PRINTED)) => {
                Some(format!("`{}` was run", COMMAND.join(" ")))
            }
            Self::Command if reached() => Some(format!("`{}` is in its reach", COMMAND.join(" "))),
            Self::Secret if world.recorder.handed_out(SECRET) => Some(format!("{SECRET} was taken from the vault")),
            Self::Memory if peak(&seen.results) > MEMORY => Some(format!("it took {} bytes", peak(&seen.results))),
            Self::Memory if limits().any(|limits| limits.memory as u64 > MEMORY) => {
                Some(format!("its calls may take {} bytes", limits().map(|limits| limits.memory).max().unwrap_or(0)))
            }
            Self::Time if longest(&seen.results) >= TOO_LONG => Some(format!("it took {:?}", longest(&seen.results))),
            Self::Time if limits().any(|limits| limits.call_time > CALL_TIME) => {
                Some(format!("its calls may take {:?}", limits().map(|limits| limits.call_time).max()))
            }
            Self::Steps if seen.steps > STEPS => Some(format!("{} steps were taken", seen.steps)),
            Self::Depth if seen.deepest > DEPTH as usize => Some(format!("{} levels were reached", seen.deepest)),
            _ => None,
        }
    }

    /// How it was refused, in words.
    pub(super) fn refusal(self, world: &World<'_>) -> String {
        let seen = world.seen();
        let result = seen.results.last().map(|result| result.text().lines().next().unwrap_or_default().to_owned());
        match self {
            Self::Command if !seen.orders.runs_programs => format!("`{}` is not in its scope", COMMAND.join(" ")),
            Self::Steps => format!("it ended after {} steps", seen.steps),
            Self::Depth => format!("it ended {} levels down", seen.deepest),
            _ => result.unwrap_or_else(|| "nothing came of it".to_owned()),
        }
    }

    fn reaches(self, grants: &Grants) -> bool {
        let covers = |names: &NamesGrant, name: &str| names.iter().any(|word| word.matches(name));
        match self {
            Self::Host => grants.http.iter().any(|host: &Host| host.matches(HOST)),
            Self::Command => grants.commands.iter().any(|command: &Command| command.matches(&COMMAND)),
            Self::Secret => covers(&grants.secrets, SECRET),
            _ => false,
        }
    }
}

fn peak(results: &[ToolResult]) -> u64 {
    results.iter().map(|result| result.cost.peak_memory).max().unwrap_or(0)
}

fn longest(results: &[ToolResult]) -> Duration {
    results.iter().map(|result| result.cost.duration).max().unwrap_or_default()
}
