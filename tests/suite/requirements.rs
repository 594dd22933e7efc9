//! Which test shows which requirement. A test that shows one begins its doc comment with the row's
//! id; `docs/requirements.md` is made from those comments.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use crate::layout::{files, root};

/// The groups, what they are about, and how many rows each has.
const GROUPS: [(char, &str, usize); 24] = [
    ('A', "Definitions: formats and parsing", 32),
    ('B', "Definitions: fields", 35),
    ('C', "Discovery, precedence, registry", 35),
    ('D', "Plugin manifest and loading", 19),
    ('E', "Tool scoping", 24),
    ('F', "Permission policy and rules", 13),
    ('G', "Tools bound to an agent", 9),
    ('H', "Pool and persistence", 25),
    ('I', "Delegation by task", 30),
    ('J', "Messages between agents", 22),
    ('K', "Peers and visibility", 9),
    ('L', "Sessions and routing", 16),
    ('M', "Prompts", 20),
    ('N', "Exposure and skills", 8),
    ('O', "Providers, CLI agents, external agents", 8),
    ('P', "Built-in agents", 15),
    ('Q', "Errors", 9),
    ('R', "Limits and defaults", 10),
    ('S', "Events and logging", 9),
    ('T', "User interface", 7),
    ('U', "Tests the seeds ask for", 5),
    ('V', "Compatibility and documents", 9),
    ('W', "Considered for later", 10),
    ('X', "Sandbox", 12),
];

const HEAD: &str = "# Requirements and the tests that show them\n\n\
    Every row of the requirements (groups A to X) with the tests that show it. This page is made from the tests:\n\
    a doc comment that begins with a row's id names the row. After adding a test, run\n\
    `PALISADE_UPDATE=1 cargo nextest run --workspace requirements` and commit the result; the same test fails if this\n\
    page and the tests differ.\n";

/// The ids at the beginning of a doc comment: `A7, DF-1: …` names A7.
fn ids(comment: &str) -> impl Iterator<Item = String> + '_ {
    let list = comment.split([':', '.']).next().unwrap_or_default();
    list.split(',').map(str::trim).filter(|id| is_row(id)).map(str::to_owned)
}

fn is_row(id: &str) -> bool {
    let mut letters = id.chars();
    let group = letters.next().and_then(|letter| GROUPS.iter().find(|(group, ..)| *group == letter));
    let number: Option<usize> = letters.as_str().parse().ok();
    group.zip(number).is_some_and(|((.., rows), number)| (1..=*rows).contains(&number))
}

/// Every test that names rows, as `file: test`, by row.
fn shown() -> BTreeMap<String, Vec<String>> {
    let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for folder in ["runtime", "tests", "guest-tools"] {
        for path in files(folder, ".rs") {
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            let mut named: Vec<String> = Vec::new();
            let mut is_test = false;
            // What a suite claims of several implementations is tested, too.
            let claims = name.contains("/conformance/");
            for line in fs::read_to_string(&path).unwrap().lines().map(str::trim) {
                if let Some(comment) = line.strip_prefix("///") {
                    named.extend(ids(comment));
                } else if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                    is_test = true;
                } else if let Some(rest) = line.strip_prefix("pub(super) async fn ").filter(|_| claims) {
                    let claim = rest.split('(').next().unwrap_or(rest);
                    for id in named.drain(..) {
                        shown.entry(id).or_default().push(format!("`{claim}` ({name})"));
                    }
                } else if let Some(rest) = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn ")) {
                    let test = rest.split('(').next().unwrap_or(rest);
                    for id in named.drain(..).filter(|_| is_test) {
                        shown.entry(id).or_default().push(format!("`{test}` ({name})"));
                    }
                    is_test = false;
                } else if !line.starts_with("#[") && !line.is_empty() {
                    named.clear();
                    is_test = false;
                }
            }
        }
    }
    shown
}

fn page() -> String {
    let shown = shown();
    let mut page = HEAD.to_owned();
    let covered = shown.len();
    let all: usize = GROUPS.iter().map(|(.., rows)| rows).sum();
    write!(page, "\n{covered} of {all} rows are shown by a test.\n").unwrap();
    for (group, title, rows) in GROUPS {
        write!(page, "\n## {group}. {title}\n\n| row | shown by |\n|---|---|\n").unwrap();
        for row in 1..=rows {
            let id = format!("{group}{row}");
            let tests = shown.get(&id).map_or_else(|| "not yet".to_owned(), |tests| tests.join("<br>"));
            writeln!(page, "| {id} | {tests} |").unwrap();
        }
    }
    page
}

#[test]
fn the_table_of_requirements_is_what_the_tests_say() {
    let path = root().join("docs/requirements.md");
    let page = page();
    if std::env::var_os("PALISADE_UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(Path::new(&path)).unwrap();
    assert!(written == page, "docs/requirements.md is not what the tests say; its own head tells how to renew it");
}

#[test]
fn every_row_of_definitions_scopes_rules_bindings_peers_and_built_ins_is_shown() {
    let shown = shown();
    let done = GROUPS.iter().filter(|(group, ..)| "ABCEFGKP".contains(*group));
    let rows = done.flat_map(|(group, _, rows)| (1..=*rows).map(move |row| format!("{group}{row}")));
    let missing: Vec<String> = rows.filter(|id| !shown.contains_key(id)).collect();
    assert!(missing.is_empty(), "no test names {}", missing.join(", "));
}
