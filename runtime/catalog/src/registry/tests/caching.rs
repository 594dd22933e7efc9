//! A load sees what the files say now, and reads no more than that takes.

use std::time::{Duration, SystemTime};

use cap_std::fs::MetadataExt as _;

use super::*;

const FILE: &str = "home/.palisade/agents/a.md";

/// A clock that is far ahead, so that every file is old.
fn later() -> SystemTime {
    SystemTime::now() + Duration::from_secs(3600)
}

fn load(stage: &Stage, cache: &mut FileCache) -> Registry {
    Registry::load_with(&stage.places(), &[], cache).unwrap()
}

/// CF-12
#[test]
fn an_unchanged_file_is_not_opened_again() {
    let stage = Stage::new();
    stage.define(FILE).define("home/.palisade/agents/b.md").write("home/.palisade/agents/c.md", "broken");
    let mut cache = FileCache::with_clock(later);
    let first = load(&stage, &mut cache);
    assert_eq!(cache.reads(), 3);
    let second = load(&stage, &mut cache);
    assert_eq!(cache.reads(), 3);
    assert_eq!(first.list(), second.list());
    assert_eq!((first.problems(), first.warnings()), (second.problems(), second.warnings()));
}

/// C20, C21, C22, CF-12, W9
#[test]
fn an_edited_file_counts_at_once() {
    let stage = Stage::new();
    stage.define(FILE);
    let mut registry = stage.load();
    stage.write(FILE, definition("a", "edited")).define("home/.palisade/agents/new.md");
    registry.refresh().unwrap();
    assert_eq!(description(&registry, "a"), "edited");
    assert!(registry.exists("new"));
    stage.dir.remove_file(FILE).unwrap();
    registry.refresh().unwrap();
    assert!(!registry.exists("a"));
}

/// CF-12: two edits within one tick of the clock leave the same times and size.
#[test]
fn a_file_that_was_young_when_it_was_read_is_read_once_more() {
    let stage = Stage::new();
    stage.write(FILE, definition("a", "one"));
    let mut cache = FileCache::default();
    load(&stage, &mut cache);
    stage.write(FILE, definition("a", "two"));
    assert_eq!(description(&load(&stage, &mut cache), "a"), "two");
    let reads = cache.reads();
    // However late one looks again: only a reading after the times have settled can be relied on.
    load(&stage, &mut cache);
    assert_eq!(cache.reads(), reads + 1);
}

/// CF-12: the time of the last change cannot be set back, and the size is what it is.
#[test]
fn a_file_whose_time_was_set_back_is_read_again() {
    let stage = Stage::new();
    let write = |description: &str| {
        stage.write(FILE, definition("a", description));
        let old = rustix::fs::Timespec { tv_sec: 1_000_000_000, tv_nsec: 0 };
        let times = rustix::fs::Timestamps { last_access: old, last_modification: old };
        rustix::fs::utimensat(rustix::fs::CWD, stage.path(FILE), &times, rustix::fs::AtFlags::empty()).unwrap();
        let meta = stage.dir.metadata(FILE).unwrap();
        assert_eq!(meta.mtime(), 1_000_000_000);
        (meta.ctime(), meta.ctime_nsec())
    };
    write("one");
    let mut cache = FileCache::with_clock(later);
    assert_eq!(description(&load(&stage, &mut cache), "a"), "one");
    write("longer");
    assert_eq!(description(&load(&stage, &mut cache), "a"), "longer");
    // As long as before: only the time of the change tells, once the clock has moved on.
    let second = write("one");
    load(&stage, &mut cache);
    while write("two") == second {}
    assert_eq!(description(&load(&stage, &mut cache), "a"), "two");
}

/// CF-12: what was read in one layer is another agent in another.
#[test]
fn one_file_is_read_anew_for_another_layer() {
    let stage = Stage::new();
    stage.define("home/.claude/agents/a.md");
    let mut cache = FileCache::with_clock(later);
    assert_eq!(load(&stage, &mut cache).find("a").unwrap().origin.layer, Layer::User);
    let places = Places { agent_dirs: vec![stage.path("home/.claude/agents")], ..Places::default() };
    let registry = Registry::load_with(&places, &[], &mut cache).unwrap();
    assert_eq!(registry.find("a").unwrap().origin.layer, Layer::Configured);
}

/// C22
#[test]
fn a_changed_configuration_applies_at_once() {
    let stage = Stage::new();
    stage.write("config.json", r#"{"agents": [{"agentId": "todo", "description": "one"}]}"#);
    let shared = SharedRegistry::new(stage.load());
    stage.write("config.json", r#"{"agents": [{"agentId": "todo", "description": "two"}]}"#);
    shared.refresh().unwrap();
    assert_eq!(description(&shared.now(), "todo"), "two");
    stage.write("config.json", "{");
    assert!(shared.refresh().is_err());
    assert_eq!(description(&shared.now(), "todo"), "two");
}

/// C13
#[test]
fn what_was_registered_in_code_outlives_a_refresh() {
    let stage = Stage::new();
    let mut registry = stage.load();
    registry.register(Agent::new("custom", "c")).unwrap();
    registry.register_plugin_agent(of_plugin("p", "explore")).unwrap();
    stage.define(FILE);
    registry.refresh().unwrap();
    assert_eq!(own(&registry), ["a", "custom", "explore"]);
    registry.unregister("custom");
    registry.refresh().unwrap();
    assert_eq!(own(&registry), ["a", "explore"]);
}

/// C34: there is nowhere to look again.
#[test]
fn a_registry_that_was_not_loaded_stays_as_it_is() {
    let mut registry = Registry::empty();
    registry.refresh().unwrap();
    assert!(registry.is_empty());
}
