//! `palisade`: reads the arguments, calls one command, and turns what it says into an exit code.

mod artifacts;
mod ask;
mod assemble;
mod audits;
mod authoring;
mod choose;
mod company;
mod config;
mod conversation;
mod crew;
mod database;
mod ended;
mod events;
mod interrupts;
mod native;
mod offers;
mod outside;
mod places;
mod render;
mod serve;
mod servers;
mod sessions;
mod settings;
mod spaces;
mod traces;
mod web;
mod commands {
    //! One file per command.
    pub(crate) mod agents;
    pub(crate) mod audit;
    pub(crate) mod chat;
    pub(crate) mod compile_worker;
    pub(crate) mod completions;
    pub(crate) mod config;
    pub(crate) mod confine_worker;
    pub(crate) mod doctor;
    pub(crate) mod explain;
    pub(crate) mod man;
    pub(crate) mod mcp;
    pub(crate) mod models;
    pub(crate) mod plugins;
    pub(crate) mod prove;
    pub(crate) mod run;
    pub(crate) mod serve;
    pub(crate) mod sessions;
    pub(crate) mod skills;
    pub(crate) mod stats;
    pub(crate) mod tenants;
    pub(crate) mod tool_runner;
    pub(crate) mod tools;
    pub(crate) mod version;
}

use std::{io, process::ExitCode};

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::{
    commands::{
        agents, audit, chat, compile_worker, completions, config as config_command, confine_worker, doctor, explain,
        man, mcp, models, plugins, prove, run, serve as serve_command, sessions as sessions_command, skills, stats,
        tenants, tool_runner, tools, version,
    },
    render::Terminal,
    settings::Settings,
};

/// Runs agents and untrusted tools as WebAssembly components that can only do what was granted.
#[derive(Parser)]
#[command(name = "palisade", version, propagate_version = true, after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  palisade run explore \"how is a tool call sandboxed?\"
  palisade run explore                  a map of the code base
  palisade run explore --continue       go on where it was left
  palisade chat explore                 a conversation
  palisade sessions list                what was said and done before
  palisade explain explore              what it may do, and why
  palisade prove explore                try to break out of its sandbox
  palisade agents new reviewer          write an agent of your own
  palisade skills list                  which skills agents can use
  palisade plugins new hello --lang rust
                                        write a tool of your own
  palisade plugins list                 which plugins there are
  palisade tools call read --agent explore --input '{\"path\": \"README.md\"}'
  palisade mcp                          its tools and agents for other programs
  palisade models                       which models there are
  palisade serve                        agents over HTTP
  palisade doctor                       does it work on this machine?
  palisade --version --verbose          what it was built from; with --json for programs

Exit codes:
  0    done; for `run`: answered
  1    an error, a failed call, a breach, a failed check
  2    wrong usage
  3    `run`: the budget is spent
  4    `run`: the model gave no reply
  5    `run`: the answer does not fit the schema
  6    `run`: the model went in circles
  130  `run`: cancelled";

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
    Chat(chat::Arguments),
    #[command(subcommand)]
    Sessions(sessions_command::Command),
    Stats(stats::Arguments),
    Audit(audit::Arguments),
    #[command(subcommand)]
    Tools(tools::Command),
    Explain(explain::Arguments),
    Prove(prove::Arguments),
    Doctor(doctor::Arguments),
    #[command(subcommand)]
    Agents(agents::Command),
    #[command(subcommand)]
    Skills(skills::Command),
    #[command(subcommand)]
    Plugins(plugins::Command),
    Models(models::Arguments),
    Serve(serve_command::Arguments),
    #[command(subcommand)]
    Tenants(tenants::Command),
    Mcp(mcp::Arguments),
    #[command(subcommand)]
    Config(config_command::Command),
    Completions(completions::Arguments),
    Man(man::Arguments),
    #[command(hide = true)]
    CompileWorker(compile_worker::Arguments),
    #[command(hide = true)]
    ConfineWorker(confine_worker::Arguments),
    #[command(hide = true)]
    ToolRunner(tool_runner::Arguments),
}

/// How a command ended, if not by an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Done,
    Failed,
    Spent,
    NoReply,
    Unfit,
    Circling,
    Cancelled,
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Spent => 3,
            Self::NoReply => 4,
            Self::Unfit => 5,
            Self::Circling => 6,
            Self::Cancelled => 130,
        }
    }
}

/// Arguments that do not go together, found after they were parsed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct WrongUsage(String);

fn main() -> ExitCode {
    // Before anything else: it becomes another program, and whatever it did before would only cost time.
    if confine_worker::is_wanted() {
        return confine_worker::run();
    }
    if tool_runner::is_wanted() {
        return tool_runner::run();
    }
    // A shell that wants to know what can follow is answered here, and the program ends.
    completions::answer(Arguments::command);
    if let Some(arguments) = version::wanted() {
        let terminal = Terminal::of_this_process(settings::colours());
        return exit_code(version::run(&arguments, &terminal), &terminal);
    }
    let command = Arguments::parse().command;
    if let Command::CompileWorker(arguments) = &command {
        // The worker gets hostile bytes, so it is given nothing else.
        return compile_worker::run(arguments);
    }
    let terminal = Terminal::of_this_process(settings::colours());
    exit_code(dispatch(command, &terminal), &terminal)
}

/// Returns what the shell is told, after printing the error if there is one.
fn exit_code(ended: anyhow::Result<Exit>, terminal: &Terminal) -> ExitCode {
    match ended {
        Ok(exit) => exit.code().into(),
        // Whoever read our output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal.error(&format!("{error:#}"));
            if error.is::<WrongUsage>() { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

fn dispatch(command: Command, terminal: &Terminal) -> anyhow::Result<Exit> {
    let settings = Settings::of_this_process()?;
    match command {
        Command::Run(arguments) => run::run(&arguments, &settings, terminal),
        Command::Chat(arguments) => chat::run(&arguments, &settings, terminal),
        Command::Sessions(command) => sessions_command::run(&command, &settings, terminal),
        Command::Stats(arguments) => stats::run(&arguments, &settings, terminal),
        Command::Audit(arguments) => audit::run(&arguments, &settings, terminal),
        Command::Tools(command) => tools::run(&command, &settings, terminal),
        Command::Explain(arguments) => explain::run(&arguments, &settings, terminal),
        Command::Prove(arguments) => prove::run(&arguments, &settings, terminal),
        Command::Doctor(arguments) => doctor::run(&arguments, &settings, terminal),
        Command::Agents(command) => agents::run(&command, &settings, terminal),
        Command::Skills(command) => skills::run(&command, &settings, terminal),
        Command::Plugins(command) => plugins::run(&command, &settings, terminal),
        Command::Models(arguments) => models::run(&arguments, &settings, terminal),
        Command::Serve(arguments) => serve_command::run(&arguments, &settings, terminal),
        Command::Tenants(command) => tenants::run(&command, &settings, terminal),
        Command::Mcp(arguments) => mcp::run(&arguments, &settings, terminal),
        Command::Config(command) => config_command::run(&command, &settings, terminal),
        Command::Completions(arguments) => completions::run(&arguments, terminal),
        Command::Man(arguments) => man::run(&arguments, Arguments::command(), terminal),
        // `main` has dealt with it.
        Command::CompileWorker(_) | Command::ConfineWorker(_) | Command::ToolRunner(_) => Ok(Exit::Done),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }
}
