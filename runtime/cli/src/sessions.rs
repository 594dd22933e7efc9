//! Sessions on the command line: which one is meant, and how the runs of one are written down.

mod find;
mod handed;
mod held;

use crate::WrongUsage;

pub(crate) use find::{by_word, entries, latest, short, transcript};
pub(crate) use handed::{effective_in, refuse_outside};
pub(crate) use held::{About, Begun, Elsewhere, Held, Ids, Work, readable};

/// Which session a run or a chat is.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Session")]
pub(crate) struct Flags {
    /// Go on with the latest session of this agent in this folder; without a task, with what was left unfinished.
    #[arg(long = "continue", short = 'c', conflicts_with_all = ["session", "ephemeral"])]
    go_on: bool,
    /// The session: an id, the beginning of one, a name, `latest`, `create` or `latest-or-create` [default: create].
    #[arg(long, value_name = "SESSION", conflicts_with = "ephemeral", add = crate::commands::completions::sessions())]
    session: Option<String>,
    /// What a new session is called; no two of one agent alike.
    #[arg(long, value_name = "NAME", conflicts_with = "ephemeral")]
    session_name: Option<String>,
    /// Keep nothing of it.
    #[arg(long)]
    ephemeral: bool,
}

/// Which session is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// None: nothing is kept.
    None,
    /// A new one.
    New(Option<String>),
    /// The most recently updated one of the agent in the folder.
    Latest,
    /// The same; if there is none, a new one.
    LatestOrNew(Option<String>),
    /// The one that is called so.
    Called(String),
}

/// Words that say which session is meant, and so are no names.
const ROUTES: [&str; 3] = ["latest", "create", "latest-or-create"];

impl Flags {
    /// The session of this id and no other.
    pub(crate) fn of(id: &str) -> Self {
        Self { session: Some(id.to_owned()), ..Self::default() }
    }

    /// What the flags come to.
    pub(crate) fn wanted(&self) -> Result<Wanted, WrongUsage> {
        let name = self.session_name.clone();
        if name.as_deref().is_some_and(is_route) {
            return Err(WrongUsage("`latest`, `create` and `latest-or-create` are no names of sessions".to_owned()));
        }
        let wanted = match self.session.as_deref() {
            _ if self.ephemeral => Wanted::None,
            _ if self.go_on => Wanted::Latest,
            None | Some("create") => return Ok(Wanted::New(name)),
            Some("latest") => Wanted::Latest,
            Some("latest-or-create") => return Ok(Wanted::LatestOrNew(name)),
            Some(word) => Wanted::Called(word.to_owned()),
        };
        match name {
            None => Ok(wanted),
            Some(_) => Err(WrongUsage(
                "--session-name names a new session; `palisade sessions rename` names another".to_owned(),
            )),
        }
    }
}

/// Whether a word says which session is meant.
pub(crate) fn is_route(word: &str) -> bool {
    ROUTES.contains(&word.trim().to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L3, J18
    #[test]
    fn flags_say_which_session_is_meant() {
        let flags = |session: Option<&str>, name: Option<&str>| Flags {
            session: session.map(str::to_owned),
            session_name: name.map(str::to_owned),
            ..Flags::default()
        };
        let check = |flags: Flags, expected: Option<Wanted>| assert_eq!(flags.wanted().ok(), expected, "{flags:?}");
        let name = || Some("river".to_owned());
        check(flags(None, None), Some(Wanted::New(None)));
        check(flags(None, Some("river")), Some(Wanted::New(name())));
        check(flags(Some("create"), Some("river")), Some(Wanted::New(name())));
        check(flags(Some("latest"), None), Some(Wanted::Latest));
        check(flags(Some("latest"), Some("river")), None);
        check(flags(Some("latest-or-create"), Some("river")), Some(Wanted::LatestOrNew(name())));
        check(flags(Some("river"), None), Some(Wanted::Called("river".to_owned())));
        check(flags(Some("river"), Some("sea")), None);
        check(flags(None, Some("Latest")), None);
        check(Flags { go_on: true, ..Flags::default() }, Some(Wanted::Latest));
        check(Flags { ephemeral: true, ..Flags::default() }, Some(Wanted::None));
    }
}
