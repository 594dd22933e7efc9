//! Any command gets a verdict, quickly, and a longer command never gets a milder one.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use palisade_grants::{Call, Decision, Policy, Rule};
use serde_json::json;

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let rule = |text: &str| Rule::parse(text).expect("a rule");
    ["ls", "cat", "find", "echo", "grep", "sed", "sort", "xargs", "sh", "git *"]
        .iter()
        .fold(Policy::default(), |policy, name| policy.allow(rule(&format!("Bash({name}:*)"))))
        .allow(rule("Write(out/**)"))
        .ask(rule("Bash(curl:*)"))
        .deny(rule("Read(.env)"))
        .deny(rule("Bash(git * --force)"))
});

fn decide(command: &str) -> Decision {
    POLICY.decide(&Call::new("bash", &json!({ "command": command }))).decision
}

fuzz_target!(|command: &str| {
    // `rm` is allowed by nothing, so no text may make it disappear by standing before it on a line
    // of its own that ended.
    if decide(command) == Decision::Allow {
        assert_ne!(decide(&format!("{command}\nrm x")), Decision::Allow);
    }
});
