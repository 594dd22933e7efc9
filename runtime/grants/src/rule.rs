//! One permission rule: `Tool` or `Tool(specifier)`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    BadDomain, BadPathPattern, CommandPattern, DomainPattern, PathPattern, Pattern, canonical_tool, names::canonical,
    pattern::Stars,
};

/// A rule about the calls of a tool.
///
/// `Bash` speaks of every call, `Bash(cargo test:*)` of some. Names are compared without case and
/// with aliases; `*` in a name is a wildcard; `mcp__server` means all tools of that server. Whether
/// a rule allows or denies is decided by the list it stands in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "String")]
pub struct Rule {
    text: String,
    tool: String,
    stars: Stars,
    specifier: Option<Specifier>,
}

/// What stands between the parentheses, read as the tool reads its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Specifier {
    /// `Bash(…)`, `Exec(…)`: commands.
    Command(CommandPattern),
    /// `Read(…)`, `Edit(…)` and the other tools for files: paths.
    Path(PathPattern),
    /// `WebFetch(domain:…)`: hosts.
    Domain(DomainPattern),
    /// `Agent(a, b)`, `agents_message(a)`, `Skill(name *)`: any of these names.
    Name(Vec<Pattern>),
    /// Any other tool: the JSON of all arguments, without spaces.
    Text(Pattern),
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
    /// There is nothing in it.
    #[error("a rule is empty; write a tool such as `Read`, or `Bash(cargo test:*)`")]
    Empty,
    /// It is longer than anything a person writes.
    #[error("a rule has {0} bytes; at most {MAX_LENGTH} are possible")]
    TooLong(usize),
    /// It holds a character that nobody can see.
    #[error("the rule `{0}` holds a control character; write it on one line")]
    Control(String),
    /// A parenthesis is missing or something follows the last one.
    #[error("the parentheses of `{0}` do not match; write `Tool` or `Tool(what)`")]
    Parentheses(String),
    /// There is nothing between the parentheses.
    #[error("the parentheses of `{0}` are empty; leave them out to speak of every call")]
    Nothing(String),
    /// What stands before the parentheses is no tool's name.
    #[error("`{0}` is no tool's name; write one tool a rule, such as `Read` or `mcp__server__*`")]
    Name(String),
    /// A name with `*` has no arguments that could be known.
    #[error("`{0}` has a `*` in its name and arguments too; name one tool, or leave the parentheses out")]
    Wildcard(String),
    /// The path between the parentheses is none.
    #[error("`{0}`: {1}")]
    Path(String, BadPathPattern),
    /// The domain between the parentheses is none.
    #[error("`{0}`: {1}")]
    Domain(String, BadDomain),
}

/// Long enough for any path or command that a person writes down.
const MAX_LENGTH: usize = 1024;

/// Tools whose arguments are paths. Reading ones first.
pub(crate) const READING: [&str; 5] = ["read", "grep", "glob", "ls", "tree"];
pub(crate) const WRITING: [&str; 2] = ["write", "edit"];

impl Rule {
    /// Parses a rule.
    pub fn parse(text: &str) -> Result<Self, BadRule> {
        let text = text.trim();
        if text.is_empty() {
            return Err(BadRule::Empty);
        }
        if text.len() > MAX_LENGTH {
            return Err(BadRule::TooLong(text.len()));
        }
        if text.chars().any(char::is_control) {
            return Err(BadRule::Control(text.escape_debug().to_string()));
        }
        let (name, inside) = parts(text)?;
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || ",;'\"`".contains(c)) {
            return Err(BadRule::Name(name.to_owned()));
        }
        if inside.is_some() && name.contains('*') {
            return Err(BadRule::Wildcard(text.to_owned()));
        }
        let tool = canonical_tool(name);
        let specifier = inside.map(|inside| Specifier::parse(&tool, inside.trim(), text)).transpose()?;
        Ok(Self { text: text.to_owned(), stars: Stars::new(&tool), tool, specifier })
    }

    /// The rule `*`.
    pub(crate) fn every_tool() -> Self {
        Self { text: "*".to_owned(), stars: Stars::new("*"), tool: "*".to_owned(), specifier: None }
    }

    /// Whether the rule speaks of a tool, arguments aside.
    pub fn matches_tool(&self, tool: &str) -> bool {
        self.matches_canonical(&canonical(tool))
    }

    /// The same for a name in its one form.
    pub(crate) fn matches_canonical(&self, tool: &str) -> bool {
        if self.stars.fits(tool) {
            return true;
        }
        let is_server = self.tool.strip_prefix("mcp__").is_some_and(|server| !server.contains("__"));
        is_server && tool.strip_prefix(self.tool.as_str()).is_some_and(|rest| rest.starts_with("__") && rest.len() > 2)
    }

    /// Whether the rule speaks of every call of its tool, as `Bash`, `Bash(*)` and `Read(**)` do.
    pub fn covers_all_arguments(&self) -> bool {
        match &self.specifier {
            None => true,
            Some(Specifier::Command(command)) => command.is_universal(),
            Some(Specifier::Path(path)) => path.is_universal(),
            Some(Specifier::Domain(domain)) => domain.is_universal(),
            Some(Specifier::Name(names)) => names.iter().any(Pattern::is_universal),
            Some(Specifier::Text(text)) => text.is_universal(),
        }
    }

    /// What stands between the parentheses.
    pub fn specifier(&self) -> Option<&Specifier> {
        self.specifier.as_ref()
    }

    /// The canonical name of the tool, or a pattern for several.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The rule as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// The name and what stands between the parentheses, if there are any.
fn parts(text: &str) -> Result<(&str, Option<&str>), BadRule> {
    let mismatch = || BadRule::Parentheses(text.to_owned());
    let Some((name, rest)) = text.split_once('(') else {
        return if text.contains(')') { Err(mismatch()) } else { Ok((text, None)) };
    };
    let inside = rest.strip_suffix(')').ok_or_else(mismatch)?;
    let mut depth = 0_usize;
    for c in inside.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or_else(mismatch)?,
            _ => {}
        }
    }
    if depth > 0 {
        return Err(mismatch());
    }
    if inside.trim().is_empty() {
        return Err(BadRule::Nothing(text.to_owned()));
    }
    Ok((name.trim_end(), Some(inside)))
}

impl Specifier {
    fn parse(tool: &str, inside: &str, rule: &str) -> Result<Self, BadRule> {
        // What `parts` let through is neither empty nor too long for a pattern.
        let pattern = |text: &str| Pattern::parse(text).map_err(|_| BadRule::Nothing(rule.to_owned()));
        Ok(match tool {
            "bash" | "exec" => Self::Command(CommandPattern::new(inside)),
            "web_fetch" => {
                let domain = inside.strip_prefix("domain:").unwrap_or(inside);
                Self::Domain(DomainPattern::parse(domain).map_err(|error| BadRule::Domain(rule.to_owned(), error))?)
            }
            "task" | "parallel_task" | "agents_message" => {
                Self::Name(split_list(inside).into_iter().map(pattern).collect::<Result<_, _>>()?)
            }
            "skill" => {
                let name = inside.strip_suffix(" *").or_else(|| inside.strip_suffix(":*")).map(str::trim_end);
                match name.filter(|name| !name.is_empty()) {
                    Some(name) => Self::Name(vec![pattern(name)?, pattern(&format!("{name} *"))?]),
                    None => Self::Name(vec![pattern(inside)?]),
                }
            }
            _ if READING.contains(&tool) || WRITING.contains(&tool) => {
                Self::Path(PathPattern::parse(inside).map_err(|error| BadRule::Path(rule.to_owned(), error))?)
            }
            _ => Self::Text(pattern(inside)?),
        })
    }
}

/// The entries of a comma-separated list of tools. A comma between parentheses separates nothing,
/// so `Agent(a, b)` is one entry; empty entries are dropped.
pub fn split_list(text: &str) -> Vec<&str> {
    let (mut entries, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                entries.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    entries.push(&text[start..]);
    entries.into_iter().map(str::trim).filter(|entry| !entry.is_empty()).collect()
}

/// The two ways in which a rule is written in a file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Object { rule: String },
}

impl TryFrom<Written> for Rule {
    type Error = BadRule;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        match written {
            Written::Text(rule) | Written::Object { rule } => Self::parse(&rule),
        }
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.text
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
