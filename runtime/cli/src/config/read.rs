//! One configuration file: text in, settings with their places out. Everything that is wrong with it is
//! reported at once.

use palisade_agent::ModelName;
use palisade_catalog::{
    Notice, Severity,
    definition::{MAX_FILE, check_server_name, nearest},
};
use palisade_model::OUTSIDE;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    setting::{Name, OUTSIDERS, Setting, parts_after},
    value::Value,
};

/// A setting that stands in a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) name: Name,
    pub(crate) setting: &'static Setting,
    pub(crate) value: Value,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// Reads a file's text; `file` is how people know it.
pub(crate) fn read(text: &[u8], file: &str) -> (Vec<Found>, Vec<Notice>) {
    let mut reader = Reader { text: "", file, found: Vec::new(), notices: Vec::new() };
    if text.len() > MAX_FILE {
        reader.notices.push(Notice::error(file, format!("the file is longer than {MAX_FILE} bytes")));
        return (reader.found, reader.notices);
    }
    match std::str::from_utf8(text) {
        Ok(text) => reader.document(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(_) => reader.notices.push(Notice::error(file, "the file is not UTF-8")),
    }
    (reader.found, reader.notices)
}

struct Reader<'t> {
    text: &'t str,
    file: &'t str,
    found: Vec<Found>,
    notices: Vec<Notice>,
}

impl<'t> Reader<'t> {
    fn document(&mut self, text: &'t str) {
        self.text = text;
        let (root, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            let at = error.span().map_or(0, |span| span.start);
            self.report(Severity::Error, at, None, error.message().trim().to_lowercase(), None);
        }
        // What was guessed in place of what cannot be read would only bring more errors.
        if !errors.is_empty() {
            return;
        }
        self.table(&mut Vec::new(), root.get_ref());
        self.found.sort_by_key(|found| (found.line, found.column));
        let found = std::mem::take(&mut self.found);
        self.two_key_sources(&found);
        self.found = found;
        self.notices.sort_by_key(|notice| (notice.line, notice.column));
    }

    fn table(&mut self, parts: &mut Vec<String>, table: &DeTable<'_>) {
        for (key, value) in table {
            parts.push(key.get_ref().as_ref().to_owned());
            let name = Name(parts.clone());
            match (Setting::find(&name), value.get_ref()) {
                (Some(setting), DeValue::Table(_)) => self.wrong(&name, value, &setting.kind.wanted()),
                (Some(setting), _) => self.setting(name, setting, key, value),
                (None, DeValue::Table(table)) if self.is_table(&name, key) => self.table(parts, table),
                (None, DeValue::Table(_)) => {}
                (None, _) if parts_after(parts).is_empty() => self.unknown(&name, key),
                (None, _) if self.is_table(&name, key) => self.wrong(&name, value, &format!("a table: [{name}]")),
                (None, _) => {}
            }
            parts.pop();
        }
    }

    fn setting(
        &mut self,
        name: Name,
        setting: &'static Setting,
        key: &Spanned<impl Sized>,
        value: &Spanned<DeValue<'_>>,
    ) {
        if let Some((message, fix)) = secret_header(&name).filter(|_| !names_secret(&name, value.get_ref())) {
            return self.report(Severity::Error, key.span().start, Some(&name), message, Some(fix));
        }
        match Value::of_toml(value.get_ref(), setting.kind) {
            Ok(value) => {
                let (line, column) = self.place(key.span().start);
                self.found.push(Found { name, setting, value, line, column });
            }
            Err(wanted) => self.wrong(&name, value, &wanted),
        }
    }

    /// Whether a table may have this name; reports it if not.
    fn is_table(&mut self, name: &Name, key: &Spanned<impl Sized>) -> bool {
        if parts_after(&name.0).is_empty() {
            self.unknown(name, key);
            return false;
        }
        let given = name.part(1);
        let (message, fix) = match (name.part(0), name.0.len()) {
            ("providers", 2) if given.is_empty() || given.contains([':', '/']) => (
                format!("`{name}`: a provider's name has no `:` and no `/`"),
                "it is what stands before them in `provider:model`".to_owned(),
            ),
            ("providers", 2) if given == "offline" || given == "scripted" || OUTSIDE.contains(&given) => {
                (format!("`{given}` is no server"), "settings of programs stand in [outside]".to_owned())
            }
            ("secrets", 2)
                if given.is_empty()
                    || !given.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)) =>
            {
                (format!("`{name}`: no secret can be called so"), "letters, digits, `_`, `-` and `.`".to_owned())
            }
            ("mcp", 2) if check_server_name(given).is_err() => (
                format!("`{name}`: no server can be called so"),
                "up to 48 letters, digits, `-` and single `_`".to_owned(),
            ),
            ("models", 2) if ModelName::parse(given).is_none_or(|name| name.provider.is_some()) => {
                (format!("`{name}`: no model can be called so"), "a name of your own, such as [models.fast]".to_owned())
            }
            ("outside", 2) if !OUTSIDERS.contains(&given) => {
                let near = nearest(given, OUTSIDERS).map(|near| format!("did you mean `{near}`?"));
                (
                    format!("`{given}` is nothing that can be outside of the sandbox"),
                    near.unwrap_or_else(|| format!("there are {}", OUTSIDERS.join(", "))),
                )
            }
            _ => return true,
        };
        self.report(Severity::Error, key.span().start, Some(name), message, Some(fix));
        false
    }

    fn unknown(&mut self, name: &Name, key: &Spanned<impl Sized>) {
        let Some((last, before)) = name.0.split_last() else { return };
        let known: Vec<&str> = parts_after(before).into_iter().filter(|part| *part != "*").collect();
        let names_a_key = ["key", "api_key", "apikey", "token", "secret", "api-key", "value"];
        let fix = if ["providers", "secrets", "mcp"].contains(&name.part(0))
            && names_a_key.contains(&last.to_ascii_lowercase().as_str())
        {
            "keys do not stand in files; say where it comes from with `key_env`, `key_command` or `key_keyring`"
                .to_owned()
        } else if let Some(near) = nearest(last, known.iter().copied()) {
            format!("did you mean `{near}`?")
        } else {
            format!("there are {}", known.join(", "))
        };
        self.report(Severity::Error, key.span().start, Some(name), format!("there is no setting `{name}`"), Some(fix));
    }

    fn wrong(&mut self, name: &Name, value: &Spanned<DeValue<'_>>, wanted: &str) {
        let kind = match value.get_ref() {
            DeValue::String(_) => "this text",
            DeValue::Integer(_) | DeValue::Float(_) => "this number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "this list",
            DeValue::Table(_) => "a table",
        };
        let message = format!("`{name}` cannot be {kind}");
        self.report(Severity::Error, value.span().start, Some(name), message, Some(format!("it is {wanted}")));
    }

    /// One of two sources would be silently ignored.
    fn two_key_sources(&mut self, found: &[Found]) {
        for (index, one) in found.iter().enumerate() {
            let Some(secret) = source_of(&one.name) else { continue };
            let is_other = |other: &&Found| source_of(&other.name) == Some(secret);
            if let Some(other) = found.iter().take(index).find(is_other) {
                self.notices.push(Notice {
                    line: Some(one.line),
                    column: Some(one.column),
                    field: Some(one.name.to_string()),
                    fix: Some("keep one of the two".to_owned()),
                    ..Notice::error(self.file, format!("there are both `{}` and `{}`", other.name, one.name))
                });
            }
        }
    }

    fn report(&mut self, severity: Severity, at: usize, name: Option<&Name>, message: String, fix: Option<String>) {
        let (line, column) = self.place(at);
        self.notices.push(Notice {
            severity,
            file: self.file.to_owned(),
            line: Some(line),
            column: Some(column),
            field: name.map(ToString::to_string),
            message,
            fix,
        });
    }

    /// Line and character of a byte, both from 1.
    fn place(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        (before.matches('\n').count() + 1, column)
    }
}

/// Which secret it says the source of, if it does: a provider's key, or the database with its password.
pub(crate) fn source_of(name: &Name) -> Option<(&str, &str)> {
    match (name.part(0), name.part(1), name.part(2)) {
        ("providers", provider, "key_env" | "key_command" | "key_keyring") => Some(("providers", provider)),
        ("secrets", secret, "key_env" | "key_command" | "key_keyring") => Some(("secrets", secret)),
        ("store", "url" | "url_command", "") => Some(("store", "")),
        _ => None,
    }
}

/// A header that carries a key, or that is none.
fn secret_header(name: &Name) -> Option<(String, String)> {
    let header = name.0.get(3).filter(|_| name.part(2) == "headers")?;
    let is_name =
        !header.is_empty() && header.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if !is_name {
        return Some((format!("`{name}` is no header"), "letters, digits, `-` and `_`".to_owned()));
    }
    let secret = ["authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"];
    secret.contains(&header.to_ascii_lowercase().as_str()).then(|| {
        (
            format!("`{name}` would put a key into a file"),
            "say where it comes from with `key_env`, `key_command` or `key_keyring`".to_owned(),
        )
    })
}

/// Whether a header of an MCP server names a secret, and has none in it.
fn names_secret(name: &Name, value: &DeValue<'_>) -> bool {
    name.part(0) == "mcp" && value.as_str().is_some_and(|text| text.contains("{{secret:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notices(text: &str) -> Vec<String> {
        read(text.as_bytes(), "config.toml").1.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_becomes_settings_with_their_places() {
        let text = "model = \"sonnet\"\n[providers.mine]\n  base_url = \"http://127.0.0.1:1/v1\"\n\
                    timeouts = { idle = \"5s\" }\n[models.\"gpt-4.1\"]\nmodel = \"openai:gpt-4.1\"\n";
        let (found, notices) = read(text.as_bytes(), "config.toml");
        assert_eq!(notices, []);
        let found: Vec<_> =
            found.iter().map(|found| (found.name.to_string(), found.value.toml(), found.line, found.column)).collect();
        let expected = [
            ("model", "\"sonnet\"", 1, 1),
            ("providers.mine.base_url", "\"http://127.0.0.1:1/v1\"", 3, 3),
            ("providers.mine.timeouts.idle", "\"5s\"", 4, 14),
            ("models.\"gpt-4.1\".model", "\"openai:gpt-4.1\"", 6, 1),
        ];
        assert_eq!(
            found,
            expected.map(|(name, value, line, column)| (name.to_owned(), value.to_owned(), line, column))
        );
    }

    /// CFG-05
    #[test]
    fn unknown_settings_and_wrong_values_are_errors_with_a_place_and_a_fix() {
        let check = |text: &str, expected: &str| assert_eq!(notices(text), [expected], "{text}");
        check("modle = \"a\"", "config.toml:1:1: error: there is no setting `modle`; did you mean `model`?");
        check(
            "\n[budget]\n  stpes = 4",
            "config.toml:3:3: error: there is no setting `budget.stpes`; did you mean `steps`?",
        );
        check(
            "[budget]\nsteps = \"many\"",
            "config.toml:2:9: error: `budget.steps` cannot be this text; it is a whole number from 1 to 1000000",
        );
        check("[model]\nname = \"a\"", "config.toml:1:1: error: `model` cannot be a table; it is a text");
        check("budget = 4", "config.toml:1:10: error: `budget` cannot be this number; it is a table: [budget]");
        check(
            "[trace]\nendpoint = \"http://127.0.0.1:4318\"",
            "config.toml:1:2: error: there is no setting `trace`; did you mean `traces`?",
        );
        check(
            "[outside.claude]\ncommand = \"claude\"",
            "config.toml:1:10: error: `claude` is nothing that can be outside of the sandbox; there are claude-cli, \
             codex-cli, pi-cli, external",
        );
        check(
            "[providers.\"a:b\"]\nretries = 1",
            "config.toml:1:12: error: `providers.\"a:b\"`: a provider's name has \
             no `:` and no `/`; it is what stands before them in `provider:model`",
        );
    }

    #[test]
    fn what_is_wrong_is_said_from_top_to_bottom() {
        let all = notices("tarces = 1\nmodle = \"a\"\n[budget]\nsteps = \"many\"");
        let places: Vec<&str> = all.iter().filter_map(|notice| notice.split(" error").next()).collect();
        assert_eq!(places, ["config.toml:1:1:", "config.toml:2:1:", "config.toml:4:9:"]);
    }

    #[test]
    fn what_is_no_toml_is_an_error_with_a_place() {
        for (text, place) in [("model = ", "config.toml:1:9"), ("a = 1\nmodel == 2", "config.toml:2:8")] {
            assert!(notices(text).iter().any(|notice| notice.starts_with(place)), "{:?}", notices(text));
        }
        assert!(notices("model = \"a\"\nmodel = \"b\"")[0].contains(":2:1: error: duplicate key"));
        assert_eq!(read(&[0xff], "c").1[0].to_string(), "c: error: the file is not UTF-8");
        assert_eq!(read(&vec![b' '; MAX_FILE + 1], "c").1.len(), 1);
        assert!(!notices(&format!("a = {}", "[".repeat(100_000))).is_empty());
    }

    /// SEC-03
    #[test]
    fn a_key_in_a_file_is_refused_and_not_repeated() {
        for text in [
            "[providers.anthropic]\nkey = \"sk-secret\"",
            "[providers.anthropic]\napi_key = \"sk-secret\"",
            "[providers.anthropic]\nkey_env = \"sk-secret\"",
            "[providers.anthropic]\nheaders = { Authorization = \"Bearer sk-secret\" }",
            "[providers.anthropic.headers]\nx-api-key = \"sk-secret\"",
            "[providers.anthropic]\nbase_url = \"https://me:sk-secret@api.example.com\"",
        ] {
            let notices = notices(text);
            assert_eq!(notices.len(), 1, "{notices:?}");
            assert!(notices[0].contains("key") && !notices[0].contains("sk-secret"), "{notices:?}");
        }
    }

    #[test]
    fn two_sources_of_one_key_are_an_error() {
        let text = "[providers.a]\nkey_env = \"A\"\nkey_keyring = \"a\"\n[providers.b]\nkey_env = \"B\"";
        assert_eq!(
            notices(text),
            [
                "config.toml:3:1: error: there are both `providers.a.key_env` and `providers.a.key_keyring`; keep one of \
                 the two"
            ]
        );
    }
}
