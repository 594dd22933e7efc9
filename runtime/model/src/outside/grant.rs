//! The permission to run something outside of the sandbox.

use std::collections::BTreeSet;

use thiserror::Error;

use super::Program;

/// What `[outside] allow` calls agents of `type: external`.
const EXTERNAL: &str = "external";

/// What may run outside of the sandbox. Nothing, unless the operator's or the user's own configuration
/// names it: a project's files must never lead to one that is not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutsideGrant {
    allowed: BTreeSet<String>,
}

/// A program that a grant lets run. Only [`OutsideGrant::permit`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PermittedProgram(Program);

/// The permission to speak to agents elsewhere. Only [`OutsideGrant::permit_external`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PermittedExternal(());

/// Something that no grant lets run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{name}` runs outside of the sandbox; allow it with `allow = [\"{name}\"]` in [outside] of your own configuration"
)]
pub struct NotAllowed {
    /// What was asked for.
    pub name: &'static str,
}

/// A name that means nothing outside of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no `{name}` outside of the sandbox; there are claude-cli, codex-cli, pi-cli and external")]
pub struct UnknownOutsider {
    /// The name.
    pub name: String,
}

impl OutsideGrant {
    /// What `[outside] allow` of the operator's and the user's configuration says.
    pub fn of_operator(names: impl IntoIterator<Item = String>) -> Result<Self, UnknownOutsider> {
        let allowed = names.into_iter().map(|name| match name.as_str() {
            EXTERNAL => Ok(name),
            _ if Program::find(&name).is_some() => Ok(name),
            _ => Err(UnknownOutsider { name }),
        });
        Ok(Self { allowed: allowed.collect::<Result<_, _>>()? })
    }

    /// Lets a program run, if it may.
    pub fn permit(&self, program: Program) -> Result<PermittedProgram, NotAllowed> {
        self.require(program.name()).map(|()| PermittedProgram(program))
    }

    /// Lets agents elsewhere be spoken to, if they may.
    pub fn permit_external(&self) -> Result<PermittedExternal, NotAllowed> {
        self.require(EXTERNAL).map(PermittedExternal)
    }

    fn require(&self, name: &'static str) -> Result<(), NotAllowed> {
        if self.allowed.contains(name) { Ok(()) } else { Err(NotAllowed { name }) }
    }
}

impl PermittedProgram {
    /// Which one.
    pub fn program(self) -> Program {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// O3
    #[test]
    fn nothing_runs_outside_unless_it_is_named() {
        let nothing = OutsideGrant::default();
        for program in Program::ALL {
            let error = nothing.permit(program).unwrap_err().to_string();
            assert!(error.contains(&format!("allow = [\"{}\"]", program.name())), "{error}");
        }
        assert!(nothing.permit_external().is_err());
        let claude = OutsideGrant::of_operator(["claude-cli".to_owned()]).unwrap();
        assert_eq!(claude.permit(Program::Claude).map(PermittedProgram::program), Ok(Program::Claude));
        assert!(claude.permit(Program::Codex).is_err() && claude.permit_external().is_err());
        assert!(OutsideGrant::of_operator(["external".to_owned()]).unwrap().permit_external().is_ok());
        assert!(OutsideGrant::of_operator(["claude".to_owned()]).is_err());
    }
}
