//! What a watcher is told of a piece of work: one start, all that happens in it, one end.

use std::sync::Arc;

use super::{order::Order, report::Report};
use crate::event::shorten;
use crate::{Ending, Event, Usage, Watcher};

/// A piece of work whose start was told. Its end is told exactly once, also if it is dropped.
pub(super) struct Telling {
    to: Arc<dyn Watcher>,
    task: String,
    agent: String,
    session: String,
    told: bool,
}

impl Telling {
    /// Tells of the start.
    pub(super) fn start(order: &Order) -> Self {
        let to = Arc::clone(&order.asker.watcher);
        let (agent, session) = (order.recruit.agent.name.clone(), order.session.id.clone());
        to.watch(Event::SubagentStarted {
            task: order.task.clone(),
            agent: agent.clone(),
            session: session.clone(),
            parent_session: order.asker.session.id.clone(),
            call: order.call.clone(),
            description: shorten(&order.description),
            cut: order.recruit.cut.clone(),
        });
        Self { to, task: order.task.clone(), agent, session, told: false }
    }

    /// Tells of the end.
    pub(super) fn end(mut self, report: &Report) {
        self.tell(report.is_success(), report.ending.clone(), report.usage);
    }

    fn tell(&mut self, success: bool, ending: Ending, usage: Usage) {
        self.told = true;
        let (task, agent, session) = (self.task.clone(), self.agent.clone(), self.session.clone());
        self.to.watch(Event::SubagentEnded { task, agent, session, success, ending, usage });
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        if !self.told {
            self.tell(false, Ending::Cancelled, Usage::default());
        }
    }
}

/// Passes on what happens in a piece of work to whoever watches the one that asked for it.
pub(super) struct Relay {
    to: Arc<dyn Watcher>,
    task: String,
}

impl Relay {
    pub(super) fn of(order: &Order) -> Self {
        Self { to: Arc::clone(&order.asker.watcher), task: order.task.clone() }
    }
}

impl Watcher for Relay {
    fn watch(&self, event: Event) {
        self.to.watch(Event::SubagentProgress { task: self.task.clone(), event: Box::new(event) });
    }
}
