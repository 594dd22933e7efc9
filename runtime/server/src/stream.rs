//! What happens in a run, as server-sent events: from any moment on, without a gap and nothing twice.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, stream};

use crate::{app::App, problem::Problem};

/// How many events are read at once.
const PAGE: usize = 256;
/// How often a run that another process works on is looked at.
const POLL: Duration = Duration::from_millis(500);
/// How often a silent stream shows that it is alive.
const ALIVE: Duration = Duration::from_secs(15);

/// What happened in a run after the event of a number, and what will.
pub(crate) fn events(
    app: App,
    tenant: String,
    run: String,
    after: u64,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let reader = Reader { app, tenant, run, after, read: VecDeque::new(), over: false };
    let events = stream::unfold(reader, |mut reader| async move {
        let (number, text) = reader.next().await?;
        let name = kind(&text);
        Some((Ok(Event::default().id(number.to_string()).event(name).data(text)), reader))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE))
}

/// Reads the events of one run.
pub(crate) struct Reader {
    app: App,
    tenant: String,
    run: String,
    after: u64,
    read: VecDeque<(u64, String)>,
    over: bool,
}

impl Reader {
    /// From the beginning.
    pub(crate) fn of(app: App, tenant: &str, run: &str) -> Self {
        let (tenant, run) = (tenant.to_owned(), run.to_owned());
        Self { app, tenant, run, after: 0, read: VecDeque::new(), over: false }
    }

    /// The next one; nothing when there will be no more.
    pub(crate) async fn next(&mut self) -> Option<(u64, String)> {
        loop {
            if let Some((number, text)) = self.read.pop_front() {
                self.after = number;
                return Some((number, text));
            }
            if self.over {
                return None;
            }
            // Whether it is over is asked before what there is, so that nothing falls between the two.
            let live = self.app.runs().live(&self.tenant, &self.run);
            let ended = live.is_none() && self.is_over().await;
            match self.app.runs().told(&self.tenant, &self.run, self.after, PAGE).await {
                Ok(read) if !read.is_empty() => self.read = read.into(),
                Ok(_) if ended => self.over = true,
                Ok(_) => match live {
                    Some(live) => drop(live.more_than(self.after).await),
                    None => tokio::time::sleep(POLL).await,
                },
                // Whoever reads may come back and go on from here.
                Err(_) => self.over = true,
            }
        }
    }

    async fn is_over(&self) -> bool {
        match self.app.store().run(&self.tenant, &self.run).await {
            Ok(run) => matches!(run.state, palisade_agent::RunState::Ended { .. }),
            Err(_) => true,
        }
    }
}

/// Where a reader says that it left off.
pub(crate) fn left_off(last: Option<&str>) -> Result<u64, Problem> {
    match last.map(str::trim) {
        None | Some("") => Ok(0),
        Some(text) => text.parse().map_err(|_| Problem::invalid("`Last-Event-ID` is the number of an event")),
    }
}

fn kind(text: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Kind {
        event: String,
    }
    serde_json::from_str(text).map_or_else(|_| "event".to_owned(), |kind: Kind| kind.event)
}
