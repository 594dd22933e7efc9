//! Any bytes are a definition or an error, in bounded time; what was read is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palisade_agent::Origin;
use palisade_fuzz::definition::{
    Presence, Source, parse_config, parse_manifest, parse_markdown, parse_plugin_agent, parse_yaml, to_markdown, to_yaml,
};

fuzz_target!(|bytes: &[u8]| {
    let source = Source {
        file: "fuzz",
        origin: Origin::builtin(),
        fallback_name: Some("fuzz"),
        required_name: None,
        description: Presence::Optional,
    };
    if let Ok(parsed) = parse_markdown(bytes, &source) {
        let again = parse_markdown(to_markdown(&parsed.agent).as_bytes(), &source).expect("what was written");
        assert_eq!(again.agent, parsed.agent);
    }
    if let Ok(parsed) = parse_yaml(bytes, &source) {
        let again = parse_yaml(to_yaml(&parsed.agent).as_bytes(), &source).expect("what was written");
        assert_eq!(again.agent, parsed.agent);
    }
    let _ = parse_config(bytes, &source);
    if let Ok(manifest) = parse_manifest(bytes, "plugin.json") {
        for entry in &manifest.agents {
            let _ = parse_plugin_agent(entry, &manifest.name, bytes, &source);
        }
    }
});
