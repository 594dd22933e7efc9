//! The agents of a registry, ready to be asked by each other. What one may do is worked out here and nowhere
//! else: from its definition, and from what the one that asks can hand down.

use std::{
    path::PathBuf,
    sync::{Arc, Weak},
};

use async_trait::async_trait;
use palisade_agent::{
    Agent, Asker, Ceiling, Crew, Equipment, Peer, PermissionMode, Provider, Recruit, RecruitError, Seat, Surroundings,
    Tool, Toolbox,
};
use palisade_grants::{DELEGATION, Grants};

use crate::{
    AskError, Available, Effective, Equipped, FindError, Registry, SharedRegistry, Standing, Under, available,
    effective_under, fingerprint::fingerprint, skill_tool, skills_of, surroundings,
};

/// Gives an agent what it works with. Implemented where models are known.
#[async_trait]
pub trait Outfitter: Send + Sync + 'static {
    /// The model that an agent speaks to: its own, or the one of whoever asks. A program outside of the sandbox, where
    /// no ceiling holds, is none unless the agent's grants have it.
    fn model(&self, effective: &Effective, asked_by: &Seat) -> Result<Chosen, String>;

    /// Meets the MCP servers that an agent names, may use under a ceiling, and nobody has met, so that its tools are
    /// known. May take long.
    async fn meet(&self, _agent: &Agent, _ceiling: &Grants, _registry: &SharedRegistry) {}

    /// Its tools, and of those that the host carries out the ones in its scope. May take long.
    fn tools(&self, effective: &Effective, host: &[Arc<dyn Tool>]) -> Result<Equipped, String>;
}

/// The model that an agent speaks to.
pub struct Chosen {
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// What whoever asked should know of the choice.
    pub warning: Option<String>,
    /// Whether it is a program outside of the sandbox. It has tools of its own and gets none of ours.
    pub is_outside: bool,
}

/// The agents of a registry.
pub struct LocalCrew {
    registry: SharedRegistry,
    workspace: PathBuf,
    outfitter: Arc<dyn Outfitter>,
    /// Whether nobody has a tool that the one who asks has not.
    intersects: bool,
}

impl LocalCrew {
    /// The agents of a registry, at work in a folder.
    pub fn new(registry: SharedRegistry, workspace: PathBuf, outfitter: Arc<dyn Outfitter>) -> Self {
        Self { registry, workspace, outfitter, intersects: false }
    }

    /// The same, but an agent that is asked has no tool that the one who asks has not.
    pub fn intersecting(mut self, intersects: bool) -> Self {
        self.intersects = intersects;
        self
    }

    /// What the one in a seat hands down. Worked out from its definition each time, so that no seat can hand down
    /// more than its agent may do.
    fn handed_down(&self, seat: &Seat, available: &[Available], registry: &Registry) -> Ceiling {
        let under = Under { ceiling: &seat.ceiling, asked_by: &seat.agent.name };
        let effective = effective_under(&seat.agent, available, registry, under);
        if self.intersects { effective.handed_down_with_tools() } else { effective.handed_down() }
    }
}

#[async_trait]
impl Crew for LocalCrew {
    fn peers(&self, caller: &Agent, hidden: bool) -> Vec<Peer> {
        let registry = self.registry.now();
        let peers = if hidden { registry.askable_by(caller) } else { registry.peers_of(caller) };
        let peer = |agent: &Agent| Peer {
            name: agent.name.clone(),
            display_name: agent.display_name().to_owned(),
            description: agent.description.clone(),
        };
        peers.into_iter().map(peer).collect()
    }

    fn recruit(&self, name: &str, asked_by: &Seat) -> Result<Recruit, RecruitError> {
        let registry = self.registry.now();
        let agent = registry.may_ask(&asked_by.agent, name).map_err(|error| refusal(name, error))?.clone();
        let available = available(&registry);
        let handed = self.handed_down(asked_by, &available, &registry);
        let under = Under { ceiling: &handed, asked_by: &asked_by.agent.name };
        let effective = effective_under(&agent, &available, &registry, under);
        let mut tools: Vec<String> = effective.tools.iter().map(|tool| tool.candidate.name().to_owned()).collect();
        tools.sort_unstable();
        Ok(Recruit {
            ceiling: effective.ceiling(),
            budget: effective.budget,
            tools,
            fingerprint: fingerprint(&effective, asked_by.provider.as_ref()),
            agent: effective.agent,
            cut: effective.cut,
        })
    }

    async fn learn(&self, recruit: &Recruit, asked_by: &Seat) -> bool {
        let registry = self.registry.now();
        if registry.unmet(&recruit.agent, &Grants::everything()).is_empty() {
            return false;
        }
        let handed = self.handed_down(asked_by, &available(&registry), &registry);
        if registry.unmet(&recruit.agent, &handed.grants).is_empty() {
            return false;
        }
        self.outfitter.meet(&recruit.agent, &handed.grants, &self.registry).await;
        true
    }

    async fn equip(
        &self,
        recruit: &Recruit,
        asked_by: &Seat,
        own_tools: Vec<Arc<dyn Tool>>,
    ) -> Result<Equipment, RecruitError> {
        let registry = self.registry.now();
        let unusable = |why: String| RecruitError::Unusable { name: recruit.agent.name.clone(), why };
        let under = Under { ceiling: &recruit.ceiling, asked_by: &asked_by.agent.name };
        let effective = effective_under(&recruit.agent, &available(&registry), &registry, under);
        let mut surroundings = surroundings(&effective, &registry, &self.workspace);
        let asks_others = effective.agent.scope.asks_others();
        let mut warnings = effective.warnings.clone();
        warnings.extend(skills_of(&effective, &registry.skills()).warnings);
        let standing = Standing::of(&effective, &self.registry, &asked_by.agent.name, asked_by.warrant.clone());
        let never = effective.agent.permission_mode == Some(PermissionMode::DontAsk);
        let asker = asked_by.asker.clone().filter(|_| !never);
        standing.equipping({
            // The tools are bound to a seat that holds this; those in scope live as long as the run.
            let own_tools: Vec<Weak<dyn Tool>> = own_tools.iter().map(Arc::downgrade).collect();
            let (outfitter, registry, asker) = (Arc::clone(&self.outfitter), self.registry.clone(), asker.clone());
            move |effective| {
                let own_tools = own_tools.iter().filter_map(Weak::upgrade);
                let own_tools: Vec<_> = own_tools.chain(skill_tool(effective, &registry.now())).collect();
                Ok(asking(outfitter.tools(effective, &own_tools)?.toolbox, asker.as_ref()))
            }
        });
        let own_tools: Vec<Arc<dyn Tool>> = own_tools.into_iter().chain(skill_tool(&effective, &registry)).collect();
        // A key may have to be fetched, and machine code to be loaded.
        let (outfitter, asked_by) = (Arc::clone(&self.outfitter), asked_by.clone());
        let equipping = tokio::task::spawn_blocking(move || {
            let chosen = outfitter.model(&effective, &asked_by)?;
            let equipped = (!chosen.is_outside).then(|| outfitter.tools(&effective, &own_tools)).transpose()?;
            Ok((chosen, equipped))
        });
        let equipped = equipping.await.map_err(|error| unusable(error.to_string()))?;
        let (Chosen { provider, warning, .. }, equipped) = equipped.map_err(unusable)?;
        warnings.extend(warning);
        let Some(Equipped { mut toolbox, left_out, .. }) = equipped else {
            let toolbox = Toolbox::new(Vec::new()).map_err(|error| unusable(error.to_string()))?;
            return Ok(Equipment {
                provider,
                toolbox,
                surroundings: {
                    let known_skills = surroundings.known_skills;
                    Surroundings { known_skills, ..Surroundings::default() }
                },
                warnings,
            });
        };
        // Far down there is nobody left to be asked; one sentence is enough for all the tools for that.
        let is_asking = |name: &str| DELEGATION.contains(&name);
        if !toolbox.specs().iter().any(|spec| is_asking(&spec.name)) {
            surroundings.peers = None;
            let wanted = left_out.iter().any(|tool| is_asking(&tool.tool)) && asks_others;
            warnings.extend(wanted.then(|| "it cannot ask other agents: no level is left below it".to_owned()));
        }
        let left_out = left_out.iter().filter(|tool| !is_asking(&tool.tool));
        warnings.extend(left_out.map(|tool| format!("the tool `{}` is left out: {}", tool.tool, tool.reason)));
        toolbox = asking(toolbox, asker.as_ref());
        toolbox.hold(standing);
        Ok(Equipment { provider, toolbox, surroundings, warnings })
    }
}

/// Tools of which somebody is asked where a rule wants that.
fn asking(toolbox: Toolbox, asker: Option<&Arc<dyn Asker>>) -> Toolbox {
    match asker {
        Some(asker) => toolbox.asking(Arc::clone(asker)),
        None => toolbox,
    }
}

fn refusal(name: &str, error: AskError) -> RecruitError {
    match error {
        AskError::NotAccessible(name) => RecruitError::NotAccessible(name),
        AskError::Find(FindError::Unknown { name, known }) => RecruitError::Unknown { name, available: known },
        AskError::Find(error) => RecruitError::Unusable { name: name.to_owned(), why: error.to_string() },
    }
}

#[cfg(test)]
mod tests;
