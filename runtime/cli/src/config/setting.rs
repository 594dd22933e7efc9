//! Every setting there is: what it is called, what it may be, who may set it and what it means. The
//! reader, the schema and the table in the documentation are made from this one list.

use std::fmt;

use palisade_model::OUTSIDE;

/// One setting.
#[derive(Debug, PartialEq)]
pub(crate) struct Setting {
    /// Its name, parts with dots between; `*` stands for a name that the user gives.
    pub(crate) path: &'static str,
    /// What it may be.
    pub(crate) kind: Kind,
    /// Who may set it.
    pub(crate) who: Who,
    /// The variable that overrides the files.
    pub(crate) variable: Option<&'static str>,
    /// What it means, in a line.
    pub(crate) meaning: &'static str,
}

/// What a setting may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Any text but none.
    Text,
    /// An address that begins with `http://` or `https://`.
    Address,
    /// The name of a variable of the environment.
    Variable,
    /// The value of a header.
    Header,
    /// A program and its arguments.
    Command,
    /// Texts, maybe none.
    Texts,
    /// Commands that can be granted, maybe none.
    Commands,
    /// Folders, absolute or below the home, maybe none.
    Folders,
    /// Names of variables, or names with values, maybe none.
    Variables,
    /// Some of these words.
    Some(&'static [&'static str]),
    /// One of these words.
    One(&'static [&'static str]),
    /// A whole number from one of these to the other.
    Count(u64, u64),
    /// An amount of dollars.
    Dollars,
    /// A time above zero, such as `30s`.
    Time,
    /// A number of bytes, such as `16MiB`.
    Size,
    /// `true` or `false`.
    Flag,
    /// Where a database is.
    Database,
}

/// Who may set something. What widens what a run may reach is never taken from a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// Everybody.
    Everybody,
    /// Everybody, but a project can only lower it.
    ProjectLowers,
    /// The operator and the user.
    Owner,
    /// The operator.
    Operator,
}

/// What can be outside of the sandbox.
pub(crate) const OUTSIDERS: [&str; 4] = [OUTSIDE[0], OUTSIDE[1], OUTSIDE[2], "external"];

const DIALECTS: &[&str] = &["anthropic", "chat", "responses"];

/// More of anything is a slip of the hand.
const MANY: u64 = 1_000_000_000;

/// All of them, in the order of the documentation.
pub(crate) static SETTINGS: &[Setting] = &[
    of_all(
        "model",
        Kind::Text,
        "PALISADE_MODEL",
        "the model of agents that name none: a name from `[models]`, `provider:model` or `provider/model`",
    ),
    of_owner("providers.*.base_url", Kind::Address, "where requests go; the dialect adds its own path"),
    of_owner(
        "providers.*.proxy",
        Kind::Address,
        "the proxy that requests go through; variables such as HTTPS_PROXY have no effect",
    ),
    of_owner("providers.*.dialect", Kind::One(DIALECTS), "how it is spoken to"),
    of_owner("providers.*.key_env", Kind::Variable, "the variable that holds the key"),
    of_owner("providers.*.key_command", Kind::Command, "a program that prints the key; no shell is involved"),
    of_owner("providers.*.key_keyring", Kind::Text, "the description of the key in the kernel's keyring"),
    of_owner("providers.*.headers.*", Kind::Header, "a further header; not for keys"),
    of_owner("providers.*.timeouts.connect", Kind::Time, "until there is a connection"),
    of_owner("providers.*.timeouts.first_byte", Kind::Time, "until the first byte of a reply"),
    of_owner("providers.*.timeouts.idle", Kind::Time, "between two pieces of a reply"),
    of_owner("providers.*.timeouts.total", Kind::Time, "for a whole reply"),
    of_owner(
        "providers.*.retries",
        Kind::Count(0, 20),
        "how often a request is repeated after a failure that may pass",
    ),
    of_owner("providers.*.max_response", Kind::Size, "the most bytes of one reply"),
    of_owner("models.*.model", Kind::Text, "which model it is: `provider:model`"),
    of_owner("models.*.context_window", Kind::Count(256, MANY), "how many tokens it can read at once"),
    of_owner("models.*.max_tokens", Kind::Count(1, MANY), "the most tokens of one reply"),
    of_owner(
        "models.*.tools",
        Kind::One(&["native", "json"]),
        "`json` for models that do not call tools by themselves",
    ),
    of_owner("models.*.price.input", Kind::Dollars, "dollars for a million tokens that it reads"),
    of_owner("models.*.price.output", Kind::Dollars, "dollars for a million tokens that it writes"),
    of_owner("models.*.price.cached", Kind::Dollars, "dollars for a million tokens that it reads from its cache"),
    of_owner("models.*.price.cache_written", Kind::Dollars, "dollars for a million tokens written into its cache"),
    budget("budget.steps", Kind::Count(1, 1_000_000), "PALISADE_BUDGET_STEPS", "replies of the model"),
    budget("budget.tokens", Kind::Count(1, MANY * 1000), "PALISADE_BUDGET_TOKENS", "tokens, read and written"),
    budget("budget.time", Kind::Time, "PALISADE_BUDGET_TIME", "time from start to end"),
    budget("budget.cost", Kind::Dollars, "PALISADE_BUDGET_COST", "dollars, for models with a price"),
    of_owner(
        "delegation.scope",
        Kind::One(&["own", "intersect"]),
        "the tools of an agent that another asks: those of its definition, or of those only what the other has, too",
    ),
    of_owner("outside.allow", Kind::Some(&OUTSIDERS), "what may be used outside of the sandbox"),
    of_owner("outside.*.command", Kind::Text, "the program, if it is not found by its usual name"),
    of_owner("outside.*.args", Kind::Texts, "further arguments for it"),
    of_owner("outside.*.env", Kind::Texts, "variables it gets beside the usual ones, such as the one with its key"),
    of_owner("exec.allow", Kind::Commands, "native programs that agents may be granted, by their first words"),
    of_owner("exec.path", Kind::Folders, "folders beside the system's that programs are looked for in"),
    of_owner("exec.read", Kind::Folders, "further folders that native programs may read"),
    of_owner("exec.env", Kind::Variables, "variables that native programs may be given, by name or with a value"),
    of_owner("exec.network", Kind::Flag, "whether native programs may use the network, all of it"),
    of_owner("exec.time", Kind::Time, "how long a native program may take"),
    of_owner("exec.memory", Kind::Size, "memory of all processes of a native program together"),
    of_owner("sandbox.apart", Kind::Flag, "whether tools run in a process of their own, behind a second wall"),
    of_owner(
        "plugins.require_signature",
        Kind::Flag,
        "whether only plugins signed by one of `plugins.keys` are installed",
    ),
    of_owner("plugins.keys", Kind::Texts, "whose signatures count: minisign's keys as they are, or files with keys"),
    of_owner("mcp.*.command", Kind::Command, "an MCP server that is a program, which runs as native programs do"),
    of_owner("mcp.*.env", Kind::Variables, "variables of its program, by name or with a value"),
    of_owner("mcp.*.read", Kind::Folders, "further folders that its program may read: where it is installed, mostly"),
    of_owner("mcp.*.network", Kind::Flag, "whether its program may use the network, all of it"),
    of_owner("mcp.*.url", Kind::Address, "an MCP server that is spoken to over HTTP"),
    of_owner("mcp.*.headers.*", Kind::Header, "a further header; `{{secret:NAME}}` in it is one of `[secrets]`"),
    of_owner("mcp.*.read_only", Kind::Texts, "tools of it that change nothing; its own word is not taken for that"),
    of_owner("mcp.*.time", Kind::Time, "how long it may take to begin, and each call of it"),
    of_owner("http.private.*", Kind::Texts, "networks that are not public and that a host, named here, may lead into"),
    of_owner("secrets.*.host", Kind::Text, "the one host that a secret is sent to, by https"),
    of_owner("secrets.*.header", Kind::Text, "the one header that it is sent in; `authorization` if nobody says"),
    of_owner("secrets.*.key_env", Kind::Variable, "the variable that holds it"),
    of_owner("secrets.*.key_command", Kind::Command, "a program that prints it; no shell is involved"),
    of_owner("secrets.*.key_keyring", Kind::Text, "its description in the kernel's keyring"),
    Setting {
        variable: Some("PALISADE_STORE"),
        ..of_owner("store.url", Kind::Database, "where sessions are kept: a file, a Postgres database, or nowhere")
    },
    of_owner("store.url_command", Kind::Command, "a program that prints it, for one with a password"),
    Setting {
        variable: Some("PALISADE_TRACES_ENDPOINT"),
        ..of_owner("traces.endpoint", Kind::Address, "where traces go, by OTLP over HTTP")
    },
    Setting {
        variable: Some("PALISADE_TRACES_CONTENT"),
        ..of_owner("traces.content", Kind::Flag, "whether traces also hold what was said")
    },
    Setting {
        who: Who::Operator,
        ..of_owner("locked.keys", Kind::Texts, "settings, or whole tables of them, that nobody else changes")
    },
];

const fn of_owner(path: &'static str, kind: Kind, meaning: &'static str) -> Setting {
    Setting { path, kind, who: Who::Owner, variable: None, meaning }
}

const fn of_all(path: &'static str, kind: Kind, variable: &'static str, meaning: &'static str) -> Setting {
    Setting { path, kind, who: Who::Everybody, variable: Some(variable), meaning }
}

const fn budget(path: &'static str, kind: Kind, variable: &'static str, meaning: &'static str) -> Setting {
    Setting { path, kind, who: Who::ProjectLowers, variable: Some(variable), meaning }
}

impl Setting {
    /// The setting with this name.
    pub(crate) fn find(name: &Name) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| {
            let parts = setting.path.split('.');
            parts.clone().count() == name.0.len()
                && parts.zip(&name.0).all(|(part, given)| part == "*" || part == given)
        })
    }
}

/// The parts that can follow some parts of a name; `*` for a name that the user gives.
pub(crate) fn parts_after(parts: &[String]) -> Vec<&'static str> {
    let mut after: Vec<&'static str> = Vec::new();
    for setting in SETTINGS {
        let mut path = setting.path.split('.');
        let fits = parts.iter().all(|given| path.next().is_some_and(|part| part == "*" || part == given));
        match path.next() {
            Some(next) if fits && !after.contains(&next) => after.push(next),
            _ => {}
        }
    }
    after
}

/// A setting's name, with the names that the user gave: `providers.anthropic.base_url`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name(pub(crate) Vec<String>);

impl Name {
    /// Reads a name without quotation marks.
    pub(crate) fn parse(text: &str) -> Self {
        Self(text.split('.').map(str::to_owned).collect())
    }

    /// Whether it is this one or in the table of this name.
    pub(crate) fn is_below(&self, table: &Self) -> bool {
        self.0.starts_with(&table.0)
    }

    /// The part at an index, or nothing.
    pub(crate) fn part(&self, index: usize) -> &str {
        self.0.get(index).map(String::as_str).unwrap_or_default()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            let dot = if index > 0 { "." } else { "" };
            let is_bare = !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
            match is_bare {
                true => write!(f, "{dot}{part}")?,
                false => write!(f, "{dot}{part:?}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_with_what_the_user_put_into_it() {
        let found = |text: &str| Setting::find(&Name::parse(text)).map(|setting| setting.path);
        assert_eq!(found("model"), Some("model"));
        assert_eq!(found("providers.mine.base_url"), Some("providers.*.base_url"));
        assert_eq!(found("outside.allow"), Some("outside.allow"));
        assert_eq!(found("providers.mine"), None);
        assert_eq!(found("modle"), None);
    }

    #[test]
    fn what_can_follow_is_known_at_every_depth() {
        let after = |text: &[&str]| parts_after(&text.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            after(&[]),
            [
                "model",
                "providers",
                "models",
                "budget",
                "delegation",
                "outside",
                "exec",
                "sandbox",
                "plugins",
                "mcp",
                "http",
                "secrets",
                "store",
                "traces",
                "locked"
            ]
        );
        assert_eq!(after(&["providers"]), ["*"]);
        assert_eq!(after(&["models", "x", "price"]), ["input", "output", "cached", "cache_written"]);
        assert_eq!(after(&["outside"]), ["allow", "*"]);
        assert_eq!(after(&["model"]), Vec::<&str>::new());
    }

    #[test]
    fn names_are_written_as_toml_has_them() {
        let name = Name(vec!["models".to_owned(), "gpt-4.1".to_owned(), "model".to_owned()]);
        assert_eq!(name.to_string(), "models.\"gpt-4.1\".model");
    }
}
