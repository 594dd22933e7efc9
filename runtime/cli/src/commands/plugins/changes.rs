//! What is new in a version.

use palisade_catalog::{Granted, Locked};
use palisade_packages::Package;
use serde_json::{Value, json};

use super::summary::Summary;

/// What is new, compared with what was installed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) version: Option<(String, String)>,
    pub(super) is_older: bool,
    pub(super) tools_added: Vec<String>,
    pub(super) tools_removed: Vec<String>,
    /// Their description or schema says something else.
    pub(super) tools_changed: Vec<String>,
    /// Files that are new, gone or different, without the manifest and without components.
    pub(super) files: Vec<String>,
    pub(super) components: Vec<String>,
    /// Words that it did not ask for before.
    pub(super) asks_for_more: Vec<String>,
    pub(super) signer: Option<String>,
}

impl Changes {
    pub(super) fn between(before: &Locked, summary: &Summary, package: &Package) -> Self {
        let mut changes = Self::default();
        let name = |version: &Option<String>| version.clone().unwrap_or_else(|| "no version".to_owned());
        if before.version != summary.version {
            changes.version = Some((name(&before.version), name(&summary.version)));
        }
        changes.is_older = is_older(summary.version.as_deref(), before.version.as_deref());
        let pins = summary.pins();
        for (tool, pin) in &pins {
            match before.tools.get(tool) {
                None => changes.tools_added.push(tool.clone()),
                Some(before) if before != pin => changes.tools_changed.push(tool.clone()),
                Some(_) => {}
            }
        }
        changes.tools_removed = before.tools.keys().filter(|tool| !pins.contains_key(*tool)).cloned().collect();
        let files = package.pins();
        let is_other = |path: &&String| files.get(*path).map(|pin| pin.hex()).as_ref() != before.files.get(*path);
        let mut other: Vec<String> = files
            .keys()
            .chain(before.files.keys().filter(|path| !files.contains_key(*path)))
            .filter(is_other)
            .cloned()
            .collect();
        other.sort();
        (changes.components, changes.files) = other.into_iter().partition(|path| path.ends_with(".wasm"));
        let more = summary.asked.words().into_iter();
        changes.asks_for_more = more.filter(|word| !within(word, &before.asked)).collect();
        if before.signer.as_deref() != summary.signer() {
            let who = |signer: Option<&str>| signer.unwrap_or("nobody").to_owned();
            changes.signer = Some(format!("{} → {}", who(before.signer.as_deref()), who(summary.signer())));
        }
        changes
    }

    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// In words, one line each.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some((before, now)) = &self.version {
            let older = if self.is_older { ", which is OLDER" } else { "" };
            lines.push(format!("version {before} → {now}{older}"));
        }
        for (what, names) in [
            ("asks for more: ", &self.asks_for_more),
            ("new tools: ", &self.tools_added),
            ("tools that say something else (name, description or schema): ", &self.tools_changed),
            ("tools that are gone: ", &self.tools_removed),
            ("other components: ", &self.components),
            ("other files: ", &self.files),
        ] {
            if !names.is_empty() {
                lines.push(format!("{what}{}", names.join(", ")));
            }
        }
        lines.extend(self.signer.iter().map(|signer| format!("signed by {signer}")));
        lines
    }

    pub(super) fn value(&self) -> Value {
        json!({
            "version": self.version.as_ref().map(|(before, now)| json!({ "from": before, "to": now })),
            "older": self.is_older,
            "asks_for_more": self.asks_for_more,
            "tools_added": self.tools_added,
            "tools_changed": self.tools_changed,
            "tools_removed": self.tools_removed,
            "components": self.components,
            "files": self.files,
            "signer": self.signer,
        })
    }
}

fn within(word: &str, other: &Granted) -> bool {
    Granted::parse([word]).is_ok_and(|word| word.is_within(other))
}

/// Whether a version is an earlier one; what is no number is not compared.
fn is_older(version: Option<&str>, than: Option<&str>) -> bool {
    let numbers = |text: &str| -> Option<Vec<u64>> {
        let core = text.trim_start_matches('v').split(['-', '+']).next()?;
        core.split('.').map(|part| part.parse().ok()).collect()
    };
    match (version.and_then(numbers), than.and_then(numbers)) {
        (Some(version), Some(than)) => version < than,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_older;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let check = |version: &str, than: &str| is_older(Some(version), Some(than));
        assert!(check("1.2.3", "1.10.0") && check("0.9", "1.0.0") && check("v1.0.0", "1.0.1"));
        assert!(!check("1.0.0", "1.0.0") && !check("2.0.0", "1.9.9") && !check("main", "1.0.0"));
        assert!(!is_older(None, Some("1.0.0")));
    }
}
