//! The tools of one agent, as a run of it would have them.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use palisade_agent::Toolbox;
use palisade_catalog::{Effective, SharedRegistry, Standing, skill_tool};
use palisade_mcp::Hints;

use crate::{assemble::Assembly, config::Config, conversation::in_use, render::Terminal, settings::Settings};

/// Where an agent gets its tools.
pub(super) struct Workbench<'a> {
    assembly: Arc<Assembly>,
    shared: SharedRegistry,
    workspace: PathBuf,
    /// Where outputs are kept that are too long for a model.
    data: Option<PathBuf>,
    terminal: &'a Terminal,
}

impl<'a> Workbench<'a> {
    /// Starts an engine for one agent.
    pub(super) fn new(
        settings: &Settings,
        terminal: &'a Terminal,
        config: &Config,
        workspace: PathBuf,
        shared: SharedRegistry,
    ) -> anyhow::Result<Self> {
        let assembly = Arc::new(Assembly::start_at(settings, terminal, config.typed.apart)?.reaching(config));
        Ok(Self { assembly, shared, workspace, data: settings.data.clone(), terminal })
    }

    /// The tools, for as long and as far as nobody takes them back, and what is told of them. Those with which other
    /// agents are asked are for runs: outside of one there is no budget that they would draw from.
    pub(super) fn toolbox(self, effective: Effective) -> anyhow::Result<(Toolbox, BTreeMap<String, Hints>)> {
        let Self { assembly, shared, workspace, data, terminal } = self;
        let skill: Vec<_> = skill_tool(&effective, &shared.now()).into_iter().collect();
        let equipped = assembly.equip(&effective, &workspace, &skill)?;
        for tool in &equipped.left_out {
            terminal.warning(&format!("the tool `{}` is left out: {}", tool.tool, tool.reason));
        }
        let mut toolbox = in_use(equipped.toolbox, None, data.as_deref());
        let hints = hints(&effective, &toolbox);
        let standing = Standing::of(&effective, &shared, &effective.agent.name, None);
        standing.equipping(move |effective| {
            let skill: Vec<_> = skill_tool(effective, &shared.now()).into_iter().collect();
            let equipped = assembly.equip(effective, &workspace, &skill).map_err(|error| format!("{error:#}"))?;
            Ok(in_use(equipped.toolbox, None, data.as_deref()))
        });
        toolbox.hold(standing);
        Ok((toolbox, hints))
    }
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
