//! Agents outside of the sandbox, where the operator or the user allows them.

use std::path::Path;

use anyhow::{Context as _, bail};
use palisade_agent::{Agent, Layer, Provider, Runtime};
use palisade_catalog::Effective;
use palisade_model::{CliAgent, External, Outside, OutsideGrant, Program, suited};

use crate::{config::Config, settings};

/// Where a program is started from.
pub(crate) struct Place<'a> {
    /// What is configured. A project has no say in what may be outside.
    pub(crate) config: &'a Config,
    /// Where this program keeps what it has to remember.
    pub(crate) data: Option<&'a Path>,
    pub(crate) workspace: &'a Path,
}

impl Place<'_> {
    /// A program that is an agent of its own. It gets none of our tools: it has its own.
    pub(crate) fn program(
        &self,
        name: &str,
        model: Option<String>,
        effective: &mut Effective,
    ) -> anyhow::Result<Box<dyn Provider>> {
        let program = Program::find(name).with_context(|| format!("there is no program `{name}`"))?;
        let permitted = self.grant()?.permit(program)?;
        leave_out_tools(effective, name)?;
        let Some(data) = self.data else {
            bail!("there is no place to mark its sessions in; set HOME, or PALISADE_DATA_DIR");
        };
        let own = self.config.typed.outside.programs.get(name).cloned().unwrap_or_default();
        let outside = Outside {
            command: own.command.map_or_else(|| program.command().into(), Into::into),
            args: own.args,
            env_names: own.env,
            environment: settings::environment(),
            workspace: self.workspace.to_owned(),
            state: data.join("outside"),
        };
        Ok(Box::new(CliAgent::new(permitted, outside, model)?))
    }

    /// The agent elsewhere that a definition names, if it names one.
    pub(crate) fn external(&self, effective: &mut Effective) -> anyhow::Result<Option<Box<dyn Provider>>> {
        let Agent { name, runtime: Runtime::External { input_url, callback_base_url }, .. } = &effective.agent else {
            return Ok(None);
        };
        let permitted = self.grant()?.permit_external()?;
        let origin = &effective.agent.origin;
        if matches!(origin.layer, Layer::Plugin | Layer::Project) {
            // It could be any address of this machine or of its network.
            bail!(
                "`{name}` ({origin}) works elsewhere, and where messages go is not for a project or a plugin to say; \
                 if you want that, put a definition of your own beside your other agents"
            );
        }
        let external = External::new(permitted, name, input_url, callback_base_url, None)?;
        leave_out_tools(effective, External::NAME)?;
        Ok(Some(Box::new(external)))
    }

    fn grant(&self) -> anyhow::Result<OutsideGrant> {
        Ok(OutsideGrant::of_operator(self.config.typed.outside.allow.iter().cloned())?)
    }
}

/// What a provider can touch, if it is none that our grants hold for.
pub(crate) fn reach(provider: &str) -> Option<&'static str> {
    match provider {
        External::NAME => Some("elsewhere"),
        _ => Program::find(provider).map(|_| "outside of the sandbox, with your rights"),
    }
}

/// An agent without our tools, if it does not rely on what only they are held to.
fn leave_out_tools(effective: &mut Effective, provider: &str) -> anyhow::Result<()> {
    suited(&effective.agent, provider)?;
    effective.tools.clear();
    effective.grants = Default::default();
    Ok(())
}
