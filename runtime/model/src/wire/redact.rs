//! What a server says, made fit to be shown: one line, not long, and without the keys that it was sent.

use palisade_agent::Reply;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::Connection;

/// The longest part of what a server says that is passed on, in characters.
const SHOWN: usize = 300;
/// A key shorter than this is none: it is a word that a local server wants to hear.
const SHORTEST: usize = 4;
/// A key shorter than this may be a word that a model uses.
const UNMISTAKABLE: usize = 16;
/// Stands where a key was.
const MARK: &str = "[key]";

/// What must not be shown: the key, and the values of the headers that somebody set.
pub(crate) struct Secrets(Vec<SecretString>);

impl Secrets {
    pub(crate) fn of(connection: &Connection) -> Self {
        let key = connection.key.iter().map(|key| key.expose_secret().trim());
        // A header may hold a key of its own, behind a word such as `Bearer`.
        let headers = connection.headers.values().flat_map(|value| value.split_whitespace());
        let mut texts: Vec<&str> = key
            .chain(headers.filter(|text| text.len() >= UNMISTAKABLE))
            .filter(|text| text.len() >= SHORTEST)
            .collect();
        texts.sort_unstable_by_key(|text| std::cmp::Reverse(text.len()));
        Self(texts.into_iter().map(SecretString::from).collect())
    }

    /// One line of what a server said, for an error.
    pub(crate) fn line(&self, said: &str) -> String {
        let mut text = said.to_owned();
        for secret in &self.0 {
            text = text.replace(secret.expose_secret(), MARK);
        }
        let visible = |letter: char| if letter.is_control() { ' ' } else { letter };
        let words: String = text.chars().take(16 * SHOWN).map(visible).collect();
        let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }

    /// Takes keys out of what a server wrote as a reply: it goes into a transcript. Gives nothing if
    /// there are none.
    pub(crate) fn without(&self, text: &str) -> Option<String> {
        let held = self.unmistakable().any(|secret| text.contains(secret));
        held.then(|| self.unmistakable().fold(text.to_owned(), |text, secret| text.replace(secret, MARK)))
    }

    /// The same for a whole reply: its parts may have come in pieces.
    pub(crate) fn clean(&self, reply: &mut Reply) {
        for text in [&mut reply.text, &mut reply.thinking] {
            if let Some(clean) = self.without(text) {
                *text = clean;
            }
        }
        for call in &mut reply.calls {
            self.clean_value(&mut call.input);
        }
    }

    fn clean_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(clean) = self.without(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.clean_value(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.clean_value(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn unmistakable(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|secret| secret.expose_secret()).filter(|secret| secret.len() >= UNMISTAKABLE)
    }
}

#[cfg(test)]
mod tests {
    use palisade_agent::ToolCall;
    use serde_json::json;

    use super::*;

    const KEY: &str = "sk-0123456789abcdef";

    fn secrets() -> Secrets {
        Secrets(vec![SecretString::from(KEY), SecretString::from("word")])
    }

    /// PROV-10
    #[test]
    fn a_line_is_short_and_holds_no_key() {
        let said = format!("wrong\r\n\tkey \u{1b}[31m`{KEY}` \u{7}word!");
        assert_eq!(secrets().line(&said), "wrong key [31m`[key]` [key]!");
        let long = secrets().line(&"ä".repeat(100_000));
        assert_eq!(long, format!("{}…", "ä".repeat(SHOWN)));
    }

    /// PROV-10
    #[test]
    fn a_reply_holds_no_key_but_keeps_its_words() {
        let call = ToolCall { id: "a".into(), tool: "b".into(), input: json!({"list": [KEY, {"word": "word"}]}) };
        let text = format!("{KEY} word");
        let mut reply = Reply { text: text.clone(), thinking: text, calls: vec![call], ..Reply::default() };
        secrets().clean(&mut reply);
        assert_eq!((reply.text.as_str(), reply.thinking.as_str()), ("[key] word", "[key] word"));
        assert_eq!(reply.calls[0].input, json!({"list": ["[key]", {"word": "word"}]}));
    }
}
