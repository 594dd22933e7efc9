//! `palisade tenants secret`: secrets of a tenant's own. A value comes from standard input and is shown to nobody.

use std::io::{self, IsTerminal as _, Read as _};

use anyhow::{Context as _, bail};
use palisade_sandbox::SecretString;
use palisade_server::{NewSecret, SecretCard};
use palisade_store::Tenants;

use crate::{
    Exit,
    config::{Config, key},
    render::{Line, Style, Terminal},
    serve,
    settings::Settings,
};

#[derive(clap::Args)]
pub(crate) struct Secret {
    /// The tenant's id.
    tenant: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Keep a secret; its value is read from standard input. It takes the place of an earlier one of this name.
    Set(Set),
    /// List the names of secrets, and where each is sent.
    List(Listed),
    /// Remove a secret. It is used no longer, at once.
    Remove(Named),
}

#[derive(clap::Args)]
struct Set {
    /// What agents and tools call it: letters, digits, `_`, `-` and `.`.
    name: String,
    /// The one host that it is sent to, by https.
    #[arg(long, value_name = "HOST")]
    host: String,
    /// The one header that it is sent in [default: authorization].
    #[arg(long, value_name = "HEADER")]
    header: Option<String>,
}

#[derive(clap::Args)]
struct Listed {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct Named {
    /// Its name.
    name: String,
}

impl Secret {
    pub(super) async fn carry_out(
        &self,
        tenants: &dyn Tenants,
        settings: &Settings,
        config: &Config,
        terminal: &Terminal,
    ) -> anyhow::Result<Exit> {
        let tenant = tenants.tenant(&self.tenant).await?;
        let (own, lent) = serve::secrets_of(settings, config, &tenant.id, &tenant.settings)?;
        match &self.command {
            Command::Set(Set { name, host, header }) => {
                let new = NewSecret { host: host.clone(), header: header.clone(), value: value()? };
                let SecretCard { name, host, header, .. } = own.keep(name, &new, &lent)?;
                let what = format!("{name} for https://{host}, in the header {header}");
                terminal.whole(&Line::new().add(Style::Good, "kept ").add(Style::Plain, &what))?;
            }
            Command::List(Listed { json: true }) => terminal.json(&own.list(&lent)?)?,
            Command::List(Listed { json: false }) => {
                for SecretCard { name, host, header, is_used } in own.list(&lent)? {
                    let line = Line::new()
                        .column(Style::Bold, &name, 24)
                        .add(Style::Plain, &format!("https://{host}  {header}"));
                    let state = if is_used { "" } else { "  not used: the operator's of this name is" };
                    terminal.whole(&line.add(Style::Caution, state))?;
                }
            }
            Command::Remove(Named { name }) => {
                own.remove(name)?;
                terminal.whole(&Line::new().add(Style::Good, "removed ").add(Style::Plain, name))?;
            }
        }
        Ok(Exit::Done)
    }
}

/// What comes in on standard input.
fn value() -> anyhow::Result<SecretString> {
    let input = io::stdin();
    if input.is_terminal() {
        bail!(
            "the value is read from standard input, and a terminal would show it; send it there: `pass show it | palisade …`"
        );
    }
    let mut bytes = Vec::new();
    input.lock().take(key::LONGEST as u64 + 2).read_to_end(&mut bytes).context("standard input cannot be read")?;
    key::of_bytes(&bytes)
        .context("what comes in is no secret: it is empty, longer than 16 KiB, or has characters that no header takes")
}
