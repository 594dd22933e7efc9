//! Tools of plugins: which there are, and one call of one of them.

use std::path::Path;

use anyhow::{Context as _, bail};
use palisade_agent::Agent;
use palisade_catalog::{Effective, Plugin, PluginTool, Registry, available, effective};
use palisade_grants::{Decision, Rule, canonical_tool};
use palisade_sandbox::{Call, Failure, LinkRefusal, Report};
use serde_json::{Value, json};

use super::{call::refused, first_sentence};
use crate::{
    assemble::Assembly,
    render::{Line, Style, Terminal},
};

/// A tool of a plugin.
pub(super) struct Found<'a> {
    plugin: &'a Plugin,
    tool: &'a PluginTool,
}

/// Finds a tool of a plugin by its name, or as `plugin/tool`; none if no plugin has one of that name.
pub(super) fn find<'a>(given: &str, registry: &'a Registry) -> anyhow::Result<Option<Found<'a>>> {
    let (wanted, name) = given.split_once('/').map_or((None, given), |(plugin, tool)| (Some(plugin), tool));
    let name = canonical_tool(name);
    let plugins = registry.plugins().iter().filter(|plugin| wanted.is_none_or(|wanted| plugin.name == wanted));
    let all = plugins.flat_map(|plugin| plugin.tools.iter().map(move |tool| Found { plugin, tool }));
    let mut found: Vec<Found<'_>> = all.filter(|found| canonical_tool(&found.tool.manifest.name) == name).collect();
    match (found.pop(), found.is_empty()) {
        (None, _) => Ok(None),
        (Some(only), true) => match &only.tool.refused {
            None => Ok(Some(only)),
            // A tool of this program that a plugin would shadow is still there.
            Some(_) if wanted.is_none() && palisade_catalog::BuiltIn::find(given).is_some() => Ok(None),
            Some(reason) => bail!("the tool `{given}` of the plugin `{}` is not loaded: {reason}", only.plugin.name),
        },
        (Some(last), false) => {
            let plugins: Vec<&str> = found.iter().chain([&last]).map(|found| found.plugin.name.as_str()).collect();
            bail!("the tool `{given}` is one of several plugins, {}, and none of them has it", plugins.join(" and "))
        }
    }
}

impl Found<'_> {
    pub(super) fn name(&self) -> &str {
        &self.tool.manifest.name
    }

    /// What it may do: as a tool of an agent, or without one as the only company of its plugin's other tools.
    pub(super) fn effective(&self, agent: Option<&str>, registry: &Registry) -> anyhow::Result<Effective> {
        let alone;
        let agent = match agent {
            Some(name) => registry.find(name)?,
            None => {
                alone = self.alone()?;
                &alone
            }
        };
        let effective = effective(agent, &available(registry), registry);
        let own = effective.tools.iter().find(|tool| tool.candidate.name() == self.name());
        match own.map(|tool| &tool.unavailable) {
            Some(None) => Ok(effective),
            Some(Some(reason)) => bail!("the tool `{}` cannot be called: {reason}", self.name()),
            None => {
                let excluded = effective.excluded.iter().find(|tool| tool.name == self.name());
                let reason = excluded.map_or("there is no such tool", |tool| tool.reason.as_str());
                bail!("the tool `{}` is not in the scope of `{}`: {reason}", self.name(), agent.name)
            }
        }
    }

    /// An agent that is nothing but the tools of the plugin, with what the plugin was granted over the folder that is
    /// worked in.
    fn alone(&self) -> anyhow::Result<Agent> {
        let tools = self.plugin.tools.iter().filter(|tool| tool.refused.is_none());
        let rules = tools.map(|tool| Rule::parse(&tool.manifest.name)).collect::<Result<Vec<_>, _>>();
        let name = format!("(the plugin {} alone)", self.plugin.name);
        let mut agent = Agent::new(name, "Calls one tool of a plugin, for a person.");
        agent.scope.tools = Some(rules.context("the names of the plugin's tools")?);
        Ok(agent)
    }

    /// Calls it.
    pub(super) fn call(
        &self,
        assembly: &Assembly,
        effective: &Effective,
        workspace: &Path,
        input: String,
        call: Call,
    ) -> anyhow::Result<Report> {
        let verdict = effective.decide(self.name(), &serde_json::from_str(&input)?).without_asking();
        if verdict.decision != Decision::Allow {
            bail!("the rules of `{}` refuse this call: {}", effective.agent.name, verdict.reason);
        }
        if self.tool.manifest.component.is_none() {
            let reason = "it is a native command, which an agent runs; `palisade run` has one call it".to_owned();
            return Ok(refused(LinkRefusal::Unusable(Failure::BadComponent { reason })));
        }
        let equipped = assembly.equip(effective, workspace, &[])?;
        if let Err(refusal) = equipped.link(self.name()) {
            return Ok(refused(refusal));
        }
        // On the sandbox's own thread, so that even a call stuck in the kernel comes back.
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let report = runtime.block_on(equipped.scope.call(self.name(), input, call));
        Ok(equipped.explained(self.name(), report))
    }
}

fn all(registry: &Registry) -> impl Iterator<Item = Found<'_>> {
    registry.plugins().iter().flat_map(|plugin| plugin.tools.iter().map(move |tool| Found { plugin, tool }))
}

/// The tools of plugins, as their manifests declare them.
pub(super) fn listed(registry: &Registry) -> impl Iterator<Item = Value> {
    all(registry).map(|Found { plugin, tool }| {
        let manifest = &tool.manifest;
        json!({
            "name": manifest.name,
            "plugin": plugin.name,
            "description": manifest.description,
            "capabilities": manifest.capabilities,
            "input_schema": manifest.schema,
            "granted": plugin.granted,
            "unavailable": tool.refused.as_ref().or(plugin.held_back.as_ref()),
        })
    })
}

pub(super) fn print(registry: &Registry, terminal: &Terminal) -> anyhow::Result<()> {
    for Found { plugin, tool } in all(registry) {
        let manifest = &tool.manifest;
        let needs = match manifest.capabilities.join(", ") {
            none if none.is_empty() => "nothing".to_owned(),
            needs => needs,
        };
        let line = Line::new().column(Style::Bold, &manifest.name, 8).column(Style::Plain, &needs, 18).column(
            Style::Dim,
            &format!("plugin {}", plugin.name),
            9,
        );
        let line = match tool.refused.as_ref().or(plugin.held_back.as_ref()) {
            Some(reason) => line.add(Style::Caution, &format!("unavailable: {reason}")),
            None => line.add(Style::Plain, &first_sentence(&manifest.description)),
        };
        terminal.line(&line)?;
    }
    Ok(())
}
