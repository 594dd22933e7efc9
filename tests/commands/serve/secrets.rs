//! What the server writes down holds nobody's secrets, and a tenant's own are its own.

use std::{
    fs,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use palisade_tests::{
    guests::guest,
    web::{AUTHORITY, Certificate, listen, plain},
};
use serde_json::json;

use super::{
    Server,
    model::{Model, Said},
    tenants,
};
use crate::world::{Ended, World};

/// HTTP-04
#[test]
fn keys_and_what_is_said_are_in_no_log_however_much_is_logged() {
    const CANARY: &str = "canary-5d1c";
    let (world, keys) = tenants(&["acme", "borg"]);
    let model = Model::start(|results, _| match results {
        0 => Said::Call("grep", json!({ "pattern": CANARY })),
        _ => Said::Text(CANARY.to_owned()),
    });
    model.configure(&world);
    let server = Server::start(world, &["--keys", "--log", "trace"]);
    let asked = json!({ "agent": "explore", "input": CANARY, "wait": true, "session_name": CANARY });
    let run = server.post("/api/runs", &keys[0], &asked).with(200).json();
    assert_eq!(run["answer"], CANARY, "the control: it was said");
    let theirs = format!("/api/sessions/{}?x={CANARY}", run["session"].as_str().unwrap());
    server.get(&theirs, &keys[1]).with(404);
    server.get(&format!("/{CANARY}"), &keys[0]).with(404);
    server.get("/api/agents", &format!("pal_{CANARY}")).with(401);
    server.ask("GET", "/api/agents", "", &[("x-api-key", CANARY), ("Cookie", CANARY)], None).with(401);
    server.post("/api/runs", &keys[0], &json!({ CANARY: CANARY })).with(400);
    server.post("/v1/chat/completions", &keys[0], &json!({ "model": CANARY, "messages": [] })).with(400);
    server.get(&format!("/api/agents/{CANARY}"), &keys[0]).with(404);
    let log = server.log();
    assert!(log.contains("answered") && log.contains("/api/runs"), "the control: it was logged\n{log}");
    for secret in [CANARY, &keys[0][4..], &keys[1][4..]] {
        assert!(!log.contains(secret), "{log}");
    }
}

/// Two tenants with a tool that asks a server, and a secret each of the same name.
struct Stage {
    server: Server,
    keys: Vec<String>,
    admin: String,
    /// What the server outside was last sent.
    seen: Arc<Mutex<String>>,
    outside: SocketAddr,
}

const OF_ACME: &str = "sk-canary-acme-0123456789";
const OF_BORG: &str = "sk-canary-borg-9876543210";

/// Gives a tenant a plugin with the tool `ask`, and the agent `keyed` that has it.
fn equip(world: &World, tenant: &str, outside: SocketAddr) {
    let folder = world.home().join(".local/share/palisade/tenants").join(tenant).display().to_string();
    let wares = "../wares/asker";
    let tool = json!({
        "name": "ask", "description": "Asks a server.", "component": "fetch.wasm", "capabilities": ["net.http", "secrets"],
        "hosts": [outside.to_string()], "secrets": ["SERVICE"],
    });
    let manifest = json!({ "name": "asker", "version": "1.0.0", "description": "Asks.", "tools": [tool] });
    world.add(&format!("{wares}/plugin.json"), manifest.to_string());
    world.add(&format!("{wares}/fetch.wasm"), guest("fetch").unwrap().wasm);
    let own = [("PALISADE_DATA_DIR", folder.as_str()), ("PALISADE_CONFIG_DIR", folder.as_str())];
    let host = format!("net.http:{outside}");
    let install = ["plugins", "install", wares, "--grant", &host, "--grant", "secret:SERVICE", "--yes"];
    world.palisade_with(&own, &install).with_code(0);
    let grants = format!("grants: {{ http: [\"{outside}\"], secrets: [SERVICE] }}");
    let agent = format!("---\nname: keyed\ndescription: Asks.\ntools: [ask]\n{grants}\n---\nAsk.\n");
    world.add_at_home(&format!(".local/share/palisade/tenants/{tenant}/agents/keyed.md"), &agent);
    let grants = json!({ "files": { ".": "read" }, "agents": ["*"], "http": [outside.to_string()] });
    let settings = json!({ "grants": grants }).to_string();
    world.palisade(&["tenants", "set", tenant, "--settings", &settings]).with_code(0);
}

impl Stage {
    fn new() -> Self {
        let seen = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&seen);
        let outside = listen(Certificate::Right, move |asked, out| {
            let sent = asked.header("authorization").unwrap_or_default();
            sent.clone_into(&mut kept.lock().unwrap());
            plain(out, &format!("you said {sent}"))
        });
        let (world, keys) = tenants(&["acme", "borg"]);
        for tenant in ["acme", "borg"] {
            equip(&world, tenant, outside);
        }
        let model = Model::start(move |results, asked| match results {
            0 => {
                let headers = json!([["authorization", "Bearer {{secret:SERVICE}}"]]);
                Said::Call("ask", json!({ "requests": [{ "url": format!("https://{outside}/"), "headers": headers }] }))
            }
            // All that it was told.
            _ => Said::Text(asked["messages"].to_string()),
        });
        model.configure(&world);
        let admin =
            world.palisade(&["tenants", "key", "acme", "--scope", "admin"]).with_code(0).stdout.trim().to_owned();
        let authority = world.add_outside("authority.pem", AUTHORITY);
        let variables = [("SSL_CERT_FILE", authority.as_str())];
        let server = Server::start_with(&variables, "127.0.0.1:0", world, &["--keys", "--log", "trace"]);
        Self { server, keys, admin, seen, outside }
    }

    fn set(&self, tenant: &str, host: &str, value: &str) -> Ended {
        let arguments = ["tenants", "secret", tenant, "set", "SERVICE", "--host", host];
        self.server.world.palisade_reading(&arguments, &format!("{value}\n"))
    }

    /// What the model of a tenant was told, and what the server outside was sent.
    fn ask(&self, tenant: usize) -> (String, String) {
        self.seen.lock().unwrap().clear();
        let asked = json!({ "agent": "keyed", "input": "ask", "wait": true });
        let run = self.server.post("/api/runs", &self.keys[tenant], &asked).with(200).json();
        assert_eq!(run["ending"], "answered", "{run}");
        let events = format!("/api/runs/{}/events", run["id"].as_str().unwrap());
        let events = self.server.get(&events, &self.keys[tenant]).with(200).body;
        let (answer, sent) = (run["answer"].as_str().unwrap().to_owned(), self.seen.lock().unwrap().clone());
        (answer + &events, sent)
    }
}

/// SEC-01, SEC-02, SEC-05, HTTP-04
#[test]
fn a_tenants_own_secret_reaches_its_host_and_nobody_else() {
    let stage = Stage::new();
    let host = stage.outside.to_string();
    let (told, sent) = stage.ask(0);
    assert!(sent.is_empty() && told.contains("HttpRequestDenied"), "there is none yet\n{told}");

    let kept = stage.set("acme", &host, OF_ACME).with_code(0);
    let body = json!({ "host": host, "value": OF_BORG });
    let put = |name: &str, key: &str| {
        stage.server.ask("PUT", &format!("/api/tenants/borg/secrets/{name}"), key, &[], Some(&body))
    };
    put("SERVICE", &stage.keys[1]).with(403);
    let answer = put("SERVICE", &stage.admin).with(200);
    assert_eq!(answer.json(), json!({ "name": "SERVICE", "host": host, "header": "authorization", "is_used": true }));
    let mut shown = kept.stdout + &kept.stderr + &answer.body;

    // Each has its own, from the next request on.
    for (tenant, value) in [(0, OF_ACME), (1, OF_BORG)] {
        let (told, sent) = stage.ask(tenant);
        assert_eq!(sent, format!("Bearer {value}"));
        assert!(told.contains("you said Bearer [secret]"), "{told}");
        shown += &told;
    }
    // What belongs elsewhere is not sent here, and what was removed is not there.
    stage.set("acme", "api.example.com", OF_ACME).with_code(0);
    let (told, sent) = stage.ask(0);
    assert!(sent.is_empty() && told.contains("it belongs to"), "{told}");
    shown += &told;
    let removed = stage.server.world.palisade(&["tenants", "secret", "acme", "remove", "SERVICE"]).with_code(0);
    shown += &removed.stdout;
    let (told, sent) = stage.ask(0);
    assert!(sent.is_empty(), "another tenant's is not what is left\n{told}");
    shown += &told;
    assert_eq!(stage.ask(1).1, format!("Bearer {OF_BORG}"));

    let listed = stage.server.get("/api/tenants/borg/secrets", &stage.admin).with(200);
    assert_eq!(listed.json()["data"][0]["name"], "SERVICE");
    for arguments in [&["tenants", "secret", "borg", "list"][..], &["tenants", "show", "borg"], &["audit", "--json"]] {
        shown += &stage.server.world.palisade(arguments).with_code(0).stdout;
    }
    put("a%2Fb", &stage.admin).with(422);
    shown += &(listed.body + &stage.server.log());
    let home = stage.server.world.home();
    for file in World::files_below(&home) {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        match file.ends_with("tenants/borg/secrets/SERVICE.json") {
            true => assert!(text.contains(OF_BORG) && !text.contains(OF_ACME), "the control"),
            false => shown += &text,
        }
    }
    for value in [OF_ACME, OF_BORG, "canary"] {
        assert!(!shown.contains(value), "{value} was shown or written down");
    }
}

#[test]
fn secrets_of_tenants_are_set_listed_and_removed() {
    let (world, _) = tenants(&["acme"]);
    let settings = json!({ "grants": { "secrets": ["SHARED", "team-*"] } }).to_string();
    let set = world.palisade(&["tenants", "set", "acme", "--settings", &settings]).with_code(0);
    assert!(set.stderr.contains("none of its agents can be asked"), "{set:?}");
    let config = |name: &str| format!("[secrets.{name}]\nhost = \"api.example.com\"\nkey_env = \"X\"\n");
    world.configure(&(config("SHARED") + &config("OTHER")));
    let of = |tenant: &str, arguments: &[&str], input: &str| {
        world.palisade_reading(&[&["tenants", "secret", tenant], arguments].concat(), input)
    };
    let secret = |arguments: &[&str], input: &str| of("acme", arguments, input);
    let host = ["--host", "api.example.com"];
    let set = |name: &str, input: &str| secret(&[&["set", name], &host[..]].concat(), input);

    let kept = set("OTHER", OF_ACME).with_code(0);
    assert!(kept.stdout.contains("kept OTHER for https://api.example.com, in the header authorization"), "{kept:?}");
    secret(&["set", "b", "--host", "b.example.com:8443", "--header", "X-Key"], OF_ACME).with_code(0);
    let listed = secret(&["list", "--json"], "").with_code(0).json();
    assert_eq!(
        listed,
        json!([
            { "name": "OTHER", "host": "api.example.com", "header": "authorization", "is_used": true },
            { "name": "b", "host": "b.example.com:8443", "header": "x-key", "is_used": true },
        ])
    );
    let refused = [
        (set("SHARED", OF_ACME), "`SHARED` is one of the operator's secrets"),
        (set("a/b", OF_ACME), "no secret can be called so"),
        (set("c", ""), "no secret: it is empty"),
        (set("c", "sk-canary with words"), "no secret"),
        (secret(&["set", "c", "--host", "*.example.com"], OF_ACME), "belongs to one host"),
        (secret(&["set", "c", "--host", "http://a.example.com"], OF_ACME), "belongs to one host"),
        (secret(&["set", "c", "--host", "a.example.com", "--header", "a b"], OF_ACME), "make a header"),
        (secret(&["remove", "c"], ""), "there is no secret `c`"),
        (of("nobody", &["list"], ""), "there is no tenant `nobody`"),
        (of("local", &["list"], ""), "those of the configuration"),
    ];
    for (ended, why) in refused {
        assert!(ended.code == 1 && ended.stderr.contains(why), "{why}: {ended:?}");
        assert!(!format!("{ended:?}").contains("canary"), "{ended:?}");
    }
    // A value that is no input is no argument either.
    secret(&[&["set", "c", "sk-value"], &host[..]].concat(), "").with_code(2);
    // One that the operator has and lends later on is the operator's.
    set("team-1", OF_ACME).with_code(0);
    world.configure(&config("team-1"));
    let listed = secret(&["list"], "").with_code(0).stdout;
    assert!(listed.lines().any(|line| line.contains("team-1") && line.contains("not used")), "{listed}");
    secret(&["remove", "b"], "").with_code(0);
    assert!(!secret(&["list"], "").with_code(0).stdout.contains("b.example.com"));
}

#[test]
fn what_is_left_of_a_removed_tenant_holds_no_secret_and_goes_if_that_is_wanted() {
    let (world, _) = tenants(&["acme", "borg"]);
    for tenant in ["acme", "borg"] {
        let set = ["tenants", "secret", tenant, "set", "SERVICE", "--host", "api.example.com"];
        world.palisade_reading(&set, OF_ACME).with_code(0);
        world.add_at_home(&format!(".local/share/palisade/tenants/{tenant}/agents/x.md"), "x");
    }
    let folder = |tenant: &str| world.home().join(".local/share/palisade/tenants").join(tenant);
    let remove = |tenant: &str, more: &[&str]| world.palisade(&[&["tenants", "remove", tenant], more].concat());
    remove("acme", &["--purge"]).with_code(1);
    assert!(folder("acme").join("secrets/SERVICE.json").exists(), "nothing is removed that is not meant");
    let removed = remove("acme", &["--yes"]).with_code(0);
    let path = folder("acme").display().to_string();
    assert!(removed.stderr.contains("its folder stays") && removed.stderr.contains(&path), "{removed:?}");
    assert!(folder("acme").join("agents/x.md").exists() && !folder("acme").join("secrets").exists());
    let purged = remove("borg", &["--yes", "--purge"]).with_code(0);
    assert!(!folder("borg").exists() && !purged.stderr.contains("stays"), "{purged:?}");
    assert!(folder("acme").exists(), "only its own");
}
