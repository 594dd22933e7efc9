//! A tenant's agents at work for the models of others.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use palisade_agent::{Cancellation, Event, Inquiry, Watcher, Which};
use palisade_mcp::{Answer, Runs, Work};

use crate::{app::App, entry::Caller, routes, runs::Live, stream::Reader};

/// Lets a tenant's agents work.
pub(super) struct Served {
    pub(super) app: App,
    pub(super) caller: Caller,
}

#[async_trait]
impl Runs for Served {
    async fn run(&self, work: Work, watcher: Arc<dyn Watcher>, cancellation: Cancellation) -> Answer {
        let session = match work.session {
            Some(id) => Which::Known(id),
            None => {
                let attributes = BTreeMap::from([("client".to_owned(), "mcp".into())]);
                Which::New { id: None, name: None, attributes }
            }
        };
        let inquiry = Inquiry { agent: work.agent, session, text: work.task, panels: None };
        let started = match routes::admitted(&self.app, &self.caller, inquiry).await {
            Ok(started) => started,
            Err(problem) => return Answer { text: Err(problem.detail().to_owned()), session: None },
        };
        // Also if this future is dropped.
        let _ends = Ends(Arc::clone(&started.live));
        let mut events = Reader::of(self.app.clone(), &self.caller.tenant, &started.run);
        let telling = async {
            while let Some((_, text)) = events.next().await {
                if let Ok(event) = serde_json::from_str::<Event>(&text) {
                    watcher.watch(event);
                }
            }
            started.live.ended().await
        };
        let concluded = tokio::select! {
            concluded = telling => concluded,
            () = cancellation.cancelled() => {
                started.live.cancel();
                started.live.ended().await
            }
        };
        let text = match concluded {
            Ok(concluded) => match concluded.failure {
                None => Ok(concluded.answer),
                Some(why) => Err(why),
            },
            Err(problem) => Err(problem.detail().to_owned()),
        };
        Answer { text, session: Some(started.session.id.clone()) }
    }
}

struct Ends(Arc<Live>);

impl Drop for Ends {
    fn drop(&mut self) {
        // One that is over does not mind.
        self.0.cancel();
    }
}
