//! When rules speak for a call, and when one speaks against it.
//!
//! The two are not mirror images. To allow, every part of a call must be covered, each as written;
//! what is unknown is covered by nothing but a rule for the whole tool. To deny, one part is enough,
//! and what is unknown counts as the worst it could be.

use crate::{
    Call, PathPattern, Rule, Specifier,
    call::Subject,
    names::DELEGATION,
    path_pattern::CallPath,
    rule::{READING, WRITING},
    shell::{Concern, Need, Redirect, Script, Segment},
};

impl Rule {
    /// Whether this rule alone allows a call, as one of an allow list.
    pub fn allows(&self, call: &Call<'_>) -> bool {
        covering(std::slice::from_ref(self), &[], call).is_ok()
    }

    /// Whether this rule denies a call, as one of a deny or ask list.
    ///
    /// A path denied to `Read` is denied to every tool that reads and to `<` of a shell, one denied
    /// to `Edit` or `Write` to every tool that writes and to `>`: a file must not be reached through
    /// the neighbour's door. A folder that merely contains a denied file is not denied.
    pub fn denies(&self, call: &Call<'_>) -> bool {
        self.objection(call).is_some()
    }

    /// What in a call the rule speaks against.
    pub(crate) fn objection(&self, call: &Call<'_>) -> Option<String> {
        if self.matches_tool(call.tool()) {
            return self.own_objection(call);
        }
        // What must not be run by a shell must not be run without one either.
        if call.tool() == "exec" && self.matches_tool("bash") {
            return self.own_objection(call);
        }
        // An agent that must not be asked must not be asked in another way either.
        if self.tool() == "task" && matches!(self.specifier(), Some(Specifier::Name(_))) {
            return DELEGATION.contains(&call.tool()).then(|| self.own_objection(call)).flatten();
        }
        let Some(Specifier::Path(pattern)) = self.specifier() else { return None };
        match call.subject() {
            Subject::Paths(paths) if self.is_neighbour(call.tool()) => denied_path(pattern, paths),
            Subject::Shell(Ok(script)) => {
                let mut redirects = script.redirects.iter().filter(|redirect| self.opens_like(redirect));
                redirects.find_map(|redirect| match &redirect.target {
                    Some(target) => denied_path(pattern, &[CallPath::parse(target)]),
                    None => Some("the command redirects to a file that is known only when it runs".to_owned()),
                })
            }
            _ => None,
        }
    }

    fn own_objection(&self, call: &Call<'_>) -> Option<String> {
        let Some(specifier) = self.specifier() else { return Some(format!("`{}` was called", call.tool())) };
        match (specifier, call.subject()) {
            (Specifier::Command(_), Subject::Shell(Err(why))) => Some(format!("the command {}", why.0)),
            (Specifier::Command(pattern), Subject::Shell(Ok(script))) => {
                let denied = script.segments.iter().find(|segment| pattern.denies(segment));
                let whole = script.segments.is_empty() && pattern.is_universal();
                denied
                    .map(|segment| format!("the command runs `{}`", segment.shown()))
                    .or_else(|| whole.then(|| "`bash` was called".to_owned()))
            }
            (Specifier::Path(pattern), Subject::Paths(paths)) => denied_path(pattern, paths),
            (Specifier::Domain(_), Subject::Host(None)) => Some("the address has no host that can be read".to_owned()),
            (Specifier::Domain(pattern), Subject::Host(Some(host))) => {
                pattern.matches(host).then(|| format!("the address leads to {host}"))
            }
            (Specifier::Name(patterns), Subject::Names(names)) => {
                let lower = |text: &str| text.to_lowercase();
                let fits = |name: &&String| {
                    patterns.iter().any(|pattern| crate::pattern::fits(&lower(pattern.as_str()), &lower(name)))
                };
                let unnamed = names.is_empty() && self.covers_all_arguments();
                names
                    .iter()
                    .find(fits)
                    .map(|name| format!("`{name}` was asked for"))
                    .or_else(|| unnamed.then(|| format!("`{}` was called", call.tool())))
            }
            (Specifier::Text(pattern), _) => {
                pattern.matches(&call.text()).then(|| format!("the arguments of `{}` fit", call.tool()))
            }
            _ => None,
        }
    }

    /// Whether a rule about paths speaks of another tool that does the same to them.
    pub(crate) fn is_neighbour(&self, tool: &str) -> bool {
        match self.tool() {
            "read" => READING.contains(&tool),
            "write" | "edit" => WRITING.contains(&tool),
            _ => false,
        }
    }

    fn opens_like(&self, redirect: &Redirect) -> bool {
        if redirect.writes { WRITING.contains(&self.tool()) } else { self.tool() == "read" }
    }
}

fn denied_path(pattern: &PathPattern, paths: &[CallPath]) -> Option<String> {
    paths.iter().any(|path| pattern.denies(path)).then(|| format!("the path falls under `{}`", pattern.as_str()))
}

/// Which list a rule stands in. What an ask rule names is covered, though not without a question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Allow,
    Ask,
}

/// Finds the first rule of a tool whose specifier fits.
type Find<'f, 'r> = dyn Fn(&dyn Fn(&Specifier, List) -> bool) -> Option<&'r Rule> + 'f;

/// The rules that together cover a call, or what none of them covers.
pub(crate) fn covering<'r>(allow: &'r [Rule], ask: &'r [Rule], call: &Call<'_>) -> Result<Vec<&'r Rule>, String> {
    let lists = || allow.iter().map(|rule| (rule, List::Allow)).chain(ask.iter().map(|rule| (rule, List::Ask)));
    let own: Vec<(&Rule, List)> = lists().filter(|(rule, _)| rule.matches_tool(call.tool())).collect();
    if own.is_empty() {
        return Err(format!("no allow rule names `{}`", call.tool()));
    }
    if let Some((rule, _)) = own.iter().find(|(rule, _)| rule.specifier().is_none()) {
        return Ok(vec![rule]);
    }
    let find = |fits: &dyn Fn(&Specifier, List) -> bool| {
        own.iter()
            .find(|(rule, list)| rule.specifier().is_some_and(|specifier| fits(specifier, *list)))
            .map(|(r, _)| *r)
    };
    match call.subject() {
        Subject::Shell(script) => {
            if let Some((rule, _)) = own.iter().find(|(rule, _)| rule.covers_all_arguments()) {
                return Ok(vec![rule]);
            }
            let script = script.as_ref().map_err(|why| format!("the command {}", why.0))?;
            let mut rules = covering_segments(&find, script)?;
            rules.extend(covering_writes(&lists().collect::<Vec<_>>(), script)?);
            Ok(rules)
        }
        Subject::Paths(paths) => each(paths, |path| {
            let fits =
                |specifier: &Specifier, list: List| matches!(specifier, Specifier::Path(p) if list.path(p, path));
            find(&fits).ok_or_else(|| match path.is_outside() {
                true => "the path leaves the workspace, which a rule about paths never allows".to_owned(),
                false => format!("no allow rule of `{}` covers the path", call.tool()),
            })
        }),
        Subject::Host(None) => Err("the address has no host that can be read".to_owned()),
        Subject::Host(Some(host)) => each(&[host], |host| {
            find(&|specifier, _| matches!(specifier, Specifier::Domain(p) if p.matches(host)))
                .ok_or_else(|| format!("no allow rule covers {host}; `WebFetch(domain:{host})` would"))
        }),
        Subject::Names(names) if names.is_empty() => Err(format!("the call of `{}` names nothing", call.tool())),
        Subject::Names(names) => each(names, |name| {
            find(&|specifier, _| matches!(specifier, Specifier::Name(p) if p.iter().any(|p| p.matches(name))))
                .ok_or_else(|| format!("no allow rule covers `{name}`"))
        }),
        Subject::Other => each(&[call.text()], |text| {
            find(&|specifier, _| matches!(specifier, Specifier::Text(p) if p.matches(text)))
                .ok_or_else(|| format!("no allow rule covers these arguments of `{}`", call.tool()))
        }),
    }
}

/// Every segment of a shell command must be covered, by whichever rule.
fn covering_segments<'r>(find: &Find<'_, 'r>, script: &Script) -> Result<Vec<&'r Rule>, String> {
    let needing: Vec<&Segment> = script.segments.iter().filter(|segment| segment.need == Need::Allow).collect();
    if needing.is_empty() {
        return Err("the command runs nothing that a rule could name".to_owned());
    }
    each(&needing, |segment| {
        let fits = |specifier: &Specifier, list: List| match (specifier, list) {
            (Specifier::Command(pattern), List::Allow) => pattern.allows(segment),
            (Specifier::Command(pattern), List::Ask) => pattern.allows(segment) || pattern.denies(segment),
            _ => false,
        };
        find(&fits).ok_or_else(|| uncovered(segment))
    })
}

/// Every file that a shell command writes must be covered, by a rule for a tool that writes.
fn covering_writes<'r>(rules: &[(&'r Rule, List)], script: &Script) -> Result<Vec<&'r Rule>, String> {
    let writes: Vec<&Redirect> = script.redirects.iter().filter(|redirect| redirect.writes).collect();
    each(&writes, |redirect| {
        let Some(target) = redirect.target.as_deref().filter(|_| !script.moves()) else {
            return Err("the command writes to a file that is known only when it runs".to_owned());
        };
        let path = CallPath::parse(target);
        let fits = |(rule, list): &&(&Rule, List)| match rule.specifier() {
            Some(Specifier::Path(pattern)) => WRITING.contains(&rule.tool()) && list.path(pattern, &path),
            _ => false,
        };
        rules.iter().find(fits).map(|(rule, _)| *rule).ok_or_else(|| {
            "the command writes to a file; `Write(…)` for that path, or `Bash` for every command, would allow it"
                .to_owned()
        })
    })
}

impl List {
    fn path(self, pattern: &PathPattern, path: &CallPath) -> bool {
        match self {
            Self::Allow => pattern.allows(path),
            Self::Ask => pattern.denies(path),
        }
    }
}

/// Why no rule covers a segment.
fn uncovered(segment: &Segment) -> String {
    let shown = segment.shown();
    match &segment.concern {
        Some(Concern::Always(why)) => format!("the command {why}; only `Bash` for every command would allow it"),
        Some(Concern::Argument(argument)) => {
            let argument: String = argument.chars().take(40).collect();
            format!("`{argument}` makes `{shown}` do more than read; only a rule that names it would allow it")
        }
        None => format!("no allow rule covers `{shown}`; `Bash({shown}:*)` would"),
    }
}

/// A rule for each of several things, none named twice, or why there is none for one of them.
fn each<'r, T>(things: &[T], rule_for: impl FnMut(&T) -> Result<&'r Rule, String>) -> Result<Vec<&'r Rule>, String> {
    let mut rules: Vec<&Rule> = Vec::new();
    for rule in things.iter().map(rule_for) {
        let rule = rule?;
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    Ok(rules)
}
