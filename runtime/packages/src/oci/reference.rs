//! What names a package in a registry.

use std::{fmt, net::IpAddr, str::FromStr};

use crate::Sha256;

/// `oci://registry/name[:tag][@digest]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The host of the registry, with its port where that is not the usual one.
    pub registry: String,
    /// What the package is called there.
    pub repository: String,
    /// Which one of that name; `latest` if nothing is said.
    pub tag: Option<String>,
    /// What it must be.
    pub digest: Option<Sha256>,
}

/// A text that names no package.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` names no package: {why}; write `oci://registry.example.com/team/plugin:1.0`")]
pub struct BadReference {
    given: String,
    why: &'static str,
}

const SCHEME: &str = "oci://";

impl Reference {
    /// Whether a text is meant as one.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// What is asked for: the digest where there is one, else the tag.
    pub(crate) fn wanted(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.to_string(),
            (None, tag) => tag.clone().unwrap_or_else(|| "latest".to_owned()),
        }
    }

    /// The registry without its port.
    pub(crate) fn host(&self) -> &str {
        match self.registry.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => &self.registry,
        }
    }

    /// Whether the registry is on this machine, where nobody listens on the way.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.host().trim_matches(['[', ']']);
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// The same, held to what it was found to be.
    pub fn pinned(&self, digest: Sha256) -> Self {
        Self { digest: Some(digest), ..self.clone() }
    }
}

impl FromStr for Reference {
    type Err = BadReference;

    fn from_str(given: &str) -> Result<Self, BadReference> {
        let bad = |why| BadReference { given: given.to_owned(), why };
        let rest = given.strip_prefix(SCHEME).ok_or_else(|| bad("it does not begin with `oci://`"))?;
        let (registry, rest) = rest.split_once('/').ok_or_else(|| bad("it has no name after the registry"))?;
        let authority = url::Url::parse(&format!("https://{registry}/")).ok();
        let is_plain = authority.is_some_and(|url| {
            url.username().is_empty() && url.password().is_none() && url.path() == "/" && url.query().is_none()
        });
        if registry.is_empty() || !is_plain || registry.contains(['@', '#', '?', '%', '\\']) {
            return Err(bad("its registry is no host with or without a port"));
        }
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => {
                (rest, Some(digest.parse().map_err(|_| bad("what follows `@` is no digest of the form `sha256:…`"))?))
            }
            None => (rest, None),
        };
        let (repository, tag) = match rest.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag.to_owned())),
            None => (rest, None),
        };
        if !is_repository(repository) {
            return Err(bad("its name is no small letters and digits, with `.`, `-`, `_` and `/` between"));
        }
        if tag.as_deref().is_some_and(|tag| !is_tag(tag)) {
            return Err(bad("its tag is no letters and digits, with `.`, `-` and `_`"));
        }
        Ok(Self { registry: registry.to_ascii_lowercase(), repository: repository.to_owned(), tag, digest })
    }
}

fn is_repository(name: &str) -> bool {
    let is_part = |part: &str| {
        let is_outer = |byte: Option<u8>| byte.is_some_and(|it| it.is_ascii_lowercase() || it.is_ascii_digit());
        is_outer(part.bytes().next())
            && is_outer(part.bytes().last())
            && part.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || b"._-".contains(&it))
            && !part.contains("..")
    };
    name.len() <= 255 && name.split('/').all(is_part)
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= 128
        && tag.bytes().next().is_some_and(is_word)
        && tag.bytes().all(|byte| is_word(byte) || byte == b'.' || byte == b'-')
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_names_registry_name_tag_and_digest() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        for (text, registry, repository, wanted) in [
            ("oci://registry.example.com/team/plugin:1.0", "registry.example.com", "team/plugin", "1.0"),
            ("oci://localhost:5000/x", "localhost:5000", "x", "latest"),
            ("oci://[::1]:5000/a.b/c_d/e-f", "[::1]:5000", "a.b/c_d/e-f", "latest"),
            (&format!("oci://r.example/p:2@{digest}"), "r.example", "p", &digest),
        ] {
            let reference: Reference = text.parse().unwrap();
            assert_eq!((reference.registry.as_str(), reference.repository.as_str()), (registry, repository));
            assert_eq!((reference.wanted().as_str(), reference.to_string().as_str()), (wanted, text));
        }
    }

    #[test]
    fn what_could_lead_elsewhere_is_no_reference() {
        for text in [
            "https://registry.example.com/x",
            "oci://registry.example.com",
            "oci:///x",
            "oci://user:secret@registry.example.com/x",
            "oci://registry.example.com/../x",
            "oci://registry.example.com/X",
            "oci://registry.example.com/x/",
            "oci://registry.example.com/x:",
            "oci://registry.example.com/x:a/b",
            "oci://registry.example.com/x@sha256:abc",
            "oci://registry.example.com/x@md5:00",
            "oci://registry.example.com/x y",
            "oci://gh cr.io/x",
            "oci://registry.example.com#/x",
            "oci://registry.example.com%2fevil/x",
            "oci://registry.example.com/x\n",
        ] {
            assert!(text.parse::<Reference>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_this_machine_is_spoken_to_without_encryption() {
        let is_loopback = |registry: &str| format!("oci://{registry}/x").parse::<Reference>().unwrap().is_loopback();
        for registry in ["localhost", "localhost:5000", "127.0.0.1:5000", "127.8.9.1", "[::1]:5000"] {
            assert!(is_loopback(registry), "{registry}");
        }
        for registry in ["localhost.example.com", "10.0.0.1:5000", "127.0.0.1.example.com", "[fe80::1]"] {
            assert!(!is_loopback(registry), "{registry}");
        }
    }
}
