//! What an agent can hand on to those it asks. Rules are about its own calls, but what they keep from it
//! must not come back through another agent. Grants cannot say all that rules can; where they cannot, less
//! is handed on.

use super::ToolScope;
use crate::{
    Access, Candidate, Capability, Command, FilesGrant, Grants, Host, PathPattern, Reach, Rule, Span, Specifier,
    WorkspacePath,
    rule::{READING, WRITING},
};

/// What a list of rules says of a tool that it lets in.
enum Let<T> {
    /// Nothing that would restrict it.
    Everywhere,
    /// That it reaches these and nothing else.
    Only(Vec<T>),
}

impl ToolScope {
    /// What of its grants an agent with these tools can hand on. A power for which it has no tool of its own
    /// is handed on as it was granted: that is how a coordinator that cannot write asks one that can.
    pub fn handed_down(&self, grants: &Grants, tools: &[&Candidate]) -> Grants {
        let needing = |capabilities: &[Capability]| -> Vec<&str> {
            let needs = |tool: &&&Candidate| {
                capabilities.iter().any(|capability| tool.capabilities().iter().any(|need| need == capability.name()))
            };
            tools.iter().filter(needs).map(|tool| tool.canonical()).collect()
        };
        let (readers, writers) = (needing(&[Capability::FsRead, Capability::FsWrite]), needing(&[Capability::FsWrite]));
        let mut files = grants.files.clone();
        if !readers.is_empty() {
            files = files.narrow(&FilesGrant::new(self.folders(&readers, false)));
        }
        if !writers.is_empty() {
            let read_only = [(WorkspacePath::ROOT, Access::Read)];
            files = files.narrow(&FilesGrant::new(read_only.into_iter().chain(self.folders(&writers, true))));
        }
        let files = files.hiding(self.asked_about(&READING)).freezing(self.asked_about(&WRITING));
        let http = self.handed_spans(&grants.http, &needing(&[Capability::Http]), "web_fetch", host);
        let running = needing(&[Capability::Exec]);
        let commands = self.handed_spans(&grants.commands, &running, "bash", command);
        let commands = self.handed_spans(&commands, &running, "exec", command);
        Grants { files, http, commands, ..grants.clone() }
    }

    /// The folders that any of the tools reaches wholly.
    fn folders(&self, tools: &[&str], writing: bool) -> Vec<(WorkspacePath, Access)> {
        let mut folders = Vec::new();
        for tool in tools {
            if self.permissions.ask.iter().any(|rule| rule.matches_tool(tool) && rule.covers_all_arguments()) {
                continue;
            }
            let reach = self.allow_lists().fold(FilesGrant::workspace(Access::ReadWrite), |reach, rules| {
                match trees(rules, tool, writing) {
                    Let::Everywhere => reach,
                    Let::Only(trees) => {
                        reach.narrow(&FilesGrant::new(trees.into_iter().map(|tree| (tree, Access::ReadWrite))))
                    }
                }
            });
            folders.extend(reach.folders().map(|(folder, access)| (folder.clone(), access)));
        }
        folders
    }

    /// The paths that somebody is asked about before one of the tools touches them: whom the agent asks has
    /// nobody to ask.
    fn asked_about(&self, tools: &[&str]) -> Vec<PathPattern> {
        let rules = self.permissions.ask.iter().filter(|rule| tools.contains(&rule.tool()));
        let paths = rules.filter_map(|rule| match rule.specifier() {
            Some(Specifier::Path(path)) => Some(path.clone()),
            _ => None,
        });
        paths.filter(|path| !path.is_universal()).collect()
    }

    /// What of some hosts or commands can be handed on: what the allow rules of the tools for them name, and
    /// nothing that overlaps with what is denied or asked about.
    fn handed_spans<S: Span>(
        &self,
        granted: &Reach<S>,
        tools: &[&str],
        ruled: &str,
        span: impl Fn(&Specifier) -> Option<S>,
    ) -> Reach<S> {
        let mut handed = granted.clone();
        if tools.contains(&ruled) {
            for rules in self.allow_lists() {
                if let Let::Only(spans) = spans(rules, ruled, &span) {
                    handed = handed.narrow(&Reach::new(spans));
                }
            }
        }
        let taken = self.disallowed.iter().chain(&self.permissions.deny).chain(&self.permissions.ask);
        for specifier in taken.filter(|rule| rule.tool() == ruled).filter_map(Rule::specifier) {
            let overlaps = |own: &S| span(specifier).is_none_or(|taken| own.meet(&taken).is_some());
            handed = Reach::new(handed.iter().filter(|own| !overlaps(own)).cloned());
        }
        handed
    }

    fn allow_lists(&self) -> impl Iterator<Item = &[Rule]> {
        [self.tools.as_deref(), self.permissions.allow.as_deref()].into_iter().flatten()
    }
}

/// The folders that a list lets a tool reach wholly. What a rule about commands or other arguments does with
/// files is not known: it may read anything, and writes nothing that could be handed on.
fn trees(rules: &[Rule], tool: &str, writing: bool) -> Let<WorkspacePath> {
    let (mut trees, mut is_named) = (Vec::new(), false);
    for rule in rules.iter().filter(|rule| rule.matches_tool(tool)) {
        is_named = true;
        match rule.specifier() {
            _ if rule.covers_all_arguments() => return Let::Everywhere,
            Some(Specifier::Path(path)) if path.is_folder_tree() => {
                trees.extend(WorkspacePath::parse(&path.literal_prefix()));
            }
            Some(Specifier::Path(_)) => {}
            _ if writing => {}
            _ => return Let::Everywhere,
        }
    }
    if is_named { Let::Only(trees) } else { Let::Everywhere }
}

/// The hosts or commands that a list lets a tool reach.
fn spans<S>(rules: &[Rule], tool: &str, span: impl Fn(&Specifier) -> Option<S>) -> Let<S> {
    let own: Vec<&Rule> = rules.iter().filter(|rule| rule.matches_tool(tool)).collect();
    if own.is_empty() || own.iter().any(|rule| rule.covers_all_arguments()) {
        return Let::Everywhere;
    }
    Let::Only(own.into_iter().filter_map(|rule| span(rule.specifier()?)).collect())
}

fn host(specifier: &Specifier) -> Option<Host> {
    match specifier {
        // A rule about a host says nothing of ports and methods.
        Specifier::Domain(domain) => domain.as_str().parse().map(Host::anyhow).ok(),
        _ => None,
    }
}

fn command(specifier: &Specifier) -> Option<Command> {
    match specifier {
        Specifier::Command(command) => command.as_str().parse().ok(),
        _ => None,
    }
}
