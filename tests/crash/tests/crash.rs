//! The short form of `just crash`.
#![expect(clippy::disallowed_methods, reason = "a test that starts a program of its own")]

use std::process::Command;

/// STO-01, STO-02, STO-03
#[test]
fn five_hundred_kills_lose_nothing_and_repeat_nothing() {
    let output = Command::new(env!("CARGO_BIN_EXE_palisade-crash")).args(["--kills", "500"]).output().unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{page}\n{}", String::from_utf8_lossy(&output.stderr));
    let number = |of: &str| -> u64 {
        let row = page.lines().find_map(|line| line.strip_prefix(&format!("| {of} | "))).unwrap();
        row.trim_end_matches(" |").parse().unwrap()
    };
    assert!(number("kills") >= 500, "{page}");
    for fault in [
        "acknowledged entries lost",
        "gaps, duplicates or invalid history",
        "side effects repeated",
        "results that are not true",
    ] {
        assert_eq!(number(fault), 0, "{page}");
    }
    // A harness that nobody dies in, or in which nothing happens, would find nothing either.
    assert!(number("entries acknowledged") > 1000 && number("side effects") > 500, "{page}");
    for instant in ["`run.after_write`", "`tool.after_effect`", "`store.record.before_commit`", "`store.claim.begin`"] {
        assert!(number(instant) > 0, "{page}");
    }
}
