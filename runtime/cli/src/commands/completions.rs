//! `palisade completions`, and the answers to the shells that have loaded them: names of agents, skills, models
//! and sessions are looked up when they are asked for.

use clap_complete::{
    CompleteEnv,
    engine::{ArgValueCandidates, CompletionCandidate},
    env::Shells,
};

use palisade_agent::{LOCAL_TENANT, Listing, Session};

use crate::{
    Exit,
    database::{self, Reach},
    places::Lookup,
    render::Terminal,
    sessions::short,
    settings::Settings,
};

/// Print what makes a shell complete commands, options, agents and models.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

const AFTER_HELP: &str = "\
Examples:
  palisade completions bash > ~/.local/share/bash-completion/completions/palisade
  palisade completions zsh > ~/.zfunc/_palisade
  palisade completions fish > ~/.config/fish/completions/palisade.fish";

#[derive(Clone, Copy, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Set by the scripts when they ask.
const VARIABLE: &str = "PALISADE_COMPLETE";

/// Answers a shell and ends the program, if one asks.
pub(crate) fn answer(command: fn() -> clap::Command) {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

pub(crate) fn run(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let name = match arguments.shell {
        Shell::Bash => "bash",
        Shell::Zsh => "zsh",
        Shell::Fish => "fish",
    };
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(name) {
        shell.write_registration(VARIABLE, "palisade", "palisade", "palisade", &mut script)?;
    }
    terminal.text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// The agents there are in the current folder.
pub(crate) fn agents() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let Some((_, registry)) = here() else { return Vec::new() };
        let listed = registry.list_visible().into_iter();
        listed.map(|agent| described(&agent.name, &agent.description)).collect()
    })
}

/// The skills there are in the current folder, also those that are not trusted: they can be looked at.
pub(crate) fn skills() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let Some((_, registry)) = here() else { return Vec::new() };
        let skills = registry.skills();
        skills.entries().filter_map(|found| found.skill()).map(|it| described(&it.name, &it.description)).collect()
    })
}

/// The plugins there are.
pub(crate) fn plugins() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let Some((_, registry)) = here() else { return Vec::new() };
        let describe =
            |it: &palisade_catalog::Plugin| described(&it.name, it.description.as_deref().unwrap_or_default());
        registry.plugins().iter().map(describe).collect()
    })
}

/// A description may come from a project; the shell gets no control characters of it.
fn described(name: &str, description: &str) -> CompletionCandidate {
    let help: String = description.chars().filter(|c| !c.is_control()).take(80).collect();
    CompletionCandidate::new(name).help(Some(help.into()))
}

/// The models that are configured, and the beginnings of others.
pub(crate) fn models() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let Some((config, _)) = here() else { return Vec::new() };
        let directory = config.typed.directory;
        let own = directory.models.iter();
        let own = own.map(|(name, settings)| CompletionCandidate::new(name).help(Some(settings.model.clone().into())));
        let built_in = ["offline", "scripted:"].into_iter().map(CompletionCandidate::new);
        own.chain(built_in).collect()
    })
}

/// The sessions that were last updated, by the beginnings of their ids.
pub(crate) fn sessions() -> ArgValueCandidates {
    ArgValueCandidates::new(|| latest_sessions().unwrap_or_default())
}

fn latest_sessions() -> Option<Vec<CompletionCandidate>> {
    let database = Reach::existing(&Settings::of_this_process().ok()?)?;
    let listing = Listing { tenant: LOCAL_TENANT.to_owned(), limit: 50, ..Listing::default() };
    let runtime = database::runtime().ok()?;
    let sessions = runtime.block_on(async { database.open().await.ok()?.store.sessions(&listing).await.ok() })?;
    let candidate = |session: Session| {
        let what = session.name.or(session.last_snippet).unwrap_or_default();
        let what: String = what.chars().filter(|c| !c.is_control()).take(60).collect();
        CompletionCandidate::new(short(&session.id)).help(Some(format!("{}: {what}", session.agent).into()))
    };
    Some(sessions.into_iter().map(candidate).collect())
}

/// What there is in the current folder. Whoever completes a word is not told what is wrong.
fn here() -> Option<(crate::config::Config, palisade_catalog::Registry)> {
    let settings = Settings::of_this_process().ok()?;
    let lookup = Lookup::default();
    let (workspace, registry) = lookup.open(&settings).ok()?;
    Some((lookup.config(&settings, &workspace, &registry), registry))
}
