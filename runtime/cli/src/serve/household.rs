//! One tenant's agents, ready to be asked.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::Context as _;
use palisade_agent::{
    Agent, Asker, Budget, Ceiling, Client, DELEGATION_TOOLS, Delegation, DelegationLimits, LOCAL_TENANT, Provider,
    Purse, Usage, Watcher,
};
use palisade_catalog::{
    Effective, Explanation, FindError, LocalCrew, Outfitter as _, Registry, SharedRegistry, Under, available,
    effective, effective_under, skills_of,
};
use palisade_mcp::{AgentOffer, Offer};
use palisade_server::{AgentCard, Refused, ToolCard};
use serde_json::{Value, json};

use super::{
    LocalHouse, Ration, TenantSettings,
    secrets::{Lent, OwnSecrets, TenantVault},
};
use crate::{
    assemble::{self, Assembly},
    choose,
    config::Config,
    crew::Outfit,
    database::Database,
    offers,
    outside::Place,
    places::Lookup,
    render::words,
    settings::Settings,
};

/// How often what was loaded is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How long one request may take, whatever its agent says.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// One tenant's agents.
pub(crate) struct Household {
    tenant: String,
    workspace: PathBuf,
    registry: SharedRegistry,
    config: Arc<Config>,
    /// What its agents may do at most, but for secrets of its own.
    ceiling: Ceiling,
    /// Absent for the one who works alone, whose secrets are those of the configuration.
    secrets: Option<OwnSecrets>,
    purse: Option<Arc<Purse>>,
    model: Option<String>,
    data: Option<PathBuf>,
    hub: Arc<Delegation>,
    outfit: Arc<Outfit>,
}

/// What a tenant may do and use up.
struct Share {
    ceiling: Ceiling,
    secrets: Option<(Lent, OwnSecrets)>,
    ration: Option<Arc<Ration>>,
    purse: Option<Arc<Purse>>,
}

impl Household {
    /// Of the one who works alone: as `palisade run` has them.
    pub(crate) fn local(house: &LocalHouse) -> anyhow::Result<Self> {
        let (workspace, registry) = house.lookup.open(&house.settings)?;
        let share = Share { ceiling: Ceiling::open(), secrets: None, ration: None, purse: None };
        Self::open(house, LOCAL_TENANT, &house.settings, workspace, registry, share)
    }

    /// Of a tenant, which has used up something today: everything in a folder of its own, but the workspace, which no
    /// agent would have any of if it were where its definitions and decisions are.
    #[expect(clippy::disallowed_methods, reason = "a folder of this program, which tenants do not choose")]
    pub(crate) fn of(
        house: &LocalHouse,
        tenant: &str,
        (folder, workspace): (&Path, PathBuf),
        own: &TenantSettings,
        spent: Usage,
    ) -> anyhow::Result<Self> {
        let workspace = own.workspace.clone().unwrap_or(workspace);
        std::fs::create_dir_all(&workspace).with_context(|| workspace.display().to_string())?;
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let settings = house.settings.in_folder(folder, &workspace);
        let lookup = Lookup::in_folder(workspace, None);
        let (workspace, registry) = lookup.open(&settings)?;
        let quotas = own.quotas();
        let share = Share {
            ceiling: Ceiling { grants: own.grants(), ..Ceiling::open() },
            secrets: Some((Lent::of(&house.config, own), OwnSecrets::below(folder))),
            ration: Some(Arc::new(Ration::of(&quotas))),
            purse: Some(Arc::new(Purse::new(quotas.tokens, quotas.cost_micros, spent))),
        };
        Self::open(house, tenant, &settings, workspace, registry, share)
    }

    fn open(
        house: &LocalHouse,
        tenant: &str,
        settings: &Settings,
        workspace: PathBuf,
        registry: Registry,
        share: Share,
    ) -> anyhow::Result<Self> {
        let database = Database::of(&house.config, &house.settings);
        let assembly = Assembly::sharing(&house.engine, settings, &house.terminal, tenant);
        let assembly = assembly.keeping_in(database, &house.config);
        let Share { ceiling, secrets, ration, purse } = share;
        let (assembly, secrets) = match secrets {
            Some((lent, own)) => (assembly.with_vault(TenantVault::over(lent, own.clone())), Some(own)),
            None => (assembly, None),
        };
        let outfit = Arc::new(Outfit {
            assembly: Arc::new(assembly),
            config: Arc::clone(&house.config),
            workspace: workspace.clone(),
            ration,
            data: settings.data.clone(),
            connected: Mutex::new(HashMap::new()),
            not_met: Arc::default(),
        });
        let registry = SharedRegistry::new(registry).looking_every(LOOK_AGAIN);
        let crew = LocalCrew::new(registry.clone(), workspace.clone(), Arc::<Outfit>::clone(&outfit))
            .intersecting(house.config.typed.intersects);
        let (limits, owner) = (DelegationLimits::default(), palisade_store::this_process());
        let hub = Arc::new(Delegation::new(Arc::clone(&house.store), Arc::new(crew), limits, owner));
        let (config, data) = (Arc::clone(&house.config), settings.data.clone());
        let tenant = tenant.to_owned();
        let model = house.model.clone();
        Ok(Self { tenant, workspace, registry, config, ceiling, secrets, purse, model, data, hub, outfit })
    }

    /// What its agents may do at most. Its own secrets are for it to use; which there are may change at any time.
    fn ceiling(&self) -> Result<Ceiling, Refused> {
        let Some(secrets) = &self.secrets else { return Ok(self.ceiling.clone()) };
        let own =
            secrets.names().map_err(|error| Refused::Broken(format!("the secrets of {}: {error}", self.tenant)))?;
        let mut ceiling = self.ceiling.clone();
        let own = own.iter().filter_map(|name| name.parse().ok());
        ceiling.grants.secrets = ceiling.grants.secrets.iter().cloned().chain(own).collect();
        Ok(ceiling)
    }

    /// Where its work is done.
    pub(crate) fn hub(&self) -> Arc<Delegation> {
        Arc::clone(&self.hub)
    }

    /// Somebody who asks one of its agents.
    pub(crate) fn client(
        &self,
        agent: &str,
        watcher: Arc<dyn Watcher>,
        asker: Arc<dyn Asker>,
    ) -> Result<Client, Refused> {
        let registry = self.looked_at();
        let agent = registry.find(agent).map_err(refused)?;
        let agent = self.config.budgeted(agent);
        let place = Place { config: &self.config, data: self.data.as_deref(), workspace: &self.workspace };
        let unusable = |error: anyhow::Error| Refused::Unusable(format!("{error:#}"));
        let target = choose::choose(self.model.as_deref(), &agent, &self.config).map_err(unusable)?.target;
        let effective = effective(&agent, &available(&registry), &registry);
        let provider = assemble::connected(target, &effective, &place).map_err(unusable)?;
        let budget = Budget { steps: u32::MAX, time: LONGEST, ..agent.budget() };
        Ok(Client {
            tenant: self.tenant.clone(),
            ceiling: self.ceiling()?,
            budget,
            purse: self.purse.clone(),
            workspace: Some(self.workspace.display().to_string()),
            provider: Arc::<dyn Provider>::from(provider),
            watcher,
            asker: Some(asker),
        })
    }

    /// An agent whose tools somebody may call, with what is to be known of them.
    pub(crate) async fn offering(&self, agent: &str) -> Result<Agent, Refused> {
        let registry = self.looked_at();
        let agent = registry.find(agent).map_err(refused)?;
        if agent.hidden || !agent.ui_visible {
            return Err(Refused::Unknown(format!("`{}` is for other agents alone", agent.name)));
        }
        let agent = self.config.budgeted(agent);
        self.outfit.meet(&agent, &self.ceiling()?.grants, &self.registry).await;
        Ok(agent)
    }

    /// Its tools, for whoever calls them itself.
    pub(crate) fn offered_tools(&self, agent: &Agent) -> Result<Offer, Refused> {
        let registry = self.registry.now();
        let asked_by = format!("tenant {}", self.tenant);
        let ceiling = self.ceiling()?;
        let under = Under { ceiling: &ceiling, asked_by: &asked_by };
        let effective = effective_under(agent, &available(&registry), &registry, under);
        // Where that is is the operator's affair.
        let offered = offers::tools(&self.outfit, &self.registry, &effective, &asked_by, "a workspace");
        Ok(offered.map_err(Refused::Unusable)?.0)
    }

    /// Its agents, for whoever has them work as tools.
    pub(crate) fn offered_agents(&self) -> Result<Vec<AgentOffer>, Refused> {
        let registry = self.looked_at();
        let asked_by = format!("tenant {}", self.tenant);
        let ceiling = self.ceiling()?;
        let under = Under { ceiling: &ceiling, asked_by: &asked_by };
        let offered = offers::agents(&registry, &self.config, self.model.as_deref(), |agent, available| {
            effective_under(agent, available, &registry, under)
        });
        offered.map_err(|error| Refused::Unusable(format!("{error:#}")))
    }

    /// Its agents.
    pub(crate) fn agents(&self) -> Result<Vec<AgentCard>, Refused> {
        let registry = self.looked_at();
        let ceiling = self.ceiling()?;
        let available = available(&registry);
        let entries = registry.entries().into_iter();
        let cards = entries.filter_map(|entry| {
            let agent = entry.agent.filter(|agent| !agent.hidden && agent.ui_visible)?;
            let effective = effective(agent, &available, &registry);
            let mut tools: Vec<String> = effective.tools.iter().map(|tool| tool.candidate.name().to_owned()).collect();
            tools.sort_unstable();
            Some(AgentCard {
                name: agent.name.clone(),
                display_name: agent.display_name().to_owned(),
                description: agent.description.clone(),
                model: agent.model.as_ref().map(ToString::to_string),
                tools,
                grants: words::grants(&effective.grants.narrow(&ceiling.grants)),
                layer: agent.origin.layer.name().to_owned(),
                problem: registry.find(&agent.name).err().map(|error| error.to_string()),
            })
        });
        Ok(cards.collect())
    }

    /// What one of its agents may do, asked by the last of others, which was asked by the one before it.
    pub(crate) fn explain(&self, agent: &str, chain: &[String]) -> Result<Value, Refused> {
        let registry = self.looked_at();
        let available = available(&registry);
        let (mut ceiling, mut asked_by) = (self.ceiling()?, format!("tenant {}", self.tenant));
        let mut above: Option<Effective> = None;
        for name in chain {
            let asked = self.asked(&registry, above.as_ref(), name)?;
            let under = Under { ceiling: &ceiling, asked_by: &asked_by };
            let effective = effective_under(&asked, &available, &registry, under);
            ceiling = match self.config.typed.intersects {
                true => effective.handed_down_with_tools(),
                false => effective.handed_down(),
            };
            (asked_by, above) = (asked.name.clone(), Some(effective));
        }
        let asked = self.asked(&registry, above.as_ref(), agent)?;
        let found = registry.look_up(agent).map_err(refused)?;
        let under = Under { ceiling: &ceiling, asked_by: &asked_by };
        let effective = effective_under(&asked, &available, &registry, under);
        let skills = skills_of(&effective, &registry.skills());
        let explanation = Explanation::new(&effective, &skills, found.shadows, found.warnings(), &[]);
        let mut shown = serde_json::to_value(&explanation).map_err(|error| Refused::Broken(error.to_string()))?;
        let asks = asks(&registry, &effective);
        if let Some(shown) = shown.as_object_mut() {
            let more = [("cut", json!(effective.cut)), ("chain", json!(chain)), ("asks", json!(asks))];
            shown.extend(more.map(|(name, value)| (name.to_owned(), value)));
            if self.tenant != LOCAL_TENANT {
                // Where the operator keeps things is nobody's business.
                shown.insert("path".to_owned(), Value::Null);
            }
        }
        Ok(shown)
    }

    /// An agent as it is found, or as another one finds it.
    fn asked(&self, registry: &Registry, above: Option<&Effective>, name: &str) -> Result<Agent, Refused> {
        let agent = registry.look_up(name).map_err(refused)?.agent;
        match above {
            Some(above) if !asks(registry, above).contains(&agent.name) => {
                Err(Refused::Unusable(format!("`{}` does not ask `{}`", above.agent.name, agent.name)))
            }
            _ => Ok(self.config.budgeted(agent)),
        }
    }

    /// Its tools.
    pub(crate) fn tools(&self) -> Vec<ToolCard> {
        let registry = self.looked_at();
        let own = palisade_catalog::BuiltIn::all().map(|tool| {
            let description = tool.description();
            let capabilities = description.capabilities.iter().map(|it| it.name().to_owned()).collect();
            ToolCard { name: tool.name.to_owned(), description: description.description, capabilities, plugin: None }
        });
        let of_plugins = registry.plugins().iter().flat_map(|plugin| {
            plugin.tools.iter().filter(|tool| tool.refused.is_none()).map(|tool| ToolCard {
                name: tool.manifest.name.clone(),
                description: tool.manifest.description.clone(),
                capabilities: tool.manifest.capabilities.clone(),
                plugin: Some(plugin.name.clone()),
            })
        });
        own.chain(of_plugins).collect()
    }

    /// Its plugins.
    pub(crate) fn plugins(&self) -> Value {
        let registry = self.looked_at();
        let plugins = registry.plugins().iter().map(|plugin| {
            json!({
                "name": plugin.name, "version": plugin.version, "description": plugin.description,
                "tools": plugin.tools.iter().map(|tool| tool.manifest.name.clone()).collect::<Vec<_>>(),
                "granted": plugin.granted, "held_back": plugin.held_back,
            })
        });
        json!({ "data": plugins.collect::<Vec<_>>() })
    }

    /// The agents as they are now; if the configuration cannot be used, as they were.
    fn looked_at(&self) -> Arc<Registry> {
        drop(self.registry.refresh());
        self.registry.now()
    }
}

/// Whom an agent may ask; without a tool to ask with, nobody.
fn asks(registry: &Registry, effective: &Effective) -> Vec<String> {
    let granted = |other: &&Agent| effective.grants.agents.iter().any(|granted| granted.matches(&other.name));
    match effective.tools.iter().any(|tool| DELEGATION_TOOLS.contains(&tool.candidate.name())) {
        true => {
            let askable = registry.askable_by(&effective.agent).into_iter();
            askable.filter(granted).map(|other| other.name.clone()).collect()
        }
        false => Vec::new(),
    }
}

fn refused(error: FindError) -> Refused {
    match error {
        FindError::Unknown { .. } => Refused::Unknown(error.to_string()),
        other => Refused::Unusable(other.to_string()),
    }
}
