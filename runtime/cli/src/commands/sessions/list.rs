//! `palisade sessions list`: the sessions by agent, those that were pinned first.

use std::{cmp::Reverse, path::PathBuf};

use jiff::Timestamp;
use palisade_agent::{LOCAL_TENANT, Listing, Session};
use serde_json::json;

use crate::{
    Exit,
    commands::completions as complete,
    database::{Desk, Reach},
    render::{Line, Style, Terminal, words},
    sessions::short,
    settings::Settings,
};

/// List the sessions, by agent, the latest first.
///
/// Sessions that were pinned stand first. That is all that pinning does: --continue takes the latest.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only sessions with this agent.
    #[arg(long, value_name = "AGENT", add = complete::agents())]
    agent: Option<String>,
    /// Only sessions about this folder.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Sessions that agents began, too.
    #[arg(long)]
    all: bool,
    /// At most so many; 0 means all.
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Leave out the first ones.
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
    #[command(flatten)]
    reach: Reach,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let folder = arguments.workspace.as_deref().map(|folder| settings.workspace(Some(folder))).transpose()?;
    let desk = Desk::open(&arguments.reach, settings, terminal)?;
    let listing = Listing {
        tenant: LOCAL_TENANT.to_owned(),
        agent: arguments.agent.clone(),
        workspace: folder.map(|folder| folder.display().to_string()),
        delegated: arguments.all,
        pinned_first: true,
        limit: arguments.limit,
        offset: arguments.offset,
        ..Listing::default()
    };
    let shown = ordered(desk.wait(desk.store.sessions(&listing))?);
    let total = usize::try_from(desk.wait(desk.store.count(&listing))?).unwrap_or(usize::MAX);
    if arguments.json {
        terminal.json(&json!({ "sessions": shown, "total": total }))?;
        return Ok(Exit::Done);
    }
    print(&shown, terminal)?;
    let seen = arguments.offset.saturating_add(shown.len());
    if total == 0 {
        terminal.note(&Line::new().add(Style::Dim, "there are none yet; `palisade run` and `palisade chat` make them"));
    } else if seen < total {
        let more = format!("{} more; --offset {seen} shows the next ones", total - seen);
        terminal.note(&Line::new().add(Style::Dim, &more));
    }
    Ok(Exit::Done)
}

/// By agent, the agent with the latest session first; in each, first what was pinned, the last pinned first.
fn ordered(mut sessions: Vec<Session>) -> Vec<Session> {
    sessions.sort_by_key(|session| Reverse(session.updated_at));
    let mut agents: Vec<(String, Vec<Session>)> = Vec::new();
    for session in sessions {
        match agents.iter_mut().find(|(agent, _)| *agent == session.agent) {
            Some((_, own)) => own.push(session),
            None => agents.push((session.agent.clone(), vec![session])),
        }
    }
    for (_, own) in &mut agents {
        // What is equal stays in the order of the last update.
        own.sort_by_key(|session| Reverse(session.pinned_at));
    }
    agents.into_iter().flat_map(|(_, own)| own).collect()
}

fn print(sessions: &[Session], terminal: &Terminal) -> std::io::Result<()> {
    let mut agent = None;
    for session in sessions {
        if agent != Some(&session.agent) {
            terminal.line(&Line::new().add(Style::Bold, &session.agent))?;
            agent = Some(&session.agent);
        }
        terminal.line(&row(session, false))?;
    }
    Ok(())
}

/// `  * login page     2 h ago    12 entries  The page asks for …`
pub(crate) fn row(session: &Session, is_this: bool) -> Line {
    let mark = match (is_this, session.pinned_at.is_some()) {
        (true, _) => ">",
        (false, true) => "*",
        (false, false) => " ",
    };
    let name = session.name.as_deref().unwrap_or_else(|| short(&session.id));
    Line::new()
        .add(Style::Plain, &format!("  {mark} "))
        .column(Style::Code, name, 16)
        .column(Style::Dim, &ago(session.updated_at), 10)
        .column(Style::Dim, &words::count(session.entries as usize, "entry", "entries"), 11)
        .add(Style::Plain, session.last_snippet.as_deref().unwrap_or_default())
}

/// How long ago a moment was.
pub(super) fn ago(moment: Timestamp) -> String {
    words::ago(Timestamp::now().duration_since(moment).try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use palisade_agent::SessionOrigin;

    use super::*;

    fn session(id: &str, agent: &str, updated: i64, pinned: Option<i64>) -> Session {
        let at = |second| Timestamp::from_second(second).unwrap();
        Session {
            tenant: LOCAL_TENANT.to_owned(),
            id: id.to_owned(),
            agent: agent.to_owned(),
            name: None,
            pinned_at: pinned.map(at),
            created_at: at(0),
            updated_at: at(updated),
            last_snippet: None,
            attributes: BTreeMap::new(),
            entries: 0,
            origin: SessionOrigin::default(),
        }
    }

    /// L5, L12
    #[test]
    fn sessions_are_grouped_by_agent_and_the_last_pinned_is_first() {
        let listed = vec![
            session("a", "explore", 9, None),
            session("b", "general", 8, Some(2)),
            session("c", "explore", 7, Some(3)),
            session("d", "general", 6, None),
            session("e", "explore", 5, Some(4)),
        ];
        let ids: Vec<String> = ordered(listed).into_iter().map(|session| session.id).collect();
        assert_eq!(ids, ["e", "c", "a", "b", "d"]);
    }
}
