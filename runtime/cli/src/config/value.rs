//! The value of a setting: read from TOML or from a variable, written as TOML or JSON.

use std::{fmt, time::Duration};

use palisade_catalog::definition::{read_size, read_time, write_size, write_time};
use palisade_grants::Command;
use serde_json::{Value as Json, json};
use toml::de::DeValue;

use super::{setting::Kind, store_url::StoreUrl};

/// A value that was checked against its [`Kind`].
#[derive(Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    /// A text that is shown to nobody.
    Hidden(String),
    Texts(Vec<String>),
    Count(u64),
    Dollars(f64),
    Time(Duration),
    Size(u64),
    Flag(bool),
    /// Shown without its password.
    Database(StoreUrl),
}

impl Value {
    /// Reads what stands in a file. The error says what is wanted, and never what was found: it might be
    /// a key at the wrong place.
    pub(crate) fn of_toml(value: &DeValue<'_>, kind: Kind) -> Result<Self, String> {
        let wanted = || kind.wanted();
        match (value, kind) {
            (DeValue::String(text), Kind::Database) => match StoreUrl::parse(text) {
                Ok(url) if url.has_password() => Err(StoreUrl::WITHOUT_PASSWORD.to_owned()),
                url => url.map(Self::Database),
            },
            (DeValue::String(text), _) if kind.takes_text() => Self::of_text(text, kind),
            (DeValue::Array(items), kind) if kind.takes_texts() => {
                let texts: Option<Vec<String>> =
                    items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect();
                Self::of_texts(texts.ok_or_else(wanted)?, kind)
            }
            (DeValue::Integer(number), Kind::Count(..)) => {
                let number = u64::from_str_radix(number.as_str(), number.radix()).map_err(|_| wanted())?;
                Self::of_count(number, kind)
            }
            (DeValue::Integer(number), Kind::Time | Kind::Size) if number.radix() == 10 => {
                Self::of_text(number.as_str(), kind)
            }
            (DeValue::Integer(number), Kind::Dollars) if number.radix() == 10 => Self::of_text(number.as_str(), kind),
            (DeValue::Float(number), Kind::Dollars) => Self::of_text(number.as_str(), kind),
            (DeValue::Boolean(flag), Kind::Flag) => Ok(Self::Flag(*flag)),
            _ => Err(wanted()),
        }
    }

    /// Reads what stands in a variable.
    pub(crate) fn of_variable(text: &str, kind: Kind) -> Result<Self, String> {
        match kind {
            Kind::Count(..) => Self::of_count(text.trim().parse().map_err(|_| kind.wanted())?, kind),
            Kind::Flag => match text.trim() {
                "true" | "1" => Ok(Self::Flag(true)),
                "false" | "0" => Ok(Self::Flag(false)),
                _ => Err(kind.wanted()),
            },
            kind if kind.takes_texts() => Err(kind.wanted()),
            _ => Self::of_text(text, kind),
        }
    }

    fn of_text(text: &str, kind: Kind) -> Result<Self, String> {
        let wanted = || kind.wanted();
        let text = text.trim();
        match kind {
            Kind::Text if !text.is_empty() && !text.contains(char::is_control) => Ok(Self::Text(text.to_owned())),
            Kind::Address => address(text).map(Self::Text),
            Kind::Variable if is_variable(text) => Ok(Self::Text(text.to_owned())),
            Kind::Header if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) => Ok(Self::Hidden(text.to_owned())),
            Kind::One(words) if words.contains(&text) => Ok(Self::Text(text.to_owned())),
            Kind::Database => StoreUrl::parse(text).map(Self::Database),
            Kind::Time => read_time(text).map(Self::Time).ok_or_else(wanted),
            Kind::Size => read_size(text).filter(|size| *size > 0).map(Self::Size).ok_or_else(wanted),
            Kind::Dollars => {
                let number = text.replace('_', "").parse().ok().filter(|number: &f64| (0.0..1e9).contains(number));
                number.map(Self::Dollars).ok_or_else(wanted)
            }
            _ => Err(wanted()),
        }
    }

    fn of_texts(texts: Vec<String>, kind: Kind) -> Result<Self, String> {
        let fits = match kind {
            Kind::Command => texts.first().is_some_and(|program| is_program(program)),
            Kind::Some(words) => texts.iter().all(|text| words.contains(&text.as_str())),
            Kind::Commands => texts.iter().all(|text| text.parse::<Command>().is_ok()),
            Kind::Folders => texts.iter().all(|text| text.starts_with('/') || text.starts_with("~/")),
            Kind::Variables => texts.iter().all(|text| is_variable(text.split('=').next().unwrap_or_default())),
            _ => true,
        };
        let harmless = texts.iter().all(|text| !text.contains('\0'));
        if fits && harmless { Ok(Self::Texts(texts)) } else { Err(kind.wanted()) }
    }

    fn of_count(number: u64, kind: Kind) -> Result<Self, String> {
        match kind {
            Kind::Count(least, most) if (least..=most).contains(&number) => Ok(Self::Count(number)),
            _ => Err(kind.wanted()),
        }
    }

    /// Whether it is less than another of its kind.
    pub(crate) fn is_below(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Count(own), Self::Count(other)) | (Self::Size(own), Self::Size(other)) => own < other,
            (Self::Dollars(own), Self::Dollars(other)) => own < other,
            (Self::Time(own), Self::Time(other)) => own < other,
            _ => false,
        }
    }

    /// As TOML has it.
    pub(crate) fn toml(&self) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Hidden(_) => quoted(HIDDEN),
            Self::Texts(texts) => format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ")),
            Self::Count(number) => number.to_string(),
            Self::Dollars(number) => format!("{number:?}"),
            Self::Time(time) => quoted(&write_time(*time)),
            Self::Size(size) => quoted(&write_size(*size)),
            Self::Flag(flag) => flag.to_string(),
            Self::Database(url) => quoted(&url.to_string()),
        }
    }

    /// As JSON has it.
    pub(crate) fn json(&self) -> Json {
        match self {
            Self::Text(text) => json!(text),
            Self::Hidden(_) => json!(HIDDEN),
            Self::Texts(texts) => json!(texts),
            Self::Count(number) => json!(number),
            Self::Dollars(number) => json!(number),
            Self::Time(time) => json!(write_time(*time)),
            Self::Size(size) => json!(write_size(*size)),
            Self::Flag(flag) => json!(flag),
            Self::Database(url) => json!(url.to_string()),
        }
    }
}

/// What is shown in place of a value.
const HIDDEN: &str = "(hidden)";

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.toml())
    }
}

impl Kind {
    fn takes_text(self) -> bool {
        !self.takes_texts() && !matches!(self, Self::Count(..) | Self::Dollars | Self::Flag)
    }

    fn takes_texts(self) -> bool {
        let lists = [Self::Command, Self::Texts, Self::Commands, Self::Folders, Self::Variables];
        lists.contains(&self) || matches!(self, Self::Some(_))
    }

    /// What it wants, as an error says it.
    pub(crate) fn wanted(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Address => "an address such as \"https://api.example.com/v1\"".to_owned(),
            Self::Variable => "the name of a variable, such as \"EXAMPLE_API_KEY\"; not the key".to_owned(),
            Self::Header => "a text of visible ASCII characters".to_owned(),
            Self::Command => {
                "a list such as [\"pass\", \"show\", \"example\"], of a name or an absolute path and arguments"
                    .to_owned()
            }
            Self::Texts => "a list of texts".to_owned(),
            Self::Commands => "a list such as [\"cargo test:*\", \"git diff\"], of commands by their first words; \
                               `:*` stands for more words"
                .to_owned(),
            Self::Folders => {
                "a list such as [\"~/.rustup\"], of absolute paths or ones that begin with `~/`".to_owned()
            }
            Self::Variables => {
                "a list such as [\"CI\", \"RUSTUP_HOME=/opt/rustup\"], of names or names with values".to_owned()
            }
            Self::Some(words) => format!("a list of some of \"{}\"", words.join("\", \"")),
            Self::One(words) => format!("one of \"{}\"", words.join("\", \"")),
            Self::Count(least, most) => format!("a whole number from {least} to {most}"),
            Self::Dollars => "an amount of dollars, such as 1.5".to_owned(),
            Self::Time => "a time above zero, such as \"30s\" or \"5m\"".to_owned(),
            Self::Size => "a number of bytes, such as \"16MiB\"".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Database => StoreUrl::WANTED.to_owned(),
        }
    }
}

/// An address that requests can go to. Keys in it would be shown wherever the address is.
fn address(text: &str) -> Result<String, String> {
    let address = url::Url::parse(text).map_err(|_| Kind::Address.wanted())?;
    if !matches!(address.scheme(), "http" | "https") || !address.has_host() {
        return Err(Kind::Address.wanted());
    }
    if !address.username().is_empty() || address.password().is_some() {
        return Err("an address without a user or a password; keys come from `key_env`, `key_command` or \
                    `key_keyring`"
            .to_owned());
    }
    if address.query().is_some() || address.fragment().is_some() {
        return Err("an address without `?` and `#`".to_owned());
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// A name, or an absolute path: another one would be looked for in the project that is worked on.
fn is_program(text: &str) -> bool {
    !text.trim().is_empty() && (text.starts_with('/') || !text.contains('/'))
}

fn is_variable(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A TOML string. JSON's escapes are TOML's, too.
fn quoted(text: &str) -> String {
    json!(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toml(text: &str, kind: Kind) -> Result<String, String> {
        let value = DeValue::parse(text).unwrap();
        Value::of_toml(value.get_ref(), kind).map(|value| value.toml())
    }

    #[test]
    fn values_are_written_as_they_were_read() {
        let check = |text: &str, kind, expected: &str| assert_eq!(toml(text, kind).as_deref(), Ok(expected), "{text}");
        check("\"a\"", Kind::Text, "\"a\"");
        check("\"https://api.example.com/v1/\"", Kind::Address, "\"https://api.example.com/v1\"");
        check("\"2m\"", Kind::Time, "\"120s\"");
        check("30", Kind::Time, "\"30s\"");
        check("\"16MiB\"", Kind::Size, "\"16MiB\"");
        check("0x10", Kind::Count(1, 20), "16");
        check("1_000", Kind::Count(1, 2000), "1000");
        check("3", Kind::Dollars, "3.0");
        check("1.50", Kind::Dollars, "1.5");
        check("[\"pass\", \"show\"]", Kind::Command, "[\"pass\", \"show\"]");
        check("[\"/opt/key\", \"./a\"]", Kind::Command, "[\"/opt/key\", \"./a\"]");
        check("true", Kind::Flag, "true");
    }

    #[test]
    fn what_does_not_fit_is_told_what_would() {
        let check = |text: &str, kind| assert!(toml(text, kind).is_err(), "{text} {kind:?}");
        check("1", Kind::Text);
        check("\" \"", Kind::Text);
        check("\"api.example.com\"", Kind::Address);
        check("\"file:///etc/passwd\"", Kind::Address);
        check("\"https://me:secret@example.com\"", Kind::Address);
        check("\"https://example.com/?key=secret\"", Kind::Address);
        check("\"sk-ant-secret\"", Kind::Variable);
        check("\"a\\r\\nb: c\"", Kind::Header);
        check("[]", Kind::Command);
        check("\"pass show example\"", Kind::Command);
        check("[\"./key\"]", Kind::Command);
        check("[\"bin/key\"]", Kind::Command);
        check("[\"claude\"]", Kind::Some(&["claude-cli"]));
        check("-1", Kind::Count(0, 20));
        check("21", Kind::Count(0, 20));
        check("1.5", Kind::Count(0, 20));
        check("-0.5", Kind::Dollars);
        check("nan", Kind::Dollars);
        check("\"0s\"", Kind::Time);
        check("\"fast\"", Kind::Time);
        check("\"true\"", Kind::Flag);
        check("[\"ls; rm\"]", Kind::Commands);
        check("\"cargo test:*\"", Kind::Commands);
        check("[\"bin\"]", Kind::Folders);
        check("[\"A B\"]", Kind::Variables);
    }

    /// SEC-03
    #[test]
    fn an_error_never_repeats_what_was_written() {
        for kind in [Kind::Variable, Kind::Address, Kind::Time, Kind::Header, Kind::One(&["a"])] {
            let error = toml("\"sk-ant-\\tsecret\"", kind).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
