//! What a server says, made fit to be shown: one line, not long, and without the keys that it was sent.

use palisade_agent::Reply;
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};

use crate::{Connection, secrets::Secrets, visible::misleads};

/// The longest part of what a server says that is passed on, in characters.
const SHOWN: usize = 300;
/// A key shorter than this is none: it is a word that a local server wants to hear.
const SHORTEST: usize = 4;
/// A key shorter than this may be a word that a model uses.
const UNMISTAKABLE: usize = 16;

/// What must not be shown: the key, the values of the headers that somebody set, the password of the address.
pub(crate) struct Redaction {
    all: Secrets,
    unmistakable: Secrets,
}

impl Redaction {
    pub(crate) fn of(connection: &Connection) -> Self {
        let key = connection.key.iter().map(|key| key.expose_secret().trim());
        // A header may hold a key of its own, behind a word such as `Bearer`.
        let headers = connection.headers.values().flat_map(|value| value.split_whitespace());
        let address = Url::parse(connection.base_url.trim()).ok();
        let password = address.as_ref().and_then(Url::password);
        Self::new(key.chain(headers.filter(|text| text.len() >= UNMISTAKABLE)).chain(password))
    }

    fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let texts: Vec<&str> = texts.filter(|text| text.len() >= SHORTEST).collect();
        let long = texts.iter().filter(|text| text.len() >= UNMISTAKABLE);
        let unmistakable = Secrets::new(long.map(|text| SecretString::from(*text)));
        Self { all: Secrets::new(texts.iter().map(|text| SecretString::from(*text))), unmistakable }
    }

    /// One line of what a server said, for an error.
    pub(crate) fn line(&self, said: &str) -> String {
        let visible = |letter: char| if misleads(letter) { ' ' } else { letter };
        let words: String = self.all.remove(said).chars().take(16 * SHOWN).map(visible).collect();
        let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }

    /// Takes keys out of what a server wrote as a reply: it goes into a transcript. Gives nothing if
    /// there are none.
    pub(crate) fn without(&self, text: &str) -> Option<String> {
        self.unmistakable.are_in(text).then(|| self.unmistakable.remove(text))
    }

    /// The same for a whole reply: its parts may have come in pieces.
    pub(crate) fn clean(&self, reply: &mut Reply) {
        if self.unmistakable.is_empty() {
            return;
        }
        for text in [&mut reply.text, &mut reply.thinking] {
            *text = self.unmistakable.remove(text);
        }
        for call in &mut reply.calls {
            call.input = self.unmistakable.remove_from(&call.input);
        }
        if let Some(kept) = &mut reply.kept {
            kept.value = self.unmistakable.remove_from(&kept.value);
        }
    }
}

#[cfg(test)]
mod tests {
    use palisade_agent::{Kept, ToolCall};
    use serde_json::json;

    use super::*;

    const KEY: &str = "sk-0123456789abcdef";

    fn secrets() -> Redaction {
        Redaction::new([KEY, "word"].into_iter())
    }

    /// PROV-10
    #[test]
    fn a_line_is_short_and_holds_no_key() {
        let said = format!("wrong\r\n\tkey \u{202e}\u{1b}[31m`{KEY}` \u{7}word!");
        assert_eq!(secrets().line(&said), "wrong key [31m`[key]` [key]!");
        let long = secrets().line(&"ä".repeat(100_000));
        assert_eq!(long, format!("{}…", "ä".repeat(SHOWN)));
    }

    /// PROV-10
    #[test]
    fn a_reply_holds_no_key_but_keeps_its_words() {
        let call = ToolCall { id: "a".into(), tool: "b".into(), input: json!({"list": [KEY, {"word": "word"}]}) };
        let text = format!("{KEY} word");
        let kept = Some(Kept { by: "x".into(), value: json!([{"thinking": text}]) });
        let mut reply = Reply { text: text.clone(), thinking: text, calls: vec![call], kept, ..Reply::default() };
        secrets().clean(&mut reply);
        assert_eq!((reply.text.as_str(), reply.thinking.as_str()), ("[key] word", "[key] word"));
        assert_eq!(reply.calls[0].input, json!({"list": ["[key]", {"word": "word"}]}));
        assert_eq!(reply.kept.unwrap().value, json!([{"thinking": "[key] word"}]));
    }
}
