//! Any text is a rule or says why not, and a rule has an answer to every call.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palisade_grants::{Call, Rule, split_list};
use serde_json::json;

fuzz_target!(|text: &str| {
    // The first line is the rule, the rest is what a call holds.
    let (rule, argument) = text.split_once('\n').unwrap_or((text, text));
    for entry in split_list(rule) {
        let Ok(rule) = Rule::parse(entry) else { continue };
        assert_eq!(Rule::parse(&rule.to_string()).as_ref(), Ok(&rule));
        let input = json!({
            "command": argument, "path": argument, "url": argument, "agent": argument, "skill": argument,
        });
        for tool in ["bash", "read", "edit", "web_fetch", "task", "skill", "other", argument] {
            let call = Call::new(tool, &input);
            let allowed = rule.allows(&call);
            rule.denies(&call);
            assert!(!allowed || rule.matches_tool(tool), "{rule} allows {tool} without naming it");
        }
    }
});
