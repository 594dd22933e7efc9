//! What becomes of an agent's session when its work is over.

use std::sync::Arc;

use super::Delegation;
use crate::SessionKey;

/// What becomes of a session. Dropped without [`Keep::settle`] it is as if the work had failed.
pub(super) enum Keep {
    /// It stays as it is.
    Stays,
    /// It goes: nobody is to ask this agent again.
    Ephemeral,
    /// It waits in the pool for another question, if the work ended well.
    Pooled(Reservation),
}

/// An agent of the pool that is at work.
pub(super) struct Reservation {
    hub: Arc<Delegation>,
    session: Option<SessionKey>,
}

impl Keep {
    /// A session that was reserved in the pool.
    pub(super) fn pooled(hub: &Arc<Delegation>, session: SessionKey) -> Self {
        Self::Pooled(Reservation { hub: Arc::clone(hub), session: Some(session) })
    }

    /// Whether the session is there when the work is over.
    pub(super) fn lasts(&self) -> bool {
        !matches!(self, Self::Ephemeral)
    }

    /// The work is over.
    pub(super) async fn settle(&mut self, hub: &Delegation, session: &SessionKey, ended_well: bool) {
        match self {
            Self::Stays => {}
            // What cannot be deleted now is of no harm: nobody is told of it.
            Self::Ephemeral => drop(hub.store.delete(session).await),
            Self::Pooled(reservation) if ended_well => reservation.release(),
            Self::Pooled(reservation) => reservation.discard(),
        }
    }
}

impl Reservation {
    fn release(&mut self) {
        if let Some(session) = self.session.take() {
            self.hub.pool.release(&session.tenant, &session.id);
        }
    }

    fn discard(&mut self) {
        if let Some(session) = self.session.take() {
            self.hub.pool.discard(&session.tenant, &session.id);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.discard();
    }
}
