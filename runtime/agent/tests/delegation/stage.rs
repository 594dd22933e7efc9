//! The stage that all of these tests play on: a store in memory, agents whose models are closures, and somebody
//! who watches.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use palisade_agent::{
    Account, Agent, Budget, Canceller, Ceiling, Crew, Delegation, DelegationLimits, Entry, Equipment, Event, Listener,
    NewSession, Peer, Progress, Prompt, Provider, ProviderError, ProviderFailure, Recruit, RecruitError, Reply, Seat,
    Session, SessionKey, Store, Surroundings, Tool, ToolCall, ToolResult, Toolbox, Usage, cancellation,
};
use palisade_store::{Clock, Memory};
use serde_json::Value;

/// What a model is given, as far as these tests look at it.
pub(crate) struct Heard {
    pub(crate) instructions: String,
    pub(crate) tools: Vec<String>,
    pub(crate) entries: Vec<Entry>,
}

impl Heard {
    /// What it was last asked.
    pub(crate) fn asked(&self) -> &str {
        let texts = self.entries.iter().rev().find_map(|entry| match entry {
            Entry::User { text } => Some(text.as_str()),
            _ => None,
        });
        texts.unwrap_or_default()
    }

    /// All it was ever asked.
    pub(crate) fn questions(&self) -> Vec<&str> {
        let texts = self.entries.iter().filter_map(|entry| match entry {
            Entry::User { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The result of the last call since it was last asked.
    pub(crate) fn result(&self) -> Option<&ToolResult> {
        self.entries.iter().rev().take_while(|entry| !matches!(entry, Entry::User { .. })).find_map(|entry| match entry
        {
            Entry::Result { result, .. } => Some(result),
            _ => None,
        })
    }
}

/// What a model does.
pub(crate) enum Act {
    Say(String),
    Call(&'static str, Value),
    CallAll(Vec<(&'static str, Value)>),
    After(Duration, Box<Act>),
    Hang,
    Panic,
    Fail,
}

pub(crate) fn say(text: impl Into<String>) -> Act {
    Act::Say(text.into())
}

pub(crate) fn late(milliseconds: u64, act: Act) -> Act {
    Act::After(Duration::from_millis(milliseconds), Box::new(act))
}

type Part = Arc<dyn Fn(&Heard) -> Act + Send + Sync>;

/// An agent of the crew.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) agent: Agent,
    pub(crate) own: Ceiling,
    part: Part,
}

struct Model(Part);

#[async_trait]
impl Provider for Model {
    fn name(&self) -> &str {
        "model"
    }

    async fn reply(&self, prompt: Prompt<'_>, _: &dyn Listener) -> Result<Reply, ProviderError> {
        let heard = Heard {
            instructions: prompt.instructions.to_owned(),
            tools: prompt.tools.iter().map(|spec| spec.name.clone()).collect(),
            entries: prompt.transcript.entries().to_vec(),
        };
        let mut act = (self.0)(&heard);
        let usage = Usage { input_tokens: 10, output_tokens: 1, ..Usage::default() };
        let call = |(at, (tool, input)): (usize, (&str, Value))| ToolCall {
            id: format!("call-{at}"),
            tool: tool.to_owned(),
            input,
        };
        loop {
            act = match act {
                Act::Say(text) => return Ok(Reply { usage, ..Reply::answer(text) }),
                Act::Call(tool, input) => Act::CallAll(vec![(tool, input)]),
                Act::CallAll(calls) => {
                    let calls = calls.into_iter().enumerate().map(call).collect();
                    return Ok(Reply { calls, usage, thinking: "Let me see.".into(), ..Reply::default() });
                }
                Act::After(wait, act) => {
                    tokio::time::sleep(wait).await;
                    *act
                }
                Act::Hang => std::future::pending().await,
                Act::Panic => panic!("a model that breaks down"),
                Act::Fail => {
                    let (provider, message) = ("model".to_owned(), "it is gone".to_owned());
                    return Err(ProviderError { provider, kind: ProviderFailure::Exhausted, message });
                }
            };
        }
    }
}

/// Who there is. Can change at any time, as files can.
#[derive(Default)]
pub(crate) struct Troupe {
    members: Mutex<HashMap<String, Member>>,
    /// Who was given what.
    pub(crate) recruited: Mutex<Vec<Recruit>>,
}

impl Troupe {
    pub(crate) fn add(&self, member: Member) {
        self.members.lock().unwrap().insert(member.agent.name.clone(), member);
    }

    fn member(&self, name: &str) -> Option<Member> {
        self.members.lock().unwrap().get(name).cloned()
    }

    pub(crate) fn last_recruit(&self, name: &str) -> Recruit {
        let recruited = self.recruited.lock().unwrap();
        recruited.iter().rev().find(|recruit| recruit.agent.name == name).unwrap().clone()
    }
}

#[async_trait]
impl Crew for Troupe {
    fn peers(&self, caller: &Agent, hidden: bool) -> Vec<Peer> {
        let members = self.members.lock().unwrap();
        let seen = members.values().map(|member| &member.agent);
        let seen = seen.filter(|agent| agent.name != caller.name && agent.ui_visible && (hidden || !agent.hidden));
        let peer = |agent: &Agent| Peer {
            name: agent.name.clone(),
            display_name: agent.display_name().to_owned(),
            description: agent.description.clone(),
        };
        let mut peers: Vec<Peer> = seen.map(peer).collect();
        peers.sort_by(|one, other| one.name.cmp(&other.name));
        peers
    }

    fn recruit(&self, name: &str, asked_by: &Seat) -> Result<Recruit, RecruitError> {
        let Some(Member { agent, own, .. }) = self.member(name) else {
            let available = self.peers(&asked_by.agent, false).into_iter().map(|peer| peer.name).collect();
            return Err(RecruitError::Unknown { name: name.to_owned(), available });
        };
        if !agent.ui_visible {
            return Err(RecruitError::NotAccessible(name.to_owned()));
        }
        let ceiling = own.narrow(&asked_by.ceiling);
        let cut = if ceiling == own { Vec::new() } else { vec![format!("`{name}` has less than it asks for")] };
        let fingerprint = format!("{:?} {:?} {:?}", agent.base_key(), agent.prompt, ceiling);
        let budget = agent.budget();
        Ok(Recruit { agent, ceiling, budget, tools: Vec::new(), cut, fingerprint })
    }

    async fn equip(
        &self,
        recruit: &Recruit,
        _: &Seat,
        own_tools: Vec<Arc<dyn Tool>>,
    ) -> Result<Equipment, RecruitError> {
        self.recruited.lock().unwrap().push(recruit.clone());
        let members = self.members.lock().unwrap();
        let part = members.values().find(|member| member.agent == recruit.agent).unwrap().part.clone();
        let toolbox = Toolbox::new(own_tools).unwrap().ruled_by(recruit.agent.scope.clone());
        let provider = Arc::new(Model(part));
        Ok(Equipment { provider, toolbox, surroundings: Surroundings::default(), warnings: Vec::new() })
    }
}

pub(crate) const TENANT: &str = "tenant";

/// Everything together, with the agent `boss` in the outermost seat.
pub(crate) struct Stage {
    pub(crate) store: Arc<Memory>,
    /// What the store goes by.
    pub(crate) clock: Clock,
    pub(crate) crew: Arc<Troupe>,
    pub(crate) hub: Arc<Delegation>,
    pub(crate) seat: Arc<Seat>,
    pub(crate) canceller: Canceller,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
    pub(crate) toolbox: Toolbox,
}

/// How the stage is set.
pub(crate) struct Setting {
    pub(crate) limits: DelegationLimits,
    pub(crate) budget: Budget,
    pub(crate) boss: Agent,
    pub(crate) ceiling: Ceiling,
    pub(crate) lease: Duration,
    pub(crate) messages: u32,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            limits: DelegationLimits::default(),
            budget: Budget::default(),
            boss: Agent::new("boss", "Asks."),
            ceiling: Ceiling::open(),
            lease: Duration::from_secs(30),
            messages: 0,
        }
    }
}

impl Stage {
    pub(crate) async fn set(setting: Setting) -> Self {
        let Setting { limits, budget, boss, ceiling, lease, messages } = setting;
        let clock = Clock::default();
        let (store, crew) = (Arc::new(Memory::by(clock.clone())), Arc::new(Troupe::default()));
        let hub = Delegation::new(store.clone(), crew.clone(), limits, "this process").leasing(lease);
        let mut new = NewSession::with(TENANT, "boss");
        new.origin.workspace = Some("folder".to_owned());
        let session = store.create(new).await.unwrap();
        let events = Arc::new(Mutex::new(Vec::new()));
        let (canceller, cancellation) = cancellation();
        let seat = Seat {
            session: SessionKey::new(TENANT, session.id),
            run: None,
            chain: vec![boss.name.clone()],
            agent: boss,
            ceiling,
            account: Account::open(budget),
            cancellation,
            messages,
            provider: Arc::new(Model(Arc::new(|_| say("")))),
            watcher: Arc::new({
                let events = Arc::clone(&events);
                move |event: Event| events.lock().unwrap().push(event)
            }),
            asker: None,
            warrant: None,
        };
        Self::sitting((store, clock), crew, Arc::new(hub), seat, canceller, events)
    }

    fn sitting(
        (store, clock): (Arc<Memory>, Clock),
        crew: Arc<Troupe>,
        hub: Arc<Delegation>,
        seat: Seat,
        canceller: Canceller,
        events: Arc<Mutex<Vec<Event>>>,
    ) -> Self {
        let seat = Arc::new(seat);
        let toolbox = Toolbox::new(hub.tools(Arc::clone(&seat))).unwrap();
        Self { store, clock, crew, hub, seat, canceller, events, toolbox }
    }

    pub(crate) async fn usual() -> Self {
        Self::set(Setting::default()).await
    }

    /// The same stage with another in the outermost seat, who begins anew.
    pub(crate) async fn reseated(&self, change: impl FnOnce(&mut Seat)) -> Self {
        let (canceller, cancellation) = cancellation();
        let account = Account::open(Budget::default());
        let mut seat = Seat { cancellation, account, ..Seat::clone(&self.seat) };
        change(&mut seat);
        let (crew, hub) = (Arc::clone(&self.crew), Arc::clone(&self.hub));
        Self::sitting(
            (Arc::clone(&self.store), self.clock.clone()),
            crew,
            hub,
            seat,
            canceller,
            Arc::clone(&self.events),
        )
    }

    /// The same stage, as another process finds it.
    pub(crate) async fn restarted(&self) -> Self {
        let (store, crew) = (Arc::clone(&self.store), Arc::clone(&self.crew));
        let hub = Delegation::new(store, crew, DelegationLimits::default(), "another process");
        let stage = self.reseated(|_| {}).await;
        let seat = Seat::clone(&stage.seat);
        Self::sitting((stage.store, stage.clock), stage.crew, Arc::new(hub), seat, stage.canceller, stage.events)
    }

    /// Puts an agent on the stage that may do everything.
    pub(crate) fn with(&self, name: &str, part: impl Fn(&Heard) -> Act + Send + Sync + 'static) -> &Self {
        self.with_agent(Agent::new(name, format!("Is {name}.")), Ceiling::open(), part)
    }

    pub(crate) fn with_agent(
        &self,
        agent: Agent,
        own: Ceiling,
        part: impl Fn(&Heard) -> Act + Send + Sync + 'static,
    ) -> &Self {
        self.crew.add(Member { agent, own, part: Arc::new(part) });
        self
    }

    /// Puts an agent on the stage under another name than its own.
    pub(crate) fn with_named(
        &self,
        name: &str,
        agent: Agent,
        part: impl Fn(&Heard) -> Act + Send + Sync + 'static,
    ) -> &Self {
        let member = Member { agent, own: Ceiling::open(), part: Arc::new(part) };
        self.crew.members.lock().unwrap().insert(name.to_owned(), member);
        self
    }

    /// Calls a tool of the boss.
    pub(crate) async fn call(&self, tool: &str, input: Value) -> ToolResult {
        let call = ToolCall { id: "boss-1".into(), tool: tool.into(), input };
        self.toolbox.call(&call, &Progress::unheard()).await
    }

    /// The same, for its text as JSON.
    pub(crate) async fn ask(&self, tool: &str, input: Value) -> Value {
        json_of(&self.call(tool, input).await)
    }

    pub(crate) async fn session(&self, id: &str) -> Session {
        self.store.session(&SessionKey::new(TENANT, id)).await.unwrap()
    }

    pub(crate) async fn entries(&self, id: &str) -> Vec<Entry> {
        let entries = self.store.entries(&SessionKey::new(TENANT, id), 0, 1000).await.unwrap();
        entries.into_iter().map(|numbered| numbered.entry).collect()
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }
}

pub(crate) fn json_of(result: &ToolResult) -> Value {
    serde_json::from_str(result.text()).unwrap_or_else(|_| panic!("{}", result.text()))
}

/// Answers with what it was asked.
pub(crate) fn echo(heard: &Heard) -> Act {
    say(format!("heard: {}", heard.asked()))
}
