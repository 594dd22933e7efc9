//! Cases, tried: each in a workspace of its own, in the sandbox that agents' tools run in, with what it grants.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, bail};
use palisade_catalog::BuiltIn;
use palisade_grants::{Access, Capability, Grants, PermittedKey, StorageGrant, WorkspacePath};
use palisade_sandbox::{Call, Limits, LinkRefusal, Report, Scope, Storage, StorageError, Workspace};
use serde_json::{Map, Value};

use super::{BuiltTool, Case, files, verdict};
use crate::assemble::Assembly;

/// What came of a case.
pub(crate) struct Tried {
    pub(crate) case: Case,
    /// How long the call took.
    pub(crate) time: Duration,
    /// What is not as expected; nothing if all is.
    pub(crate) differences: Vec<String>,
    /// What the tool printed.
    pub(crate) printed: String,
}

/// One call of a tool in an empty workspace, with what is granted.
pub(crate) fn call(
    tool: &str,
    input: &Map<String, Value>,
    grant: &[String],
    tools: &[BuiltTool],
    assembly: &Assembly,
) -> anyhow::Result<Report> {
    let folder = tempfile::tempdir().context("there is no place for a workspace")?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    Ok(match stage(tool, grant, tools, assembly, folder.path())? {
        Ok(scope) => runtime.block_on(scope.call(tool, Value::Object(input.clone()).to_string(), Call::new())),
        Err(refusal) => refused(refusal),
    })
}

/// Tries the cases one after the other.
pub(crate) fn try_cases(cases: Vec<Case>, tools: &[BuiltTool], assembly: &Assembly) -> anyhow::Result<Vec<Tried>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    cases
        .into_iter()
        .map(|case| {
            let place = format!("{}: {}", case.file, case.name);
            let folder = tempfile::tempdir().context("there is no place for a workspace")?;
            for (name, text) in &case.files {
                files::write_new(&folder.path().join(inside(name)?), text.as_bytes())
                    .with_context(|| format!("{place}: the file {name}"))?;
            }
            let scope =
                stage(&case.tool, &case.grant, tools, assembly, folder.path()).with_context(|| place.clone())?;
            let input = Value::Object(case.input.clone()).to_string();
            let report = match scope {
                Ok(scope) => runtime.block_on(scope.call(&case.tool, input, Call::new())),
                Err(refusal) => refused(refusal),
            };
            let mut differences = verdict::differences(&case.expect, &report.outcome);
            differences.extend(left(&case, folder.path()).with_context(|| place)?);
            let printed =
                [&report.stdout, &report.stderr].map(|stream| String::from_utf8_lossy(&stream.kept).into_owned());
            Ok(Tried { case, time: report.cost.duration, differences, printed: printed.concat() })
        })
        .collect()
}

/// A tool in a workspace.
fn stage(
    name: &str,
    grant: &[String],
    tools: &[BuiltTool],
    assembly: &Assembly,
    folder: &Path,
) -> anyhow::Result<Result<Scope, LinkRefusal>> {
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        bail!("there is no tool `{name}`; there are {}", names.join(", "));
    };
    let workspace = Workspace::open(&folder.canonicalize()?)?;
    let storage: Arc<dyn Storage> = Arc::new(Space::default());
    let scope = Scope::open(&assembly.engine, &workspace, grants(grant)?, Limits::STANDARD, Some(storage))?;
    // What it calls is there as it is for an agent that has all it may want.
    for name in &tool.compiled.needs().toolbox {
        let Some(other) = BuiltIn::find(name) else { bail!("the tool calls `{name}`, which no case can bring") };
        scope.add(&other.load(&assembly.engine, Some(assembly.compiler()))?, &other.description(), name)?;
    }
    Ok(scope.add(&tool.compiled, &tool.description, &tool.name).map(|()| scope))
}

fn inside(name: &str) -> anyhow::Result<String> {
    let path = WorkspacePath::parse(name).with_context(|| format!("the file {name}"))?;
    Ok(path.as_str().to_owned())
}

/// How much a case may keep.
const STORAGE: u64 = 1 << 20;

fn grants(words: &[String]) -> anyhow::Result<Grants> {
    let mut grants = Grants::default();
    for word in words {
        match word.parse::<Capability>() {
            Ok(Capability::FsRead) if grants.files.is_empty() => grants.files = Grants::workspace(Access::Read).files,
            Ok(Capability::FsWrite) => grants.files = Grants::workspace(Access::ReadWrite).files,
            Ok(Capability::Storage) => grants.storage = Some(StorageGrant { bytes: STORAGE }),
            Ok(Capability::FsRead | Capability::Tools) => {}
            _ => bail!("`{word}` cannot be granted here; a case can have fs.read, fs.write, storage and tools"),
        }
    }
    Ok(grants)
}

fn refused(refusal: LinkRefusal) -> Report {
    use palisade_sandbox::{Captured, Cost, Failure};
    let failure = match refusal {
        LinkRefusal::NotGranted { denial, .. } => Failure::Denied(denial),
        LinkRefusal::Unusable(failure) => failure,
    };
    Report {
        outcome: Err(failure),
        cost: Cost::default(),
        denials: Vec::new(),
        stdout: Captured::default(),
        stderr: Captured::default(),
    }
}

/// What is not in the workspace as it should be.
fn left(case: &Case, folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut differences = Vec::new();
    for (name, wanted) in &case.leaves {
        let found = files::read_text(&folder.join(inside(name)?)).ok();
        match (wanted, found) {
            (Some(wanted), Some(found)) if *wanted != found => {
                differences.push(format!("{name} should be left otherwise:"));
                differences.extend(verdict::diff(wanted, &found));
            }
            (Some(_), None) => differences.push(format!("{name} should be there, and is not")),
            (None, Some(_)) => differences.push(format!("{name} should not be there, and is")),
            _ => {}
        }
    }
    Ok(differences)
}

/// A storage space that lasts as long as its case.
#[derive(Default)]
struct Space(Mutex<BTreeMap<String, Vec<u8>>>);

impl Space {
    fn values(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for Space {
    fn get(&self, _: &str, key: &PermittedKey) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.values().get(key.as_str()).cloned())
    }

    fn set(&self, _: &str, key: &PermittedKey, value: &[u8], most: u64) -> Result<(), StorageError> {
        let mut values = self.values();
        let others = values.iter().filter(|(name, _)| *name != key.as_str());
        let used: usize = others.map(|(name, value)| name.len() + value.len()).sum();
        if (used + key.as_str().len() + value.len()) as u64 > most {
            return Err(StorageError::Full(most));
        }
        values.insert(key.as_str().to_owned(), value.to_vec());
        Ok(())
    }

    fn delete(&self, _: &str, key: &PermittedKey) -> Result<(), StorageError> {
        self.values().remove(key.as_str());
        Ok(())
    }

    fn keys(&self, _: &str, prefix: &str) -> Result<Vec<String>, StorageError> {
        Ok(self.values().keys().filter(|key| key.starts_with(prefix)).cloned().collect())
    }
}
