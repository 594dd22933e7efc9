use palisade_agent::{
    Account, Budget, Cancellation, Listener, ModelName, Prompt, ProviderError, Quiet, Reply, SessionKey, cancellation,
};
use palisade_grants::{Access, Grants, Lists, NamesGrant, Pattern, Rule};

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
        asker: None,
        warrant: None,
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

/// CF-31. With the option that says so, tools go down as everything else does, and stay down.
#[test]
fn an_intersecting_crew_hands_down_no_tool_that_the_one_who_asks_has_not() {
    let named = |names: &[&str]| Some(names.iter().map(|name| Rule::parse(name).unwrap()).collect());
    let mut chief = asker();
    chief.scope.tools = named(&["read", "task"]);
    chief.grants = Some(palisade_grants::Grants::everything());
    let mut helper = Agent::new("helper", "Asks, too.");
    helper.scope.tools = named(&["task", "grep", "write"]);
    let add = |registry: &mut Registry| registry.register(helper.clone()).unwrap();
    let seat = seat(chief, "p");
    let own = crew(add).recruit("worker", &seat).unwrap();
    assert!(own.tools.contains(&"write".to_owned()) && own.ceiling.tools.is_none());
    let crew = crew(add).intersecting(true);
    let worker = crew.recruit("worker", &seat).unwrap();
    assert_eq!(worker.tools, ["agent_ask", "parallel_task", "read", "task", "task_cancel", "task_result"]);
    let cut = "the tool `write` is not there: `asker`, which asks, does not have it";
    assert!(worker.cut.iter().any(|text| text.starts_with(cut)), "{:?}", worker.cut);
    // The one between has no `read`, so nobody below has.
    let helper = crew.recruit("helper", &seat).unwrap();
    let below = Seat { agent: helper.agent, ceiling: helper.ceiling, ..seat };
    let worker = crew.recruit("worker", &below).unwrap();
    assert_eq!(worker.tools, ["agent_ask", "parallel_task", "task", "task_cancel", "task_result"]);
}

/// DEL-11. What is decided while an agent works only takes from it: from the next look on, and from all below.
#[test]
fn what_is_left_of_an_agent_at_work_only_shrinks() {
    use palisade_agent::Warrant as _;
    use palisade_grants::{Access, Grants};
    let shared = SharedRegistry::new(Registry::built_in());
    let worker = Agent { grants: Some(Grants::workspace(Access::ReadWrite)), ..Agent::new("worker", "Works.") };
    shared.change(|registry| registry.register(worker.clone())).unwrap();
    let registry = shared.now();
    let begun = effective(&worker, &available(&registry), &registry);
    let above = crate::Standing::of(&begun, &shared, "somebody", None);
    let below = crate::Standing::of(&begun, &shared, "worker", Some(above.clone()));
    let writes = || [&above, &below].map(|standing| standing.ceiling().unwrap().grants.files.writes());
    assert_eq!((above.ceiling(), writes()), (Ok(begun.ceiling()), [true; 2]));
    assert!(below.tools().unwrap().is_none(), "nothing was taken back");
    let wider = Agent { grants: Some(Grants::everything()), ..worker.clone() };
    shared.change(|registry| registry.register(wider)).unwrap();
    assert_eq!((above.ceiling(), below.ceiling()), (Ok(begun.ceiling()), Ok(begun.ceiling())));
    shared.change(|registry| registry.lower_ceiling(&Grants::workspace(Access::Read)));
    assert_eq!(writes(), [false; 2]);
    assert!(below.tools().is_err(), "there is nobody to link what is left");
    shared.change(|registry| *registry = Registry::clone(&Registry::built_in()));
    shared.change(|registry| registry.register(worker.clone())).unwrap();
    assert_eq!(writes(), [false; 2], "what was taken back stays taken back");
    shared.change(|registry| registry.unregister("worker"));
    for standing in [&above, &below] {
        let why = standing.ceiling().unwrap_err();
        assert_eq!(why, "the agent `worker` may do nothing any more: it was taken out of the registry");
    }
    shared.change(|registry| registry.register(worker)).unwrap();
    assert!(above.ceiling().is_err() && below.tools().is_err());
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

/// J15, DEL-01. What runs outside of the sandbox is held by nothing, so it goes down only by name.
#[test]
fn a_program_outside_of_the_sandbox_is_handed_down_only_by_those_that_were_granted_it() {
    let crew = crew(|registry| {
        registry.register(Agent { grants: Some(Grants::everything()), ..Agent::new("middle", "Asks, too.") }).unwrap();
        registry.allow_outside(NamesGrant::new("claude-cli".parse()));
    });
    let reaches = |asker: Agent, name: &str| {
        let seat = Seat { ceiling: Ceiling::open(), ..seat(asker, "anthropic") };
        let outside = crew.recruit(name, &seat).unwrap().ceiling.grants.outside;
        ["claude-cli", "pi-cli"].map(|program| outside.iter().any(|granted| granted.matches(program)))
    };
    let granted = |outside: &[&str]| {
        let outside = outside.iter().flat_map(|name| name.parse()).collect();
        let grants = Grants { outside, agents: Grants::everything().agents, ..Grants::workspace(Access::Read) };
        Agent { grants: Some(grants), ..asker() }
    };
    assert_eq!(reaches(granted(&["claude-cli", "pi-cli"]), "worker"), [true, false]);
    assert_eq!(reaches(granted(&["*"]), "worker"), [true, false]);
    assert_eq!(reaches(granted(&["pi-cli"]), "worker"), [false, false]);
    for narrower in [asker(), granted(&[])] {
        assert_eq!(reaches(narrower.clone(), "worker"), [false, false]);
        assert_eq!(reaches(narrower, "middle"), [false, false]);
    }
}
