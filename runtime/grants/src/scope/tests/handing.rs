//! What can be handed on.

use super::*;
use crate::{Access, Grants, WorkspacePath};

fn tool(name: &str, needs: &[&str]) -> Candidate {
    Candidate::new(name, needs.iter().map(|need| (*need).to_owned()), ToolSource::Core)
}

fn handed(scope: &ToolScope, grants: &Grants) -> Grants {
    let all = [
        tool("read", &["fs.read"]),
        tool("write", &["fs.read", "fs.write"]),
        tool("edit", &["fs.read", "fs.write"]),
        tool("bash", &["fs.read", "fs.write", "exec"]),
        tool("web_fetch", &["net.http"]),
    ];
    let identity = Identity::of("a");
    let around = Surroundings { identity: &identity, native: false, may_delegate: true, binding_overrides: &[] };
    scope.handed_down(grants, &scope.resolve(&all, &around).tools)
}

fn access(grants: &Grants, path: &str) -> Option<Access> {
    grants.files.access(&WorkspacePath::parse(path).unwrap())
}

const READ: Option<Access> = Some(Access::Read);
const WRITE: Option<Access> = Some(Access::ReadWrite);

/// CF-31
#[test]
fn who_may_write_in_a_folder_hands_on_no_other() {
    let all = Grants::workspace(Access::ReadWrite);
    let scope = listing(&["read", "Write(src/**)", "Edit(docs/**)"]);
    let handed = handed(&scope, &all);
    assert_eq!([access(&handed, "src/a"), access(&handed, "docs/a"), access(&handed, "a")], [WRITE, WRITE, READ]);
}

/// CF-31
#[test]
fn what_grants_cannot_say_is_not_handed_on() {
    let all = Grants::workspace(Access::ReadWrite);
    let files = handed(&listing(&["read", "Write(src/*.rs)", "Edit(*.md)"]), &all);
    assert_eq!([access(&files, "src/a.rs"), access(&files, "a.md")], [READ, READ]);
    assert_eq!(access(&handed(&listing(&["Read(src/*.rs)"]), &all), "src/a.rs"), None);
    assert_eq!(
        access(&handed(&listing(&["Bash(make:*)"]), &all), "a"),
        READ,
        "a command may write anything or nothing"
    );
    assert_eq!(access(&handed(&listing(&["Bash"]), &all), "a"), WRITE);
}

/// DEL-13
#[test]
fn a_power_without_a_tool_for_it_is_handed_on_as_it_was_granted() {
    let grants = Grants { http: "docs.rs".parse().ok().into_iter().collect(), ..Grants::workspace(Access::ReadWrite) };
    assert_eq!(handed(&listing(&["read"]), &grants), grants);
    assert_eq!(handed(&listing(&[]), &grants), grants);
}

/// CF-32
#[test]
fn what_is_asked_about_is_not_handed_on_without_a_question() {
    let ask = |rule: &str| ToolScope {
        permissions: Policy { ask: rules(&[rule]), default: Some(Decision::Allow), ..Policy::default() },
        ..ToolScope::default()
    };
    let all = Grants::workspace(Access::ReadWrite);
    assert_eq!(access(&handed(&ask("Write(src/**)"), &all), "src/a"), READ);
    assert_eq!(access(&handed(&ask("Read(.env)"), &all), ".env"), None);
    let all_but_bash = ToolScope { disallowed: rules(&["bash", "edit"]), ..ask("Write") };
    assert_eq!(access(&handed(&all_but_bash, &all), "a"), READ);
}

#[test]
fn hosts_and_commands_are_handed_on_as_far_as_the_rules_leave_them() {
    let grants = |http: &[&str], commands: &[&str]| Grants {
        http: http.iter().map(|host| host.parse().unwrap()).collect(),
        commands: commands.iter().map(|command| command.parse().unwrap()).collect(),
        ..Grants::default()
    };
    let scope = listing(&["WebFetch(domain:docs.rs)", "Bash(cargo test:*)", "Bash(git * x)"]);
    assert_eq!(handed(&scope, &grants(&["*"], &["*"])), grants(&["* docs.rs:*"], &["cargo test:*"]));
    let denying =
        ToolScope { disallowed: rules(&["WebFetch(domain:a.com)", "Bash(git push:*)"]), ..ToolScope::default() };
    let own = grants(&["a.com", "*.b.com"], &["git:*", "cargo:*"]);
    assert_eq!(handed(&denying, &own), grants(&["*.b.com"], &["cargo:*"]));
}
