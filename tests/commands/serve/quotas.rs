//! What a tenant may use up, and that its neighbours do not notice.

use serde_json::{Value, json};

use super::{
    Server,
    model::{Model, Said},
    tenants,
};

fn retry_after(head: &str) -> Option<u64> {
    let line = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("retry-after:").map(str::to_owned));
    line.and_then(|after| after.trim().parse().ok())
}

fn with_quotas(tenant: &str, quotas: Value, model: &Model) -> (Server, Vec<String>) {
    let (world, keys) = tenants(&["acme", "borg"]);
    model.configure(&world);
    world.palisade(&["tenants", "set", tenant, "--settings", &json!({ "quotas": quotas }).to_string()]).with_code(0);
    (Server::start(world, &["--keys"]), keys)
}

#[test]
fn a_tenant_of_which_nothing_is_said_has_a_workspace_and_tools_for_it() {
    let model = Model::start(|results, _| match results {
        0 => Said::Call("write", json!({ "path": "a.txt", "content": "mine" })),
        1 => Said::Call("read", json!({ "path": "a.txt" })),
        2 => Said::Call("bash", json!({ "command": "ls; cat ../tenants/*/*" })),
        _ => Said::Text("done".to_owned()),
    });
    let (world, keys) = tenants(&["acme", "borg"]);
    model.configure(&world);
    let server = Server::start(world, &["--keys"]);
    let ask = json!({ "agent": "general", "input": "write", "wait": true });
    let run = server.post("/api/runs", &keys[0], &ask).with(200).json();
    let events = server.get(&format!("/api/runs/{}/events", run["id"].as_str().unwrap()), &keys[0]).with(200).body;
    let calls: Vec<_> = events.lines().filter(|line| line.contains(r#""event":"call_finished""#)).collect();
    assert_eq!(calls.len(), 3, "{events}");
    assert!(calls.iter().all(|call| call.contains(r#""failure":null"#)), "{calls:?}");
    let data = server.world.home().join(".local/share/palisade");
    assert_eq!(std::fs::read_to_string(data.join("workspaces/acme/a.txt")).unwrap(), "mine");
    assert!(!data.join("workspaces/borg/a.txt").exists());
}

/// A workspace is the operator's choice; what the server keeps for itself and for others is not in it.
#[test]
fn a_tenant_whose_workspace_holds_the_servers_own_folders_does_not_see_them() {
    let model = Model::start(|results, _| match results {
        0 => Said::Call("read", json!({ "path": "seen.txt" })),
        1 => Said::Call("read", json!({ "path": ".local/share/palisade/tenants/borg/agents/x.md" })),
        2 => Said::Call("read", json!({ "path": ".config/palisade/config.toml" })),
        _ => Said::Text("done".to_owned()),
    });
    let (world, keys) = tenants(&["acme", "borg"]);
    world.add_at_home("seen.txt", "seen");
    world.add_at_home(".local/share/palisade/tenants/borg/agents/x.md", "x");
    model.configure(&world);
    let settings = json!({ "workspace": world.home() }).to_string();
    world.palisade(&["tenants", "set", "acme", "--settings", &settings]).with_code(0);
    let server = Server::start(world, &["--keys"]);
    let ask = json!({ "agent": "explore", "input": "read", "wait": true });
    let run = server.post("/api/runs", &keys[0], &ask).with(200).json();
    let events = server.get(&format!("/api/runs/{}/events", run["id"].as_str().unwrap()), &keys[0]).with(200).body;
    let calls = events.lines().filter(|line| line.contains(r#""event":"call_finished""#));
    let done: Vec<bool> = calls.map(|call| call.contains(r#""failure":null"#)).collect();
    assert_eq!(done, [true, false, false], "{events}");
}

/// HTTP-17
#[test]
fn more_runs_than_a_tenant_may_have_are_sent_away_and_those_of_others_are_not() {
    let model = Model::start(|_, _| Said::Held(Box::new(Said::Text("done".to_owned()))));
    let (server, keys) = with_quotas("acme", json!({ "runs": 1, "waiting": 0 }), &model);
    let ask = |key: &str| server.post("/api/runs", key, &json!({ "agent": "explore", "input": "look" }));
    ask(&keys[0]).with(202);
    model.holds(1);
    for _ in 0..20 {
        let refused = ask(&keys[0]).with(429);
        assert!(retry_after(&refused.head).is_some_and(|after| after > 0), "{}", refused.head);
        assert_eq!(refused.json()["type"], "/problems/too-many");
    }
    let theirs = ask(&keys[1]).with(202).json();
    model.holds(2);
    model.release();
    let path = format!("/api/runs/{}/events", theirs["id"].as_str().unwrap());
    assert!(server.get(&path, &keys[1]).with(200).body.contains("run_ended"));
}

#[test]
fn a_tenant_asks_only_so_often_in_a_minute() {
    let model = Model::start(|_, _| Said::Text("done".to_owned()));
    let (server, keys) = with_quotas("acme", json!({ "requests": 3 }), &model);
    let statuses = [(); 5].map(|()| server.get("/api/agents", &keys[0]).status);
    assert!(statuses.starts_with(&[200, 200, 200]) && statuses.contains(&429), "{statuses:?}");
    assert_eq!([(); 10].map(|()| server.get("/api/agents", &keys[1]).status), [200; 10]);
}

#[test]
fn the_tokens_of_a_day_are_those_of_all_runs_and_of_all_processes() {
    let model = Model::start(|results, _| match results {
        0 => Said::Call("read", json!({ "path": "x" })),
        _ => Said::Text("done".to_owned()),
    });
    // One reply has 110.
    let (server, keys) = with_quotas("acme", json!({ "tokens": 200 }), &model);
    let ask = |server: &Server, key: &str| {
        server.post("/api/runs", key, &json!({ "agent": "explore", "input": "look", "wait": true })).with(200).json()
    };
    assert_eq!(ask(&server, &keys[0])["ending"], "answered");
    let spent = json!({ "spent": "day" });
    assert_eq!(ask(&server, &keys[0])["ending"], spent);
    assert_eq!(ask(&server, &keys[1])["ending"], "answered");
    let server = Server::start(server.kill(), &["--keys"]);
    assert_eq!(ask(&server, &keys[0])["ending"], spent);
    assert_eq!(ask(&server, &keys[1])["ending"], "answered");
}

/// What clients of others ask leaves no session behind, and is counted all the same.
#[test]
fn the_tokens_of_a_day_count_also_when_nothing_else_is_left_of_a_run() {
    let model = Model::start(|_, _| Said::Text("done".to_owned()));
    // One reply has 110.
    let (server, keys) = with_quotas("acme", json!({ "tokens": 110 }), &model);
    let said = json!([{ "role": "user", "content": "look" }]);
    let message = json!({ "model": "explore", "max_tokens": 99, "messages": said });
    server.post("/v1/messages", &keys[0], &message).with(200);
    server.post("/v1/chat/completions", &keys[1], &json!({ "model": "explore", "messages": said })).with(200);
    for key in &keys {
        assert_eq!(server.get("/api/sessions", key).with(200).json()["data"], json!([]));
        let rows = server.get("/api/usage?by=day", key).with(200).json()["data"].clone();
        let (runs, usage) = (&rows[0]["runs"], &rows[0]["spending"]["usage"]);
        assert_eq!(
            (runs, &usage["input_tokens"], &usage["output_tokens"]),
            (&json!(1), &json!(100), &json!(10)),
            "{rows}"
        );
    }
    let by_session = server.get("/api/usage?by=session", &keys[0]).with(200).json();
    assert_eq!((&by_session["data"][0]["of"], &by_session["data"][0]["runs"]), (&json!(""), &json!(1)));
    let server = Server::start(server.kill(), &["--keys"]);
    let ask = |key: &str| {
        server.post("/api/runs", key, &json!({ "agent": "explore", "input": "look", "wait": true })).with(200).json()
    };
    assert_eq!(ask(&keys[0])["ending"], json!({ "spent": "day" }));
    assert_eq!(ask(&keys[1])["ending"], "answered");
}

#[test]
fn settings_that_nothing_would_enforce_are_refused() {
    let (world, _) = tenants(&["acme"]);
    for wrong in [r#"{"quotas": {"bananas": 3}}"#, r#"{"qoutas": {}}"#, r#"{"quotas": {"runs": -1}}"#, "[]", "nonsense"]
    {
        let ended = world.palisade(&["tenants", "set", "acme", "--settings", wrong]);
        assert_ne!(ended.code, 0, "{wrong}");
    }
}
