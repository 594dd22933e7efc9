use serde_json::json;

use super::*;

fn directory(default: Option<&str>) -> Directory {
    let model = |model: &str| ModelSettings { model: model.to_owned(), ..ModelSettings::default() };
    let custom = ProviderSettings {
        base_url: Some("https://models.example.com/v1".to_owned()),
        key: Some(KeySource::Command(vec!["pass".to_owned(), "show".to_owned()])),
        ..ProviderSettings::default()
    };
    Directory {
        providers: BTreeMap::from([("mycorp".to_owned(), custom)]),
        models: BTreeMap::from([
            ("sonnet".to_owned(), ModelSettings { max_tokens: Some(99), ..model("anthropic:claude-sonnet-4-5") }),
            ("none".to_owned(), model("offline")),
        ]),
        default: default.map(str::to_owned),
        ..Directory::default()
    }
}

fn found(directory: &Directory, text: &str, asker: Asker) -> Result<String, String> {
    let target = directory.find(&ModelName::parse(text).unwrap(), asker);
    target.map(|target| target.name()).map_err(|unknown| unknown.why)
}

fn route(directory: &Directory, text: &str) -> Route {
    match directory.find(&ModelName::parse(text).unwrap(), Asker::Person).unwrap() {
        Target::Server(route) => *route,
        other => panic!("{other:?}"),
    }
}

/// CF-8, B6, O6, O7
#[test]
fn every_way_to_write_a_name_means_the_same_model() {
    let directory = directory(Some("ollama:qwen3"));
    let check = |text: &str, expected: &str| {
        assert_eq!(found(&directory, text, Asker::Definition).as_deref(), Ok(expected), "{text}");
    };
    check("sonnet", "anthropic:claude-sonnet-4-5");
    check("anthropic:sonnet", "anthropic:claude-sonnet-4-5");
    check("anthropic/claude-sonnet-4-5", "anthropic:claude-sonnet-4-5");
    check("claude-sonnet-4-5", "anthropic:claude-sonnet-4-5");
    check("claude-3-5-sonnet-20241022", "anthropic:claude-3-5-sonnet-20241022");
    check("mycorp:big", "mycorp:big");
    check("mycorp/org/big:7b", "mycorp:org/big:7b");
    check("qwen2.5-coder:32b", "ollama:qwen2.5-coder:32b");
    check("meta-llama/llama-4", "ollama:meta-llama/llama-4");
    check("ollama:qwen2.5-coder:32b", "ollama:qwen2.5-coder:32b");
    check("offline", "offline");
    check("none", "offline");
}

/// CF-8, B8
#[test]
fn an_unknown_name_is_a_warning_and_the_default_is_used() {
    let directory = directory(Some("sonnet"));
    let root = directory.root().unwrap();
    assert_eq!((root.target.name().as_str(), &root.warning), ("anthropic:claude-sonnet-4-5", &None));
    let choose = |text: &str| directory.choose(ModelName::parse(text).as_ref(), &root.target);
    assert_eq!(choose("inherit"), root);
    assert_eq!(directory.choose(None, &root.target), root);
    for text in ["haiku", "openai:gpt-4o", "gpt-4o", "qwen2.5-coder:32b", "scripted:/etc/passwd", "claude-cli"] {
        let choice = choose(text);
        assert_eq!(choice.target, root.target, "{text}");
        let warning = choice.warning.unwrap();
        assert!(warning.starts_with("there is no model `"), "{warning}");
        assert!(warning.ends_with("; anthropic:claude-sonnet-4-5 is used in its place"), "{warning}");
    }
    assert_eq!(
        choose("openai:gpt-4o").warning.unwrap(),
        "there is no model `openai:gpt-4o`: the provider `openai` is not configured; add [providers.openai] to your own \
         configuration; anthropic:claude-sonnet-4-5 is used in its place"
    );
}

/// CF-8
#[test]
fn an_object_that_names_an_unknown_provider_falls_back_too() {
    let directory = directory(None);
    let name = ModelName { provider: Some("nobody".to_owned()), model: "x".to_owned() };
    let choice = directory.choose(Some(&name), &Target::Offline);
    assert_eq!(choice.target, Target::Offline);
    assert!(choice.warning.unwrap().contains("there is no provider `nobody`; there are anthropic, llamacpp, mycorp"));
}

#[test]
fn nothing_configured_is_offline_and_a_definition_connects_nothing() {
    let directory = Directory::default();
    assert_eq!(directory.root().unwrap(), Choice { target: Target::Offline, warning: None });
    for text in ["anthropic:claude-sonnet-4-5", "claude-sonnet-4-5", "ollama:qwen3", "gpt-4o", "qwen3"] {
        assert!(found(&directory, text, Asker::Definition).is_err(), "{text}");
    }
    // A person may.
    assert_eq!(found(&directory, "claude-sonnet-4-5", Asker::Person).as_deref(), Ok("anthropic:claude-sonnet-4-5"));
    assert_eq!(found(&directory, "ollama/qwen3", Asker::Person).as_deref(), Ok("ollama:qwen3"));
    assert_eq!(found(&directory, "scripted:replies.json", Asker::Person).as_deref(), Ok("scripted:replies.json"));
    assert_eq!(
        found(&directory, "gpt", Asker::Person),
        Err("write `provider:model`, or give it a name with [models.gpt]".to_owned())
    );
    assert_eq!(
        found(&directory, "openai-compatible:x", Asker::Person),
        Err("nobody said where `openai-compatible` is; add `base_url` to [providers.openai-compatible]".to_owned())
    );
}

#[test]
fn a_project_chooses_among_what_is_configured() {
    let mut directory = directory(Some("mycorp:big"));
    directory.preferred = Some("sonnet".to_owned());
    assert_eq!(directory.root().unwrap().target.name(), "anthropic:claude-sonnet-4-5");
    directory.preferred = Some("openrouter:elsewhere".to_owned());
    let root = directory.root().unwrap();
    assert_eq!(root.target.name(), "mycorp:big");
    assert!(root.warning.unwrap().contains("`openrouter` is not configured"));
    directory.default = Some("nothing".to_owned());
    assert_eq!(directory.root().unwrap_err().name, "nothing");
}

/// O2
#[test]
fn a_route_has_what_is_known_and_what_was_said() {
    let mut directory = directory(None);
    let anthropic = route(&directory, "sonnet");
    assert_eq!(anthropic.base_url, "https://api.anthropic.com");
    assert_eq!(anthropic.dialect, Dialect::Anthropic);
    assert_eq!(anthropic.key, Some(KeySource::Variable("ANTHROPIC_API_KEY".to_owned())));
    // What was said of a model holds by whichever name it is called.
    assert_eq!((anthropic.max_tokens, route(&directory, "claude-sonnet-4-5").max_tokens), (Some(99), Some(99)));
    assert_eq!(route(&directory, "ollama:x").key, None);
    let own = route(&directory, "mycorp:big");
    assert_eq!((own.dialect, own.base_url.as_str()), (Dialect::Chat, "https://models.example.com/v1"));
    assert!(matches!(own.key, Some(KeySource::Command(_))));
    let compatible = ProviderSettings { base_url: Some("http://127.0.0.1:9/v1".to_owned()), ..Default::default() };
    directory.providers.insert("openai-compatible".to_owned(), compatible);
    let compatible = route(&directory, "openai-compatible:x");
    assert_eq!((compatible.base_url.as_str(), compatible.key), ("http://127.0.0.1:9/v1", None));
}

/// O3, X12
#[test]
fn programs_outside_of_the_sandbox_are_there_only_if_they_were_allowed() {
    let mut directory = directory(None);
    assert!(found(&directory, "claude-cli", Asker::Person).unwrap_err().contains("allow = [\"claude-cli\"]"));
    directory.outside.insert("claude-cli".to_owned());
    assert_eq!(found(&directory, "claude-cli", Asker::Definition).as_deref(), Ok("claude-cli"));
    assert_eq!(found(&directory, "claude-cli:opus", Asker::Definition).as_deref(), Ok("claude-cli:opus"));
    assert!(found(&directory, "codex-cli", Asker::Definition).is_err());
}

/// O3: that a program is allowed does not mean that a repository may have it started.
#[test]
fn a_project_does_not_choose_a_program_outside_of_the_sandbox() {
    let mut directory = directory(Some("sonnet"));
    directory.outside.insert("claude-cli".to_owned());
    let model = ModelSettings { model: "claude-cli:opus".to_owned(), ..ModelSettings::default() };
    directory.models.insert("big".to_owned(), model);
    for wish in ["claude-cli", "claude-cli:opus", "claude-cli/opus", "big"] {
        directory.preferred = Some(wish.to_owned());
        let root = directory.root().unwrap();
        assert_eq!(root.target.name(), "anthropic:claude-sonnet-4-5", "{wish}");
        assert!(root.warning.unwrap().starts_with("the project wants `claude-cli`, which runs outside"), "{wish}");
    }
    // What a person chose stays chosen.
    directory.default = Some("big".to_owned());
    assert_eq!(directory.root().unwrap(), Choice { warning: None, ..directory.root().unwrap() });
    assert_eq!(directory.root().unwrap().target.name(), "claude-cli:opus");
}

/// O1, O6
#[test]
fn the_provider_of_a_chat_stands_before_its_model() {
    let mut directory = directory(Some("ollama:qwen3"));
    let chat = |provider: Option<&str>, model: Option<&str>, settings: &[(&str, serde_json::Value)]| {
        let mut agent = Agent::new("a", "b");
        agent.model = model.and_then(ModelName::parse);
        agent.runtime = Runtime::Chat {
            provider: provider.map(str::to_owned),
            settings: settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        };
        agent
    };
    let asked = |directory: &Directory, agent: &Agent| directory.asked(agent).map(|name| name.to_string());
    let check = |agent: Agent, expected: Option<&str>| assert_eq!(asked(&directory, &agent).as_deref(), expected);
    check(chat(Some("vllm"), Some("big"), &[]), Some("vllm:big"));
    check(chat(Some("vllm"), Some("ollama:big"), &[]), Some("ollama:big"));
    check(chat(Some("openai-compatible"), None, &[("models", json!(["big", "small"]))]), Some("openai-compatible:big"));
    check(chat(Some("claude-cli"), None, &[]), Some("claude-cli"));
    check(chat(Some("openai"), None, &[]), None);
    check(chat(None, Some("big"), &[]), Some("big"));
    directory.providers.insert("openai".to_owned(), ProviderSettings::default());
    assert_eq!(asked(&directory, &chat(None, Some("big"), &[])).as_deref(), Some("openai:big"));
    assert_eq!(asked(&directory, &chat(None, Some("sonnet"), &[])).as_deref(), Some("sonnet"));
}

/// O8
#[test]
fn a_child_without_a_model_of_its_own_speaks_to_its_parents() {
    let directory = directory(Some("ollama:qwen3"));
    let parent = directory.choose(ModelName::parse("sonnet").as_ref(), &directory.root().unwrap().target);
    assert_eq!(directory.choose(None, &parent.target), parent);
    assert_eq!(directory.choose(ModelName::parse("inherit").as_ref(), &parent.target).target, parent.target);
    assert_ne!(directory.choose(ModelName::parse("mycorp:big").as_ref(), &parent.target).target, parent.target);
}

/// SEC-03
#[test]
fn a_directory_that_is_printed_shows_no_address() {
    let mut directory = Directory::default();
    let base_url = Some("http://me:canary@127.0.0.1/?key=canary".to_owned());
    directory.providers.insert("mine".to_owned(), ProviderSettings { base_url, ..ProviderSettings::default() });
    let target = directory.find(&ModelName::parse("mine:m").unwrap(), Asker::Person).unwrap();
    let printed = format!("{directory:?} {target:?}");
    assert!(printed.contains("mine") && !printed.contains("canary"), "{printed}");
}
