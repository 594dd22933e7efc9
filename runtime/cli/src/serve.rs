//! `palisade serve` behind its routes: every tenant's agents, and what they work with.

mod household;
pub(crate) mod log;
mod ration;
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
use palisade_server::{AgentCard, House, Quotas, Refused, ToolCard};
use palisade_store::Tenants;
use serde_json::Value;

use crate::{config::Config, places::Lookup, render::Terminal, settings::Settings};

pub(crate) use household::Household;
pub(crate) use ration::Ration;
pub(crate) use tenant_settings::TenantSettings;

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
    /// Where a tenant's agents, plugins and decisions are, and its workspace if nothing else is said.
    fn folder(&self, tenant: &str) -> Result<PathBuf, Refused> {
        let data = self.settings.data.as_ref();
        let data = data.ok_or_else(|| Refused::Broken("there is no data folder".to_owned()))?;
        Ok(data.join("tenants").join(tenant))
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
                Household::of(self, tenant, &self.folder(tenant)?, &own, spent)
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
        Ok(self.household(tenant).await?.agents())
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

    async fn offered_tools(&self, tenant: &str, agent: &str) -> Result<Offer, Refused> {
        let (household, agent) = (self.household(tenant).await?, agent.to_owned());
        // Machine code may have to be loaded, and a server of others to be met.
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
