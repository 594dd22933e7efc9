//! A folder of definitions becomes agents.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::Arc,
};

use cap_std::fs::Dir;
use palisade_agent::{Layer, Origin};

use super::{
    cache::{Cached, FileCache, Reading, TreeKey},
    discover::{Format, Seen, walk},
    found::{Found, State},
    read::{self, ReadError},
};
use crate::definition::{
    Notice, Parsed, Presence, Rejected, Severity, Source, is_valid_name, parse_markdown, parse_yaml,
};

/// A folder of definitions.
pub(super) struct Tree<'a> {
    pub(super) dir: &'a Dir,
    /// Where it is, for people and for the cache.
    pub(super) at: &'a Path,
    pub(super) layer: Layer,
    pub(super) plugin: Option<&'a str>,
    /// Files that are something else.
    pub(super) except: &'a HashSet<String>,
}

/// One file of a tree, and what became of it.
pub(super) struct Definition {
    /// Below the folder, with `/`.
    pub(super) relative: String,
    /// The name it stands for.
    pub(super) name: String,
    pub(super) origin: Origin,
    pub(super) reading: Arc<Reading>,
}

/// In folders of this name an agent is called like its file.
const NAMED_BY_FILE: &str = "subagents";

impl Tree<'_> {
    /// Reads all definitions, by path. No two of them have one name.
    pub(super) fn definitions(&self, cache: &mut FileCache, notices: &mut Vec<Notice>) -> Vec<Definition> {
        let key = TreeKey { at: self.at.to_owned(), layer: self.layer, plugin: self.plugin.map(str::to_owned) };
        let mut known = cache.take(&key);
        let mut definitions = Vec::new();
        for seen in walk(self.dir, self.at, notices) {
            if self.except.contains(&seen.relative) {
                continue;
            }
            let path = self.at.join(&seen.relative).display().to_string();
            let reading = match known.get_mut(&seen.relative) {
                Some(before) if before.is_current(&seen.stamp) => before.keep(),
                before => {
                    let before = before.map(|before| before.keep());
                    let (reading, cached) = self.read(&seen, &path, before, cache);
                    match cached {
                        Some(cached) => known.insert(seen.relative.clone(), cached),
                        None => known.remove(&seen.relative),
                    };
                    reading
                }
            };
            match &reading.name {
                Some(name) => definitions.push(Definition {
                    relative: seen.relative,
                    name: name.clone(),
                    origin: Origin { layer: self.layer, plugin: self.plugin.map(str::to_owned), path: Some(path) },
                    reading,
                }),
                // It stands in no agent's way; that it is wrong must be said all the same.
                None => notices.extend(reading.outcome.as_ref().err().into_iter().flat_map(|it| it.notices.clone())),
            }
        }
        cache.put(key, known);
        without_twins(definitions)
    }

    fn read(
        &self,
        seen: &Seen,
        path: &str,
        before: Option<Arc<Reading>>,
        cache: &mut FileCache,
    ) -> (Arc<Reading>, Option<Cached>) {
        let read_at = cache.before_reading();
        let contents = match read::read(self.dir, &seen.relative) {
            Ok(contents) => contents,
            Err(error) => return (Arc::new(unreadable(&seen.relative, path, &error)), None),
        };
        let digest = blake3::hash(&contents.bytes);
        let reading = match before {
            Some(before) if before.digest == Some(digest) => before,
            _ => Arc::new(self.parse(seen, path, &contents.bytes, digest)),
        };
        (Arc::clone(&reading), Some(Cached::new(contents.stamp, read_at, reading)))
    }

    fn parse(&self, seen: &Seen, path: &str, bytes: &[u8], digest: blake3::Hash) -> Reading {
        let stem = stem(&seen.relative);
        let is_named_by_file = self.is_named_by_file(&seen.relative);
        // A configured folder holds what was once read by its content alone, and YAML has always
        // said its name; elsewhere a Markdown file may leave it to the file's.
        let may_be_unnamed = self.layer != Layer::Configured && seen.format == Format::Markdown;
        let source = Source {
            file: path,
            origin: Origin { layer: self.layer, plugin: self.plugin.map(str::to_owned), path: Some(path.to_owned()) },
            fallback_name: may_be_unnamed.then_some(stem),
            required_name: is_named_by_file.then_some(stem),
            description: if self.plugin.is_some() { Presence::Optional } else { Presence::Required },
        };
        let parsed = match seen.format {
            Format::Markdown => parse_markdown(bytes, &source),
            Format::Yaml => parse_yaml(bytes, &source),
        };
        match parsed {
            Ok(Parsed { agent, mut warnings }) => {
                if !may_be_unnamed && !is_named_by_file && agent.name != stem {
                    let message = format!("the agent `{}` is not called like its file", agent.name);
                    warnings.push(Notice::warning(path, message));
                }
                let name = Some(agent.name.clone());
                Reading { name, digest: Some(digest), outcome: Ok(Arc::new(agent)), warnings }
            }
            Err(rejected) => {
                let name = declared_name(bytes, seen.format).or_else(|| file_name(stem));
                Reading {
                    name,
                    digest: Some(digest),
                    outcome: Err(Arc::new(said(path, rejected))),
                    warnings: Vec::new(),
                }
            }
        }
    }

    fn is_named_by_file(&self, relative: &str) -> bool {
        self.at.ends_with(NAMED_BY_FILE)
            || Path::new(relative).parent().is_some_and(|folder| folder.ends_with(NAMED_BY_FILE))
    }
}

impl Definition {
    pub(super) fn into_found(self) -> Found {
        let state = match &self.reading.outcome {
            Ok(agent) => State::Usable(Arc::clone(agent)),
            Err(rejected) => State::Broken(Arc::clone(rejected)),
        };
        let warnings = self.reading.warnings.clone();
        Found { name: self.name, origin: self.origin, state, warnings, project: None }
    }
}

/// Two files of one folder that give different agents one name are both wrong: whichever came first
/// would be chance, and a file added later could quietly take the place of one that somebody relies
/// on. The same file twice is only worth a warning.
fn without_twins(definitions: Vec<Definition>) -> Vec<Definition> {
    let mut names = HashSet::with_capacity(definitions.len());
    if definitions.iter().all(|definition| names.insert(definition.name.as_str())) {
        return definitions;
    }
    let mut places: HashMap<String, usize> = HashMap::with_capacity(definitions.len());
    let mut kept: Vec<Definition> = Vec::with_capacity(definitions.len());
    for definition in definitions {
        let Some(&place) = places.get(&definition.name) else {
            places.insert(definition.name.clone(), kept.len());
            kept.push(definition);
            continue;
        };
        let first = &mut kept[place];
        let (Some(path), Some(other)) = (&first.origin.path, &definition.origin.path) else { continue };
        let message = |other: &str| format!("the name `{}` is also that of {other}", definition.name);
        let mut reading = Reading::clone(&first.reading);
        if first.reading.digest.is_some() && first.reading.digest == definition.reading.digest {
            reading.warnings.push(Notice::warning(path, message(other) + ", which says the same"));
        } else {
            let mut notices = Vec::new();
            let twins = [(&first.reading, path, other), (&definition.reading, other, path)];
            for (reading, path, other) in twins {
                notices.extend(reading.outcome.as_ref().err().into_iter().flat_map(|it| it.notices.clone()));
                let fix = Some("give one of them another name, or remove it".to_owned());
                notices.push(Notice { fix, ..Notice::error(path, message(other)) });
            }
            reading.outcome = Err(Arc::new(Rejected { notices }));
        }
        first.reading = Arc::new(reading);
    }
    kept
}

/// A file that could not be read, by the name that most likely stands in it.
fn unreadable(relative: &str, path: &str, error: &ReadError) -> Reading {
    let notices = vec![Notice::error(path, format!("Failed to read agent file: {error}"))];
    let outcome = Err(Arc::new(Rejected { notices }));
    Reading { name: file_name(stem(relative)), digest: None, outcome, warnings: Vec::new() }
}

/// The same notices, the first error of which says what came of it.
fn said(path: &str, mut rejected: Rejected) -> Rejected {
    if let Some(first) = rejected.notices.iter_mut().find(|notice| notice.severity == Severity::Error) {
        first.message = format!("Failed to parse agent file {path}: {}", first.message);
    }
    rejected
}

/// The name that a file declares although the rest of it is wrong, if that much can be read.
fn declared_name(bytes: &[u8], format: Format) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let lines = text.lines().map(|line| line.trim_start_matches('\u{feff}'));
    let is_fenced = lines.clone().next().is_some_and(|line| line.trim_end() == "---");
    if format == Format::Markdown && !is_fenced {
        return None;
    }
    let settings = lines.skip(usize::from(is_fenced)).take_while(|line| line.trim_end() != "---");
    let mut values = settings.filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        let key = key.trim_end().trim_matches(['"', '\'']);
        matches!(key, "name" | "agentId" | "agent_id").then_some(value)
    });
    let value = values.next()?;
    let value = value.split_once(" #").map_or(value, |(value, _)| value);
    Some(value.trim().trim_matches(['"', '\'']).to_owned()).filter(|name| is_valid_name(name))
}

fn file_name(stem: &str) -> Option<String> {
    is_valid_name(stem).then(|| stem.to_owned())
}

/// The name of a file without its ending.
fn stem(relative: &str) -> &str {
    Path::new(relative).file_stem().and_then(|stem| stem.to_str()).unwrap_or(relative)
}
