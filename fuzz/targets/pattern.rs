//! Patterns match in time, resolve paths first, and agree with themselves.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palisade_grants::{PathPattern, Pattern};

fuzz_target!(|text: &str| {
    let (pattern, name) = text.split_once('\n').unwrap_or((text, text));
    if let Ok(pattern) = Pattern::parse(pattern) {
        pattern.matches(name);
        pattern.matches_tool(name);
        if !pattern.as_str().contains('*') {
            assert!(pattern.matches(pattern.as_str()));
        }
        if pattern.is_universal() {
            assert!(pattern.matches(name));
        }
    }
    if let Ok(pattern) = PathPattern::parse(pattern) {
        let matched = pattern.matches(name);
        if matched && (1..4000).contains(&name.len()) {
            assert!(pattern.matches(&format!("{name}/.")), "a trailing `.` changes nothing");
        }
        let prefix = pattern.literal_prefix();
        if matched && !prefix.is_empty() && prefix != "." && !name.contains("..") {
            let clean: Vec<&str> = name.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
            assert!(clean.join("/").starts_with(&prefix), "{name} lies outside of {prefix}");
        }
        assert!(!(matched && name.starts_with('/') && !pattern.as_str().replace('\\', "/").starts_with("//")));
    }
});
