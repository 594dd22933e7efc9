//! Where packages are put.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use crate::{Package, Store, StoreError};

fn package(at: &Path, text: &str) -> Package {
    fs::create_dir_all(at.join("scripts")).unwrap();
    fs::write(at.join("plugin.json"), r#"{"name": "ferry"}"#).unwrap();
    fs::write(at.join("scripts/run.sh"), format!("#!/bin/sh\necho {text}\n")).unwrap();
    Package::of_folder(at).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_package_takes_its_place_and_the_old_one_goes() {
    let place = tempfile::tempdir().unwrap();
    let (one, two) = (package(&place.path().join("one"), "1"), package(&place.path().join("two"), "2"));
    let plugins = place.path().join("plugins");
    let store = Store::open(&plugins).unwrap();
    drop(store.put(store.stage(&one).unwrap(), "ferry").unwrap());
    assert_eq!(names(&plugins), ["ferry"]);
    store.verify("ferry", &one.pins()).unwrap();
    let mode = |path: &str| fs::metadata(plugins.join(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("ferry"), mode("ferry/plugin.json"), mode("ferry/scripts/run.sh")), (0o700, 0o600, 0o700));
    let old = store.put(store.stage(&two).unwrap(), "ferry").unwrap();
    assert_eq!(names(&plugins).len(), 2, "the old one is there until nobody needs it");
    store.verify("ferry", &two.pins()).unwrap();
    drop(old);
    drop(store.take_away("ferry").unwrap());
    assert_eq!(names(&plugins), Vec::<String>::new());
}

#[test]
fn what_a_crash_leaves_is_swept_away() {
    let place = tempfile::tempdir().unwrap();
    let one = package(&place.path().join("one"), "1");
    let store = Store::open(&place.path().join("plugins")).unwrap();
    std::mem::forget(store.stage(&one).unwrap());
    drop(store.put(store.stage(&one).unwrap(), "ferry").unwrap());
    assert_eq!(names(&place.path().join("plugins")).len(), 2);
    store.sweep();
    assert_eq!(names(&place.path().join("plugins")), ["ferry"]);
}

/// SUP-03
#[test]
fn whatever_was_changed_afterwards_is_noticed() {
    let place = tempfile::tempdir().unwrap();
    let one = package(&place.path().join("one"), "1");
    let plugins = place.path().join("plugins");
    let store = Store::open(&plugins).unwrap();
    let check = |change: &dyn Fn(&Path), expected: &str| {
        drop(store.put(store.stage(&one).unwrap(), "ferry").unwrap());
        store.verify("ferry", &one.pins()).unwrap();
        change(&plugins.join("ferry"));
        let error = store.verify("ferry", &one.pins()).unwrap_err();
        assert!(matches!(&error, StoreError::Changed(text) if text.contains(expected)), "{error}");
        drop(store.take_away("ferry").unwrap());
    };
    check(&|at| fs::write(at.join("plugin.json"), "{}").unwrap(), "plugin.json is not what was installed");
    check(&|at| fs::write(at.join("more"), "").unwrap(), "more was not installed with it");
    check(&|at| fs::remove_file(at.join("scripts/run.sh")).unwrap(), "scripts/run.sh is no longer there");
    check(
        &|at| {
            fs::rename(at.join("plugin.json"), at.join("../aside")).unwrap();
            symlink("../aside", at.join("plugin.json")).unwrap();
        },
        "plugin.json cannot be read",
    );
}

#[test]
fn a_folder_that_others_can_write_is_not_used() {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(Store::open(place.path()), Err(StoreError::Exposed(_))));
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(Store::open(place.path()).is_ok());
}
