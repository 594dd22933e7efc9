//! The README tells the numbers that `just crash` counted, and no others.

use crate::layout::root;

fn number(page: &str, of: &str) -> u64 {
    let row = page.lines().find_map(|line| line.strip_prefix(&format!("| {of} | ")));
    let row = row.unwrap_or_else(|| panic!("no row `{of}`"));
    row.trim_end_matches(" |").parse().unwrap()
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}

#[test]
fn the_readme_tells_what_was_counted() {
    let page = std::fs::read_to_string(root().join("docs/crash-table.md")).unwrap();
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let of = |row: &str| thousands(number(&page, row));
    assert!(number(&page, "kills") >= 5000, "run `just crash`");
    let sentence = format!(
        "{} kills ({} at named instants, {} at random ones), {} entries acknowledged, {} side effects: {} entries lost, \
         {} gaps or duplicates, {} side effects repeated",
        of("kills"),
        of("at named instants"),
        of("at random instants"),
        of("entries acknowledged"),
        of("side effects"),
        of("acknowledged entries lost"),
        of("gaps, duplicates or invalid history"),
        of("side effects repeated"),
    );
    let readme = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(readme.contains(&sentence), "the README should say: {sentence}");
}
