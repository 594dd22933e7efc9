//! What agents work with that other agents ask: the models that are configured, and tools in the same workspace.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use palisade_agent::{Agent, Provider, Runtime, Seat, Tool};
use palisade_catalog::{Chosen, Effective, Equipped, Outfitter, SharedRegistry};
use palisade_grants::Grants;
use palisade_model::{Target, suited};
use palisade_sandbox::Limits;

use crate::{
    artifacts::Shelf,
    assemble::{self, Assembly},
    choose,
    config::Config,
    outside::Place,
    serve::Ration,
    servers,
};

/// What agents work with that other agents ask.
pub(crate) struct Outfit {
    pub(crate) assembly: Arc<Assembly>,
    pub(crate) config: Arc<Config>,
    pub(crate) workspace: PathBuf,
    /// The share of whoever they work for; absent: the whole machine.
    pub(crate) ration: Option<Arc<Ration>>,
    /// Where outputs are kept that are too long for a model.
    pub(crate) data: Option<PathBuf>,
    /// The models that were connected to before, by what they are called.
    pub(crate) connected: Mutex<HashMap<String, Arc<dyn Provider>>>,
    /// The MCP servers that could not be met, with when that was. Whoever meets one keeps others from it.
    pub(crate) not_met: Arc<tokio::sync::Mutex<HashMap<String, Instant>>>,
}

/// How long a server that could not be met is left alone.
const LEFT_ALONE: Duration = Duration::from_secs(60);

#[async_trait]
impl Outfitter for Outfit {
    fn model(&self, effective: &Effective, asked_by: &Seat) -> Result<Chosen, String> {
        // Where that is may be a secret, and a model reads this.
        if let Runtime::External { .. } = &effective.agent.runtime {
            return Err(format!(
                "it works elsewhere, where nothing holds it to what `{}`, which asks, may do; only a person can start \
                 it, with `palisade run`",
                asked_by.agent.name
            ));
        }
        let (target, warning) = choose::own(&effective.agent, &self.config);
        let Some(target) = target else {
            return Ok(Chosen { provider: Arc::clone(&asked_by.provider), warning, is_outside: false });
        };
        let outside = match &target {
            Target::Outside { program, .. } => Some(self.outside(program, effective, asked_by)?),
            _ => None,
        };
        let (warning, is_outside) = (outside.clone().or(warning), outside.is_some());
        let mut connected = self.connected.lock().unwrap_or_else(PoisonError::into_inner);
        let name = target.name();
        let provider = match connected.get(&name) {
            Some(provider) => Arc::clone(provider),
            None => {
                let place = Place { config: &self.config, data: self.data.as_deref(), workspace: &self.workspace };
                let provider = assemble::connected(target, effective, &place).map_err(|error| format!("{error:#}"))?;
                Arc::clone(connected.entry(name).or_insert_with(|| Arc::from(provider)))
            }
        };
        Ok(Chosen { provider, warning, is_outside })
    }

    async fn meet(&self, agent: &Agent, ceiling: &Grants, registry: &SharedRegistry) {
        if registry.now().unmet(agent, ceiling).is_empty() {
            return;
        }
        let not_met = Arc::clone(&self.not_met);
        // What a tenant's agents have started is of its share.
        let gate = self.ration.as_ref().map(|ration| ration.gate(ration.memory(Limits::STANDARD.memory)));
        let (assembly, registry) = (Arc::clone(&self.assembly), registry.clone());
        let (agent, workspace, ceiling) = (agent.clone(), self.workspace.clone(), ceiling.clone());
        // Whoever goes away meanwhile does not start it a second time.
        let meeting = tokio::spawn(async move {
            let mut not_met = not_met.lock().await;
            for server in registry.now().unmet(&agent, &ceiling) {
                let key = server.key();
                if not_met.get(&key).is_some_and(|when| when.elapsed() < LEFT_ALONE) {
                    continue;
                }
                let _entered = match &gate {
                    Some(gate) => gate.enter().await.ok(),
                    None => None,
                };
                let (assembly, registry) = (Arc::clone(&assembly), registry.clone());
                let (workspace, ceiling) = (workspace.clone(), ceiling.clone());
                let meeting = move || servers::met_under(&assembly, &server, &registry, &workspace, &ceiling);
                match tokio::task::spawn_blocking(meeting).await {
                    Ok(true) => drop(not_met.remove(&key)),
                    Ok(false) | Err(_) => drop(not_met.insert(key, Instant::now())),
                }
            }
        });
        drop(meeting.await);
    }

    fn tools(&self, effective: &Effective, host: &[Arc<dyn Tool>]) -> Result<Equipped, String> {
        let told = |error| format!("{error:#}");
        let mut equipped = match &self.ration {
            None => self.assembly.equip(effective, &self.workspace, host).map_err(told)?,
            Some(ration) => {
                let memory = ration.memory(effective.limits.memory);
                let limits = Limits { memory, ..effective.limits };
                let effective = Effective { limits, ..effective.clone() };
                let mut equipped = self.assembly.equip(&effective, &self.workspace, host).map_err(told)?;
                equipped.toolbox = equipped.toolbox.behind(ration.gate(memory), host);
                equipped
            }
        };
        if let Some(data) = &self.data {
            equipped.toolbox = equipped.toolbox.keeping(Arc::new(Shelf::below(data)));
        }
        Ok(equipped)
    }
}

impl Outfit {
    /// Lets an agent be a program outside of the sandbox, if whoever asks it may have that; and says what that means.
    fn outside(&self, program: &str, effective: &Effective, asked_by: &Seat) -> Result<String, String> {
        let by = &asked_by.agent.name;
        if !effective.grants.outside.iter().any(|granted| granted.matches(program)) {
            return Err(format!(
                "`{program}` runs outside of the sandbox, where nothing holds it to what `{by}`, which asks, may do; \
                 `grants: {{ outside: [\"{program}\"] }}` in the definition of `{by}` and of everybody above it would \
                 allow it"
            ));
        }
        // Also where another agent has connected to it before.
        suited(&effective.agent, program).map_err(|error| error.to_string())?;
        Ok(format!(
            "it runs as `{program}`, outside of the sandbox, with the rights of whoever started this program: of what `{by}`, \
             which asks, hands down, only steps, time and tokens hold it"
        ))
    }
}
