use std::fs;

use palisade_model::{KeySource, Target};

use super::*;

/// Files of each layer in a folder of their own, and what they come to.
struct Stage {
    folder: tempfile::TempDir,
    sources: Sources,
}

#[expect(clippy::disallowed_methods, reason = "tests write their own files")]
impl Stage {
    fn new(operator: &str, user: &str, project: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            if !text.is_empty() {
                fs::write(&path, text).unwrap();
            }
            Some(path)
        };
        let sources = Sources {
            operator: write("operator.toml", operator),
            user: write("user.toml", user),
            project: write("project.toml", project),
            ..Sources::default()
        };
        Self { folder, sources }
    }

    fn with(mut self, variable: &str, value: &str) -> Self {
        self.sources.variables.insert(variable.to_owned(), value.to_owned());
        self
    }

    fn load(&self) -> Config {
        Config::load(&self.sources)
    }

    /// What is said, without the folder.
    fn notices(&self) -> Vec<String> {
        let folder = format!("{}/", self.folder.path().display());
        self.load().notices.iter().map(|notice| notice.to_string().replace(&folder, "")).collect()
    }
}

fn value(config: &Config, name: &str) -> (String, String) {
    let values = config.values();
    let found = values.iter().find(|(other, ..)| other.to_string() == name).unwrap_or_else(|| panic!("no {name}"));
    (found.1.toml(), found.2.layer().to_owned())
}

#[test]
fn the_stronger_layer_wins_and_every_value_knows_its_origin() {
    let stage = Stage::new(
        "model = \"a\"\n[budget]\nsteps = 40\ntokens = 9000\n[traces]\nendpoint = \"http://127.0.0.1:4318\"",
        "model = \"b\"\n[budget]\nsteps = 30\ntime = \"2m\"\n",
        "model = \"c\"\n[budget]\ntime = \"1m\"\n",
    );
    let config = stage.load();
    assert_eq!(config.notices, []);
    let check = |name: &str, expected: (&str, &str)| {
        assert_eq!(value(&config, name), (expected.0.to_owned(), expected.1.to_owned()), "{name}");
    };
    check("model", ("\"c\"", "project"));
    check("budget.steps", ("30", "user"));
    check("budget.tokens", ("9000", "operator"));
    check("budget.time", ("\"60s\"", "project"));
    check("traces.endpoint", ("\"http://127.0.0.1:4318\"", "operator"));
    check("traces.content", ("false", "built-in"));
    let stage = stage.with("PALISADE_MODEL", "d").with("PALISADE_BUDGET_STEPS", "50");
    let config = stage.load();
    assert_eq!(value(&config, "model"), ("\"d\"".to_owned(), "environment".to_owned()));
    assert_eq!(config.typed.directory.default.as_deref(), Some("d"));
    assert_eq!(config.typed.directory.preferred, None);
    assert_eq!(config.typed.budget.steps, Some(50));
    assert_eq!(config.origin("model").to_string(), "environment PALISADE_MODEL");
    assert!(config.origin("budget.time").to_string().ends_with("project.toml:3"));
}

/// A repository cannot send your key elsewhere.
///
/// CFG-05, SEC-02
#[test]
fn a_project_decides_nothing_that_widens_what_a_run_may_reach() {
    let user = "model = \"anthropic:claude-sonnet-4-5\"\n[providers.anthropic]\nkey_env = \"MY_KEY\"";
    let own = Stage::new("", user, "").load().typed;
    for project in [
        "[providers.anthropic]\nbase_url = \"https://evil.example.com\"",
        "[providers.anthropic]\nkey_env = \"AWS_SECRET_ACCESS_KEY\"",
        "[providers.anthropic]\nkey_command = [\"sh\", \"-c\", \"touch /tmp/x\"]",
        "[providers.anthropic]\nkey_keyring = \"other\"",
        "[providers.anthropic]\nheaders = { x-forward-to = \"https://evil.example.com\" }",
        "[providers.anthropic]\ndialect = \"chat\"",
        "[providers.anthropic]\ntimeouts = { total = \"24h\" }",
        "[providers.evil]\nbase_url = \"https://evil.example.com\"",
        "[models.sonnet]\nmodel = \"openrouter:evil\"",
        "[outside]\nallow = [\"claude-cli\"]",
        "[outside.claude-cli]\ncommand = \"./evil\"",
        "[outside.claude-cli]\nargs = [\"--dangerous\"]",
        "[store]\nurl = \"postgres://evil.example.com/palisade\"",
        "[store]\nurl_command = [\"/evil\"]",
        "[traces]\nendpoint = \"https://evil.example.com\"",
        "[traces]\ncontent = true",
        "[locked]\nkeys = [\"model\"]",
    ] {
        let stage = Stage::new("", user, project);
        let config = stage.load();
        assert_eq!(config.typed, own, "{project}");
        let notices = stage.notices();
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].starts_with("project.toml:2:"), "{notices:?}");
        assert!(notices[0].contains("warning") && notices[0].contains("configuration"), "{notices:?}");
    }
}

#[test]
fn every_setting_is_known_to_be_harmless_or_kept_from_projects() {
    let open: Vec<&str> =
        setting::SETTINGS.iter().filter(|setting| setting.who != setting::Who::Owner).map(|one| one.path).collect();
    assert_eq!(open, ["model", "budget.steps", "budget.tokens", "budget.time", "budget.cost", "locked.keys"]);
}

#[test]
fn a_project_names_a_model_and_gets_one_that_is_configured() {
    let user = "model = \"ollama:qwen3\"\n[models.big]\nmodel = \"anthropic:claude-sonnet-4-5\"";
    let root = |project: &str| Stage::new("", user, project).load().typed.directory.root().unwrap();
    assert_eq!(root("model = \"big\"").target.name(), "anthropic:claude-sonnet-4-5");
    let elsewhere = root("model = \"openrouter:evil\"");
    assert_eq!(elsewhere.target.name(), "ollama:qwen3");
    assert!(elsewhere.warning.is_some());
    let alone = Stage::new("", "", "model = \"ollama:qwen3\"").load().typed.directory.root().unwrap();
    assert_eq!(alone.target, Target::Offline);
    assert!(alone.warning.unwrap().contains("`ollama` is not configured"));
}

#[test]
fn a_project_only_lowers_budgets() {
    let project = "[budget]\nsteps = 60\ntokens = 5\ntime = \"10m\"\ncost = 3.0";
    let stage = Stage::new("", "[budget]\ncost = 2.0", project);
    assert_eq!(
        stage.notices(),
        [
            "project.toml:2:1: warning: a project only lowers `budget.steps`, so it is not used; at most 50",
            "project.toml:4:1: warning: a project only lowers `budget.time`, so it is not used; at most \"300s\"",
            "project.toml:5:1: warning: a project only lowers `budget.cost`, so it is not used; at most 2.0",
        ]
    );
    let budget = stage.load().typed.budget;
    assert_eq!((budget.steps, budget.tokens, budget.time), (None, Some(5), None));
    assert_eq!(budget.cost, Some(2_000_000));
}

#[test]
fn what_the_operator_locks_nobody_changes() {
    let operator = "model = \"ollama:qwen3\"\n[locked]\nkeys = [\"model\", \"providers\", \"budget.steps\"]";
    let user = "model = \"a:b\"\n[providers.mine]\nbase_url = \"http://127.0.0.1:1\"\n[budget]\nsteps = 3\ntokens = 7";
    let stage = Stage::new(operator, user, "model = \"c\"").with("PALISADE_MODEL", "d");
    let config = stage.load();
    assert_eq!(value(&config, "model"), ("\"ollama:qwen3\"".to_owned(), "operator".to_owned()));
    assert!(config.is_locked("model") && config.is_locked("providers.mine.base_url") && !config.is_locked("models"));
    assert!(config.typed.directory.providers.is_empty());
    assert_eq!((config.typed.budget.steps, config.typed.budget.tokens), (None, Some(7)));
    assert_eq!(stage.notices().len(), 5, "{:?}", stage.notices());
    assert!(stage.notices().iter().all(|notice| notice.contains("is locked by the operator")));
    let notices = Stage::new("[locked]\nkeys = [\"modle\"]", "", "").notices();
    assert_eq!(
        notices,
        [
            "operator.toml: error: there is no setting `modle` to lock; name a setting such as `model` or a table such as \
          `providers`"
        ]
    );
}

#[test]
fn the_stronger_source_of_a_key_replaces_the_weaker_one() {
    let stage = Stage::new(
        "[providers.mine]\nbase_url = \"http://127.0.0.1:1\"\nkey_command = [\"pass\"]",
        "[providers.mine]\nkey_env = \"MINE\"",
        "",
    );
    let typed = stage.load().typed;
    assert_eq!(typed.directory.providers["mine"].key, Some(KeySource::Variable("MINE".to_owned())));
    assert_eq!(typed.directory.providers["mine"].base_url.as_deref(), Some("http://127.0.0.1:1"));
}

#[test]
fn the_environment_is_checked_like_a_file() {
    let stage = Stage::new("", "", "").with("PALISADE_BUDGET_STEPS", "many").with("PALISADE_MODLE", "x");
    assert_eq!(
        stage.notices(),
        [
            "PALISADE_BUDGET_STEPS: error: this value cannot be used; it is a whole number from 1 to 1000000",
            "PALISADE_MODLE: warning: this variable has no effect; did you mean PALISADE_MODEL?",
        ]
    );
    let stage = Stage::new("", "", "").with("PALISADE_CACHE_DIR", "/x").with("PALISADE_TRACES_CONTENT", "1");
    assert_eq!(stage.notices(), Vec::<String>::new());
}

#[test]
fn what_is_missing_or_dangerous_as_a_whole_is_said() {
    let check = |user: &str, expected: &str| {
        let notices = Stage::new("", user, "").notices();
        assert_eq!(notices, [expected], "{user}");
    };
    check(
        "[models.fast]\nmax_tokens = 5",
        "user.toml:2: error: [models.fast] names no model; add `model = \"provider:model\"`",
    );
    check("[providers.mine]\nretries = 5", "user.toml:2: error: nobody said where `mine` is; add `base_url`");
    check(
        "[models.fast]\nmodel = \"nobody:x\"",
        "user.toml:2: warning: [models.fast] cannot be used: `nobody:x` names no provider; write `provider:model`",
    );
    check(
        "[providers.openai]\nbase_url = \"http://models.example.com/v1\"",
        "user.toml:2: warning: the key of `openai` goes over the network unencrypted; use https://",
    );
    let local = "[providers.openai]\nbase_url = \"http://127.0.0.1:8000/v1\"";
    assert_eq!(Stage::new("", local, "").notices(), Vec::<String>::new());
}

#[test]
fn every_setting_reaches_what_it_is_for() {
    let user = r#"
        model = "fast"
        [providers.mine]
        base_url = "https://models.example.com/v1"
        dialect = "responses"
        key_keyring = "palisade:mine"
        headers = { X-Team = "blue" }
        timeouts = { connect = "1s", first_byte = "2s", idle = "3s", total = "4s" }
        retries = 2
        max_response = "1MiB"
        [models.fast]
        model = "mine:small"
        context_window = 32000
        max_tokens = 1024
        tools = "json"
        price = { input = 3, output = 15.0, cached = 0.3, cache_written = 3.75 }
        [budget]
        cost = 1.5
        [outside]
        allow = ["claude-cli", "external"]
        [outside.claude-cli]
        command = "/opt/claude"
        args = ["--bare"]
        env = ["ANTHROPIC_API_KEY"]
        [traces]
        endpoint = "http://127.0.0.1:4318"
        content = true
    "#;
    let stage = Stage::new("", user, "");
    assert_eq!(stage.notices(), Vec::<String>::new());
    let typed = stage.load().typed;
    let Target::Server(route) = typed.directory.root().unwrap().target else { panic!() };
    assert_eq!((route.provider.as_str(), route.model.as_str()), ("mine", "small"));
    assert_eq!(route.dialect, palisade_model::Dialect::Responses);
    assert_eq!(route.key, Some(KeySource::Keyring("palisade:mine".to_owned())));
    assert_eq!(route.headers.0["x-team"], "blue");
    assert_eq!((route.context_window, route.max_tokens), (Some(32000), Some(1024)));
    assert_eq!(route.tool_mode, palisade_model::ToolMode::Json);
    assert_eq!(route.price.map(|price| (price.input, price.cache_written)), Some((3.0, 3.75)));
    assert_eq!((route.patience.retries, route.patience.bytes), (2, 1 << 20));
    let seconds = [route.patience.connect, route.patience.first_byte, route.patience.idle, route.patience.total];
    assert_eq!(seconds.map(|time| time.as_secs()), [1, 2, 3, 4]);
    assert_eq!(typed.budget.cost, Some(1_500_000));
    assert!(typed.outside.allow.contains("external") && typed.directory.outside.contains("claude-cli"));
    assert_eq!(typed.outside.programs["claude-cli"].command.as_deref(), Some("/opt/claude"));
    assert_eq!(typed.outside.programs["claude-cli"].args, ["--bare"]);
    assert_eq!(typed.outside.programs["claude-cli"].env, ["ANTHROPIC_API_KEY"]);
    assert_eq!(
        typed.traces.map(|traces| (traces.endpoint, traces.content)),
        Some(("http://127.0.0.1:4318".to_owned(), true))
    );
}

/// SEC-03
#[test]
fn the_password_of_the_database_stands_in_no_file_and_is_not_shown() {
    let notices = Stage::new("", "[store]\nurl = \"postgres://me:hunter2@db.example.com/palisade\"", "").notices();
    assert_eq!(
        notices,
        [
            "user.toml:2:7: error: `store.url` cannot be this text; it is one without a password in a file; it comes from \
             PALISADE_STORE, or from a program with `url_command`"
        ]
    );
    let user = "[store]\nurl_command = [\"pass\", \"show\", \"palisade-db\"]";
    let command = Kept::Printed(["pass", "show", "palisade-db"].map(str::to_owned).to_vec());
    assert_eq!(Stage::new("", user, "").load().typed.kept, command);
    // The stronger word replaces the weaker one, also where it is of another kind.
    let stage = Stage::new("", user, "").with("PALISADE_STORE", "postgres://me:hunter2@db.example.com/palisade");
    let config = stage.load();
    assert_eq!(config.notices, []);
    assert_eq!(value(&config, "store.url").0, "\"postgres://me:***@db.example.com/palisade\"");
    assert!(!config.values().iter().any(|(name, ..)| name.to_string() == "store.url_command"));
    assert!(!format!("{config:?}").contains("hunter2"));
    assert!(matches!(&config.typed.kept, Kept::At(url) if url.expose().contains("hunter2")));
    let both = "[store]\nurl = \"memory:\"\nurl_command = [\"pass\"]";
    assert_eq!(
        Stage::new("", both, "").notices(),
        ["user.toml:3:1: error: there are both `store.url` and `store.url_command`; keep one of the two"]
    );
}

/// SEC-03
#[test]
fn a_configuration_that_is_printed_shows_no_header() {
    let user = "[providers.mine]\nbase_url = \"https://models.example.com\"\nheaders = { x-team = \"sk-secret\" }";
    let config = Stage::new("", user, "").load();
    assert_eq!(value(&config, "providers.mine.headers.x-team").0, "\"(hidden)\"");
    assert!(!format!("{config:?}").contains("sk-secret"));
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let mut stage = Stage::new("", "", "");
    stage.sources.user = Some(stage.folder.path().to_owned());
    let config = stage.load();
    assert_eq!(config.errors().count(), 1);
    assert!(matches!(&config.files[1].state, State::Unreadable(why) if why == "it is no file"));
}

#[test]
fn the_model_of_the_file_with_agents_is_the_users() {
    let mut stage = Stage::new("model = \"a\"", "", "");
    stage.sources.json_model = Some(("b".to_owned(), PathBuf::from("config.json")));
    assert_eq!(stage.load().origin("model").to_string(), "user config.json");
    let mut stage = Stage::new("", "model = \"c\"", "");
    stage.sources.json_model = Some(("b".to_owned(), PathBuf::from("config.json")));
    assert_eq!(value(&stage.load(), "model").0, "\"c\"");
}

#[test]
fn the_schema_in_the_docs_is_the_one_of_the_reader() {
    let written: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/configuration.schema.json")).unwrap();
    assert_eq!(written, schema(), "write it anew: palisade config schema > docs/configuration.schema.json");
    let validator = jsonschema::validator_for(&written).unwrap();
    let agree = |text: &str, fits: bool| {
        let value: serde_json::Value = toml::from_str(text).unwrap();
        assert_eq!(validator.is_valid(&value), fits, "the schema on {text}");
        let (_, notices) = read::read(text.as_bytes(), "config.toml");
        assert_eq!(notices.is_empty(), fits, "the reader on {text}: {notices:?}");
    };
    agree("model = \"a\"\n[providers.x]\nbase_url = \"https://a.example.com\"\nheaders = { x-team = \"b\" }", true);
    agree("[providers.x]\ntimeouts = { idle = \"5s\", total = 600 }\nmax_response = \"16MiB\"", true);
    agree("[models.x]\nmodel = \"a:b\"\ntools = \"json\"\nprice = { input = 3, output = 1.5 }", true);
    agree("[outside]\nallow = [\"claude-cli\"]\n[outside.claude-cli]\nargs = []\n[locked]\nkeys = [\"model\"]", true);
    agree("[store]\nurl = \"sqlite:/data/palisade.db\"", true);
    agree("[store]\nurl = \"palisade.db\"", false);
    agree("modle = \"a\"", false);
    agree("model = 1", false);
    agree("[providers.x]\nkey = \"a\"", false);
    agree("[providers.x]\nkey_env = \"sk-ant\"", false);
    agree("[providers.x]\nbase_url = \"api.example.com\"", false);
    agree("[providers.x]\nbase_url = \"https://me:secret@example.com\"", false);
    agree("[providers.x]\nkey_command = []", false);
    agree("[providers.x]\nkey_command = [\"./key\"]", false);
    agree("[providers.x]\nkey_command = [\"/opt/key\", \"./a\"]", true);
    agree("[providers.x]\nretries = 21", false);
    agree("[providers.x]\ntimeouts = { idle = \"soon\" }", false);
    agree("[models.x]\ntools = \"none\"", false);
    agree("[budget]\nsteps = 0", false);
    agree("[budget]\ncost = -1.0", false);
    agree("[outside]\nallow = [\"claude\"]", false);
    agree("[traces]\ncontent = \"yes\"", false);
}

#[test]
fn the_documentation_names_every_setting_and_every_variable() {
    let text = include_str!("../../../../docs/configuration.md");
    for setting in setting::SETTINGS {
        let row = format!("| `{}` | {} |", setting.path, setting.meaning);
        assert!(text.contains(&row), "docs/configuration.md lacks: {row}");
        if let Some(variable) = setting.variable {
            assert!(text.contains(&format!("| `{variable}` | `{}` |", setting.path)), "{variable} is not documented");
        }
    }
    for variable in Settings::VARIABLES.iter().filter(|name| **name != "PALISADE_COMPLETE") {
        assert!(text.contains(&format!("`{variable}`")), "{variable} is not documented");
    }
}
