//! What agents may do for the sake of servers, worked out without starting any.

use palisade_agent::{Agent, Layer, Origin};
use palisade_grants::{Pattern, Rule};
use palisade_sandbox::Programs;
use serde_json::json;

use crate::{
    ConfiguredServer, Effective, PinnedServer, Places, ServerSettings, Under, available, definition::Connection,
    effective, effective_under,
};

use super::*;

fn program() -> Connection {
    Connection::Program { program: "post-server".to_owned(), arguments: vec!["a b".to_owned()], env: BTreeMap::new() }
}

fn http(url: &str) -> Connection {
    let headers = BTreeMap::from([("authorization".to_owned(), "Bearer {{secret:far}}".to_owned())]);
    Connection::Http { url: url.to_owned(), headers }
}

/// A registry with servers, each of which was met and has `look` and `put`.
fn registry(servers: Vec<(&str, Connection)>) -> (Registry, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let places = Places { server_pins: Some(folder.path().join("mcp.lock")), ..Places::default() };
    let mut registry = Registry::load(&places, &[]).unwrap();
    let configured = |(name, connection): (&str, Connection)| ConfiguredServer {
        name: name.to_owned(),
        connection: Some(connection),
        read_only: vec![Pattern::parse("look").unwrap()],
        ..ConfiguredServer::default()
    };
    registry.allow_servers(ServerSettings {
        configured: servers.into_iter().map(configured).collect(),
        programs: Some(Programs::standard("palisade".into())),
        variables: None,
    });
    for server in registry.servers().to_vec() {
        let tool = |name: &str| {
            let tool = PinnedTool { description: format!("{name}s."), schema: json!({ "type": "object" }) };
            (name.to_owned(), tool)
        };
        let tools = BTreeMap::from(["look", "put"].map(tool));
        let pinned = PinnedServer { name: server.name.clone(), at: String::new(), tools };
        registry.pin(&server, pinned, false).unwrap();
    }
    (registry, folder)
}

fn agent(tools: &[&str]) -> Agent {
    let mut agent = Agent::new("porter", "Carries.");
    agent.scope.tools = Some(tools.iter().map(|tool| Rule::parse(tool).unwrap()).collect());
    agent.origin = Origin { layer: Layer::User, ..Origin::default() };
    agent
}

fn of(agent: &Agent, registry: &Registry) -> Effective {
    effective(agent, &available(registry), registry)
}

fn names(effective: &Effective) -> Vec<&str> {
    effective.tools.iter().map(|tool| tool.candidate.name()).collect()
}

fn reason<'a>(effective: &'a Effective, tool: &str) -> &'a str {
    let excluded = effective.excluded.iter().find(|excluded| excluded.name == tool);
    &excluded.unwrap_or_else(|| panic!("{tool} is there")).reason
}

fn grants_of<'a>(effective: &'a Effective, tool: &str) -> &'a Grants {
    &effective.tools.iter().find(|own| own.candidate.name() == tool).unwrap().grants
}

/// Authority shrinks: what comes with a server is for its tools alone.
#[test]
fn what_a_server_needs_is_brought_for_its_tools_and_for_no_others() {
    let (registry, _folder) = registry(vec![("post", program()), ("far", http("https://far.example/mcp"))]);
    let effective = of(&agent(&["Read", "Bash", "exec", "WebFetch", "mcp__post__*", "mcp__far__*"]), &registry);
    let own = names(&effective);
    assert!(own.contains(&"mcp__post__put") && own.contains(&"mcp__far__put"), "{own:?}");
    assert!(!own.contains(&"exec") && !own.contains(&"web_fetch"), "{own:?}");
    let post = grants_of(&effective, "mcp__post__put");
    assert_eq!(post.commands.iter().map(ToString::to_string).collect::<Vec<_>>(), ["mcp__post"]);
    assert!(post.http.is_empty() && post.files.writes());
    let far = grants_of(&effective, "mcp__far__put");
    assert_eq!(far.http.iter().map(ToString::to_string).collect::<Vec<_>>().len(), 1);
    assert!(far.commands.is_empty() && far.files.is_empty(), "it is elsewhere");
    assert_eq!(far.secrets.iter().map(ToString::to_string).collect::<Vec<_>>(), ["far"]);
    let bash = grants_of(&effective, "bash");
    assert!(bash.commands.is_empty() && bash.http.is_empty());
    assert!(of(&agent(&["Read"]), &registry).grants.commands.is_empty(), "who names none has none");
}

/// All tools of a server are carried out by one process, so none has less than another.
#[test]
fn a_server_whose_tools_only_read_gets_files_to_read() {
    let (registry, _folder) = registry(vec![("post", program())]);
    let looks = of(&agent(&["mcp__post__look"]), &registry);
    assert!(!grants_of(&looks, "mcp__post__look").files.writes());
    let puts = of(&agent(&["mcp__post__look", "mcp__post__put"]), &registry);
    assert!(grants_of(&puts, "mcp__post__look").files.writes(), "nobody is told that it cannot");
}

#[test]
fn who_says_what_it_is_granted_has_said_it() {
    let (registry, _folder) = registry(vec![("post", program()), ("far", http("https://far.example/mcp"))]);
    let mut agent = agent(&["Read", "mcp__post__look", "mcp__far__look"]);
    agent.grants = Some(serde_json::from_value(json!({ "files": { ".": "read" } })).unwrap());
    let effective = of(&agent, &registry);
    assert_eq!(names(&effective), ["read"]);
    assert!(reason(&effective, "mcp__post__look").contains("commands: [\"mcp__post\"]"));
    assert!(reason(&effective, "mcp__far__look").contains("far.example"));
    agent.grants =
        Some(serde_json::from_value(json!({ "files": { ".": "read" }, "commands": ["mcp__post"] })).unwrap());
    let effective = of(&agent, &registry);
    assert_eq!(names(&effective), ["read", "mcp__post__look"]);
    assert!(!grants_of(&effective, "mcp__post__look").files.writes());
    assert_eq!(effective.warnings, Vec::<String>::new(), "no other program was asked for");
}

/// Resources go down: nobody reaches through another agent what it may not reach itself.
#[test]
fn an_agent_that_is_asked_has_no_server_that_the_one_who_asks_may_not_use() {
    let (registry, _folder) = registry(vec![("post", program()), ("far", http("https://far.example/mcp"))]);
    let worker = agent(&["mcp__post__put", "mcp__far__put"]);
    let under = |tools: &[&str]| {
        let ceiling = of(&agent(tools), &registry).handed_down();
        effective_under(&worker, &available(&registry), &registry, Under { ceiling: &ceiling, asked_by: "coordinator" })
    };
    assert_eq!(names(&under(&["mcp__post__put", "mcp__far__put"])).len(), 2, "the control");
    let narrow = under(&["Read"]);
    assert_eq!(names(&narrow), Vec::<&str>::new());
    assert!(narrow.cut.iter().any(|cut| cut.contains("`mcp__post__put`") && cut.contains("`coordinator`")));
    assert_eq!(names(&under(&["mcp__far__put"])), ["mcp__far__put"]);
}

#[test]
fn the_operators_ceiling_holds_for_servers() {
    let (mut registry, _folder) = registry(vec![("post", program()), ("far", http("https://far.example/mcp"))]);
    let porter = agent(&["Read", "mcp__post__put", "mcp__far__put"]);
    registry.lower_ceiling(
        &serde_json::from_value(json!({ "files": { ".": "read" }, "commands": ["mcp__post"] })).unwrap(),
    );
    let effective = of(&porter, &registry);
    assert_eq!(names(&effective), ["read", "mcp__post__put"]);
    assert!(!grants_of(&effective, "mcp__post__put").files.writes());
}

#[test]
fn servers_that_nobody_met_have_no_tools_and_it_is_said() {
    let (mut registry, folder) = registry(vec![("post", program())]);
    let porter = agent(&["mcp__post__*"]);
    let everything = Grants::everything();
    assert!(registry.unmet(&porter, &everything).is_empty());
    let mut settings = ServerSettings { programs: Some(Programs::standard("palisade".into())), ..Default::default() };
    let other = Connection::Program { program: "post-server".to_owned(), arguments: Vec::new(), env: BTreeMap::new() };
    settings.configured =
        vec![ConfiguredServer { name: "post".to_owned(), connection: Some(other), ..ConfiguredServer::default() }];
    registry.allow_servers(settings);
    assert_eq!(registry.unmet(&porter, &everything).len(), 1, "another command is another server");
    assert!(registry.unmet(&agent(&["Read"]), &everything).is_empty());
    // Whoever may not use it has no reason to start it.
    let reads: Grants = serde_json::from_value(json!({ "files": { ".": "read" } })).unwrap();
    let with: Grants = serde_json::from_value(json!({ "commands": ["mcp__post"] })).unwrap();
    assert_eq!((registry.unmet(&porter, &reads).len(), registry.unmet(&porter, &with).len()), (0, 1));
    let granted = Agent { grants: Some(reads), ..porter.clone() };
    assert!(registry.unmet(&granted, &everything).is_empty());
    let warnings = of(&granted, &registry).warnings;
    assert!(warnings.iter().any(|warning| warning.contains("commands: [\"mcp__post\"]")), "{warnings:?}");
    let effective = of(&porter, &registry);
    assert_eq!(names(&effective), Vec::<&str>::new());
    assert!(effective.warnings.iter().any(|warning| warning.contains("not known yet")), "{:?}", effective.warnings);
    drop(folder);
}

#[test]
fn names_that_no_model_takes_are_left_out() {
    assert!(is_name("get-issue_2.x") && is_name(&"x".repeat(64)));
    for name in ["", "a b", "ä", "a\n", "a\u{202e}", &"x".repeat(65), "a/b"] {
        assert!(!is_name(name), "{name:?}");
    }
}
