//! `palisade doctor`, `--version` and `--help`.

use crate::world::World;

#[test]
fn it_works_on_this_machine() {
    let ended = World::empty().palisade(&["doctor"]).with_code(0);
    assert!(!ended.stdout.contains("fail"), "{}", ended.stdout);
    let report = World::empty().palisade(&["doctor", "--json"]).with_code(0).json();
    assert_eq!(report["ok"], true);
    let names: Vec<&str> =
        report["checks"].as_array().unwrap().iter().filter_map(|check| check["name"].as_str()).collect();
    for name in ["version", "kernel", "engine", "clock", "tools", "compiler", "sandbox", "confinement", "model"] {
        assert!(names.contains(&name), "{name} is missing from {names:?}");
    }
}

#[test]
fn it_says_its_version_and_its_exit_codes() {
    let world = World::empty();
    assert_eq!(
        world.palisade(&["--version"]).with_code(0).stdout,
        concat!("palisade ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let help = world.palisade(&["run", "--help"]).with_code(0).stdout;
    assert!(help.contains("Examples:") && help.contains("130  cancelled"), "{help}");
    let help = world.palisade(&["--help"]).with_code(0).stdout;
    assert!(!help.contains("compile-worker"), "{help}");
    world.palisade(&[]).with_code(2);
}

#[test]
fn it_says_what_it_was_built_from() {
    let world = World::empty();
    let info = world.palisade(&["--version", "--verbose", "--json"]).with_code(0).json();
    assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(info["target"], env!("PALISADE_BUILD_TARGET"));
    assert!(info["rustc"].as_str().unwrap().starts_with("rustc 1."), "{info}");
    let tools: Vec<&str> = info["tools"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    assert!(tools.contains(&"grep") && !tools.contains(&"probe"), "{tools:?}");
    let lock = include_str!("../../Cargo.lock");
    let wasmtime = info["wasmtime"].as_str().unwrap();
    assert!(lock.contains(&format!("name = \"wasmtime\"\nversion = \"{wasmtime}\"\n")), "{wasmtime}");
    // Sources that are not a clone are built, too.
    if let Some(commit) = info["commit"].as_str() {
        assert!(commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{commit}");
        assert!(info["dirty"].is_boolean() && info["commit_date"].as_str().unwrap().contains('T'), "{info}");
    }

    let text = world.palisade(&["-V", "--verbose"]).with_code(0).stdout;
    assert!(text.starts_with(concat!("palisade ", env!("CARGO_PKG_VERSION"), "\ncommit: ")), "{text}");
    assert!(text.contains(&format!("\nwasmtime:    {wasmtime}\ntools:       bash, ")), "{text}");
    for wrong in [&["--verbose"][..], &["--verbose", "--json"], &["doctor", "--verbose"]] {
        world.palisade(wrong).with_code(2);
    }
    let of_command = world.palisade(&["run", "--version"]).with_code(0).stdout;
    assert!(of_command.ends_with(concat!(" ", env!("CARGO_PKG_VERSION"), "\n")), "{of_command}");
}

#[test]
fn the_compile_worker_compiles_and_nothing_else() {
    let ended = World::empty().palisade_reading(&["compile-worker", "4294967296", "10"], "nonsense").with_code(1);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("not a WebAssembly component"), "{}", ended.stderr);
}

fn check<'a>(report: &'a serde_json::Value, name: &str, part: &str) -> &'a serde_json::Value {
    let is_meant = |check: &&serde_json::Value| {
        check["name"] == name && check["found"].as_str().is_some_and(|found| found.contains(part))
    };
    let found = report["checks"].as_array().and_then(|checks| checks.iter().find(is_meant));
    found.unwrap_or_else(|| panic!("no {name} with {part} in {report:#}"))
}

#[test]
fn the_configuration_is_examined_with_places() {
    let world = World::empty();
    let file = world.configure("model = \"offline\"\n[budgte]\nsteps = 3\n");
    let report = world.palisade(&["doctor", "--json"]).with_code(1).json();
    let wrong = check(&report, "config", &format!("{file}:2:2: there is no setting `budgte`"));
    assert_eq!((&wrong["health"], &wrong["remedy"]), (&"fail".into(), &"did you mean `budget`?".into()));
    check(&report, "config", "operator: ");
    check(&report, "config", "project: ");
    assert!(check(&report, "config", "user: ")["found"].as_str().unwrap().ends_with("config.toml (read)"));
}

#[test]
fn a_provider_that_does_not_answer_and_a_key_that_is_missing_fail() {
    let world = World::empty();
    world.configure("model = \"ollama:qwen3\"\n[providers.ollama]\nbase_url = \"http://127.0.0.1:1/v1\"\n");
    let report = world.palisade(&["doctor", "--json"]).with_code(1).json();
    assert_eq!(check(&report, "provider", "http://127.0.0.1:1/v1 does not answer: ")["health"], "fail");
    let report = world.palisade(&["doctor", "--json", "--offline"]).with_code(0).json();
    check(&report, "provider", "was not asked (--offline)");
    check(&report, "model", "ollama:qwen3 (user ");

    world.configure("model = \"anthropic:claude-sonnet-4-5\"\n");
    let report = world.palisade(&["doctor", "--json", "--offline"]).with_code(1).json();
    assert_eq!(check(&report, "key", "the variable ANTHROPIC_API_KEY is not set")["health"], "fail");
    let variables = [("ANTHROPIC_API_KEY", "sk-canary-1234")];
    let ended = world.palisade_with(&variables, &["doctor", "--json", "--offline"]).with_code(0);
    check(&ended.json(), "key", "present, from the variable ANTHROPIC_API_KEY");
    check(&ended.json(), "keys", "ANTHROPIC_API_KEY is set, OPENAI_API_KEY is not set");
    assert!(!ended.stdout.contains("canary"), "{}", ended.stdout);
}

#[test]
fn a_key_that_a_program_prints_is_used_by_the_doctor_and_not_shown() {
    let world = World::empty();
    world.configure(
        "model = \"mine:x\"\n[providers.mine]\nbase_url = \"http://127.0.0.1:1/v1\"\n\
         key_command = [\"printf\", \"sk-%s\", \"canary\"]\n",
    );
    let ended = world.palisade(&["doctor", "--json", "--offline"]).with_code(0);
    check(&ended.json(), "key", "present, from the command printf");
    assert!(!ended.stdout.contains("sk-canary"), "{}", ended.stdout);
}
