//! Who may ask whom, with which rights, how far down. Nothing of what a request says in words is looked at here.

use std::time::Duration;

use palisade_grants::{Call, Decision, Rule, Word};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Delegation,
    order::{Allowance, Engaged, Order, WhenBusy},
    place::{Above, Place},
    refusal::Refusal,
};
use crate::{
    Account, Agent, AuditRecord, Budget, Ceiling, FailureKind, NewSession, Queued, Recruit, Seat, Session, SessionKey,
    SessionOrigin, Spent, StoreError,
};

/// Under what an agent's session keeps which agent that is: two plugins may have one of the same name.
pub(super) const IDENTITY: &str = "identity";

/// The attributes of sessions by which it is told who was asked, and as what. Nobody else says that.
pub const HOST_ATTRIBUTES: [&str; 4] = [IDENTITY, "asked", "askedBy", "fingerprint"];

/// Whether a session is held with an agent. One that a person began says only its name.
pub(super) fn is_with(session: &Session, agent: &Agent) -> bool {
    let identity = session.attributes.get(IDENTITY).and_then(Value::as_str);
    session.agent == agent.name && identity.is_none_or(|identity| identity == agent.base_key())
}

/// So that a second which has just begun is a second.
const ROUNDED_UP: Duration = Duration::from_millis(999);

/// The longest name of an agent.
const NAME: usize = 100;

/// Whether the rules about agents were looked at before, and somebody asked where they want it. They are written for
/// `task`, and hold for every way to ask an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By a call of `task`, or what follows from one.
    Ruled,
    /// By a call of this tool.
    Unruled(&'static str),
}

/// What a request may lower for one piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Lower {
    pub(super) time: Option<Duration>,
    pub(super) steps: Option<u32>,
}

impl Delegation {
    /// Works out what an agent is and may do when the one in that place asks it in that session: no more than
    /// the one that asks may, and no more than the session was begun with.
    pub(super) async fn engage(
        &self,
        place: &Place,
        name: &str,
        stored: Option<&Ceiling>,
        way: Way,
    ) -> Result<(Seat, Recruit), Refusal> {
        let (asker, recruit) = self.work_out(place, name, stored, way)?;
        match self.crew.learn(&recruit, &asker).await {
            // That may take long, and what held before may not hold any more.
            true => self.work_out(place, name, stored, way),
            false => Ok((asker, recruit)),
        }
    }

    fn work_out(
        &self,
        place: &Place,
        name: &str,
        stored: Option<&Ceiling>,
        way: Way,
    ) -> Result<(Seat, Recruit), Refusal> {
        check_name(name)?;
        let seat = place.seat()?;
        let now = seat.ceiling_now().map_err(|why| Refusal::denied("revoked", why))?;
        let ceiling = stored.map_or_else(|| now.clone(), |stored| now.narrow(stored));
        let asker = Seat { ceiling, ..Seat::clone(seat) };
        let recruit = self.crew.recruit(name, &asker)?;
        // Whom the one that asks may ask is its own affair; what the session was begun with says what the one
        // that is asked may do.
        permit(seat, name, &recruit, way)?;
        let times = asker.chain.iter().filter(|other| **other == recruit.agent.name).count();
        if times >= self.limits.same_agent {
            return Err(Refusal::denied(
                "same_agent_limit_exceeded",
                format!(
                    "`{}` is {times} times in the chain {} already, and {} is the most; ask another agent, or do it \
                     yourself",
                    recruit.agent.name,
                    asker.chain.join(" → "),
                    self.limits.same_agent
                ),
            ));
        }
        // Whoever works rights out, there is no way up.
        let ceiling = recruit.ceiling.narrow(&asker.ceiling);
        Ok((asker, Recruit { ceiling, ..recruit }))
    }

    /// Refuses when the one that asks has too much going on that it does not wait for.
    pub(super) fn check_background(&self, asker: &Seat) -> Result<(), Refusal> {
        let most = self.limits.per_call;
        if self.active.background_of(&asker.session.tenant, &asker.session.id) < most {
            return Ok(());
        }
        let text = format!("{most} tasks of yours run in the background already; wait for one with `task_result`");
        Err(Refusal::denied("task_limit_exceeded", text))
    }

    /// Opens the account of a piece of work below the one that asks.
    pub(super) fn account(
        &self,
        asker: &Seat,
        recruit: &Recruit,
        lower: Lower,
    ) -> Result<(Account, Allowance), Refusal> {
        let usual = recruit.agent.budget.time.is_none().then_some(self.limits.time);
        let times = [usual, lower.time].into_iter().flatten();
        let time = times.fold(recruit.budget.time, Duration::min);
        let steps = lower.steps.map_or(recruit.budget.steps, |steps| steps.min(recruit.budget.steps));
        let account = asker.account.branch(Budget { time, steps, ..recruit.budget }).map_err(|spent| match spent {
            Spent::Depth => Refusal::denied(
                "depth_limit_exceeded",
                format!(
                    "agents may not be started any deeper than {} here; do it yourself, or have `budget.depth` raised \
                     in the definition of `{}`",
                    asker.chain.len(),
                    asker.chain.first().unwrap_or(&asker.agent.name)
                ),
            ),
            other => Refusal::denied("limit_exceeded", other.to_string()),
        })?;
        // The one that asks may have less time left than that.
        let left = account.deadline().saturating_duration_since(Instant::now()).saturating_add(ROUNDED_UP);
        Ok((account, Allowance { time: Duration::from_secs(left.as_secs()), steps }))
    }

    /// Begins a session for an agent that is asked. It never does more than it may now, whoever asks it later.
    pub(super) async fn create_session(
        &self,
        asker: &Seat,
        recruit: &Recruit,
        parent: Option<&str>,
        attributes: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Result<Session, Refusal> {
        let origin = SessionOrigin {
            workspace: self.workspace(asker).await,
            parent: parent.map(str::to_owned),
            chain: asker.chain.clone(),
            ceiling: Some(recruit.ceiling.clone()),
        };
        let identity = (IDENTITY, json!(recruit.agent.base_key()));
        let attributes = attributes.into_iter().chain([identity]);
        let attributes = attributes.map(|(name, value)| (name.to_owned(), value)).collect();
        let new = NewSession { attributes, origin, ..NewSession::with(&asker.session.tenant, &recruit.agent.name) };
        Ok(self.store.create(new).await?)
    }

    /// The folder that the one who asks works in.
    pub(super) async fn workspace(&self, asker: &Seat) -> Option<String> {
        self.store.session(&asker.session).await.ok().and_then(|session| session.origin.workspace)
    }

    /// What a definition and its rights amount to under the ceiling that a session was begun with, whoever asks:
    /// the same as long as the definition stays the same.
    pub(super) fn mark(&self, asker: &Seat, name: &str, ceiling: &Ceiling) -> Result<String, Refusal> {
        let asker = Seat { ceiling: ceiling.clone(), ..asker.clone() };
        Ok(self.crew.recruit(name, &asker)?.fingerprint)
    }

    /// Another turn of an agent that was asked before, for an answer that has come for it.
    pub(super) async fn callback_order(&self, above: &Above, message: &Queued) -> Result<Order, Refusal> {
        let (asker, recruit) =
            self.engage(&above.place, &above.name, above.session.origin.ceiling.as_ref(), Way::Ruled).await?;
        let (account, allowance) = self.account(&asker, &recruit, Lower::default())?;
        let engaged = Engaged { asker, recruit, account, allowance };
        Ok(Order {
            description: "an answer has come".to_owned(),
            messages: above.messages,
            background: true,
            when_busy: WhenBusy::Queued(message.id.clone()),
            ..Order::new(&above.place, &above.name, engaged, above.session.clone(), message.text.clone())
        })
    }

    /// Writes down that an agent is started, and what it was not given. Whom nobody would know of is not started.
    pub(super) async fn audit_spawn(&self, order: &Order, run: &str) -> Result<(), Refusal> {
        let detail = json!({
            "task": order.task,
            "agent": order.recruit.agent.name,
            "parent": order.asker.session.id,
            "parent_run": order.asker.run,
            "call": order.call,
            "calls_back": order.calls_back || order.background,
            "chain": order.asker.chain,
            "ceiling": order.recruit.ceiling,
            "cut": order.recruit.cut,
            "fingerprint": order.recruit.fingerprint,
        });
        self.audit(&order.key(), Some(run), "spawn", detail).await.map_err(|error| {
            let name = &order.recruit.agent.name;
            Refusal::session(format!("agent `{name}` was not started, because that cannot be written down: {error}"))
        })
    }

    /// Writes down that an agent was refused, if it was not only the form of the request.
    pub(super) async fn audit_refusal(&self, place: &Place, tool: &str, refusal: &Refusal) {
        if let (Ok(seat), FailureKind::Denied) = (place.seat(), refusal.kind) {
            let detail = json!({ "tool": tool, "code": refusal.code, "why": refusal.text, "chain": seat.chain });
            // It is refused whether or not somebody can read of it later.
            drop(self.audit(&seat.session, seat.run.as_deref(), "refused", detail).await);
        }
    }

    /// Writes something down that somebody may want to look into later.
    pub(super) async fn audit(
        &self,
        session: &SessionKey,
        run: Option<&str>,
        kind: &str,
        detail: Value,
    ) -> Result<(), StoreError> {
        let record = AuditRecord {
            tenant: session.tenant.clone(),
            at: None,
            session: Some(session.id.clone()),
            run: run.map(str::to_owned),
            kind: kind.to_owned(),
            detail,
        };
        self.store.audit(&record).await
    }
}

/// Letters, digits, `_` and `-`; a plugin's name and a `/` may stand before.
fn check_name(name: &str) -> Result<(), Refusal> {
    if name.is_empty() {
        return Err(Refusal::invalid("Agent id must not be empty"));
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let mut parts = name.split('/');
    let fits = parts.by_ref().take(2).all(|part| !part.is_empty() && part.bytes().all(plain)) && parts.next().is_none();
    if !fits || name.len() > NAME {
        return Err(Refusal::invalid(format!(
            "an agent's name has letters, digits, `_` and `-`, at most {NAME} of them; `{}` has not",
            crate::clip(name, NAME)
        )));
    }
    Ok(())
}

/// Holds a name against what the one who asks may do: its grants, and its rules where they name agents.
fn permit(asker: &Seat, name: &str, recruit: &Recruit, way: Way) -> Result<(), Refusal> {
    let agents = &asker.ceiling.grants.agents;
    let granted = |name: &str| name.parse::<Word>().is_ok_and(|word| agents.covers(&word));
    // Another name for an agent is as good as its own; an agent of a plugin is not the one that is called alike.
    let is_granted = granted(name) || !name.contains('/') && granted(&recruit.agent.name);
    if !is_granted {
        return Err(Refusal::denied(
            "agent_not_accessible",
            format!(
                "Agent not accessible: {name}; `agents: [\"{name}\"]` in the grants of `{}` would allow it, if all \
                 above it may ask that agent, too",
                asker.agent.name
            ),
        ));
    }
    let scope = &asker.agent.scope;
    let permissions = &scope.permissions;
    let lists = [&scope.disallowed, &permissions.deny, &permissions.ask];
    let rules = lists.into_iter().chain(&scope.tools).chain(&permissions.allow);
    let names_agents = |rule: &Rule| rule.specifier().is_some() && rule.matches_tool("task");
    if !rules.flatten().any(names_agents) {
        return Ok(());
    }
    let decides = |tool: &str, input: &Value| scope.decide(&Call::new(tool, input));
    for name in [name, recruit.agent.name.as_str()] {
        let verdict = decides("task", &json!({ "agent": name }));
        let why = match (verdict.decision, way) {
            (Decision::Allow, _) | (Decision::Ask, Way::Ruled) => continue,
            // Somebody was asked about the call as it is.
            (Decision::Ask, Way::Unruled(tool)) if decides(tool, &json!({})).decision == Decision::Ask => continue,
            (Decision::Ask, Way::Unruled(_)) => format!("{}; that is possible with `task` only", verdict.reason),
            (Decision::Deny, _) => verdict.reason,
        };
        return Err(Refusal::denied("tool_not_allowed", format!("agent `{name}` is refused: {why}")));
    }
    Ok(())
}
