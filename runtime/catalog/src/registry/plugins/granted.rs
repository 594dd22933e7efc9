//! What the operator let a plugin have.

use std::{collections::BTreeSet, fmt};

use crate::definition::ManifestTool;
use palisade_grants::{Capability, Grants, Host, HttpGrant, NamesGrant, Word};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What the operator let a plugin have: a set of words. The default is nothing, and nothing leaves a
/// tool of the plugin with its own package to read.
///
/// | word | means |
/// |---|---|
/// | `fs.read`, `fs.write` | the files of whoever uses its tools, to look at or to change as well |
/// | `net.http:HOST` | requests, with hosts as `grants: { http: … }` writes them |
/// | `secret:NAME` | having that secret put into requests to its host |
/// | `storage` | keeping values in a space of its own |
/// | `tools` | calling other tools of the agent |
/// | `agents`, `exec`, `env` | asking agents, running native programs, their variables |
///
/// Each is an upper bound: what the agent does not have, its tools do not have either.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// All but hosts and secrets, which are granted one by one.
    capabilities: BTreeSet<Capability>,
    hosts: HttpGrant,
    secrets: NamesGrant,
}

/// A word that grants nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is nothing that can be granted to a plugin: {why}")]
pub struct BadWord {
    /// The word.
    pub word: String,
    /// What is wrong with it and what would be right.
    pub why: String,
}

/// What is granted by one word.
const PLAIN: [Capability; 7] = [
    Capability::FsRead,
    Capability::FsWrite,
    Capability::Storage,
    Capability::Tools,
    Capability::Exec,
    Capability::Agents,
    Capability::Env,
];

const HOST: &str = "net.http:";
const SECRET: &str = "secret:";

impl Granted {
    /// Reads words, as `--grant` has them.
    pub fn parse<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> Result<Self, BadWord> {
        let mut granted = Self::default();
        let (mut hosts, mut secrets): (Vec<Host>, Vec<Word>) = (Vec::new(), Vec::new());
        for word in words {
            let word = word.as_ref().trim();
            let bad = |why: String| BadWord { word: word.to_owned(), why };
            if let Some(host) = word.strip_prefix(HOST) {
                let host: Host = host.parse().map_err(|error: palisade_grants::BadSpan| bad(error.to_string()))?;
                if host.is_everything() {
                    return Err(bad("hosts are granted by name, as in `net.http:*.example.com`".to_owned()));
                }
                hosts.push(host);
            } else if let Some(name) = word.strip_prefix(SECRET) {
                secrets.push(name.parse().map_err(|error: palisade_grants::BadSpan| bad(error.to_string()))?);
            } else {
                granted.capabilities.insert(plain(word).map_err(bad)?);
            }
        }
        granted.hosts = hosts.into_iter().collect();
        granted.secrets = secrets.into_iter().collect();
        Ok(granted.without_repetition())
    }

    /// What a tool asks for, by its manifest. What it imports may be more.
    pub fn asked_by(tool: &ManifestTool) -> Self {
        let named = tool.capabilities.iter().filter_map(|name| name.parse::<Capability>().ok());
        let asked = Self {
            capabilities: named.filter(|capability| PLAIN.contains(capability)).collect(),
            hosts: tool.hosts.iter().filter_map(|host| host.parse().ok()).collect(),
            secrets: tool.secrets.iter().filter_map(|name| name.parse().ok()).collect(),
        };
        asked.without_repetition()
    }

    /// The words, in order.
    pub fn words(&self) -> Vec<String> {
        let plain = self.capabilities.iter().map(|capability| capability.name().to_owned());
        let hosts = self.hosts.iter().map(|host| format!("{HOST}{host}"));
        let secrets = self.secrets.iter().map(|name| format!("{SECRET}{name}"));
        let mut words: Vec<String> = plain.chain(hosts).chain(secrets).collect();
        words.sort();
        words
    }

    /// Whether nothing is granted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether all of it is granted by another, too.
    pub fn is_within(&self, other: &Self) -> bool {
        self.capabilities.iter().all(|capability| other.holds(*capability))
            && self.hosts.iter().all(|host| other.hosts.covers(host))
            && self.secrets.iter().all(|name| other.secrets.covers(name))
    }

    /// Whether anything of this kind is granted.
    pub fn holds(&self, capability: Capability) -> bool {
        match capability {
            Capability::Http => !self.hosts.is_empty(),
            Capability::Secrets => !self.secrets.is_empty(),
            Capability::Progress => true,
            // Who may change files may look at them.
            Capability::FsRead if self.capabilities.contains(&Capability::FsWrite) => true,
            plain => self.capabilities.contains(&plain),
        }
    }

    /// The hosts that may be asked.
    pub fn hosts(&self) -> &HttpGrant {
        &self.hosts
    }

    /// The secrets that may be put into requests.
    pub fn secrets(&self) -> &NamesGrant {
        &self.secrets
    }

    /// An agent's grants, cut to what is granted here.
    pub fn narrow(&self, agent: &Grants) -> Grants {
        agent.narrow(&self.widest())
    }

    /// The widest grants that these words allow. Programs outside of the sandbox are none of a plugin's business.
    pub(crate) fn widest(&self) -> Grants {
        Grants {
            http: self.hosts.clone(),
            secrets: self.secrets.clone(),
            outside: NamesGrant::default(),
            ..Grants::asking(&self.capabilities)
        }
    }

    /// Equal rights are equal values.
    fn without_repetition(mut self) -> Self {
        if self.capabilities.contains(&Capability::FsWrite) {
            self.capabilities.insert(Capability::FsRead);
        }
        self
    }
}

fn plain(word: &str) -> Result<Capability, String> {
    match word.parse::<Capability>() {
        Ok(Capability::Http) => Err("name the host, as in `net.http:api.example.com`".to_owned()),
        Ok(Capability::Secrets) => Err("name the secret, as in `secret:API_KEY`".to_owned()),
        Ok(Capability::Progress) => Err("every tool has it".to_owned()),
        Ok(capability) => Ok(capability),
        Err(_) => {
            let all = PLAIN.map(Capability::name).join(", ");
            Err(format!("there are {all}, {HOST}HOST and {SECRET}NAME"))
        }
    }
}

impl fmt::Display for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.words() {
            words if words.is_empty() => f.write_str("nothing"),
            words => f.write_str(&words.join(", ")),
        }
    }
}

impl Serialize for Granted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.words())
    }
}

impl<'de> Deserialize<'de> for Granted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(Vec::<String>::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use palisade_grants::{Access, StorageGrant};

    use super::*;

    fn granted(words: &[&str]) -> Granted {
        Granted::parse(words).unwrap()
    }

    #[test]
    fn words_come_back_as_they_went_in_and_in_order() {
        let words = ["agents", "env", "exec", "fs.read", "net.http:GET,POST api.example.com:8443", "secret:API_KEY"];
        let mut reversed = words;
        reversed.reverse();
        assert_eq!(granted(&reversed).words(), words);
        let text = serde_json::to_string(&granted(&words)).unwrap();
        assert_eq!(serde_json::from_str::<Granted>(&text).unwrap(), granted(&words));
        assert_eq!(granted(&[]).to_string(), "nothing");
    }

    #[test]
    fn what_changes_files_reads_them() {
        assert_eq!(granted(&["fs.write"]), granted(&["fs.read", "fs.write"]));
        assert!(granted(&["fs.read"]).is_within(&granted(&["fs.write"])));
        assert!(!granted(&["fs.write"]).is_within(&granted(&["fs.read"])));
    }

    #[test]
    fn a_word_that_grants_nothing_says_which_would() {
        let why = |word: &str| Granted::parse([word]).unwrap_err().to_string();
        assert!(why("net.http").contains("net.http:api.example.com"));
        assert!(why("secrets").contains("secret:API_KEY"));
        assert!(why("net.http:https://a/b").contains("no host"));
        assert!(why("net.http:*").contains("by name"));
        assert!(why("secret:").contains("no name"));
        assert!(why("fs.delete").contains("fs.write, storage"));
        assert!(why("").contains("fs.read"));
        assert!(serde_json::from_str::<Granted>("[\"everything\"]").is_err());
    }

    #[test]
    fn one_grant_lies_within_another_if_every_word_of_it_does() {
        let own = granted(&["storage", "net.http:api.example.com", "secret:API_KEY"]);
        assert!(own.is_within(&own) && granted(&[]).is_within(&own) && !own.is_within(&granted(&[])));
        assert!(own.is_within(&granted(&["storage", "tools", "net.http:*.example.com", "secret:API_*"])));
        for less in [
            &["storage", "net.http:other.example.com", "secret:API_KEY"],
            &["storage", "net.http:api.example.com", "secret:OTHER"],
            &["tools", "net.http:api.example.com", "secret:API_KEY"],
        ] {
            assert!(!own.is_within(&granted(less)), "{less:?}");
        }
    }

    #[test]
    fn a_manifest_asks_in_the_same_words() {
        let tool = ManifestTool {
            capabilities: ["fs.write", "lists.write", "net.http", "progress"].map(str::to_owned).into(),
            hosts: vec!["api.example.com".to_owned()],
            secrets: vec!["API_KEY".to_owned()],
            ..ManifestTool::default()
        };
        let words = ["fs.read", "fs.write", "net.http:api.example.com", "secret:API_KEY"];
        assert_eq!(Granted::asked_by(&tool).words(), words);
    }

    #[test]
    fn nothing_granted_leaves_nothing_of_the_agent() {
        assert_eq!(granted(&[]).narrow(&Grants::everything()), Grants::default());
        assert!(Capability::ALL.into_iter().all(|word| !granted(&[]).holds(word) || word == Capability::Progress));
    }

    #[test]
    fn the_agent_is_an_upper_bound_and_so_is_every_word() {
        let everything = Grants::everything();
        let some = granted(&["fs.read", "storage", "net.http:api.example.com", "secret:API_KEY"]).narrow(&everything);
        assert!(!some.files.is_empty() && !some.files.writes());
        assert_eq!(some.http.iter().map(ToString::to_string).collect::<Vec<_>>(), ["api.example.com"]);
        assert_eq!(some.secrets.iter().map(ToString::to_string).collect::<Vec<_>>(), ["API_KEY"]);
        assert!(some.commands.is_empty() && some.agents.is_empty() && some.env.is_empty() && some.outside.is_empty());

        let agent = Grants { storage: Some(StorageGrant { bytes: 7 }), ..Grants::workspace(Access::Read) };
        let all = granted(&["fs.write", "storage", "exec", "agents", "env", "tools"]).narrow(&agent);
        assert_eq!(all, agent);
    }
}
