//! A plugin takes its place, so that whatever happens on the way it is the old one or the new one.
//!
//! The list first says that one may become the other, then the folders are swapped by one rename, then the list
//! says that it is done. Whoever reads in between compares what lies there with both.

use anyhow::Context as _;
use palisade_catalog::{HeldLock, Locked};
use palisade_packages::{Package, Store};

use crate::settings::Settings;

/// Where plugins and the list of them are, and nobody else who changes either.
pub(super) struct Desk {
    pub(super) store: Store,
    pub(super) lock: HeldLock,
}

/// A moment at which everything could end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Staged,
    Announced,
    Swapped,
    Listed,
}

impl Desk {
    /// Waits until nobody else changes plugins, and clears away what a crash left behind.
    pub(super) fn open(settings: &Settings) -> anyhow::Result<Self> {
        let data = settings.data.as_ref().context("there is no place for plugins; set HOME or PALISADE_DATA_DIR")?;
        Self::at(data)
    }

    fn at(data: &std::path::Path) -> anyhow::Result<Self> {
        let store = Store::open(&data.join("plugins"))?;
        let mut lock = HeldLock::hold(&data.join("plugins.lock"))?;
        store.sweep();
        for name in lock.names() {
            let Some(next) = lock.get(&name).and_then(|locked| locked.next.clone()) else { continue };
            // Somebody ended in between: what lies there says how far it came.
            let before = lock.get(&name).cloned().map(|before| Locked { next: None, ..before });
            let is_there = store.verify(&name, &pins(&next)?).is_ok();
            let is_first = before.as_ref().is_none_or(|before| before.files.is_empty());
            lock.set(&name, if is_there { Some(*next) } else { before.filter(|_| !is_first) })?;
        }
        Ok(Self { store, lock })
    }

    /// Puts a package in its place. `watch` is told of every moment, and ends everything if it says so.
    pub(super) fn put(
        &mut self,
        name: &str,
        package: &Package,
        new: Locked,
        watch: impl Fn(Moment) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let staged = self.store.stage(package)?;
        watch(Moment::Staged)?;
        // Of what was not there before, nothing matches.
        let before = self.lock.get(name).cloned().unwrap_or_else(|| nothing(&new));
        self.lock.set(name, Some(Locked { next: Some(Box::new(new.clone())), ..before }))?;
        watch(Moment::Announced)?;
        let old = self.store.put(staged, name)?;
        watch(Moment::Swapped)?;
        self.lock.set(name, Some(new))?;
        watch(Moment::Listed)?;
        drop(old);
        Ok(())
    }

    /// Takes a plugin away.
    pub(super) fn remove(&mut self, name: &str) -> anyhow::Result<()> {
        let old = if self.store.has(name) { Some(self.store.take_away(name)?) } else { None };
        self.lock.set(name, None)?;
        drop(old);
        Ok(())
    }
}

/// The entry of a plugin that is not there yet.
fn nothing(new: &Locked) -> Locked {
    Locked {
        version: None,
        source: new.source.clone(),
        digest: String::new(),
        files: Default::default(),
        tools: Default::default(),
        asked: Default::default(),
        granted: Default::default(),
        signer: None,
        enabled: false,
        next: None,
    }
}

/// The digests of an entry.
pub(super) fn pins(locked: &Locked) -> anyhow::Result<std::collections::BTreeMap<String, palisade_packages::Sha256>> {
    locked
        .files
        .iter()
        .map(|(path, hex)| {
            Ok((path.clone(), format!("sha256:{hex}").parse().context("the list of plugins is damaged")?))
        })
        .collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files of their own")]
mod tests {
    use std::{fs, path::Path};

    use anyhow::bail;
    use palisade_catalog::{BuiltIn, Granted, Places, Registry};

    use super::*;

    fn package(at: &Path, version: &str) -> (Package, Locked) {
        fs::create_dir_all(at.join("agents")).unwrap();
        fs::write(at.join("plugin.json"), format!(r#"{{"name": "ferry", "version": "{version}"}}"#)).unwrap();
        fs::write(at.join("agents/pilot.md"), format!("---\nname: pilot\ndescription: {version}\n---\nSteer.\n"))
            .unwrap();
        let package = Package::of_folder(at).unwrap();
        let locked = Locked {
            version: Some(version.to_owned()),
            source: at.display().to_string(),
            digest: package.digest().to_string(),
            files: package.pins().into_iter().map(|(path, pin)| (path, pin.hex())).collect(),
            granted: Granted::parse(["storage"]).unwrap(),
            enabled: true,
            ..nothing_at_all()
        };
        (package, locked)
    }

    fn nothing_at_all() -> Locked {
        serde_json::from_value(serde_json::json!({
            "version": null, "source": "", "digest": "", "files": {}, "tools": {}, "asked": [], "granted": [],
            "signer": null, "enabled": false,
        }))
        .unwrap()
    }

    /// What a registry makes of it: version, whether it is held back, whether it has what was granted.
    fn seen(data: &Path) -> Option<(String, bool, bool)> {
        let core: Vec<&str> = BuiltIn::all().map(|tool| tool.name).collect();
        let places = Places {
            own_plugins: Some(data.join("plugins")),
            plugin_lock: Some(data.join("plugins.lock")),
            ..Places::default()
        };
        let registry = Registry::load(&places, &core).unwrap();
        let plugin = registry.plugins().first()?;
        Some((plugin.version.clone().unwrap(), plugin.held_back.is_some(), !plugin.granted.is_empty()))
    }

    const MOMENTS: [Moment; 4] = [Moment::Staged, Moment::Announced, Moment::Swapped, Moment::Listed];

    fn ends_at(moment: Moment) -> impl Fn(Moment) -> anyhow::Result<()> {
        move |now| if now == moment { bail!("it ends here") } else { Ok(()) }
    }

    /// SUP-03, CFG-12: a crash at any instant leaves the old plugin or the new one, with what was granted to it.
    #[test]
    fn whenever_it_ends_there_is_the_old_plugin_or_the_new_one() {
        let place = tempfile::tempdir().unwrap();
        let (one, old) = package(&place.path().join("one"), "1.0.0");
        let (two, new) = package(&place.path().join("two"), "2.0.0");
        for moment in MOMENTS {
            let data = place.path().join(format!("{moment:?}"));
            Desk::at(&data).unwrap().put("ferry", &one, old.clone(), |_| Ok(())).unwrap();
            assert_eq!(seen(&data), Some(("1.0.0".to_owned(), false, true)), "the control");
            Desk::at(&data).unwrap().put("ferry", &two, new.clone(), ends_at(moment)).unwrap_err();
            let expected = if matches!(moment, Moment::Staged | Moment::Announced) { "1.0.0" } else { "2.0.0" };
            assert_eq!(seen(&data), Some((expected.to_owned(), false, true)), "{moment:?}");
            // Whoever comes next makes it whole, and leaves it as it is.
            let desk = Desk::at(&data).unwrap();
            assert_eq!(desk.lock.get("ferry").unwrap().version.as_deref(), Some(expected), "{moment:?}");
            assert_eq!(desk.lock.get("ferry").unwrap().next, None);
            drop(desk);
            assert_eq!(seen(&data), Some((expected.to_owned(), false, true)), "{moment:?}");
            let hidden = fs::read_dir(data.join("plugins")).unwrap().map(|entry| entry.unwrap().file_name());
            assert_eq!(hidden.collect::<Vec<_>>(), ["ferry"], "{moment:?}");
        }
    }

    #[test]
    fn whenever_a_first_install_ends_there_is_the_plugin_or_none() {
        let place = tempfile::tempdir().unwrap();
        let (one, old) = package(&place.path().join("one"), "1.0.0");
        for moment in MOMENTS {
            let data = place.path().join(format!("{moment:?}"));
            Desk::at(&data).unwrap().put("ferry", &one, old.clone(), ends_at(moment)).unwrap_err();
            let is_there = matches!(moment, Moment::Swapped | Moment::Listed);
            let expected = is_there.then(|| ("1.0.0".to_owned(), false, true));
            assert_eq!(seen(&data), expected, "{moment:?}");
            assert_eq!(Desk::at(&data).unwrap().lock.get("ferry").is_some(), is_there, "{moment:?}");
            assert_eq!(seen(&data), expected, "{moment:?}");
        }
    }

    #[test]
    fn a_removed_plugin_is_gone_with_its_grant() {
        let place = tempfile::tempdir().unwrap();
        let (one, old) = package(&place.path().join("one"), "1.0.0");
        let data = place.path().join("data");
        let mut desk = Desk::at(&data).unwrap();
        desk.put("ferry", &one, old, |_| Ok(())).unwrap();
        desk.remove("ferry").unwrap();
        drop(desk);
        assert_eq!(seen(&data), None);
        assert!(Desk::at(&data).unwrap().lock.get("ferry").is_none());
        assert_eq!(fs::read_dir(data.join("plugins")).unwrap().count(), 0);
    }
}
