//! Folders of skills become skills.

use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::fs::{Dir, MetadataExt as _};
use palisade_agent::{Layer, Origin};

use super::{FoundSkill, SKILL_FILE, SkillPlaces, Skills, State};
use crate::{
    definition::{Notice, ParsedSkill, Rejected, Severity, is_skill_name, parse_skill},
    registry::{
        CheckError, ProjectFile,
        layers::switched_off,
        places::Folder,
        read::{self, ReadError},
        trust::{Trust, real_path},
    },
};

/// How many entries a folder of skills may have. Each is read for each run.
const MAX_ENTRIES: usize = 1000;

impl SkillPlaces {
    /// Reads the skills there are now.
    pub fn look(&self) -> Skills {
        let mut skills = Skills::default();
        for plugin in &self.plugins {
            let at = plugin.path.join(super::FOLDER);
            match plugin.skills() {
                None => {}
                Some(Ok(dir)) => {
                    let root = Root { dir: &dir, at: &at, layer: Layer::Plugin, plugin: Some(&plugin.name) };
                    root.read(&mut skills.problems).into_iter().for_each(|found| skills.insert(found));
                }
                Some(Err(error)) => skills.problems.push(unreadable(&at, &error.into())),
            }
        }
        let mut seen = HashSet::new();
        let mut project = None;
        for folder in self.places.skill_folders(&self.compat) {
            let dir = match open(&folder, self.places.workspace.as_deref()) {
                Ok(dir) => dir,
                Err(error) if error.is_missing() => continue,
                Err(error) => {
                    skills.problems.push(unreadable(&folder.at, &error));
                    continue;
                }
            };
            // The same folder by another path: the user's skills do not become the project's by that.
            if dir.dir_metadata().is_ok_and(|meta| !seen.insert((meta.dev(), meta.ino()))) {
                continue;
            }
            let root = Root { dir: &dir, at: &folder.at, layer: folder.layer, plugin: None };
            for mut found in root.read(&mut skills.problems) {
                if let Some(below) = &folder.below_workspace {
                    project.get_or_insert_with(|| Project::new(self)).decide(&mut found, below);
                }
                if let Some(setting) = switched_off(&self.settings, folder.layer) {
                    let reason = format!("the configuration says `{setting}: false`, which holds for skills, too");
                    found.state = State::Refused(reason);
                }
                skills.insert(found);
            }
        }
        skills.problems.extend(project.and_then(|project| project.trust.notice().cloned()));
        skills
    }
}

/// Opens a folder. The project's is reached without any link, so that where a skill is said to be is where it is;
/// the others are where the user put them.
fn open(folder: &Folder, workspace: Option<&Path>) -> Result<Dir, ReadError> {
    match (&folder.below_workspace, workspace) {
        (Some(below), Some(workspace)) => {
            read::open_dir_unlinked(&Dir::open_ambient_dir(workspace, cap_std::ambient_authority())?, below)
        }
        _ => Ok(Dir::open_ambient_dir(&folder.at, cap_std::ambient_authority())?),
    }
}

fn unreadable(at: &Path, error: &ReadError) -> Notice {
    Notice::warning(at.display().to_string(), format!("Failed to read skill directory: {error}"))
}

/// A folder of skills.
struct Root<'a> {
    dir: &'a Dir,
    /// As it is shown to people.
    at: &'a Path,
    layer: Layer,
    plugin: Option<&'a str>,
}

impl Root<'_> {
    /// The skills of the folder, by name.
    fn read(&self, notices: &mut Vec<Notice>) -> Vec<FoundSkill> {
        let names = match self.names() {
            Ok(names) => names,
            Err(error) => {
                notices.push(unreadable(self.at, &error.into()));
                return Vec::new();
            }
        };
        if names.len() > MAX_ENTRIES {
            let message = format!("it has more than {MAX_ENTRIES} entries; nothing of it was loaded");
            notices.push(Notice::error(self.at.display().to_string(), message));
            return Vec::new();
        }
        names.iter().filter_map(|name| self.skill(name, notices)).collect()
    }

    /// What might be skills: whatever is a folder, or a link to one, and not hidden.
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in self.dir.entries()?.take(MAX_ENTRIES * 2) {
            let entry = entry?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink());
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_folder && !name.starts_with('.') {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn skill(&self, name: &str, notices: &mut Vec<Notice>) -> Option<FoundSkill> {
        let below = format!("{name}/{SKILL_FILE}");
        let path = self.at.join(&below).display().to_string();
        let contents = match self.layer {
            Layer::Project => read::read_unlinked(self.dir, &below),
            _ => read::read(self.dir, &below),
        };
        let contents = match contents {
            Err(error) if error.is_missing() || is_no_folder(&error) => {
                let message = format!("there is no {SKILL_FILE} in it, so it is no skill");
                notices.push(Notice::warning(self.at.join(name).display().to_string(), message));
                return None;
            }
            contents => contents,
        };
        if !is_skill_name(name) {
            let fix = "use 1 to 64 lower-case letters, digits and single `-` between them".to_owned();
            let notice = Notice::error(path, "the name of its folder cannot be the name of a skill");
            notices.push(Notice { fix: Some(fix), ..notice });
            return None;
        }
        let plugin = self.plugin.map(str::to_owned);
        let origin = Origin { layer: self.layer, plugin, path: Some(path.clone()) };
        let broken = |rejected| (State::Broken(rejected), Vec::new());
        let (digest, (state, warnings)) = match contents {
            Err(error) => {
                let notice = Notice::error(path, format!("Failed to read skill file: {error}"));
                (None, broken(Rejected { notices: vec![notice] }))
            }
            Ok(contents) => {
                let parsed = parse_skill(&contents.bytes, &path, name, origin.clone());
                let usable = |ParsedSkill { skill, warnings }| (State::Usable(Arc::new(skill)), warnings);
                (Some(blake3::hash(&contents.bytes)), parsed.map_or_else(broken, usable))
            }
        };
        let folder = self.dir.open_dir(name).ok();
        Some(FoundSkill { name: name.to_owned(), origin, warnings, project: None, state, digest, folder })
    }
}

/// A link to a file lies there, or nothing that a path leads through.
fn is_no_folder(error: &ReadError) -> bool {
    matches!(error, ReadError::Io(error) if error.kind() == io::ErrorKind::NotADirectory)
}

/// Whom a project's skills have to be trusted by.
struct Project {
    workspace: PathBuf,
    trust: Trust,
}

impl Project {
    fn new(places: &SkillPlaces) -> Self {
        let places = &places.places;
        let trust = places.trust.as_deref().map(Trust::load).unwrap_or_default();
        Self { workspace: places.workspace.as_deref().map(real_path).unwrap_or_default(), trust }
    }

    /// Lets a skill be used if the bytes it was read from are trusted.
    fn decide(&self, found: &mut FoundSkill, below: &str) {
        let Some(digest) = found.digest else { return };
        let relative = format!("{below}/{}/{SKILL_FILE}", found.name);
        let decided = self.trust.decided(&self.workspace, &relative);
        let changed = decided.is_some_and(|decided| decided != digest);
        found.project = Some(ProjectFile { workspace: self.workspace.clone(), relative, digest, changed });
        if let (State::Usable(skill), true) = (&found.state, decided != Some(digest)) {
            found.state = State::Untrusted(Arc::clone(skill));
        }
    }
}

/// What was looked at.
#[derive(Clone, Debug, Default)]
pub struct CheckedSkills {
    /// The names of the skills that can be used.
    pub skills: Vec<String>,
    /// Everything that is worth saying.
    pub notices: Vec<Notice>,
    /// How many files there were.
    pub files: usize,
}

impl Skills {
    /// Every skill that was found, whether or not it is used.
    pub fn check(&self) -> CheckedSkills {
        let mut checked = CheckedSkills { notices: self.problems.clone(), ..CheckedSkills::default() };
        self.stacks.values().flatten().for_each(|found| checked.add(found));
        checked
    }
}

/// Looks at what somebody names: a `SKILL.md`, the folder of a skill, or a folder of such folders.
pub fn check_skills(paths: &[PathBuf]) -> Result<CheckedSkills, CheckError> {
    let mut checked = CheckedSkills::default();
    for path in paths {
        let failed = |error: io::Error| CheckError { path: path.clone(), error };
        let real = path.canonicalize().map_err(failed)?;
        let folder = if real.file_name().is_some_and(|name| name == SKILL_FILE) { real.parent() } else { Some(&*real) };
        let folder = folder.ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
        let dir = Dir::open_ambient_dir(folder, cap_std::ambient_authority()).map_err(failed)?;
        let name = folder.file_name().and_then(|name| name.to_str()).zip(folder.parent());
        let (mut notices, one) = (Vec::new(), dir.symlink_metadata(SKILL_FILE).is_ok());
        let found = match name.filter(|_| one) {
            Some((name, above)) => {
                let dir = Dir::open_ambient_dir(above, cap_std::ambient_authority()).map_err(failed)?;
                let root = Root { dir: &dir, at: above, layer: Layer::User, plugin: None };
                root.skill(name, &mut notices).into_iter().collect()
            }
            None => Root { dir: &dir, at: folder, layer: Layer::User, plugin: None }.read(&mut notices),
        };
        checked.files += notices.iter().filter(|notice| notice.severity == Severity::Error).count();
        checked.notices.append(&mut notices);
        for found in &found {
            if let State::Broken(rejected) = &found.state {
                checked.notices.extend(rejected.notices.iter().cloned());
            }
            checked.add(found);
        }
    }
    Ok(checked)
}

impl CheckedSkills {
    fn add(&mut self, found: &FoundSkill) {
        self.files += 1;
        self.notices.extend(found.warnings.iter().cloned());
        self.skills.extend(found.skill().map(|skill| skill.name.clone()));
    }
}
