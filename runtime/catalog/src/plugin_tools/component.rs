//! A tool of a plugin that is a component: what the manifest says of it, and its bytes once they are wanted.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    sync::Arc,
};

use cap_std::fs::Dir;
use palisade_grants::{Capability, Denial, Grants, HttpGrant, NamesGrant, StorageGrant};
use palisade_sandbox::{Compiled, Description, Failure, Import, LinkRefusal, Needs, Offer, Report};
use sha2::{Digest as _, Sha256};

use crate::{
    Granted,
    definition::ManifestTool,
    plugin_tools::{choose_offer, told},
    registry::{Plugin, PluginTool, Stamp, read_large, stamp},
};

/// A tool of a plugin that is a component. Nothing of it is read, let alone run, before it is used.
#[derive(Clone, Debug)]
pub struct PluginComponent {
    plugin: String,
    /// Where it lies in the plugin's folder.
    path: String,
    /// What its manifest says of it.
    manifest: ManifestTool,
    description: Option<String>,
    schema: Option<String>,
    /// What its manifest says that it needs of the host; nothing said is whatever was granted.
    declared: Option<BTreeSet<Capability>>,
    asked: Granted,
    granted: Granted,
    /// The SHA-256 that it must have.
    pinned: Option<Pinned>,
    /// What a model is told of it must have this pin.
    pinned_words: Option<Pinned>,
    folder: Arc<Dir>,
    stamp: Option<Stamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pinned {
    To(String),
    /// The plugin was installed, but this was not there then.
    ToNothing,
}

/// No component is larger; the compiler refuses more than this with a better message.
const MOST: usize = (64 << 20) + 1;

/// What the tools of a plugin may keep for an agent whose definition does not say it, in bytes.
const STORAGE: u64 = 16 << 20;

impl PluginComponent {
    pub(super) fn new(plugin: &Plugin, tool: &PluginTool, path: &str) -> Self {
        let manifest = &tool.manifest;
        let mut declared: BTreeSet<Capability> =
            manifest.capabilities.iter().filter_map(|capability| capability.parse().ok()).collect();
        declared.extend((!manifest.hosts.is_empty()).then_some(Capability::Http));
        declared.extend((!manifest.secrets.is_empty()).then_some(Capability::Secrets));
        let is_installed = !plugin.pinned.is_empty();
        let pinned = |pins: &BTreeMap<String, String>, what: &str| {
            is_installed.then(|| pins.get(what).cloned().map_or(Pinned::ToNothing, Pinned::To))
        };
        Self {
            plugin: plugin.name.clone(),
            path: path.to_owned(),
            manifest: manifest.clone(),
            description: Some(told::text(&manifest.description)).filter(|text| !text.is_empty()),
            schema: manifest.schema.as_ref().map(ToString::to_string),
            declared: Some(declared).filter(|declared| !declared.is_empty()),
            asked: Granted::asked_by(manifest),
            granted: plugin.granted.clone(),
            pinned: pinned(&plugin.pinned, path),
            pinned_words: pinned(&plugin.pinned_tools, &manifest.name),
            folder: Arc::clone(plugin.folder()),
            stamp: stamp(plugin.folder(), path),
        }
    }

    /// The plugin's name.
    pub fn plugin(&self) -> &str {
        &self.plugin
    }

    /// Which function of the component it is, if its manifest says so.
    pub(crate) fn function(&self) -> Option<&str> {
        self.manifest.function.as_deref()
    }

    /// What its manifest says that it does.
    pub(crate) fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// What its manifest says of its input, as JSON Schema.
    pub(crate) fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// The host's capabilities that it may use at all, as far as anybody knows before it is loaded.
    pub(crate) fn capabilities(&self) -> BTreeSet<Capability> {
        match &self.declared {
            Some(declared) => declared.clone(),
            None => {
                let held = |capability: &Capability| self.granted.holds(*capability);
                Capability::ALL.into_iter().filter(held).filter(|one| *one != Capability::Progress).collect()
            }
        }
    }

    /// What an agent whose definition names no grants has for the sake of this tool.
    pub(crate) fn brings(&self) -> Grants {
        let wanted = self.capabilities();
        let Grants { http, secrets, storage, .. } = self.bounds();
        Grants {
            http: if wanted.contains(&Capability::Http) { http } else { HttpGrant::default() },
            secrets: if wanted.contains(&Capability::Secrets) { secrets } else { NamesGrant::default() },
            storage: storage.filter(|_| wanted.contains(&Capability::Storage)).map(|_| StorageGrant { bytes: STORAGE }),
            ..Grants::default()
        }
    }

    /// The agent's grants, cut to what the plugin was granted and the tool declares.
    pub(crate) fn narrow(&self, agent: &Grants) -> Grants {
        agent.narrow(&self.bounds()).narrow(&Grants::asking(&self.capabilities()))
    }

    /// The widest that was granted. Where the manifest names hosts or secrets, no others are among them.
    fn bounds(&self) -> Grants {
        let mut widest = self.granted.widest();
        if !self.asked.hosts().is_empty() {
            widest.http = widest.http.narrow(self.asked.hosts());
        }
        if !self.asked.secrets().is_empty() {
            widest.secrets = widest.secrets.narrow(self.asked.secrets());
        }
        widest
    }

    /// The first capability that it declares and cannot do without, which `held`, of what it was cut to, is not. It is
    /// of use without the agent's files, because it has its own package; secrets and variables are no reason either.
    pub(crate) fn missing(&self, held: &Grants) -> Option<Capability> {
        let held = held.capabilities();
        let is_missing = |capability: &Capability| match capability {
            Capability::FsRead | Capability::FsWrite | Capability::Secrets | Capability::Env => false,
            Capability::Tools => !self.granted.holds(Capability::Tools),
            capability => !held.contains(capability),
        };
        self.declared.iter().flatten().copied().find(is_missing)
    }

    /// Whether the operator let its plugin have anything of this kind.
    pub(crate) fn was_granted(&self, capability: Capability) -> bool {
        self.granted.holds(capability)
    }

    /// What the manifest asks for and the operator did not grant, as words.
    pub(crate) fn lacks(&self) -> Vec<String> {
        let is_lacking = |word: &String| Granted::parse([word]).is_ok_and(|word| !word.is_within(&self.granted));
        self.asked.words().into_iter().filter(is_lacking).collect()
    }

    /// What would let it have these words.
    pub(crate) fn remedy<W: AsRef<str>>(words: &[W]) -> String {
        let words: Vec<String> = words.iter().map(|word| format!(" --grant {}", quoted(word.as_ref()))).collect();
        format!("`palisade plugins install …{}` would allow it", words.concat())
    }

    /// Why it may not have a capability that its plugin was not granted.
    pub(crate) fn not_granted(&self, capability: Capability) -> String {
        let words: Vec<String> = match capability {
            Capability::Http if self.asked.hosts().is_empty() => vec!["net.http:HOST".to_owned()],
            Capability::Http => self.asked.hosts().iter().map(|host| format!("net.http:{host}")).collect(),
            capability => vec![capability.name().to_owned()],
        };
        let plugin = &self.plugin;
        format!("it needs `{capability}`, which the plugin `{plugin}` was not granted; {}", Self::remedy(&words))
    }

    /// Its bytes, if they are those that something was granted to.
    pub(crate) fn read(&self) -> Result<Vec<u8>, Failure> {
        let refused = |reason: String| Failure::BadComponent { reason };
        let bytes = read_large(&self.folder, &self.path, MOST)
            .map_err(|error| refused(format!("its component `{}` cannot be read: {error}", self.path)))?;
        let digest = || Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        match &self.pinned {
            Some(Pinned::To(pinned)) if !pinned.eq_ignore_ascii_case(&digest()) => Err(refused(format!(
                "its component `{}` is not the one that was granted something; `palisade plugins verify` says more",
                self.path
            ))),
            Some(Pinned::ToNothing) => Err(refused(format!(
                "its component `{}` was not there when its plugin was installed; install it again",
                self.path
            ))),
            Some(Pinned::To(_)) | None => Ok(bytes),
        }
    }

    /// Of what its component offers, the tool that is meant.
    pub(crate) fn choose(&self, tool: &str, offers: Vec<Offer>) -> Result<Offer, Failure> {
        choose_offer(self.function(), tool, offers)
    }

    /// Whether it says of itself what it said when its plugin was installed. Its bytes are the same then; a component
    /// can answer by time or chance all the same.
    pub(crate) fn says_what_it_said(&self, own: &Description) -> bool {
        match &self.pinned_words {
            None => true,
            Some(Pinned::To(pinned)) => *pinned == told::pin_told(&self.manifest, Some(own)),
            Some(Pinned::ToNothing) => false,
        }
    }

    /// The plugin's folder, for its tools to look at.
    pub(crate) fn package(&self) -> Option<File> {
        self.folder.try_clone().ok().map(Dir::into_std_file)
    }

    /// Refuses a component that imports what its manifest does not declare, or its plugin was not granted.
    pub(crate) fn check(&self, compiled: &Compiled, grants: &Grants) -> Result<(), LinkRefusal> {
        let refused = |reason: String| LinkRefusal::Unusable(Failure::BadComponent { reason });
        let needs = compiled.needs();
        // Compilers of other languages import some interfaces unasked; with nothing behind them they are nothing.
        let is_hollow = |import: &Import| needs.is_foreign && import.can_be_hollow();
        if let Some(declared) = &self.declared {
            let imports = needs.imports.iter().filter(|import| !is_hollow(import)).cloned().collect();
            let checked = Needs { imports, ..Needs::default() }.check_declared(declared);
            checked.map_err(|error| refused(format!("its manifest says less than is true: {error}")))?;
        }
        let mut held = grants.capabilities();
        // Without the agent's files there is its own package to read.
        held.insert(Capability::FsRead);
        held.extend(self.granted.holds(Capability::Tools).then_some(Capability::Tools));
        let ungranted = needs.imports.iter().find(|import| !import.is_met_by(&held) && !is_hollow(import));
        let Some((import, capability)) = ungranted.and_then(|import| Some((import, *import.capabilities.first()?)))
        else {
            return Ok(());
        };
        let (rule, remedy) = match self.was_granted(capability) {
            true => ("the agent that uses it has none".to_owned(), "`grants` in the agent's definition".to_owned()),
            false => (self.not_granted(capability), "see what it would do with `palisade plugins inspect`".to_owned()),
        };
        let denial = Denial { capability, asked: format!("linking {}", import.name), rule, remedy };
        Err(LinkRefusal::NotGranted { import: import.name.clone(), denial })
    }

    /// What was refused to it, with what it has to do with its plugin.
    pub(crate) fn explained(&self, mut report: Report) -> Report {
        let explained = |denial: &mut Denial| {
            denial.remedy += &format!(
                "; the plugin `{}` was granted {}, and `palisade plugins install … --grant WORD` more",
                self.plugin, self.granted
            );
        };
        report.denials.iter_mut().for_each(explained);
        if let Err(Failure::Denied(denial)) = &mut report.outcome {
            explained(denial);
        }
        report
    }

    /// Stands for the component and what it was granted.
    pub(crate) fn identity(&self) -> String {
        format!("{} {} {:?} {:?} {}", self.plugin, self.path, self.function(), self.stamp, self.granted)
    }
}

fn quoted(word: &str) -> String {
    if word.contains(' ') { format!("'{word}'") } else { word.to_owned() }
}

/// The same tool, as far as one can see without running it. Which handle its folder has does not matter.
impl PartialEq for PluginComponent {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
            && self.pinned == other.pinned
            && self.declared == other.declared
            && self.asked == other.asked
            && (&self.description, &self.schema) == (&other.description, &other.schema)
    }
}

impl Eq for PluginComponent {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::skills::tests::Stage;

    const MANIFEST: &str =
        r#"{"name": "p", "tools": [{"name": "a", "component": "a.wasm", "capabilities": ["storage"]}]}"#;

    fn plugin(stage: &Stage) -> Plugin {
        stage.write("plugins/p/plugin.json", MANIFEST).write("plugins/p/a.wasm", "granted bytes");
        stage.load().plugins()[0].clone()
    }

    fn component(plugin: &Plugin) -> PluginComponent {
        PluginComponent::new(plugin, &plugin.tools[0], "a.wasm")
    }

    /// What was looked at when something was granted is what runs, whatever lies there by then.
    #[test]
    fn a_component_that_was_replaced_after_it_was_granted_something_is_refused() {
        let stage = Stage::new();
        let mut plugin = plugin(&stage);
        assert!(component(&plugin).read().is_ok(), "one that nobody installed is not bound to anything");
        let digest: String = Sha256::digest("granted bytes").iter().map(|byte| format!("{byte:02x}")).collect();
        plugin.pinned = BTreeMap::from([("a.wasm".to_owned(), digest)]);
        let checked = component(&plugin);
        assert_eq!(checked.read().unwrap(), b"granted bytes");
        stage.write("plugins/p/a.wasm", "other bytes!!");
        let refused = checked.read().unwrap_err().to_string();
        assert!(refused.contains("is not the one that was granted something"), "{refused}");
        plugin.pinned = BTreeMap::from([("b.wasm".to_owned(), String::new())]);
        let refused = component(&plugin).read().unwrap_err().to_string();
        assert!(refused.contains("was not there when its plugin was installed"), "{refused}");
    }

    #[test]
    fn nothing_is_lacking_that_was_granted() {
        let stage = Stage::new();
        let mut plugin = plugin(&stage);
        assert_eq!(component(&plugin).lacks(), ["storage"]);
        assert_eq!(component(&plugin).missing(&Grants::everything()), None);
        let narrowed = component(&plugin).narrow(&Grants::everything());
        assert_eq!(
            (narrowed.clone(), component(&plugin).missing(&narrowed)),
            (Grants::default(), Some(Capability::Storage))
        );
        plugin.granted = Granted::parse(["storage", "fs.write"]).unwrap();
        assert!(component(&plugin).lacks().is_empty());
        let narrowed = component(&plugin).narrow(&Grants::everything());
        assert_eq!(narrowed, Grants { storage: Grants::everything().storage, ..Grants::default() });
    }
}
