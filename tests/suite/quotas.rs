//! How much a guest may write, create and hold.

use palisade_sandbox::{Call, Failure};
use palisade_tests::world::World;
use serde_json::{Value, json};

/// FS-17
#[test]
fn writing_more_bytes_than_granted_is_refused_by_name() {
    let world = World::new().limits(|limits| limits.written = 100);
    let text = "x".repeat(60);
    let report = world.call(
        "reach",
        json!({ "steps": [
        { "op": "write", "path": "one", "text": text },
        { "op": "write", "path": "two", "text": text },
        { "op": "append", "path": "one", "text": text },
        { "op": "open", "path": "one", "flags": ["write"], "keep": "one" },
        { "op": "set-size-handle", "at": "one", "text": "1000000000000" },
        { "op": "append", "path": "one", "text": "still room" },
    ] }),
    );
    let came = report.outcome.unwrap();
    assert!(came.starts_with(r#"[{"ok":"done"},{"error":"insufficient-space"},{"error":""#), "{came}");
    assert!(came.ends_with(r#"{"ok":"opened"},{"error":"insufficient-space"},{"ok":"done"}]"#), "{came}");
    assert_eq!(report.cost.written, 70);
    assert_eq!(
        report.denials.iter().map(|denial| denial.asked.as_str()).collect::<Vec<_>>(),
        ["writing more than 100 bytes"]
    );
    assert_eq!(world.contents("one").len(), 70);
    assert_eq!(world.contents("two"), "");
}

/// FS-17
#[test]
fn a_core_tool_that_may_not_write_so_much_says_so_and_leaves_the_file_as_it_was() {
    let world = World::new().limits(|limits| limits.written = 1000);
    let report = world.call("write", json!({ "path": "file", "content": "x".repeat(5000) }));
    assert!(matches!(report.outcome, Err(Failure::Failed(_) | Failure::Refused(_))), "{:?}", report.outcome);
    assert_eq!(report.denials.len(), 1, "{:?}", report.denials);
    assert_eq!(world.contents("file"), "mine");
    assert!(world.call("write", json!({ "path": "file", "content": "short" })).outcome.is_ok());
    assert_eq!(world.contents("file"), "short");
}

/// FS-17
#[test]
fn creating_more_files_than_granted_is_refused_by_name() {
    let world = World::new().limits(|limits| limits.created = 5);
    let mut steps: Vec<Value> =
        (0..4).map(|number| json!({ "op": "write", "path": format!("new{number}"), "text": "x" })).collect();
    steps.extend([
        json!({ "op": "mkdir", "path": "folder2" }),
        json!({ "op": "write", "path": "new4", "text": "x" }),
        json!({ "op": "mkdir", "path": "folder3" }),
        json!({ "op": "symlink", "path": "link", "text": "file" }),
        json!({ "op": "link", "path": "file", "to": "hard" }),
        json!({ "op": "write", "path": "new0", "text": "y" }),
    ]);
    let came = world.reach(&steps);
    assert_eq!(
        came.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, true, true, true, true, false, false, false, false, true]
    );
    assert_eq!(came[5], Err("insufficient-space".to_owned()));
    assert!(!world.inside("new4").exists() && !world.inside("folder3").exists());
}

/// RES-09
#[test]
fn files_are_open_only_up_to_the_limit() {
    let world = World::new();
    world.call("hoard", json!({ "way": "files", "count": 10 })).outcome.unwrap();
    let before = world.baseline(&["hoard"]);
    for way in ["files", "directories"] {
        let report = world.call("hoard", json!({ "way": way, "count": 1_000_000 }));
        let Err(Failure::Failed(text)) = report.outcome else { panic!("{way}: {:?}", report.outcome) };
        let (code, count) = text.split_once(" after ").unwrap();
        assert_eq!(code, "insufficient-memory", "{way}");
        assert!(count.parse::<usize>().unwrap() <= 64, "{way}: {count} open");
        assert_eq!(report.denials.len(), 1, "{way}: the refusal is not reported");
        before.returns(64 << 20);
        world.works_afterwards();
    }
}

/// RES-09: a handle that was handed out for nothing does not pay for an open file.
#[test]
fn giving_back_granted_folders_does_not_pay_for_open_files() {
    let world = World::new();
    let report = world.call("hoard", json!({ "way": "refund", "count": 200 }));
    assert!(matches!(report.outcome, Err(Failure::Failed(_))), "{:?}", report.outcome);
}

/// RES-09: what could not be opened is not open, so it takes no room from what can.
#[test]
fn failing_to_open_does_not_count_as_opening() {
    let world = World::new();
    assert_eq!(world.call("hoard", json!({ "way": "astray", "count": 60 })).outcome, Ok("60".to_owned()));
    let report = world.call("hoard", json!({ "way": "astray", "count": 200 }));
    let Err(Failure::Failed(text)) = report.outcome else { panic!("{:?}", report.outcome) };
    assert!(text.starts_with("insufficient-memory after 6"), "{text}");
}

/// RES-09
#[test]
fn handles_of_every_kind_are_bounded() {
    let world = World::new();
    world.call("hoard", json!({ "way": "streams", "count": 10 })).outcome.unwrap();
    let before = world.baseline(&["hoard"]);
    for way in ["streams", "orphans", "listings", "pollables", "preopens"] {
        let report = world.call("hoard", json!({ "way": way, "count": 1_000_000 }));
        assert!(
            matches!(report.outcome, Err(Failure::TooMany { what: "handles", limit: 256 })),
            "{way}: {:?}",
            report.outcome
        );
        before.returns(64 << 20);
        world.works_afterwards();
    }
}

/// RES-09, the control.
#[test]
fn a_modest_number_of_handles_is_fine() {
    let world = World::new();
    for way in ["files", "directories", "refund", "streams", "orphans", "listings", "pollables", "preopens"] {
        assert_eq!(world.call("hoard", json!({ "way": way, "count": 50 })).outcome, Ok("50".to_owned()), "{way}");
    }
}

/// FS-17, API-04
#[test]
fn having_another_tool_write_does_not_write_more() {
    let world = World::new().limits(|limits| limits.written = 1000);
    let scope = world.scope(&["write", "scribe"]);
    let scribe = |files: u32, bytes: usize| {
        let input = json!({ "files": files, "bytes": bytes }).to_string();
        scope.call_here("scribe", &input, &Call::new())
    };
    assert_eq!(scribe(9, 100).outcome, Ok("9 files".to_owned()));
    let report = scribe(20, 100);
    let Err(Failure::Failed(text)) = &report.outcome else { panic!("{:?}", report.outcome) };
    assert!(text.starts_with("after 10 files: "), "{text}");
    assert_eq!(
        report.denials.iter().map(|denial| denial.asked.as_str()).collect::<Vec<_>>(),
        ["writing more than 1000 bytes"]
    );
    world.works_afterwards();
}
