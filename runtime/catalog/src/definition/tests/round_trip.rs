//! What is written is read back as the same agent.

use std::{collections::BTreeMap, time::Duration};

use palisade_agent::{CallLimits, Exposure, ModelName, PermissionMode, ReasoningEffort, RunLimits, Runtime};
use palisade_grants::{
    Access, Decision, FilesGrant, Grants, Lists, Pattern, Policy, Rule, StorageGrant, ToolScope, WorkspacePath,
};
use proptest::{option, prelude::*, sample::select};
use serde_json::{Value, json};

use super::*;

/// A22
#[test]
fn what_an_agent_does_not_say_is_not_written() {
    assert_eq!(to_yaml(&Agent::new("a", "b")), "name: a\ndescription: b\n");
    assert_eq!(to_markdown(&Agent::new("a", "b")), "---\nname: a\ndescription: b\n---\n");
    let agent = Agent::new("a", "b").native().hidden().with_max_steps(7).with_prompt("Do it.\n---\nReally.");
    assert_eq!(
        to_markdown(&agent),
        "---\nname: a\ndescription: b\nmax_steps: 7\nhidden: true\n---\n\nDo it.\n---\nReally.\n"
    );
    assert_eq!(
        to_yaml(&agent),
        "name: a\ndescription: b\nmax_steps: 7\nhidden: true\nprompt: |-\n  Do it.\n  ---\n  Really.\n"
    );
}

/// A22, CF-19, CF-36
#[test]
fn rules_are_written_as_plain_texts_and_names_in_one_style() {
    let agent = super::agent(
        "permissions: { allow: [{ rule: 'Bash(cargo:*)' }], defaultMode: deny }\ntoolAllowlist: []\nmodel: { provider: mine, model: m }\nmaxTurns: 3\ntimeout: 90s",
    );
    let expected = "name: a\ndescription: b\nmodel:\n  provider: mine\n  model: m\npermissions:\n  allow:\n  - Bash(cargo:*)\n  default: deny\ntool_allowlist: []\nmax_steps: 3\ntimeout: 90\n";
    assert_eq!(to_yaml(&agent), expected);
}

#[test]
fn extra_settings_never_say_what_fields_say() {
    let mut agent = Agent::new("a", "b");
    for key in ["color", "maxSteps", "native", "toolz", "name"] {
        agent.extra.insert(key.to_owned(), json!("x"));
    }
    assert_eq!(to_yaml(&agent), "name: a\ndescription: b\ncolor: x\n");
}

/// Texts with everything that YAML and Markdown could stumble over.
fn text() -> impl Strategy<Value = String> {
    let odd = select(vec![
        "---",
        "a\n---\nb",
        "true",
        "~",
        "123",
        "0x1f",
        "1e3",
        "- a",
        "a: b",
        "#c",
        "'",
        "\"",
        "\\",
        "{{task}}",
        "!t",
        "&a",
        "*a",
        "|",
        ">",
        "%",
        "@",
        "`",
        "é",
        "😀",
        "a\tb",
        "a\r\nb",
        "\u{85}x",
        "\u{2028}x",
        "x\u{feff}",
        "\u{7f}x",
        "\u{1b}[0m",
        "<<",
        "=",
        "null",
        ".inf",
        "a  \nb",
        "  a",
        "a\n\n b",
        "\u{e0041}",
        "\u{200b}",
        "\u{fffe}",
        "?",
        "[",
        "{}",
        ",",
        "a\n  b\n c",
        "x\n\n\n",
    ]);
    prop_oneof![
        proptest::collection::vec(prop_oneof![odd.prop_map(str::to_owned), "\\PC{0,8}", "[ \na-z:#-]{0,12}"], 1..5)
            .prop_map(|parts| parts.concat()),
        any::<String>(),
    ]
    // The canonical value has no space around it, and no text has a NUL.
    .prop_map(|text| text.replace('\0', "").trim().to_owned())
    .prop_filter("empty", |text| !text.is_empty())
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z0-9][A-Za-z0-9_-]{0,20}",
        select(vec!["true", "123", "0x10", "null", "1e3", "no", "0o7", "-"]).prop_map(str::to_owned)
    ]
    .prop_filter("a name", |name| is_valid_name(name))
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let rule =
        prop_oneof!["[A-Za-z][a-z_]{0,8}", "[A-Z][a-z]{1,6}\\([a-z]{1,5}( [a-z]{1,3})?:\\*\\)", "mcp__[a-z]{1,4}__\\*"];
    proptest::collection::vec(rule.prop_map(|rule| Rule::parse(&rule).unwrap()), 0..4)
}

fn lists() -> impl Strategy<Value = Lists> {
    let patterns =
        || proptest::collection::vec("[a-z_.]{1,8}\\*?".prop_map(|text| Pattern::parse(&text).unwrap()), 0..3);
    (option::of(patterns()), patterns()).prop_map(|(allow, deny)| Lists { allow, deny })
}

fn scope() -> impl Strategy<Value = ToolScope> {
    let decision = select(vec![Decision::Allow, Decision::Ask, Decision::Deny]);
    let policy = (option::of(rules()), rules(), rules(), option::of(decision))
        .prop_map(|(allow, ask, deny, default)| Policy { allow, ask, deny, default });
    (option::of(rules()), rules(), policy, lists(), lists()).prop_map(
        |(tools, disallowed, permissions, names, capabilities)| ToolScope {
            tools,
            disallowed,
            permissions,
            names,
            capabilities,
        },
    )
}

fn time() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (1..100_000_u64).prop_map(Duration::from_secs),
        (1..100_000_u64).prop_map(Duration::from_millis),
        (1..u64::MAX, 0..1_000_000_000_u32).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos)),
    ]
}

fn limits() -> impl Strategy<Value = (CallLimits, RunLimits)> {
    let size = || option::of(prop_oneof![1..u64::MAX, (1..1000_u64).prop_map(|mib| mib << 20)]);
    let call = (size(), option::of(time()), size(), option::of(0..u64::MAX), option::of(0..u64::MAX), size()).prop_map(
        |(memory, call_time, output, written, created, open_files)| CallLimits {
            memory,
            call_time,
            output,
            written,
            created,
            open_files,
        },
    );
    let counts = (option::of(1..u32::MAX), option::of(1..u64::MAX), option::of(0..u64::MAX), option::of(0..u32::MAX));
    let run = (counts, option::of(1..1_000_000_000_000_000_u64), option::of(time()))
        .prop_map(|((steps, tokens, calls, depth), cost, time)| RunLimits { steps, tokens, calls, cost, time, depth });
    (call, run)
}

fn grants() -> impl Strategy<Value = Grants> {
    let access = select(vec![Access::Read, Access::ReadWrite]);
    let folder = "[a-z.é ]{1,6}(/[a-z]{1,4})?".prop_filter_map("a path", |text| WorkspacePath::parse(&text).ok());
    let files = proptest::collection::vec((folder, access), 0..4).prop_map(FilesGrant::new);
    (files, option::of(any::<u64>())).prop_map(|(files, bytes)| Grants {
        files,
        storage: bytes.map(|bytes| StorageGrant { bytes }),
        ..Grants::default()
    })
}

fn model() -> impl Strategy<Value = ModelName> {
    let word = "[a-zA-Z0-9:/._-]{1,16}";
    (option::of(prop_oneof![word, Just("anthropic".to_owned()), Just("OpenAI".to_owned())]), word)
        .prop_filter("inherit", |(_, model)| !model.eq_ignore_ascii_case("inherit"))
        .prop_map(|(provider, model)| ModelName { provider, model })
        // Without a provider, a name that begins with one is split.
        .prop_filter("canonical", |model| {
            model.provider.is_some() || ModelName::parse(&model.model).as_ref() == Some(model)
        })
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        text().prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-z 0-9]{0,5}", inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

fn runtime() -> impl Strategy<Value = Runtime> {
    let settings = proptest::collection::btree_map("x_[a-z]{1,5}", value(), 0..3);
    let url = || "https?://[a-z]{1,8}/[a-z?#:]{0,6}";
    prop_oneof![
        Just(Runtime::Unsaid),
        (option::of("[a-z]{1,6}"), settings).prop_map(|(provider, settings)| Runtime::Chat { provider, settings }),
        (url(), url()).prop_map(|(input_url, callback_base_url)| Runtime::External { input_url, callback_base_url }),
    ]
}

fn agent() -> impl Strategy<Value = Agent> {
    let words = (name(), option::of(text()), text(), option::of(text()), option::of(text()), option::of(text()));
    let model = (
        option::of(model()),
        option::of(0.0..=1.0_f64),
        option::of(select(vec![ReasoningEffort::Low, ReasoningEffort::Inherit])),
        option::of(1..u32::MAX),
    );
    let lists = (scope(), lists(), lists(), proptest::collection::vec("[a-z]{1,5}", 0..3));
    let modes = (
        option::of(select(vec![PermissionMode::Default, PermissionMode::DontAsk, PermissionMode::Plan])),
        select(vec![Exposure::Tools, Exposure::Skills, Exposure::Mixed]),
    );
    let rest = (
        runtime(),
        any::<[bool; 3]>(),
        option::of(grants()),
        limits(),
        proptest::collection::btree_map("x_[a-z]{1,5}", value(), 0..3),
    );
    (words, model, lists, modes, rest).prop_map(|(words, model, lists, modes, rest)| {
        let (name, display_name, description, prompt, created_at, updated_at) = words;
        let (model, temperature, reasoning_effort, max_tokens) = model;
        let (scope, peers, skill_lists, skills) = lists;
        let (permission_mode, exposure) = modes;
        let (runtime, [hidden, ui_visible, api_exposed], grants, (limits, budget), extra) = rest;
        Agent {
            name,
            display_name,
            description,
            prompt,
            model,
            temperature,
            reasoning_effort,
            max_tokens,
            scope,
            permission_mode,
            peers,
            skill_lists,
            skills,
            exposure,
            runtime,
            hidden,
            ui_visible,
            api_exposed,
            grants,
            limits,
            budget,
            created_at,
            updated_at,
            extra: extra.into_iter().collect::<BTreeMap<_, _>>(),
            native: false,
            origin: source().origin,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// CFG-14
    #[test]
    fn yaml_is_read_back_as_it_was_written(agent in agent()) {
        let text = to_yaml(&agent);
        let parsed = parse_yaml(text.as_bytes(), &source()).map_err(|rejected| TestCaseError::fail(format!("{rejected}\n{text}")))?;
        prop_assert_eq!(&parsed.agent, &agent, "{}", text);
        prop_assert_eq!(to_yaml(&parsed.agent), text);
    }

    /// CFG-14
    #[test]
    fn markdown_is_read_back_as_it_was_written(agent in agent()) {
        let text = to_markdown(&agent);
        let parsed = parse_markdown(text.as_bytes(), &source()).map_err(|rejected| TestCaseError::fail(format!("{rejected}\n{text}")))?;
        prop_assert_eq!(&parsed.agent, &agent, "{}", text);
        prop_assert_eq!(to_markdown(&parsed.agent), text);
    }
}
