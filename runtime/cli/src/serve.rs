//! `palisade serve` behind its routes: every tenant's agents, and what they work with.

mod household;
pub(crate) mod log;
mod ration;
mod secrets;
mod tenant_settings;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use palisade_agent::{Asker, Client, Delegation, LOCAL_TENANT, Purse, Span, Store, Usage, UsageQuery, Watcher};
use palisade_mcp::{AgentOffer, Offer};
use palisade_sandbox::Engine;
use palisade_server::{AgentCard, House, NewSecret, Quotas, Refused, SecretCard, ToolCard};
use palisade_store::Tenants;
use serde_json::Value;

use crate::{
    config::Config,
    places::Lookup,
    render::Terminal,
    settings::{Settings, WORKSPACES},
};

pub(crate) use household::Household;
pub(crate) use ration::Ration;
pub(crate) use secrets::{Lent, OwnSecrets};
pub(crate) use tenant_settings::TenantSettings;

/// Where a tenant's agents, plugins, decisions and secrets are.
pub(crate) fn tenant_folder(settings: &Settings, tenant: &str) -> Result<PathBuf, Refused> {
    below_data(settings, "tenants", tenant)
}

/// The workspace of a tenant, if nothing else is said.
pub(crate) fn tenant_workspace(settings: &Settings, tenant: &str) -> Result<PathBuf, Refused> {
    below_data(settings, WORKSPACES, tenant)
}

fn below_data(settings: &Settings, all: &str, tenant: &str) -> Result<PathBuf, Refused> {
    let data = settings.data.as_ref().ok_or_else(|| Refused::Broken("there is no data folder".to_owned()))?;
    Ok(data.join(all).join(tenant))
}

/// The own secrets of a tenant with these settings, and what it is lent.
pub(crate) fn secrets_of(
    settings: &Settings,
    config: &Config,
    tenant: &str,
    own: &Value,
) -> Result<(OwnSecrets, Lent), Refused> {
    if tenant == LOCAL_TENANT {
        let why = format!("the secrets of `{LOCAL_TENANT}` are those of the configuration, in `[secrets]`");
        return Err(Refused::Unusable(why));
    }
    let lent = Lent::of(config, &TenantSettings::read(own)?);
    Ok((OwnSecrets::below(&tenant_folder(settings, tenant)?), lent))
}

/// The agents of every tenant. A tenant's are loaded when somebody of it first asks.
pub(crate) struct LocalHouse {
    pub(crate) engine: Engine,
    pub(crate) settings: Settings,
    pub(crate) config: Arc<Config>,
    /// Where the agents of the one who works alone are looked for.
    pub(crate) lookup: Lookup,
    /// What all agents speak to, whatever their definitions say.
    pub(crate) model: Option<String>,
    pub(crate) terminal: Terminal,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tenants: Arc<dyn Tenants>,
    pub(crate) households: Mutex<HashMap<String, (Value, Arc<Household>)>>,
}

impl LocalHouse {
    /// A tenant's own secrets, and what it is lent.
    async fn secrets_of(&self, tenant: &str) -> Result<(OwnSecrets, Lent), Refused> {
        let settings = self.tenants.tenant(tenant).await.map_err(|error| Refused::Broken(error.to_string()))?.settings;
        secrets_of(&self.settings, &self.config, tenant, &settings)
    }

    /// What a tenant has used up today.
    async fn spent_today(&self, tenant: &str) -> Result<Usage, Refused> {
        let since = Some(Purse::day_began());
        let query = UsageQuery { tenant: tenant.to_owned(), by: Span::Day, since, agent: None };
        let rows = self.store.usage(&query).await.map_err(|error| Refused::Broken(error.to_string()))?;
        let mut spent = Usage::default();
        rows.iter().for_each(|row| spent += row.spending.usage);
        Ok(spent)
    }

    async fn household(&self, tenant: &str) -> Result<Arc<Household>, Refused> {
        // Settings that were changed hold from the next request on.
        let settings = match tenant {
            LOCAL_TENANT => Value::Null,
            _ => self.tenants.tenant(tenant).await.map_err(|error| Refused::Broken(error.to_string()))?.settings,
        };
        let known = self.households.lock().unwrap_or_else(PoisonError::into_inner).get(tenant).cloned();
        if let Some((_, household)) = known.filter(|(known, _)| *known == settings) {
            return Ok(household);
        }
        let opened = match tenant {
            LOCAL_TENANT => Household::local(self),
            _ => {
                let (own, spent) = (TenantSettings::read(&settings)?, self.spent_today(tenant).await?);
                let folders = (&*tenant_folder(&self.settings, tenant)?, tenant_workspace(&self.settings, tenant)?);
                Household::of(self, tenant, folders, &own, spent)
            }
        };
        let household = Arc::new(opened.map_err(|error| Refused::Broken(format!("{error:#}")))?);
        let mut households = self.households.lock().unwrap_or_else(PoisonError::into_inner);
        households.insert(tenant.to_owned(), (settings, Arc::clone(&household)));
        Ok(household)
    }
}

#[async_trait]
impl House for LocalHouse {
    async fn agents(&self, tenant: &str) -> Result<Vec<AgentCard>, Refused> {
        self.household(tenant).await?.agents()
    }

    async fn explain(&self, tenant: &str, agent: &str, chain: &[String]) -> Result<Value, Refused> {
        self.household(tenant).await?.explain(agent, chain)
    }

    async fn tools(&self, tenant: &str) -> Result<Vec<ToolCard>, Refused> {
        Ok(self.household(tenant).await?.tools())
    }

    async fn plugins(&self, tenant: &str) -> Result<Value, Refused> {
        Ok(self.household(tenant).await?.plugins())
    }

    fn settings(&self, settings: Value) -> Result<Value, Refused> {
        TenantSettings::read(&settings).map(|_| settings)
    }

    fn quotas(&self, settings: &Value) -> Result<Quotas, Refused> {
        TenantSettings::read(settings).map(|settings| settings.quotas())
    }

    async fn secrets(&self, tenant: &str) -> Result<Vec<SecretCard>, Refused> {
        let (own, lent) = self.secrets_of(tenant).await?;
        own.list(&lent)
    }

    async fn keep_secret(&self, tenant: &str, name: &str, new: NewSecret) -> Result<SecretCard, Refused> {
        let (own, lent) = self.secrets_of(tenant).await?;
        own.keep(name, &new, &lent)
    }

    async fn remove_secret(&self, tenant: &str, name: &str) -> Result<(), Refused> {
        self.secrets_of(tenant).await?.0.remove(name)
    }

    fn forget(&self, tenant: &str) -> Result<(), Refused> {
        self.households.lock().unwrap_or_else(PoisonError::into_inner).remove(tenant);
        OwnSecrets::below(&tenant_folder(&self.settings, tenant)?).forget()
    }

    async fn offered_tools(&self, tenant: &str, agent: &str) -> Result<Offer, Refused> {
        let household = self.household(tenant).await?;
        let agent = household.offering(agent).await?;
        // Machine code may have to be loaded.
        let offered = tokio::task::spawn_blocking(move || household.offered_tools(&agent));
        offered.await.map_err(|error| Refused::Broken(error.to_string()))?
    }

    async fn offered_agents(&self, tenant: &str) -> Result<Vec<AgentOffer>, Refused> {
        self.household(tenant).await?.offered_agents()
    }

    async fn hub(&self, tenant: &str) -> Result<Arc<Delegation>, Refused> {
        Ok(self.household(tenant).await?.hub())
    }

    async fn client(
        &self,
        tenant: &str,
        agent: &str,
        watcher: Arc<dyn Watcher>,
        asker: Arc<dyn Asker>,
    ) -> Result<Client, Refused> {
        self.household(tenant).await?.client(agent, watcher, asker)
    }
}
