//! Takes secrets out of what comes back. A server that echoes what it was sent must not be a way to read a secret.
//!
//! This is a second wall: a server that wants to give a secret away can write it in a way that nobody recognises,
//! which is why a secret is sent to its bound host alone.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use secrecy::ExposeSecret as _;

use super::secrets::Fetched;

/// Takes secrets out of a stream.
pub(super) struct Scrubber {
    /// Every form of every secret, the longest first.
    forms: Vec<Vec<u8>>,
    /// The end of what came so far, which may be the beginning of a secret.
    held: Vec<u8>,
}

const INSTEAD: &[u8] = b"[secret]";
/// What is shorter is no secret, and would be found everywhere.
const SHORTEST: usize = 4;

impl Scrubber {
    /// Looks for these secrets; nothing if there are none.
    pub(super) fn of(secrets: &[Fetched]) -> Option<Self> {
        let values = secrets.iter().map(|secret| secret.value.expose_secret().as_bytes());
        Self::new(values.flat_map(forms).collect())
    }

    fn new(mut forms: Vec<Vec<u8>>) -> Option<Self> {
        forms.retain(|form| form.len() >= SHORTEST);
        forms.sort_unstable_by_key(|form| std::cmp::Reverse(form.len()));
        forms.dedup();
        (!forms.is_empty()).then_some(Self { forms, held: Vec::new() })
    }

    /// What can be shown after the next piece.
    pub(super) fn push(&mut self, piece: &[u8]) -> Bytes {
        self.held.extend_from_slice(piece);
        self.take(false)
    }

    /// What is left.
    pub(super) fn finish(mut self) -> Bytes {
        self.take(true)
    }

    /// Takes secrets out of headers.
    pub(super) fn clean(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            let mut own = Self { forms: self.forms.clone(), held: value.as_bytes().to_vec() };
            let cleaned = own.take(true);
            if cleaned != value.as_bytes() {
                *value = HeaderValue::from_bytes(&cleaned).unwrap_or(HeaderValue::from_static("[secret]"));
            }
        }
    }

    fn take(&mut self, is_end: bool) -> Bytes {
        let longest = self.forms.first().map_or(0, Vec::len);
        let held = std::mem::take(&mut self.held);
        let mut shown = Vec::with_capacity(held.len());
        let mut rest = held.as_slice();
        // A form that fits here counts only if no longer one could still fit, so the last bytes wait.
        while is_end && !rest.is_empty() || rest.len() >= longest {
            match self.forms.iter().find(|form| rest.starts_with(form)) {
                Some(form) => {
                    shown.extend_from_slice(INSTEAD);
                    rest = rest.get(form.len()..).unwrap_or_default();
                }
                None => {
                    let is_start = |byte: &u8| self.forms.iter().any(|form| form.first() == Some(byte));
                    let most = if is_end { rest.len() } else { rest.len() - longest + 1 };
                    // On to the next byte with which a secret could begin.
                    let next = rest.iter().skip(1).take(most.saturating_sub(1)).position(is_start);
                    let (plain, behind) = rest.split_at(next.map_or(most, |next| next + 1));
                    shown.extend_from_slice(plain);
                    rest = behind;
                }
            }
        }
        self.held = rest.to_vec();
        shown.into()
    }
}

/// The forms in which a server may write a text back: as it is, in JSON, in an address, in hexadecimal, in base64.
fn forms(text: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![text.to_vec()];
    let escaped = |slash: &str| -> Vec<u8> {
        let escape = |byte: &u8| match byte {
            b'"' => b"\\\"".to_vec(),
            b'\\' => b"\\\\".to_vec(),
            b'/' => slash.as_bytes().to_vec(),
            byte => vec![*byte],
        };
        text.iter().flat_map(escape).collect()
    };
    forms.extend([escaped("/"), escaped("\\/")]);
    let percent = |keep: &dyn Fn(u8) -> bool, upper: bool| -> Vec<u8> {
        let write = |byte: &u8| match (keep(*byte), upper) {
            (true, _) => char::from(*byte).to_string(),
            (false, true) => format!("%{byte:02X}"),
            (false, false) => format!("%{byte:02x}"),
        };
        text.iter().map(write).collect::<String>().into_bytes()
    };
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    for upper in [true, false] {
        forms.extend([percent(&unreserved, upper), percent(&|_| false, upper)]);
    }
    forms.push(text.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes());
    forms.push(text.iter().map(|byte| format!("{byte:02X}")).collect::<String>().into_bytes());
    for before in 0..3 {
        for alphabet in [STANDARD, URL] {
            forms.push(base64(text, before, alphabet));
        }
    }
    forms
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The letters of base64 that a text decides alone when some bytes stand before it and any behind it.
fn base64(text: &[u8], before: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let bits = text.len() * 8;
    // The first letter that has no bit of what stands before.
    let skipped = (before * 8).div_ceil(6) * 6 - before * 8;
    let letters = bits.saturating_sub(skipped) / 6;
    let bit = |at: usize| text.get(at / 8).map_or(0, |byte| (byte >> (7 - at % 8)) & 1);
    let letter = |index: usize| {
        let first = skipped + index * 6;
        let value = (0..6).fold(0_usize, |value, offset| value << 1 | usize::from(bit(first + offset)));
        alphabet.get(value).copied().unwrap_or_default()
    };
    (0..letters).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-4/é\"9\\x+abcdef";

    fn scrubbed(text: &str, piece: usize) -> String {
        let mut scrubber = Scrubber::new(forms(KEY.as_bytes())).unwrap();
        let mut shown = Vec::new();
        for piece in text.as_bytes().chunks(piece) {
            shown.extend_from_slice(&scrubber.push(piece));
        }
        shown.extend_from_slice(&scrubber.finish());
        String::from_utf8(shown).unwrap()
    }

    /// SEC-05
    #[test]
    fn a_secret_is_found_however_the_stream_is_cut() {
        let text = format!("sk-4 before {KEY}{KEY} and {KEY}");
        for piece in 1..text.len() + 1 {
            assert_eq!(scrubbed(&text, piece), "sk-4 before [secret][secret] and [secret]", "{piece}");
        }
        assert_eq!(scrubbed("nothing in it, sk", 3), "nothing in it, sk");
        assert_eq!(scrubbed("", 1), "");
    }

    /// SEC-05
    #[test]
    fn common_ways_to_write_a_secret_are_known() {
        let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
        let percent: String = KEY.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let json = KEY.replace('\\', "\\\\").replace('"', "\\\"");
        for form in [hex.to_uppercase(), hex, percent, json.replace('/', "\\/"), json] {
            assert_eq!(scrubbed(&format!("<{form}>"), 7), "<[secret]>");
        }
    }

    /// SEC-05
    #[test]
    fn base64_is_known_wherever_the_secret_stands() {
        for before in ["", "a", "ab", "abc", "Bearer "] {
            let whole = base64(format!("{before}{KEY}!!").as_bytes(), 0, STANDARD);
            let shown = scrubbed(std::str::from_utf8(&whole).unwrap(), 5);
            assert!(shown.contains("[secret]") && shown.len() < whole.len(), "{before}: {shown}");
        }
        // What the standard says it is.
        assert_eq!(base64(b"foobar", 0, STANDARD), b"Zm9vYmFy");
        assert_eq!(base64(b"\xff\xfe\xff", 0, URL), b"__7_");
    }
}
