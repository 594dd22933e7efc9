use palisade_agent::{
    Account, Budget, Cancellation, Listener, ModelName, Prompt, ProviderError, Quiet, Reply, SessionKey, cancellation,
};
use palisade_grants::{Lists, Pattern, Rule};

use super::*;
use crate::effective;

/// Says nothing.
struct Silent(&'static str);

#[async_trait]
impl Provider for Silent {
    fn name(&self) -> &str {
        self.0
    }

    async fn reply(&self, _: Prompt<'_>, _: &dyn Listener) -> Result<Reply, ProviderError> {
        Ok(Reply::default())
    }
}

/// Has nothing to give.
struct Empty;

impl Outfitter for Empty {
    fn model(&self, _: &Effective, _: &Seat) -> Result<Chosen, String> {
        Err("there is no model".to_owned())
    }

    fn tools(&self, _: &Effective, _: &[Arc<dyn Tool>]) -> Result<Equipped, String> {
        Err("there are no tools".to_owned())
    }
}

fn crew(change: impl FnOnce(&mut Registry)) -> LocalCrew {
    let mut registry = Registry::built_in();
    registry.register(Agent::new("worker", "Works.")).unwrap();
    change(&mut registry);
    LocalCrew::new(SharedRegistry::new(registry), PathBuf::new(), Arc::new(Empty))
}

fn seat(agent: Agent, provider: &'static str) -> Seat {
    let registry = Registry::built_in();
    let cancellation: Cancellation = cancellation().1;
    Seat {
        session: SessionKey::new("local", "s"),
        run: None,
        ceiling: effective(&agent, &available(&registry), &registry).ceiling(),
        account: Account::open(Budget::default()),
        cancellation,
        chain: vec![agent.name.clone()],
        messages: 0,
        provider: Arc::new(Silent(provider)),
        watcher: Arc::new(Quiet),
        agent,
    }
}

fn asker() -> Agent {
    Agent::new("asker", "Asks.")
}

fn names(peers: &[Peer]) -> Vec<&str> {
    peers.iter().map(|peer| peer.name.as_str()).collect()
}

/// K1, K2, K7, CF-9
#[test]
fn an_agent_sees_whom_it_may_ask_and_asks_the_hidden_by_name() {
    let crew = crew(|registry| {
        registry.register(Agent::new("shy", "Hidden.").hidden()).unwrap();
        registry.register(Agent { ui_visible: false, ..Agent::new("mute", "Answers nobody.") }).unwrap();
    });
    let pattern = |text: &str| Pattern::parse(text).unwrap();
    let peers = Lists { allow: Some(vec![pattern("w*"), pattern("s*"), pattern("mute")]), deny: vec![] };
    let asker = Agent { peers, ..asker() };
    assert_eq!(names(&crew.peers(&asker, false)), ["worker"]);
    assert_eq!(names(&crew.peers(&asker, true)), ["shy", "worker"]);
    let seat = seat(asker, "p");
    assert!(crew.recruit("worker", &seat).is_ok() && crew.recruit("shy", &seat).is_ok());
    for name in ["mute", "explore"] {
        assert_eq!(crew.recruit(name, &seat), Err(RecruitError::NotAccessible(name.to_owned())));
    }
    let unknown = crew.recruit("nobody", &seat).unwrap_err().to_string();
    assert_eq!(unknown, "Unknown subagent type: \"nobody\". Available: worker");
}

/// DEL-12
#[test]
fn a_denied_agent_is_not_found_under_another_name_either() {
    let mut asker = asker();
    asker.scope.disallowed = vec![Rule::parse("Agent(general)").unwrap()];
    let (crew, seat) = (crew(|_| {}), seat(asker, "p"));
    assert!(!names(&crew.peers(&seat.agent, true)).contains(&"general"));
    for name in ["general", "general-purpose"] {
        assert_eq!(crew.recruit(name, &seat), Err(RecruitError::NotAccessible(name.to_owned())));
    }
}

/// E20, H4
#[test]
fn whatever_makes_an_agent_another_one_changes_its_fingerprint() {
    let print = |change: &dyn Fn(&mut Agent), by: Agent, provider| {
        let mut worker = Agent::new("worker", "Works.");
        change(&mut worker);
        crew(|registry| registry.register(worker).unwrap()).recruit("worker", &seat(by, provider)).unwrap().fingerprint
    };
    let changes: [&dyn Fn(&mut Agent); 9] = [
        &|_| {},
        &|agent| agent.prompt = Some(String::new()),
        &|agent| agent.prompt = Some("x".to_owned()),
        &|agent| agent.scope.tools = Some(vec![Rule::parse("read").unwrap()]),
        &|agent| agent.scope.disallowed = vec![Rule::parse("Read(.env)").unwrap()],
        &|agent| agent.limits.memory = Some(1 << 20),
        &|agent| agent.budget.steps = Some(3),
        &|agent| agent.model = ModelName::parse("sonnet"),
        &|agent| agent.origin.path = Some("elsewhere".to_owned()),
    ];
    let mut prints: Vec<String> = changes.iter().map(|change| print(change, asker(), "p")).collect();
    assert_eq!(prints[0], print(&|_| {}, asker(), "p"), "the same is the same");
    assert_eq!(prints[0].len(), 64);
    prints.push(print(&|_| {}, asker(), "another"));
    let mut reader = asker();
    reader.scope.tools = Some(vec![Rule::parse("read").unwrap(), Rule::parse("task").unwrap()]);
    prints.push(print(&|_| {}, reader, "p"));
    let count = prints.len();
    prints.sort_unstable();
    prints.dedup();
    assert_eq!(prints.len(), count);
}

#[tokio::test]
async fn what_cannot_be_given_is_said() {
    let (crew, seat) = (crew(|_| {}), seat(asker(), "p"));
    let recruit = crew.recruit("worker", &seat).unwrap();
    let refused = crew.equip(&recruit, &seat, Vec::new()).await.err().unwrap();
    assert_eq!(refused.to_string(), "agent `worker` cannot be used: there is no model");
}
