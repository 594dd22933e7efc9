//! `palisade serve`: agents over HTTP, for many tenants.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Context as _, bail};
use palisade_agent::StoreError;
use palisade_sandbox::Engine;
use palisade_server::{App, Bounds};
use palisade_store::Tenants;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    Exit,
    config::{Config, Sources},
    database::Database,
    places::Lookup,
    render::{Line, Style, Terminal},
    serve::{
        LocalHouse,
        log::{self, Detail, Form},
    },
    settings::Settings,
};

/// Serve agents over HTTP.
///
/// On this machine alone, unless --listen says otherwise; then everybody needs a key (`palisade tenants`). Ctrl-C or
/// SIGTERM lets nobody in any more and waits for what is under way; what is still under way then goes on when the
/// server is started again.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    lookup: Lookup,
    /// Where to listen.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7333")]
    listen: SocketAddr,
    /// What the server is called, beside `localhost`; may be given several times.
    #[arg(long, value_name = "NAME")]
    allowed_host: Vec<String>,
    /// Everybody needs a key, also on this machine.
    #[arg(long)]
    keys: bool,
    /// The model that agents speak to, whatever their definitions say, such as `anthropic:claude-sonnet-4-5`.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// How many runs are at work at the same time.
    #[arg(long, value_name = "NUMBER", default_value_t = 64)]
    runs: u32,
    /// Run tools in this process and not in one of their own (docs/apart.md).
    #[arg(long)]
    no_apart: bool,
    /// How much is written to standard error.
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "info")]
    log: Detail,
    /// As lines of text or of JSON.
    #[arg(long, value_enum, value_name = "FORM", default_value = "text")]
    log_format: Form,
    /// How long runs under way are waited for when the server stops, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    patience: u64,
}

const AFTER_HELP: &str = "\
Examples:
  palisade serve
  palisade serve --listen 0.0.0.0:7333 --allowed-host agents.example.com
  curl http://127.0.0.1:7333/api/agents

Exit codes: 0 it was stopped, 1 it could not be started";

/// The largest body of a request.
const BODY: usize = 4 << 20;

pub(crate) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    log::begin(arguments.log, arguments.log_format)?;
    let wants_keys = arguments.keys || !is_loopback(arguments.listen.ip());
    let config = Config::load(&Sources::of(settings, None)).accepted(terminal)?;
    config.warn(terminal);
    let database = Database::of(&config, settings);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let url = database.url()?;
        let kept = palisade_store::open_database(url.expose()).await.with_context(|| format!("{url}"))?;
        if wants_keys && !has_keys(kept.tenants.as_ref()).await? {
            let why = match arguments.keys {
                true => "everybody needs a key (--keys)".to_owned(),
                false => format!("{} can be reached by others", arguments.listen),
            };
            bail!("{why}, and there is no key yet; make one with `palisade tenants add NAME` and `palisade tenants key NAME`");
        }
        let size = palisade_sandbox::Settings::SERVER;
        let engine = match arguments.no_apart {
            true => Engine::start(size),
            false => Engine::start_apart(size, settings.worker.clone()),
        };
        let house = LocalHouse {
            engine: engine.context("run `palisade doctor` to see what is missing")?,
            settings: settings.clone(),
            config: Arc::new(config),
            lookup: arguments.lookup.clone(),
            model: arguments.model.clone(),
            terminal: terminal.clone(),
            store: Arc::clone(&kept.store),
            tenants: Arc::clone(&kept.tenants),
            households: Mutex::new(HashMap::new()),
        };
        let app = App::new(
            palisade_server::Settings {
                wants_keys,
                names: arguments.allowed_host.clone(),
                runs: arguments.runs,
                body: BODY,
            },
            kept,
            Arc::new(house),
        );
        let listener = palisade_server::listen(arguments.listen)
            .with_context(|| format!("nothing can listen at {}", arguments.listen))?;
        let address = listener.local_addr()?;
        let left = app.go_on().await?;
        let line = Line::new().add(Style::Good, "listening ").add(Style::Bold, &format!("http://{address}"));
        terminal
            .note(&line.add(Style::Dim, if wants_keys { "  with keys" } else { "  this machine alone, without keys" }));
        if left > 0 {
            terminal.note(&Line::new().add(Style::Plain, &format!("going on with {left} run(s) that were left")));
        }
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let patience = Duration::from_secs(arguments.patience);
        let draining = app.clone();
        let stop = async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            draining.drain(patience).await;
        };
        let bounds = Bounds::default();
        allow_files(bounds.connections);
        palisade_server::serve(listener, app.router(), bounds, stop).await?;
        anyhow::Ok(())
    })?;
    Ok(Exit::Done)
}

/// Whether anybody could come in.
async fn has_keys(tenants: &dyn Tenants) -> Result<bool, StoreError> {
    let mut after: Option<String> = None;
    loop {
        let page = tenants.tenants(after.as_deref(), 100).await?;
        let Some(last) = page.last() else { return Ok(false) };
        after = Some(last.id.clone());
        for tenant in &page {
            let now = jiff::Timestamp::now();
            if tenants.keys(&tenant.id).await?.iter().any(|key| key.counts_at(now)) {
                return Ok(true);
            }
        }
    }
}

/// Has the system let this process open as many files as so many connections need: each of them, what its run
/// speaks to, and the workspace of its tools. Many systems give less unless they are asked.
fn allow_files(connections: usize) {
    let (wanted, limit) = (4 * connections as u64, getrlimit(Resource::Nofile));
    if limit.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    if raised.is_err() || limit.maximum.is_some_and(|most| most < wanted) {
        let most = getrlimit(Resource::Nofile).current;
        tracing::warn!(
            most,
            wanted,
            "few files can be open at the same time; raise the limit (ulimit -n, LimitNOFILE)"
        );
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}
