//! What is left of an agent's rights while it works. A run keeps the definitions it began with; but what somebody takes
//! back (trust, a plugin, a part of the operator's ceiling, anything of an agent above) is gone from the next call on, and
//! nothing that is decided meanwhile gives it more than it began with.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use palisade_agent::{Agent, Ceiling, Toolbox, Warrant};
use palisade_grants::Grants;

use crate::{Effective, EffectiveTool, PluginComponent, ServerTool, SharedRegistry, Under, available, effective_under};

/// Gives an agent tools for what it may do.
type Equip = Box<dyn Fn(&Effective) -> Result<Toolbox, String> + Send + Sync>;

/// What is left of the rights of one agent at work.
pub struct Standing {
    registry: SharedRegistry,
    /// Its definition, as it was when it began.
    agent: Agent,
    asked_by: String,
    /// What is left to the one that asked it.
    above: Option<Arc<dyn Warrant>>,
    equip: OnceLock<Equip>,
    state: Mutex<State>,
}

struct State {
    /// What the rights were last worked out from; nothing: they were not since it began.
    seen: Option<(u64, Option<Ceiling>)>,
    ceiling: Ceiling,
    tools: BTreeMap<String, Kept>,
    /// Less than it began with.
    lowered: Option<Lowered>,
    revoked: Option<String>,
}

/// What a tool was when it was last linked.
#[derive(Clone, Debug, PartialEq)]
struct Kept {
    grants: Grants,
    /// A component of a plugin is another one when its file, or what its plugin was granted, has changed.
    component: Option<Arc<PluginComponent>>,
    /// Likewise a tool of a server when the server is another one, or has said something else of it.
    server: Option<Arc<ServerTool>>,
}

struct Lowered {
    effective: Effective,
    toolbox: Option<Arc<Toolbox>>,
}

impl Standing {
    /// Of an agent that begins to work with these rights, below the one with that warrant.
    pub fn of(
        effective: &Effective,
        registry: &SharedRegistry,
        asked_by: &str,
        above: Option<Arc<dyn Warrant>>,
    ) -> Arc<Self> {
        let state =
            State { seen: None, ceiling: effective.ceiling(), tools: kept(effective), lowered: None, revoked: None };
        Arc::new(Self {
            registry: registry.clone(),
            agent: effective.agent.clone(),
            asked_by: asked_by.to_owned(),
            above,
            equip: OnceLock::new(),
            state: Mutex::new(state),
        })
    }

    /// Says how the agent gets tools when it is left with less.
    pub fn equipping(&self, equip: impl Fn(&Effective) -> Result<Toolbox, String> + Send + Sync + 'static) {
        let _first = self.equip.set(Box::new(equip));
    }

    /// What is left, worked out anew if anything may have changed.
    fn look(&self) -> Result<MutexGuard<'_, State>, String> {
        let above = self.above.as_ref().map(|above| above.ceiling()).transpose()?;
        let (revision, registry) = self.registry.looked_at();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = &state.revoked {
            return Err(why.clone());
        }
        if state.seen.as_ref().is_some_and(|(seen, from)| *seen == revision && *from == above) {
            return Ok(state);
        }
        if let Some(why) = registry.withdrawn(&self.agent) {
            let why = format!("the agent `{}` may do nothing any more: {why}", self.agent.name);
            state.revoked = Some(why.clone());
            return Err(why);
        }
        let most = above.as_ref().map_or_else(|| state.ceiling.clone(), |above| state.ceiling.narrow(above));
        let under = Under { ceiling: &most, asked_by: &self.asked_by };
        let mut effective = effective_under(&self.agent, &available(&registry), &registry, under);
        // Tools that have come since are for those who begin now.
        effective.tools.retain(|tool| tool.unavailable.is_none() && state.tools.contains_key(tool.candidate.name()));
        for tool in &mut effective.tools {
            if let Some(kept) = state.tools.get(tool.candidate.name()) {
                tool.grants = tool.grants.narrow(&kept.grants);
            }
        }
        let (ceiling, tools) = (effective.ceiling().narrow(&most), kept(&effective));
        if ceiling != state.ceiling || tools != state.tools {
            state.lowered = Some(Lowered { effective, toolbox: None });
            (state.ceiling, state.tools) = (ceiling, tools);
        }
        state.seen = Some((revision, above));
        Ok(state)
    }
}

impl Warrant for Standing {
    fn ceiling(&self) -> Result<Ceiling, String> {
        Ok(self.look()?.ceiling.clone())
    }

    fn tools(&self) -> Result<Option<Arc<Toolbox>>, String> {
        let mut state = self.look()?;
        let Some(lowered) = &mut state.lowered else { return Ok(None) };
        if lowered.toolbox.is_none() {
            let equip = self.equip.get().ok_or("something was taken from this agent, and nobody can link its tools")?;
            let toolbox = equip(&lowered.effective)
                .map_err(|why| format!("something was taken from this agent, and its tools do not link: {why}"))?;
            lowered.toolbox = Some(Arc::new(toolbox));
        }
        Ok(lowered.toolbox.clone())
    }
}

fn kept(effective: &Effective) -> BTreeMap<String, Kept> {
    let one = |tool: &EffectiveTool| {
        let kept = Kept { grants: tool.grants.clone(), component: tool.component.clone(), server: tool.server.clone() };
        (tool.candidate.name().to_owned(), kept)
    };
    effective.tools.iter().filter(|tool| tool.unavailable.is_none()).map(one).collect()
}
