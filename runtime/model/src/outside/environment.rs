//! Which variables a program outside of the sandbox gets.
//!
//! A list of what is passed on, not of what is kept back: what runs here may have been started by a
//! package manager, a development server or with the keys of other providers.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::Path,
};

use secrecy::SecretString;

use super::{Outside, OutsideError};
use crate::Secrets;

/// Variables with their values, of which only the names are ever shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// Each variable and its value.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<T: IntoIterator<Item = (OsString, OsString)>>(variables: T) -> Self {
        Self(variables.into_iter().collect())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

/// What every program gets, and all that begins with `XDG_`.
const USUAL: [&str; 6] = ["PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR"];

/// Our own settings, and what a package manager tells the scripts it runs.
const NEVER: [&str; 2] = ["PALISADE_", "NPM_"];

/// Refuses names that are never passed on, or that are none.
pub(super) fn check(program: &'static str, names: &[String]) -> Result<(), OutsideError> {
    let wrong = |name: &&String| {
        let upper = name.to_ascii_uppercase();
        name.is_empty() || name.contains(['=', '\0']) || NEVER.iter().any(|never| upper.starts_with(never))
    };
    match names.iter().find(wrong) {
        Some(name) => Err(OutsideError::Variable { program, name: name.clone() }),
        None => Ok(()),
    }
}

/// The variables a program gets.
pub(super) fn passed_on(outside: &Outside) -> Environment {
    let listed = |name: &OsStr| {
        let usual = USUAL.iter().any(|usual| name == *usual) || name.as_bytes().starts_with(b"XDG_");
        usual || outside.env_names.iter().any(|listed| name == listed.as_str())
    };
    let variables = outside.environment.iter().filter(|(name, _)| listed(name));
    let value = |name: &OsStr, value: &OsStr| match name == "PATH" {
        true => path(value, &outside.workspace),
        false => Some(value.to_owned()),
    };
    variables.filter_map(|(name, own)| Some((name.to_owned(), value(name, own)?))).collect()
}

/// What somebody listed may be a key, unless it is as short as a number or a word.
pub(super) fn secrets(environment: &Environment, names: &[String]) -> Secrets {
    const SHORTEST: usize = 12;
    let listed = environment.iter().filter(|(name, _)| names.iter().any(|listed| *name == listed.as_str()));
    let values = listed.filter_map(|(_, value)| value.to_str().filter(|value| value.len() >= SHORTEST));
    Secrets::new(values.map(SecretString::from))
}

/// Where programs are looked for: not where a package's scripts are, and nowhere in the workspace, be it
/// by a relative name. Nothing, where nothing is left: an empty list means the folder that a program works in.
fn path(path: &OsStr, workspace: &Path) -> Option<OsString> {
    let folders: Vec<&[u8]> = path
        .as_bytes()
        .split(|byte| *byte == b':')
        .filter(|folder| {
            let folder = Path::new(OsStr::from_bytes(folder));
            folder.is_absolute() && !folder.ends_with("node_modules/.bin") && !folder.starts_with(workspace)
        })
        .collect();
    (!folders.is_empty()).then(|| OsString::from_vec(folders.join(&b':')))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn only_what_is_listed_is_passed_on() {
        let all = [
            ("PATH", "/usr/bin:/a/node_modules/.bin:bin::.:/work/bin:/work/node_modules/.bin/:/bin"),
            ("HOME", "/home/me"),
            ("XDG_CONFIG_HOME", "/home/me/.config"),
            ("npm_config_registry", "x"),
            ("NODE_OPTIONS", "--inspect"),
            ("LD_PRELOAD", "/evil.so"),
            ("ANTHROPIC_API_KEY", "key"),
            ("OPENAI_API_KEY", "key"),
            ("PALISADE_MODEL", "x"),
            ("PATHOLOGY", "x"),
        ];
        let outside = Outside {
            command: PathBuf::from("claude"),
            args: Vec::new(),
            env_names: vec!["ANTHROPIC_API_KEY".to_owned(), "NOT_SET".to_owned()],
            environment: all.map(|(name, value)| (name.into(), value.into())).into_iter().collect(),
            workspace: PathBuf::from("/work"),
            state: PathBuf::from("/state"),
        };
        let expected = [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "/home/me"),
            ("XDG_CONFIG_HOME", "/home/me/.config"),
            ("ANTHROPIC_API_KEY", "key"),
        ];
        let expected = expected.map(|(name, value)| (name.into(), value.into())).into_iter().collect();
        assert_eq!(passed_on(&outside), expected);
    }

    /// An empty `PATH` means the folder that the program works in, which is the workspace.
    #[test]
    fn programs_are_not_looked_for_in_the_workspace() {
        let workspace = Path::new("/work");
        for nothing in ["", ":", ".", "bin", "/work", "/work/bin:node_modules/.bin", "/a/node_modules/.bin"] {
            assert_eq!(path(OsStr::new(nothing), workspace), None, "{nothing}");
        }
        assert_eq!(path(OsStr::new(":/bin:"), workspace), Some("/bin".into()));
    }

    #[test]
    fn values_are_not_shown() {
        let environment: Environment = [("NAME".into(), "value".into())].into_iter().collect();
        assert_eq!(format!("{environment:?}"), r#"{"NAME"}"#);
    }

    #[test]
    fn some_variables_cannot_be_listed() {
        let check = |name: &str| check("claude-cli", &[name.to_owned()]);
        for name in ["npm_config_cache", "NPM_TOKEN", "PALISADE_KEY", "palisade_key", "", "A=B"] {
            assert!(check(name).is_err(), "{name}");
        }
        assert_eq!(check("ANTHROPIC_API_KEY"), Ok(()));
    }
}
