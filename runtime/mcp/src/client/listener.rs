//! What a server says without being asked. It is heard where it is about a call, and nothing is done for it.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, Implementation, JsonRpcMessage, ProgressNotificationParam, ProgressToken,
        ServerNotification,
    },
    service::RxJsonRpcMessage,
};

/// Somebody who wants to hear how far a call is.
pub(super) type Hear = Box<dyn Fn(&str) + Send + Sync>;

/// How much is kept of what is told about calls that nobody listens to yet.
const EARLY: usize = 16;

/// Hears a server.
#[derive(Default)]
pub(super) struct Listener {
    calls: Mutex<Calls>,
    changed: AtomicBool,
}

#[derive(Default)]
struct Calls {
    /// Who wants to hear of which call.
    heard: HashMap<ProgressToken, Hear>,
    /// A server may be faster than whoever called it.
    early: VecDeque<ProgressNotificationParam>,
}

/// For as long as this is held, somebody hears of a call.
pub(super) struct Hearing {
    listener: Arc<Listener>,
    token: ProgressToken,
}

impl Listener {
    /// Hears a message as it comes in, before whatever comes behind it.
    pub(super) fn notice(&self, message: &RxJsonRpcMessage<RoleClient>) {
        let JsonRpcMessage::Notification(notification) = message else { return };
        match &notification.notification {
            ServerNotification::ProgressNotification(progress) => self.progress(&progress.params),
            ServerNotification::ToolListChangedNotification(_) => self.changed.store(true, Ordering::Release),
            _ => {}
        }
    }

    fn progress(&self, params: &ProgressNotificationParam) {
        let mut calls = self.calls();
        match (calls.heard.get(&params.progress_token), &params.message) {
            (Some(hear), Some(message)) => hear(message),
            (None, Some(_)) => {
                calls.early.push_back(params.clone());
                if calls.early.len() > EARLY {
                    calls.early.pop_front();
                }
            }
            (_, None) => {}
        }
    }

    pub(super) fn hear(self: &Arc<Self>, token: ProgressToken, hear: Hear) -> Hearing {
        let mut calls = self.calls();
        let (own, others) =
            std::mem::take(&mut calls.early).into_iter().partition(|early| early.progress_token == token);
        let own: VecDeque<ProgressNotificationParam> = own;
        calls.early = others;
        own.iter().filter_map(|early| early.message.as_deref()).for_each(&hear);
        calls.heard.insert(token.clone(), hear);
        Hearing { listener: Arc::clone(self), token }
    }

    pub(super) fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Acquire)
    }

    /// The tools are about to be looked at.
    pub(super) fn looked(&self) {
        self.changed.store(false, Ordering::Release);
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        self.listener.calls().heard.remove(&self.token);
    }
}

impl ClientHandler for Listener {
    /// Nothing is offered to a server: no model, no folders, no person to be asked.
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("palisade", env!("CARGO_PKG_VERSION")).with_title("Palisade");
        ClientConfig::new(ClientCapabilities::default(), own)
    }
}
