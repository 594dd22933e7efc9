//! Takes keys out of what is written down or said to somebody.

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

/// What stands where a key was.
const REMOVED: &str = "[key]";

/// Keys that must not be in a file or a message.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    /// The longest first: a key may contain another one.
    keys: Vec<SecretString>,
}

impl Secrets {
    /// These keys; empty ones hide nothing.
    pub fn new(keys: impl IntoIterator<Item = SecretString>) -> Self {
        let mut keys: Vec<SecretString> = keys.into_iter().filter(|key| !key.expose_secret().is_empty()).collect();
        keys.sort_by_key(|key| std::cmp::Reverse(key.expose_secret().len()));
        Self { keys }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether a text holds one of them.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.keys.iter().any(|key| text.contains(key.expose_secret()))
    }

    /// The text without them.
    pub fn remove(&self, text: &str) -> String {
        let without = |text: String, key: &SecretString| match text.contains(key.expose_secret()) {
            true => text.replace(key.expose_secret(), REMOVED),
            false => text,
        };
        self.keys.iter().fold(text.to_owned(), without)
    }

    /// The value without them, in every text and every name it holds.
    pub fn remove_from(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.remove(text)),
            Value::Array(values) => values.iter().map(|value| self.remove_from(value)).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, value)| (self.remove(name), self.remove_from(value))).collect()
            }
            // A key may be written as a number.
            Value::Number(number) => match self.remove(&number.to_string()) {
                text if text.contains(REMOVED) => Value::String(text),
                _ => value.clone(),
            },
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_removed_wherever_it_is() {
        let secrets = Secrets::new(["key-1", "key-1-long", "", "4711"].map(SecretString::from));
        assert_eq!(secrets.remove("a key-1-long b key-1 c"), "a [key] b [key] c");
        assert_eq!(secrets.remove("nothing"), "nothing");
        let value = json!({ "key-1": ["x key-1", { "deep": "key-1" }], "pin": 4711, "other": 5 });
        let expected = json!({ "[key]": ["x [key]", { "deep": "[key]" }], "pin": "[key]", "other": 5 });
        assert_eq!(secrets.remove_from(&value), expected);
    }

    #[test]
    fn keys_are_not_shown() {
        assert!(!format!("{:?}", Secrets::new([SecretString::from("key-1")])).contains("key-1"));
    }
}
