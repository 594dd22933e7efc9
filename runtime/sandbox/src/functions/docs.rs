//! What a component's author wrote about its functions: its `package-docs` section, if a tool put one there.
//!
//! It is untrusted text that was never checked, so what does not fit is left out and nothing fails.

use serde_json::Value;

/// The section's name.
const NAME: &[u8] = b"package-docs";
/// The largest section that is read.
const LARGEST: usize = 1 << 20;
/// Bytes of what is said about one function.
const LONGEST: usize = 4 << 10;
/// The custom sections of a component have this number.
const CUSTOM: u8 = 0;
/// The bytes before the first section: what it is, and which version.
const HEADER: usize = 8;

/// What is said about a component's functions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Docs(Option<Value>);

impl Docs {
    /// Finds the section among those of a component.
    pub(crate) fn read(wasm: &[u8]) -> Self {
        let mut rest = wasm.get(HEADER..).unwrap_or_default();
        while let Some((&number, after)) = rest.split_first() {
            let Some((body, after)) = sized(after) else { break };
            rest = after;
            let Some((name, content)) = sized(body).filter(|_| number == CUSTOM) else { continue };
            if name == NAME && content.len() <= LARGEST {
                // One byte for the version; the two that there are do not differ in what is read here.
                let json = content.split_first().filter(|(version, _)| **version <= 1);
                return Self(json.and_then(|(_, json)| serde_json::from_slice(json).ok()));
            }
        }
        Self(None)
    }

    /// What is said about a function, cut to a length.
    pub(crate) fn of(&self, interface: Option<&str>, function: &str) -> Option<String> {
        let root = self.0.as_ref()?;
        let worlds = || root.get("worlds").and_then(Value::as_object).into_iter().flat_map(|worlds| worlds.values());
        let found = match interface {
            None => worlds().find_map(|world| said(world, &["func_exports", "funcs"], function)),
            Some(interface) => {
                let name = short(interface);
                let own = root.get("interfaces").and_then(|interfaces| interfaces.get(name));
                let within = worlds().flat_map(|world| {
                    ["interface_exports", "interfaces"].map(|part| world.get(part).and_then(|part| part.get(name)))
                });
                own.into_iter().chain(within.flatten()).find_map(|interface| said(interface, &["funcs"], function))
            }
        }?;
        let text = found.trim();
        let text = text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

fn said<'a>(value: &'a Value, parts: &[&str], function: &str) -> Option<&'a str> {
    parts.iter().find_map(|part| {
        let said = value.get(part)?.get(function)?;
        said.as_str().or_else(|| said.get("docs")?.as_str())
    })
}

/// An interface's name without its package and version.
pub(crate) fn short(interface: &str) -> &str {
    let name = interface.rsplit_once('/').map_or(interface, |(_, name)| name);
    name.split_once('@').map_or(name, |(name, _)| name)
}

/// Bytes with their length before them, and what follows.
fn sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut length = 0_u64;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        length |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return bytes.get(index + 1..)?.split_at_checked(usize::try_from(length).ok()?);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(sections: &[(&str, &[u8])]) -> Vec<u8> {
        let mut wasm = b"\0asm\x0d\0\x01\0".to_vec();
        for (name, content) in sections {
            let name = name.as_bytes();
            wasm.extend([0, u8::try_from(1 + name.len() + content.len()).unwrap(), u8::try_from(name.len()).unwrap()]);
            wasm.extend(name);
            wasm.extend(*content);
        }
        wasm
    }

    #[test]
    fn what_is_said_in_worlds_and_interfaces_is_found() {
        let json =
            br#"_{"worlds":{"w":{"funcs":{"f":{"docs":" Adds.\n"}}}},"interfaces":{"i":{"funcs":{"g":"Old."}}}}"#;
        let mut content = json.to_vec();
        content[0] = 1;
        let docs = Docs::read(&component(&[("producers", b"x"), ("package-docs", &content)]));
        assert_eq!(docs.of(None, "f"), Some("Adds.".to_owned()));
        assert_eq!(docs.of(Some("a:b/i@1.0.0"), "g"), Some("Old.".to_owned()));
        assert_eq!(docs.of(None, "g"), None);
    }

    #[test]
    fn what_cannot_be_read_says_nothing() {
        for content in [&b""[..], b"\x01", b"\x01{", b"\x02{}", b"\x01[]", b"\x01{\"worlds\":[1]}", b"\x00null"] {
            assert_eq!(Docs::read(&component(&[("package-docs", content)])).of(None, "f"), None);
        }
        for wasm in [
            &b""[..],
            b"\0asm",
            b"\0asm\x0d\0\x01\0\0",
            b"\0asm\x0d\0\x01\0\0\xff\xff\xff\xff\xff\xff",
            b"\0asm\x0d\0\x01\0\0\x05\x09",
        ] {
            assert_eq!(Docs::read(wasm), Docs(None));
        }
    }

    #[test]
    fn what_is_said_is_cut() {
        let json = serde_json::json!({ "worlds": { "w": { "funcs": { "f": "é".repeat(LONGEST) } } } });
        let said = Docs(Some(json)).of(None, "f").unwrap();
        assert_eq!(said.len(), LONGEST);
    }
}
