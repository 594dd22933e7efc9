//! A conversation that a client sends whole, as a run of an agent.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use palisade_agent::{Conclusion, Entry, Event, Inquiry, NewSession, Numbered, SessionKey, Usage, Which};

use crate::{
    app::App,
    entry::{Caller, Scope},
    problem::Problem,
    routes,
    runs::Started,
    stream::Reader,
};

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    /// Whoever wrote the client: read with the next words of the user, or with the last.
    Client,
    User,
    Agent,
}

/// What an agent is asked for.
pub(super) struct Asked {
    pub(super) agent: String,
    pub(super) said: Vec<(Speaker, String)>,
    /// The session that is gone on with.
    pub(super) session: Option<String>,
    /// Whether the session stays.
    pub(super) keeps: bool,
}

/// An agent at work for a client.
pub(super) struct Working {
    pub(super) started: Started,
    app: App,
    tenant: String,
    /// Whether the session stays, or is gone already.
    wanted: bool,
    over: bool,
}

/// What comes of a run, piece by piece.
pub(super) enum Piece {
    /// Words of the agent.
    Text(String),
    /// It is over.
    End(Result<Conclusion, Problem>),
}

impl Asked {
    /// Has the agent begin.
    pub(super) async fn begin(self, app: &App, caller: &Caller) -> Result<Working, Problem> {
        caller.may(Scope::Run)?;
        let (before, last) = turns(self.said)?;
        let mut made = None;
        let session = match self.session {
            Some(session) => Which::Known(session),
            None if before.is_empty() => {
                let attributes = BTreeMap::from([("client".to_owned(), "compatible".into())]);
                Which::New { id: None, name: None, attributes }
            }
            None => {
                let session = NewSession::with(caller.tenant.to_string(), &self.agent);
                let numbered = before.into_iter().zip(1..);
                let entries: Vec<Numbered> =
                    numbered.map(|(entry, number)| Numbered { number, at: Timestamp::now(), entry }).collect();
                let id = app.store().import(session, &entries).await?.id;
                made = Some(id.clone());
                Which::Known(id)
            }
        };
        let begun =
            routes::admitted(app, caller, Inquiry { agent: self.agent, session, text: last, panels: None }).await;
        if let (Err(_), Some(id)) = (&begun, made) {
            drop(app.store().delete(&SessionKey::new(caller.tenant.to_string(), id)).await);
        }
        let (app, tenant) = (app.clone(), caller.tenant.to_string());
        Ok(Working { started: begun?, app, tenant, wanted: self.keeps, over: false })
    }
}

/// What was said before, and what is to be worked on.
fn turns(said: Vec<(Speaker, String)>) -> Result<(Vec<Entry>, String), Problem> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut instructions: Vec<String> = Vec::new();
    for (speaker, text) in said {
        match speaker {
            Speaker::Client => instructions.push(text),
            Speaker::User => {
                let text = instructed(&mut instructions, text);
                match entries.last_mut() {
                    Some(Entry::User { text: before }) => *before = format!("{before}\n\n{text}"),
                    _ => entries.push(Entry::User { text }),
                }
            }
            Speaker::Agent => {
                entries.push(Entry::Reply { text, thinking: String::new(), calls: Vec::new(), kept: None });
            }
        }
    }
    match entries.pop() {
        Some(Entry::User { text }) if !text.trim().is_empty() => Ok((entries, instructed(&mut instructions, text))),
        _ => Err(Problem::invalid("the last message is one of the user, and says something")),
    }
}

/// Words of a user, behind what is to be read with them.
fn instructed(instructions: &mut Vec<String>, text: String) -> String {
    match std::mem::take(instructions) {
        none if none.is_empty() => text,
        some => format!("<instructions>\n{}\n</instructions>\n\n{text}", some.join("\n\n")),
    }
}

impl Working {
    /// The answer.
    pub(super) async fn answer(&mut self) -> Result<Conclusion, Problem> {
        let concluded = self.started.live.ended().await;
        self.over = true;
        self.tidy().await;
        concluded
    }

    /// The session goes if nobody wants it.
    async fn tidy(&mut self) {
        if !self.wanted {
            let key = SessionKey::new(&self.tenant, &self.started.session.id);
            drop(self.app.store().delete(&key).await);
            self.wanted = true;
        }
    }

    /// What the agent says, while it says it.
    pub(super) fn pieces(self) -> Pieces {
        let reader = Reader::of(self.app.clone(), &self.tenant, &self.started.run);
        Pieces { working: self, reader, ready: VecDeque::new(), said: String::new(), before: false, over: false }
    }
}

/// A client that goes away ends the run, and leaves nothing behind that nobody wanted.
impl Drop for Working {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        self.started.live.cancel();
        if !self.wanted {
            let (app, live) = (self.app.clone(), std::sync::Arc::clone(&self.started.live));
            let key = SessionKey::new(&self.tenant, &self.started.session.id);
            tokio::spawn(async move {
                drop(live.ended().await);
                drop(app.store().delete(&key).await);
            });
        }
    }
}

/// What an agent says, piece by piece.
pub(super) struct Pieces {
    working: Working,
    reader: Reader,
    ready: VecDeque<Piece>,
    /// What was passed on of the reply that comes in.
    said: String,
    /// Whether something was passed on of a reply before it.
    before: bool,
    over: bool,
}

impl Pieces {
    /// The run that is listened to.
    pub(super) fn run(&self) -> &str {
        &self.working.started.run
    }

    /// The next piece; nothing after the end.
    pub(super) async fn next(&mut self) -> Option<Piece> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(piece);
            }
            if self.over {
                return None;
            }
            match self.reader.next().await {
                Some((_, text)) => self.hear(&text),
                None => {
                    self.over = true;
                    let concluded = self.working.answer().await;
                    if let Ok(concluded) = &concluded {
                        self.catch_up(&concluded.answer);
                    }
                    self.ready.push_back(Piece::End(concluded));
                }
            }
        }
    }

    fn hear(&mut self, text: &str) {
        match serde_json::from_str::<Event>(text) {
            Ok(Event::ReplyText { text }) => self.say(&text),
            // What came in so far is void, and comes again.
            Ok(Event::ModelReplied { text, calls, .. }) => {
                self.catch_up(&text);
                if calls > 0 {
                    self.before |= !self.said.is_empty();
                    self.said.clear();
                }
            }
            _ => {}
        }
    }

    fn say(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.said.is_empty() && self.before {
            self.ready.push_back(Piece::Text("\n\n".to_owned()));
            self.before = false;
        }
        self.said.push_str(text);
        self.ready.push_back(Piece::Text(text.to_owned()));
    }

    /// Passes on what is missing of a reply that is whole now.
    fn catch_up(&mut self, whole: &str) {
        if let Some(rest) = whole.strip_prefix(self.said.as_str()) {
            let rest = rest.to_owned();
            self.say(&rest);
        }
    }
}

/// Tokens that were read and written.
pub(super) fn tokens(usage: &Usage) -> (u64, u64) {
    (usage.input_tokens, usage.output_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(turns: &[(Speaker, &str)]) -> Vec<(Speaker, String)> {
        turns.iter().map(|(speaker, text)| (*speaker, (*text).to_owned())).collect()
    }

    #[test]
    fn the_last_message_is_worked_on_and_the_others_were_said() {
        let (before, last) = turns(said(&[
            (Speaker::Client, "Be short."),
            (Speaker::User, "Hello"),
            (Speaker::Agent, "Hi."),
            (Speaker::User, "One more"),
            (Speaker::User, "thing"),
        ]))
        .unwrap();
        assert_eq!(last, "One more\n\nthing");
        assert_eq!(before[0], Entry::User { text: "<instructions>\nBe short.\n</instructions>\n\nHello".to_owned() });
        assert_eq!(before.len(), 2);
        let (before, last) = turns(said(&[(Speaker::User, "Hello"), (Speaker::Client, "Be short.")])).unwrap();
        assert_eq!((before.len(), last.as_str()), (0, "<instructions>\nBe short.\n</instructions>\n\nHello"));
        for wrong in [&[][..], &[(Speaker::Agent, "Hi.")], &[(Speaker::User, " ")], &[(Speaker::Client, "x")]] {
            assert!(turns(said(wrong)).is_err());
        }
    }
}
