//! Machine code that somebody else put into the cache: not run, said, and written down.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use serde_json::{Value, json};

use super::Shop;
use crate::world::Ended;

impl Shop {
    /// The entries of the cache that hold machine code.
    fn cached(&self) -> Vec<PathBuf> {
        let folder = fs::read_dir(self.world.home().join(".cache/palisade")).unwrap();
        let paths = folder.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.is_file() && path.extension().is_none()).collect()
    }

    /// What was written down of the cache, the newest first.
    fn audits(&self) -> Vec<Value> {
        let shown = self.world.palisade(&["audit", "--kind", "cache_entry_refused", "--json"]).with_code(0).json();
        shown.as_array().unwrap().clone()
    }

    fn echo(&self) -> Ended {
        self.world.palisade(&["tools", "call", "ferry_echo", "--input", r#"{"text": "ahoy"}"#, "--json"])
    }
}

/// SUP-01
#[test]
fn a_cached_component_that_was_changed_is_compiled_again_and_written_down() {
    let shop = Shop::with_ferry("1.0.0");
    shop.install(&["--yes"]).with_code(0);
    let works = |warns: bool| {
        let ended = shop.echo().with_code(0);
        assert_eq!(ended.json()["output"], "ahoy");
        let warning = "a compiled component in the cache was not used";
        assert_eq!(ended.stderr.matches(warning).count(), usize::from(warns), "{}", ended.stderr);
        ended.stderr
    };
    works(false);
    assert_eq!(shop.audits(), Vec::<Value>::new(), "the control: nothing is written down of what is sound");
    for path in shop.cached() {
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    let said = works(true);
    assert!(said.contains("its seal is not one of this installation"), "{said}");
    let [record] = &shop.audits()[..] else { panic!("{:?}", shop.audits()) };
    assert_eq!((&record["session"], &record["run"]), (&Value::Null, &Value::Null));
    assert_eq!(record["detail"]["wrong"], json!("seal"));
    let entry = record["detail"]["entry"].as_str().unwrap();
    let path = shop.world.home().join(".cache/palisade").join(entry);
    assert!(path.is_file() && record["at"].is_string(), "{record}");
    let shown = shop.world.palisade(&["audit"]).with_code(0).stdout;
    assert!(shown.contains("cache_entry_refused") && shown.contains(entry), "{shown}");
    // It was replaced by one of our own.
    works(false);
    fs::remove_file(&path).unwrap();
    symlink("/bin/sh", &path).unwrap();
    let said = works(true);
    assert!(said.contains("it is not a file"), "{said}");
    let audits = shop.audits();
    assert_eq!((audits.len(), &audits[0]["detail"]["wrong"]), (2, &json!("not_a_file")));
    // What is not there is nothing to speak of.
    fs::remove_file(&path).unwrap();
    works(false);
    assert_eq!(shop.audits().len(), 2);
}

/// SUP-01: where it cannot be written down it is still said, and the tool works.
#[test]
fn a_database_that_cannot_be_used_keeps_no_tool_from_working() {
    let shop = Shop::with_ferry("1.0.0");
    shop.install(&["--yes"]).with_code(0);
    shop.echo().with_code(0);
    shop.cached().iter().for_each(|path| fs::write(path, "planted").unwrap());
    let database = shop.world.database();
    fs::create_dir_all(database.parent().unwrap()).unwrap();
    fs::write(&database, "this is no database, and never was one; it is longer than a header of one would be.....")
        .unwrap();
    let ended = shop.echo().with_code(0);
    assert_eq!(ended.json()["output"], "ahoy");
    assert!(ended.stderr.contains("it is cut off"), "{}", ended.stderr);
    assert!(ended.stderr.contains("that could not be written down"), "{}", ended.stderr);
}
