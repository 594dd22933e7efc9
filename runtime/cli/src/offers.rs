//! What is offered to programs that speak MCP, over standard input and over HTTP: the tools of an agent as a run of it
//! would have them, and agents.

use std::{collections::BTreeMap, sync::Arc};

use palisade_agent::{Agent, Runtime, Toolbox};
use palisade_catalog::{
    Effective, Equipped, Outfitter as _, Registry, SharedRegistry, Standing, available, skill_tool,
};
use palisade_mcp::{AgentOffer, Hints, Offer};
use palisade_model::Target;

use crate::{choose, config::Config, crew::Outfit, render::words};

/// How much of a description is passed on.
const DESCRIPTION: usize = 1024;

/// The tools of an agent, for as long and as far as nobody takes them back, and what is told of them; and why others are
/// left out. Those with which other agents are asked are for runs: outside of one there is no budget that they would draw
/// from.
pub(crate) fn tools(
    outfit: &Arc<Outfit>,
    shared: &SharedRegistry,
    effective: &Effective,
    asked_by: &str,
    place: &str,
) -> Result<(Offer, Vec<String>), String> {
    let skill: Vec<_> = skill_tool(effective, &shared.now()).into_iter().collect();
    let Equipped { mut toolbox, left_out, .. } = outfit.tools(effective, &skill)?;
    let left_out = left_out.iter().map(|tool| format!("the tool `{}` is left out: {}", tool.tool, tool.reason));
    let left_out = left_out.collect();
    let hints = hints(effective, &toolbox);
    let standing = Standing::of(effective, shared, asked_by, None);
    let (outfit, shared) = (Arc::clone(outfit), shared.clone());
    standing.equipping(move |effective| {
        let skill: Vec<_> = skill_tool(effective, &shared.now()).into_iter().collect();
        Ok(outfit.tools(effective, &skill)?.toolbox)
    });
    toolbox.hold(standing);
    let grants = words::grants(&effective.grants);
    let instructions = format!(
        "The tools of the Palisade agent `{}`. They work in {place}, paths are relative to it, and each call runs in a \
         sandbox that holds no more than: {grants}. A call that is refused says what would allow it.",
        effective.agent.name
    );
    let agents = Toolbox::new(Vec::new()).map_err(|error| error.to_string())?;
    Ok((Offer { tools: toolbox, agents, hints, instructions }, left_out))
}

/// What is told of each tool; it follows from what it may touch.
fn hints(effective: &Effective, toolbox: &Toolbox) -> BTreeMap<String, Hints> {
    let one = |spec: &palisade_agent::ToolSpec| {
        let tool = effective.tools.iter().find(|tool| tool.candidate.name() == spec.name)?;
        let reach = effective.reach_of(tool);
        let hints = Hints::of(reach, spec.idempotent).reaching_out(effective.programs_reach_out(reach));
        Some((spec.name.clone(), hints))
    };
    toolbox.specs().iter().filter_map(one).collect()
}

/// The agents that are offered as tools, with what a run of each may do. Those that work outside of the sandbox are not:
/// nothing holds them to anything, so only a person starts one.
pub(crate) fn agents(
    registry: &Registry,
    config: &Config,
    model: Option<&str>,
    effective: impl Fn(&Agent, &[palisade_catalog::Available]) -> Effective,
) -> anyhow::Result<Vec<AgentOffer>> {
    let available = available(registry);
    let mut offers = Vec::new();
    for agent in registry.list_visible() {
        let target = match choose::choose(model, agent, config) {
            Ok(choice) => Some(choice.target),
            // What was named here has to be there; what a definition names is told to whoever runs it.
            Err(error) if model.is_some() => return Err(error),
            Err(_) => None,
        };
        let is_outside = matches!(target, Some(Target::Outside { .. })) || is_elsewhere(agent);
        if !is_outside {
            let is_here = matches!(target, Some(Target::Offline | Target::Scripted(_)));
            let effective = effective(agent, &available);
            let reach = effective.reach();
            let hints = Hints::of(&reach, false).reaching_out(!is_here || effective.programs_reach_out(&reach));
            offers.push(AgentOffer { name: agent.name.clone(), description: described(&agent.description), hints });
        }
    }
    Ok(offers)
}

fn is_elsewhere(agent: &Agent) -> bool {
    matches!(agent.runtime, Runtime::External { .. })
}

/// A description of an agent or a tool on one line.
pub(crate) fn described(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(DESCRIPTION).collect()
}
