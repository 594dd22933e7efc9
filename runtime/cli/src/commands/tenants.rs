//! `palisade tenants`: who `palisade serve` serves, and with which keys.

mod secret;

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, bail};
use palisade_server::{KeySecret, Scope};
use palisade_store::{KeyRecord, NewKey, NewTenant, Tenant, TenantChange, Tenants};
use serde_json::{Value, json};

use crate::{
    Exit,
    config::{Config, Sources},
    database::{self, Database},
    render::{Line, Style, Terminal},
    serve::{OwnSecrets, TenantSettings, tenant_folder, tenant_workspace},
    settings::Settings,
};

/// Make, change and remove tenants of `palisade serve`, and their keys.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// List the tenants.
    List(Listed),
    /// Make a tenant.
    #[command(after_help = "Examples:\n  palisade tenants add acme\n  palisade tenants add acme --settings \
                            '{\"workspace\": \"/srv/acme\", \"quotas\": {\"runs\": 4}}'")]
    Add(Add),
    /// Show a tenant with its settings and keys.
    Show(Named),
    /// Change a tenant.
    Set(Set),
    /// Remove a tenant with all that it has: sessions, runs, usage, keys, secrets, what its tools kept.
    Remove(Remove),
    /// Make a key for a tenant. It is printed once.
    #[command(
        after_help = "Examples:\n  palisade tenants key acme\n  palisade tenants key acme --label ci --scope read \
                            --scope run --days 30"
    )]
    Key(NewKeyOf),
    /// Make a key worthless, at once.
    Revoke(Revoke),
    /// Keep, list and remove secrets of a tenant's own.
    #[command(after_help = "Examples:\n  pass show acme/service | palisade tenants secret acme set SERVICE --host \
                            api.example.com\n  palisade tenants secret acme list")]
    Secret(secret::Secret),
}

#[derive(clap::Args)]
pub(crate) struct Listed {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub(crate) struct Named {
    /// Its id.
    tenant: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub(crate) struct Add {
    /// Its id: a small letter or a digit, then up to 63 of those, `_` and `-`.
    tenant: String,
    /// What people call it.
    #[arg(long)]
    name: Option<String>,
    /// Its workspace, grants and quotas as JSON (docs/server.md).
    #[arg(long, value_name = "JSON")]
    settings: Option<String>,
}

#[derive(clap::Args)]
pub(crate) struct Set {
    /// Its id.
    tenant: String,
    /// What people call it.
    #[arg(long)]
    name: Option<String>,
    /// Its workspace, grants and quotas as JSON, in the place of what was set.
    #[arg(long, value_name = "JSON")]
    settings: Option<String>,
    /// Serve it no longer, for now.
    #[arg(long, conflicts_with = "resume")]
    suspend: bool,
    /// Serve it again.
    #[arg(long)]
    resume: bool,
}

#[derive(clap::Args)]
pub(crate) struct Remove {
    /// Its id.
    tenant: String,
    /// There is no way back, and that is meant.
    #[arg(long)]
    yes: bool,
    /// Remove its folders, too: agents, plugins, and its workspace, if that is in there.
    #[arg(long)]
    purge: bool,
}

#[derive(clap::Args)]
pub(crate) struct NewKeyOf {
    /// The tenant's id.
    tenant: String,
    /// What people call the key.
    #[arg(long, default_value = "key")]
    label: String,
    /// What it is good for: read, run, approve, admin [default: read, run, approve].
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// After how many days it counts no longer.
    #[arg(long, value_name = "DAYS")]
    days: Option<i64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub(crate) struct Revoke {
    /// The tenant's id.
    tenant: String,
    /// The key's id; `palisade tenants show` lists them.
    key: String,
}

pub(crate) fn run(command: &Command, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let config = Config::load(&Sources::of(settings, None)).accepted(terminal)?;
    let url = Database::of(&config, settings).url()?;
    let runtime = database::runtime()?;
    let opened = runtime.block_on(palisade_store::open_database(url.expose()));
    let tenants: Arc<dyn Tenants> = opened.with_context(|| url.to_string())?.tenants;
    runtime.block_on(async {
        match command {
            Command::Secret(secret) => secret.carry_out(tenants.as_ref(), settings, &config, terminal).await,
            Command::Remove(remove) => remove.carry_out(tenants.as_ref(), settings, terminal).await,
            other => carry_out(other, tenants.as_ref(), terminal).await,
        }
    })
}

async fn carry_out(command: &Command, tenants: &dyn Tenants, terminal: &Terminal) -> anyhow::Result<Exit> {
    let say = |done: &str, what: &str| terminal.whole(&Line::new().add(Style::Good, done).add(Style::Plain, what));
    match command {
        Command::List(Listed { json }) => list(tenants, *json, terminal).await?,
        Command::Add(Add { tenant, name, settings }) => {
            let settings = settings.as_deref().map_or(Ok(json!({})), |text| checked(text, terminal))?;
            let name = name.clone().unwrap_or_else(|| tenant.clone());
            let made = tenants.create_tenant(NewTenant { id: tenant.clone(), name, settings }).await?;
            say("added ", &format!("{}; `palisade tenants key {0}` makes a key for it", made.id))?;
        }
        Command::Show(Named { tenant, json }) => {
            let (tenant, keys) = (tenants.tenant(tenant).await?, tenants.keys(tenant).await?);
            match json {
                true => terminal.json(&shown(&tenant, &keys))?,
                false => print(&tenant, &keys, terminal)?,
            }
        }
        Command::Set(Set { tenant, name, settings, suspend, resume }) => {
            let settings = settings.as_deref().map(|text| checked(text, terminal)).transpose()?;
            let suspended = (*suspend || *resume).then_some(*suspend);
            tenants.change_tenant(tenant, TenantChange { name: name.clone(), settings, suspended }).await?;
            say("changed ", tenant)?;
        }
        Command::Key(wanted) => key(wanted, tenants, terminal).await?,
        Command::Revoke(Revoke { tenant, key }) => {
            tenants.revoke_key(tenant, key).await?;
            say("revoked ", key)?;
        }
        // They want to know where things are.
        Command::Remove(_) | Command::Secret(_) => {}
    }
    Ok(Exit::Done)
}

impl Remove {
    async fn carry_out(&self, tenants: &dyn Tenants, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
        let Self { tenant, yes, purge } = self;
        if !yes {
            bail!("all that `{tenant}` has would be gone; --yes says that this is meant");
        }
        let folder = tenant_folder(settings, tenant)?;
        tenants.delete_tenant(tenant).await?;
        OwnSecrets::below(&folder).forget()?;
        terminal.whole(&Line::new().add(Style::Good, "removed ").add(Style::Plain, tenant))?;
        for folder in [folder, tenant_workspace(settings, tenant)?] {
            if left(&folder, *purge).with_context(|| format!("remove {} yourself", folder.display()))? {
                let note = format!("its folder stays, without its secrets: {}", folder.display());
                terminal.note(&Line::new().add(Style::Dim, &note));
            }
        }
        Ok(Exit::Done)
    }
}

/// Whether something of a tenant's folder is left, after it was removed if that is wanted.
#[expect(clippy::disallowed_methods, reason = "a folder of this program, of a tenant that is gone")]
fn left(folder: &Path, purge: bool) -> std::io::Result<bool> {
    match folder.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
        Ok(_) if purge => std::fs::remove_dir_all(folder).map(|()| false),
        Ok(_) => Ok(true),
    }
}

async fn key(wanted: &NewKeyOf, tenants: &dyn Tenants, terminal: &Terminal) -> anyhow::Result<()> {
    let usual = [Scope::Read, Scope::Run, Scope::Approve].map(|scope| scope.name().to_owned());
    let scopes = if wanted.scope.is_empty() { usual.to_vec() } else { wanted.scope.clone() };
    if let Some(unknown) = scopes.iter().find(|name| Scope::named(name).is_none()) {
        bail!("there is no scope `{unknown}`; there are read, run, approve and admin");
    }
    let expires_at = match wanted.days {
        Some(days @ 1..=3650) => Some(jiff::Timestamp::now().checked_add(jiff::SignedDuration::from_hours(24 * days))?),
        Some(_) => bail!("--days is 1 to 3650"),
        None => None,
    };
    let (secret, id) = (KeySecret::make()?, uuid::Uuid::new_v4().to_string());
    let new = NewKey { id, label: wanted.label.clone(), hash: secret.hash(), scopes, expires_at };
    let made = tenants.add_key(&wanted.tenant, new).await?;
    if wanted.json {
        let mut value = key_value(&made);
        value["secret"] = secret.expose().into();
        return Ok(terminal.json(&value)?);
    }
    terminal.whole(&Line::new().add(Style::Plain, secret.expose()))?;
    terminal.note(&Line::new().add(Style::Dim, &format!("key {} of {}; it is not shown again", made.id, made.tenant)));
    Ok(())
}

async fn list(tenants: &dyn Tenants, json: bool, terminal: &Terminal) -> anyhow::Result<()> {
    let (mut all, mut after) = (Vec::new(), None::<String>);
    loop {
        let page = tenants.tenants(after.as_deref(), 100).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.id.clone());
        all.extend(page);
    }
    if json {
        return Ok(terminal.json(&all.iter().map(|tenant| shown(tenant, &[])).collect::<Vec<_>>())?);
    }
    for tenant in &all {
        let line = Line::new().column(Style::Bold, &tenant.id, 16).add(Style::Plain, &tenant.name);
        let state = if tenant.suspended_at.is_some() { "  suspended" } else { "" };
        terminal.whole(&line.add(Style::Caution, state))?;
    }
    Ok(())
}

fn print(tenant: &Tenant, keys: &[KeyRecord], terminal: &Terminal) -> anyhow::Result<()> {
    let fact =
        |name: &str, value: &str| terminal.whole(&Line::new().column(Style::Dim, name, 10).add(Style::Plain, value));
    terminal.whole(&Line::new().add(Style::Bold, &tenant.id).add(Style::Plain, &format!("  {}", tenant.name)))?;
    fact("since", &tenant.created_at.to_string())?;
    if let Some(at) = tenant.suspended_at {
        fact("suspended", &at.to_string())?;
    }
    fact("settings", &tenant.settings.to_string())?;
    for key in keys {
        let state = match (key.revoked_at, key.expires_at) {
            (Some(at), _) => format!("revoked {at}"),
            (None, Some(at)) => format!("until {at}"),
            (None, None) => "counts".to_owned(),
        };
        fact("key", &format!("{}  {}  {}  {state}", key.id, key.label, key.scopes.join(", ")))?;
    }
    Ok(())
}

fn shown(tenant: &Tenant, keys: &[KeyRecord]) -> Value {
    json!({
        "id": tenant.id, "name": tenant.name, "settings": tenant.settings, "created_at": tenant.created_at,
        "suspended_at": tenant.suspended_at, "keys": keys.iter().map(key_value).collect::<Vec<_>>(),
    })
}

fn key_value(key: &KeyRecord) -> Value {
    json!({
        "id": key.id, "tenant": key.tenant, "label": key.label, "scopes": key.scopes, "created_at": key.created_at,
        "expires_at": key.expires_at, "revoked_at": key.revoked_at, "last_used_at": key.last_used_at,
    })
}

/// Settings that can be used.
fn checked(text: &str, terminal: &Terminal) -> anyhow::Result<Value> {
    let settings: Value = serde_json::from_str(text).context("the settings are no JSON")?;
    let read = TenantSettings::read(&settings)?;
    if read.grants.is_some_and(|grants| grants.agents.iter().next().is_none()) {
        terminal.warning(
            "`grants` has no `agents`, so that none of its agents can be asked; `\"agents\": [\"*\"]` lets all be",
        );
    }
    Ok(settings)
}
