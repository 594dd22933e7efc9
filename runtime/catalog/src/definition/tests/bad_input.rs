//! Input that is meant to harm.

use std::time::{Duration, Instant};

use super::*;

/// All five parsers, none of which may panic, hang or grow.
fn all(text: &[u8]) -> Vec<Option<String>> {
    let source = source();
    let entry =
        ManifestAgent { name: "a".to_owned(), system_prompt_file: "a.md".to_owned(), ..ManifestAgent::default() };
    vec![
        parse_markdown(text, &source).err().map(|rejected| rejected.to_string()),
        parse_yaml(text, &source).err().map(|rejected| rejected.to_string()),
        parse_config(text, &source).err().map(|rejected| rejected.to_string()),
        parse_manifest(text, "plugin.json").err().map(|rejected| rejected.to_string()),
        parse_plugin_agent(&entry, "p", text, &source).err().map(|rejected| rejected.to_string()),
    ]
}

/// The error of a YAML text and of the same in front of Markdown, both in no time.
#[track_caller]
fn refused(text: &str, part: &str) {
    let start = Instant::now();
    for error in [error(yaml(text)), error(markdown(&format!("---\n{text}\n---\n")))] {
        assert!(error.contains(part), "{} does not contain {part:?}", &error[..error.len().min(300)]);
        assert!(error.len() < 1000, "a message of {} bytes", error.len());
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// CFG-03
#[test]
fn an_alias_bomb_is_refused_at_once() {
    let mut bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
    for at in 1..12 {
        let aliases = vec![format!("*a{}", at - 1); 9].join(", ");
        bomb.push_str(&format!("a{at}: &a{at} [{aliases}]\n"));
    }
    let start = Instant::now();
    refused(&bomb, "more than 20000 values");
    refused(&bomb.replace('1', "x"), "aliases that make the text more than 4 times as long");
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    let long = "x".repeat(10_000);
    let aliases = vec!["*a"; 1000].join(", ");
    refused(&format!("a: &a {long}\nb: [{aliases}]\n"), "aliases that make the text more than 4 times as long");
    let itself = "a: &a [*a]\n";
    assert!(yaml(itself).is_err());
}

/// CFG-03
#[test]
fn many_anchors_and_many_documents_are_refused_at_once() {
    // As many as fit into a file that is read, and more.
    let anchors = |many: usize| (0..many).map(|at| format!("- &a{at} x\n")).collect::<String>();
    refused(&anchors(15_000), "");
    refused(&anchors(100_000), "at most 262144 are read");
    for documents in ["name: a\n---\n".repeat(1000), "name: a\n...\n---\n".repeat(1000), "--- a\n".repeat(1000)] {
        let start = Instant::now();
        starts_with(
            &error(yaml(&documents)),
            "a.md: error: Failed to parse agent YAML: there is more than one document",
        );
        assert!(start.elapsed() < Duration::from_secs(5));
    }
    assert_eq!(
        yaml("name: a\ndescription: &b c\nprompt: *b\n").unwrap().agent.prompt.as_deref(),
        Some("c"),
        "the control"
    );
}

/// CFG-03
#[test]
fn deep_nesting_is_refused_at_once() {
    for depth in [33, 200, 10_000, 100_000] {
        refused(&format!("a: {}", "[".repeat(depth)), "Failed to parse");
        refused(&format!("a: {}{}", "[".repeat(depth), "]".repeat(depth)), "Failed to parse");
        refused(&format!("a: {}", "{a: ".repeat(depth.min(60_000))), "Failed to parse");
        refused(&"- ".repeat(depth), "Failed to parse");
        refused(&"? ".repeat(depth), "Failed to parse");
    }
    let deep = format!("a: {}{}", "[".repeat(33), "]".repeat(33));
    refused(&deep, "values nested more than 32 deep");
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for depth in [33, 127, 129, 10_000, 40_000] {
            let text = format!("{{\"a\":{}1{}}}", open.repeat(depth), close.repeat(depth));
            let start = Instant::now();
            let error = parse_manifest(text.as_bytes(), "plugin.json").unwrap_err().to_string();
            assert!(error.contains("values nested more than 32 deep"), "{error}");
            assert!(all(text.as_bytes()).iter().take(4).all(Option::is_some));
            assert!(start.elapsed() < Duration::from_secs(5));
        }
    }
}

/// CFG-03
#[test]
fn a_long_file_is_not_looked_into() {
    let start = Instant::now();
    for error in all(&vec![b'-'; 100 << 20]) {
        assert!(error.unwrap().contains("the file has 104857600 bytes; at most 262144 are read"));
    }
    for byte in [b'a', b'[', b'\xff', 0, b'\n'] {
        for error in all(&vec![byte; 10 * 1024 * 1024]) {
            assert!(error.unwrap().contains("the file has 10485760 bytes; at most 262144 are read"));
        }
    }
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn what_is_no_text_is_named_by_its_byte() {
    for error in all(b"---\nname: a\xff\n---\n") {
        let error = error.unwrap();
        assert!(error.contains(":2:8: error: "), "{error}");
        assert!(
            error.contains("the file is not UTF-8: byte 11 belongs to no character; save the file as UTF-8"),
            "{error}"
        );
    }
    for error in all(b"---\nname: a\0\n---\n") {
        assert!(error.unwrap().contains("the file holds a NUL byte at byte 11"));
    }
    // UTF-16, as some editors save it.
    for error in all(b"\xff\xfe-\0-\0-\0") {
        assert!(error.is_some());
    }
    assert!(error(yaml("name: a\u{7}\n")).contains("control characters are not allowed"));
}

#[test]
fn no_file_of_the_largest_size_takes_long() {
    let fill = |unit: &str| unit.repeat((MAX_FILE - 100) / unit.len());
    let units = [
        "[",
        "]",
        "{",
        "}",
        "- ",
        "? ",
        ": ",
        "a: ",
        "a:\n",
        "- a\n",
        "&a ",
        "*a ",
        "!a ",
        "!!a ",
        "#\n",
        "\"",
        "'",
        "|\n",
        ">\n ",
        "\n",
        "\r",
        "a",
        ",",
        "[a, ",
        "{a: b, ",
        "\"a\": ",
        "%",
        "---\n",
        "...\n",
        "é",
        "\u{85}",
        "\t",
        "\\",
        "- - a\n",
        "[[],",
        "a: &b c\n",
    ];
    for unit in units {
        let text = fill(unit);
        for text in [
            text.clone(),
            format!("a: {text}"),
            format!("a: [{text}"),
            format!("---\n{text}\n---\n"),
            format!("{{\"a\":{text}"),
        ] {
            let start = Instant::now();
            all(text.as_bytes());
            let time = start.elapsed();
            assert!(time < Duration::from_secs(5), "{unit:?}: {time:?}");
        }
    }
    // Fifty notices, each of which has to be found.
    let keys: String = (0..9_000).map(|at| format!("unknown_{at}: [1, 2]\n")).collect();
    let start = Instant::now();
    assert!(yaml(&keys).is_err());
    let keys: String = (0..6_000).map(|at| format!("unknown_{at}: x\n")).collect();
    assert_eq!(yaml(&format!("name: a\ndescription: b\n{keys}")).unwrap().warnings.len(), 51);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(512))]

    /// CFG-14
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
        all(&bytes);
    }

    /// CFG-14
    #[test]
    fn arbitrary_texts_never_panic(text in "(---\n)?([a-z_]{1,12}:? ?[\\[\\]{}&*!|>'\"%@`#,?:a-z0-9é\n \t\r-]{0,20}\n){0,12}(---\n)?\\PC{0,20}") {
        all(text.as_bytes());
    }

    /// CFG-14
    #[test]
    fn arbitrary_fields_never_panic(entries in proptest::collection::vec((proptest::sample::select(FIELDS), "\\PC{0,12}"), 0..8)) {
        let text: String = entries.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
        all(text.as_bytes());
        all(format!("---\n{text}---\n").as_bytes());
        let json: serde_json::Map<_, _> = entries.iter().map(|(key, value)| {
            ((*key).to_owned(), serde_json::from_str(value).unwrap_or_else(|_| serde_json::Value::from(value.as_str())))
        }).collect();
        all(serde_json::json!({ "name": "p", "agents": [json], "tools": [json] }).to_string().as_bytes());
    }
}

const FIELDS: &[&str] = &[
    "name",
    "agentId",
    "displayName",
    "description",
    "prompt",
    "model",
    "temperature",
    "effort",
    "maxTokens",
    "tools",
    "disallowedTools",
    "permissions",
    "permissionMode",
    "toolAllowlist",
    "agentDenylist",
    "skills",
    "toolExposure",
    "max_steps",
    "timeout",
    "grants",
    "limits",
    "budget",
    "hidden",
    "type",
    "chat",
    "external",
    "created_at",
    "native",
    "system_prompt_file",
    "component",
    "required_agent",
    "visible_to",
    "args",
    "schema",
    "<<",
    "colour",
];
