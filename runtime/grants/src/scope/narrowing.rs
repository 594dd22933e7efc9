//! What the rules of a scope say about paths and hosts, as grants. A rule is asked before a call; a
//! grant holds inside of it, for whatever the tool does and for every other tool.
//!
//! Grants cannot say "all hosts below this one but that one". Where a rule would have to be said so, the
//! wider grant is lost: a page that leads from one host to another must not lead around a rule.

use super::ToolScope;
use crate::{
    Access, FilesGrant, Grants, Host, HttpGrant, PathPattern, Reach, Rule, Span as _, Specifier, WorkspacePath,
};

impl ToolScope {
    /// What the deny rules leave of some grants: `Read(p)` hides what fits from every tool,
    /// `Write(p)` and `Edit(p)` keep it from being changed by any, `WebFetch(domain:d)` takes away every
    /// host that overlaps.
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
        let taken: Vec<Host> = denied().filter(|rule| rule.tool() == WEB).filter_map(host).map(Host::anyhow).collect();
        let is_left = |host: &&Host| !taken.iter().any(|taken| taken.meet(host).is_some());
        let http = Reach::new(grants.http.iter().filter(is_left).cloned());
        Grants { files, http, ..grants.clone() }
    }

    /// What one tool can reach of some grants, if its allow rules name folders or hosts: a tool that is
    /// allowed as `Read(src/**)` and not otherwise finds nothing but `src`.
    pub fn narrow_for(&self, tool: &str, grants: &Grants) -> Grants {
        let lists = [self.tools.as_deref(), self.permissions.allow.as_deref()];
        let files = lists.into_iter().flatten().fold(grants.files.clone(), |files, rules| match folders(rules, tool) {
            Some(folders) => files.narrow(&folders),
            None => files,
        });
        let http = lists.into_iter().flatten().fold(grants.http.clone(), |http, rules| match domains(rules, tool) {
            Some(domains) => http.narrow(&domains),
            None => http,
        });
        Grants { files, http, ..grants.clone() }
    }

    /// The hosts that allow rules name. `*` names none: whoever wants to reach hosts says which.
    pub fn hosts(&self) -> HttpGrant {
        let rules = self.tools.iter().flatten().chain(self.permissions.allow.iter().flatten());
        Reach::new(rules.filter_map(host).filter(|host| !host.is_everything()))
    }
}

/// The tool whose rules are about hosts.
const WEB: &str = "web_fetch";

fn host(rule: &Rule) -> Option<Host> {
    match rule.specifier() {
        Some(Specifier::Domain(domain)) => domain.as_str().parse().ok(),
        _ => None,
    }
}

/// The hosts that a list of allow rules lets a tool reach; none if some rule names no host.
fn domains(rules: &[Rule], tool: &str) -> Option<HttpGrant> {
    let own: Vec<&Rule> = rules.iter().filter(|rule| rule.matches_tool(tool)).collect();
    let hosts: Option<Vec<Host>> = own.iter().map(|rule| host(rule).map(Host::anyhow)).collect();
    hosts.filter(|hosts| !hosts.is_empty()).map(Reach::new)
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
