//! What a session that an agent began may do when a person goes on with it: no more than that agent handed down.

use anyhow::bail;
use palisade_agent::{Agent, Ceiling, Session};
use palisade_catalog::{Effective, Registry, Under, available, effective, effective_under};

use super::short;
use crate::outside;

/// What was handed down to a session.
struct Handed<'a> {
    ceiling: &'a Ceiling,
    /// The agent that began it.
    asked_by: &'a str,
    /// How many levels of agents are above.
    above: u32,
}

fn handed(session: &Session) -> Option<Handed<'_>> {
    let origin = &session.origin;
    let asked_by = origin.chain.last().or(origin.parent.as_ref()).map_or("nobody", String::as_str);
    let above = u32::try_from(origin.chain.len()).unwrap_or(u32::MAX);
    origin.ceiling.as_ref().map(|ceiling| Handed { ceiling, asked_by, above })
}

/// What an agent may do: as much as its definition says, or, in a session that another one began, no more than that
/// one may. Levels that were used above it stay used.
pub(crate) fn effective_in(session: Option<&Session>, agent: &Agent, registry: &Registry) -> Effective {
    let available = available(registry);
    let Some(Handed { ceiling, asked_by, above }) = session.and_then(handed) else {
        return effective(agent, &available, registry);
    };
    let mut agent = agent.clone();
    agent.budget.depth = Some(agent.budget().depth.saturating_sub(above));
    effective_under(&agent, &available, registry, Under { ceiling, asked_by })
}

/// Refuses a model that is an agent of its own where something was handed down, and not that: nothing would hold it to
/// the rest.
pub(crate) fn refuse_outside(session: Option<&Session>, provider: &str) -> anyhow::Result<()> {
    match session.and_then(|session| Some((session, handed(session)?))) {
        Some((session, Handed { asked_by, ceiling, .. }))
            if outside::reach(provider).is_some()
                && !ceiling.grants.outside.iter().any(|granted| granted.matches(provider)) =>
        {
            bail!(
                "session `{}` holds to what `{asked_by}`, which began it, may do, and nothing holds `{provider}` to that; \
             choose another model with --model",
                short(&session.id)
            )
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use palisade_agent::{LOCAL_TENANT, NewSession};
    use palisade_grants::{Access, Grants, NamesGrant};

    use super::*;

    async fn session(ceiling: Option<Ceiling>) -> Session {
        let store = palisade_store::open("memory:").await.unwrap();
        let mut new = NewSession::with(LOCAL_TENANT, "general");
        new.origin.chain = vec!["plan".to_owned()];
        new.origin.ceiling = ceiling;
        store.create(new).await.unwrap()
    }

    fn reads() -> Ceiling {
        Ceiling { grants: Grants::workspace(Access::Read), ..Ceiling::open() }
    }

    /// CF-31, DEL-13
    #[tokio::test]
    async fn a_session_holds_to_what_was_handed_down() {
        let registry = Registry::built_in();
        let agent = registry.find("general").unwrap();
        let own = effective_in(None, agent, &registry);
        let free = effective_in(Some(&session(None).await), agent, &registry);
        let under = effective_in(Some(&session(Some(reads())).await), agent, &registry);
        assert_eq!(own.grants, free.grants);
        assert!(own.cut.is_empty() && !under.cut.is_empty());
        assert_eq!(under.grants, own.grants.narrow(&reads().grants));
        assert_eq!(under.budget.depth, own.budget.depth - 1);
    }

    #[tokio::test]
    async fn what_nothing_holds_is_refused_where_something_was_handed_down() {
        let (free, under) = (session(None).await, session(Some(reads())).await);
        assert!(refuse_outside(None, "claude-cli").is_ok() && refuse_outside(Some(&free), "claude-cli").is_ok());
        assert!(refuse_outside(Some(&under), "offline").is_ok());
        let mut granted = under.clone();
        let outside = granted.origin.ceiling.as_mut().map(|ceiling| &mut ceiling.grants.outside).unwrap();
        *outside = NamesGrant::new("claude-cli".parse());
        assert!(refuse_outside(Some(&granted), "claude-cli").is_ok());
        assert!(
            refuse_outside(Some(&granted), "pi-cli").is_err() && refuse_outside(Some(&granted), "external").is_err()
        );
        let error = refuse_outside(Some(&under), "claude-cli").unwrap_err().to_string();
        assert!(error.contains("what `plan`, which began it, may do"), "{error}");
    }
}
