//! What the rules of a scope say about paths and hosts, as grants. A rule is asked before a call; a
//! grant holds inside of it, for whatever the tool does and for every other tool.

use super::ToolScope;
use crate::{Access, FilesGrant, Grants, Host, HttpGrant, PathPattern, Reach, Rule, Specifier, WorkspacePath};

impl ToolScope {
    /// What the deny rules leave of some grants: `Read(p)` hides what fits from every tool,
    /// `Write(p)` and `Edit(p)` keep it from being changed by any.
    pub fn restrict(&self, grants: &Grants) -> Grants {
        let denied = || self.disallowed.iter().chain(&self.permissions.deny);
        let patterns = |tools: &'static [&'static str]| {
            denied()
                .filter(|rule| tools.contains(&rule.tool()))
                .filter_map(path)
                .filter(|path| !path.is_universal())
                .cloned()
        };
        let files = grants.files.clone().hiding(patterns(&["read"])).freezing(patterns(&["write", "edit"]));
        Grants { files, ..grants.clone() }
    }

    /// What one tool can reach of some grants, if its allow rules name folders: a tool that is
    /// allowed as `Read(src/**)` and not otherwise finds nothing but `src`.
    pub fn narrow_for(&self, tool: &str, grants: &Grants) -> Grants {
        let lists = [self.tools.as_deref(), self.permissions.allow.as_deref()];
        let files = lists.into_iter().flatten().fold(grants.files.clone(), |files, rules| match folders(rules, tool) {
            Some(folders) => files.narrow(&folders),
            None => files,
        });
        Grants { files, ..grants.clone() }
    }

    /// The hosts that allow rules name.
    pub fn hosts(&self) -> HttpGrant {
        let rules = self.tools.iter().flatten().chain(self.permissions.allow.iter().flatten());
        let domains = rules.filter_map(|rule| match rule.specifier() {
            Some(Specifier::Domain(domain)) => domain.as_str().parse::<Host>().ok(),
            _ => None,
        });
        Reach::new(domains)
    }
}

fn path(rule: &Rule) -> Option<&PathPattern> {
    match rule.specifier() {
        Some(Specifier::Path(path)) => Some(path),
        _ => None,
    }
}

/// The folders that a list of allow rules lets a tool reach; none if some rule names no folder.
fn folders(rules: &[Rule], tool: &str) -> Option<FilesGrant> {
    let mut folders = Vec::new();
    for rule in rules.iter().filter(|rule| rule.matches_tool(tool)) {
        match path(rule)?.literal_prefix() {
            // A path of the host: nothing in the workspace.
            prefix if prefix.is_empty() => {}
            prefix => folders.push((WorkspacePath::parse(&prefix).ok()?, Access::ReadWrite)),
        }
    }
    Some(FilesGrant::new(folders)).filter(|folders| !folders.is_empty())
}
