//! Whether the configuration can be read, and whether the model it names can be spoken to.

use std::time::Duration;

use palisade_agent::Agent;
use palisade_catalog::{Notice, Registry, Severity};
use palisade_model::{Connection, KnownProvider, Probed, Route, Target};
use palisade_sandbox::Engine;

use super::{Arguments, Check, database, kernel};
use crate::{
    choose,
    commands::models,
    config::{Config, File, State, key},
    settings::{self, Settings},
};

/// Longer than any provider takes that is there.
const PROBE_TIME: Duration = Duration::from_secs(5);

/// The agents, the configuration, the model, its key and its provider.
pub(super) fn examine(arguments: &Arguments, settings: &Settings, engine: Option<&Engine>) -> Vec<Check> {
    let workspace = match arguments.lookup.workspace(settings) {
        Ok(workspace) => workspace,
        Err(error) => return vec![Check::fail("workspace", format!("{error:#}"), "name another with --workspace")],
    };
    let mut checks = Vec::new();
    let registry = match arguments.lookup.registry(settings, &workspace) {
        Ok(registry) => {
            checks.extend(agents(&registry));
            registry
        }
        Err(error) => {
            checks.push(Check::fail("agents", format!("{error:#}"), "`palisade agents validate` shows more"));
            Registry::built_in()
        }
    };
    let config = arguments.lookup.config(settings, &workspace, &registry);
    checks.extend(files(&config));
    checks.push(kernel::programs(&config.typed.exec, settings));
    checks.extend(engine.map(|engine| kernel::apart(config.typed.apart, engine, settings)));
    checks.push(keys());
    checks.extend(model(arguments, &config));
    checks.push(database::examine(&config, settings));
    checks
}

fn agents(registry: &Registry) -> Vec<Check> {
    let mut checks = vec![Check::ok("agents", format!("{} can be run", registry.list().len()))];
    let skills = registry.skills();
    let usable = skills.entries().filter(|found| found.usable().is_ok()).count();
    checks.push(Check::ok("skills", format!("{usable} can be used")));
    let told = |problem: &Notice| Check::warn("skills", problem.to_string(), "`palisade skills check` shows more");
    checks.extend(skills.problems().iter().map(told));
    checks.extend(
        registry
            .problems()
            .iter()
            .map(|problem| Check::warn("agents", problem.to_string(), "`palisade agents validate` shows more")),
    );
    checks
}

/// One line for each file, the weakest first, and one for each thing that is wrong.
fn files(config: &Config) -> Vec<Check> {
    let file = |file: &File| {
        let state = match &file.state {
            State::Read => "read".to_owned(),
            State::Missing => "not there".to_owned(),
            State::Unreadable(why) => format!("cannot be read: {why}"),
        };
        Check::ok("config", format!("{}: {} ({state})", file.layer.name(), file.path.display()))
    };
    let mut checks: Vec<Check> = config.files.iter().map(file).collect();
    if let Some(last) = checks.last_mut() {
        last.remedy = Some("the stronger ones are further down; the environment and flags are above all".to_owned());
    }
    checks.extend(config.notices.iter().map(notice));
    checks
}

fn notice(notice: &Notice) -> Check {
    let found = Notice { fix: None, ..notice.clone() }.without_severity();
    let fix = notice.fix.clone();
    match notice.severity {
        Severity::Error => Check::fail("config", found, "").with_remedy(fix),
        Severity::Warning => Check::warn("config", found, "").with_remedy(fix),
    }
}

/// Which keys of known providers are in the environment; never what they are.
fn keys() -> Check {
    let mut variables: Vec<&str> = KnownProvider::ALL.iter().filter_map(|known| known.key_variable).collect();
    variables.dedup();
    let word = |name: &&str| match settings::secret(name) {
        Some(_) => format!("{name} is set"),
        None => format!("{name} is not set"),
    };
    Check::ok("keys", variables.iter().map(word).collect::<Vec<_>>().join(", "))
}

/// What agents speak to that name no model.
fn model(arguments: &Arguments, config: &Config) -> Vec<Check> {
    let choice = match choose::choose(None, &Agent::default(), config) {
        Ok(choice) => choice,
        Err(error) => return vec![Check::fail("model", format!("{error:#}"), "`palisade models` shows what there is")],
    };
    let mut checks = Vec::new();
    if let Some(warning) = choice.warning {
        checks.push(Check::warn("model", warning, "`palisade models` shows what there is"));
    }
    match choice.target {
        Target::Offline => {
            let found = "offline: deterministic survey, no language model and no key needed";
            checks.push(Check::ok("model", found).with_remedy(models::hint(config)));
        }
        Target::Server(route) => {
            checks.push(Check::ok("model", format!("{}:{} ({})", route.provider, route.model, config.origin("model"))));
            checks.extend(server(arguments, *route));
        }
        other @ (Target::Scripted(_) | Target::Outside { .. }) => checks.push(Check::ok("model", other.name())),
    }
    checks
}

/// The key, and whether the provider answers and takes it.
fn server(arguments: &Arguments, route: Route) -> Vec<Check> {
    let (provider, base_url) = (route.provider.clone(), route.base_url.clone());
    let mut checks = Vec::new();
    let key = match &route.key {
        None => None,
        Some(source) => match key::fetch(source) {
            Ok(key) => {
                checks.push(Check::ok("key", format!("present, from {}", source.describe())));
                Some(key)
            }
            Err(error) => {
                let remedy = "set it, or say where it comes from with `key_env`, `key_command` or `key_keyring`";
                return vec![Check::fail("key", error.to_string(), remedy)];
            }
        },
    };
    checks.push(match arguments.offline {
        true => Check::ok("provider", format!("{provider} at {base_url} was not asked (--offline)")),
        false => probed(&provider, &base_url, &route.connection(key)),
    });
    checks
}

fn probed(provider: &str, base_url: &str, connection: &Connection) -> Check {
    let place = format!("{provider} at {base_url}");
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Check::fail("provider", error.to_string(), "look at `ulimit -u` and `ulimit -n`"),
    };
    match runtime.block_on(palisade_model::probe(connection, PROBE_TIME)) {
        Ok(Probed::Answers) => Check::ok("provider", format!("{place} answers")),
        Ok(Probed::Unauthorized) => {
            Check::fail("provider", format!("{place} does not take the key"), "is it the key for this provider?")
        }
        Ok(Probed::Says(status)) => Check::warn(
            "provider",
            format!("{place} answers with status {status} when it is asked for its models"),
            "some servers keep no list; if a run fails, too, look at `base_url`",
        ),
        Ok(Probed::Silent(why)) => Check::fail(
            "provider",
            format!("{place} does not answer: {why}"),
            "is it running, is `base_url` right, is there a network? --offline skips this",
        ),
        Err(error) => Check::fail("provider", error.to_string(), "look at `base_url`"),
    }
}
