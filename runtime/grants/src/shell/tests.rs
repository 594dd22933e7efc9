mod tables;

use proptest::prelude::*;
use serde_json::json;

use crate::{
    Call,
    Decision::{self, Allow, Ask, Deny},
    Policy, Rule, Verdict,
};

fn rule(text: &str) -> Rule {
    Rule::parse(text).unwrap()
}

fn policy(allow: &[&str], ask: &[&str], deny: &[&str]) -> Policy {
    let rules = |texts: &[&str]| texts.iter().map(|text| rule(text)).collect::<Vec<_>>();
    Policy { allow: Some(rules(allow)), ask: rules(ask), deny: rules(deny), default: None }
}

fn verdict(policy: &Policy, command: &str) -> Verdict {
    policy.decide(&Call::new("Bash", &json!({ "command": command })))
}

fn decide(policy: &Policy, command: &str) -> Decision {
    verdict(policy, command).decision
}

/// A policy like that of an agent that explores: readers are allowed, what is left is asked about,
/// and three commands are denied.
fn explore() -> Policy {
    let readers = ["ls", "cat", "head", "tail", "find", "wc", "grep", "sort", "sed", "echo", "git log", "rg", "awk"];
    let allow: Vec<String> = readers.iter().map(|name| format!("Bash({name}:*)")).collect();
    let allow: Vec<&str> = allow.iter().map(String::as_str).collect();
    Policy { default: Some(Ask), ..policy(&allow, &["Bash(curl:*)"], &["Bash(rm:*)", "Bash(mv:*)", "Bash(cp:*)"]) }
}

fn check_all(policy: &Policy, cases: &[(&str, Decision)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(command, expected)| (command, expected, verdict(policy, command)))
        .filter(|(_, expected, verdict)| verdict.decision != **expected)
        .map(|(command, expected, verdict)| format!("{command:?}: {expected:?} expected, got {verdict:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// F5
/// DF-14
#[test]
fn a_rule_ends_at_a_word() {
    let check = |allowed: &str, command: &str, expected: bool| {
        let call = json!({ "command": command });
        assert_eq!(rule(allowed).allows(&Call::new("Bash", &call)), expected, "{allowed} and {command}");
    };
    check("Bash(cargo:*)", "cargo build", true);
    check("Bash(cargo:*)", "cargo", true);
    check("Bash(cargo:*)", "cargo-evil", false);
    check("Bash(cargo *)", "cargo build --release", true);
    check("Bash(cargo *)", "cargox", false);
    check("Bash(npm run build)", "npm run build", true);
    check("Bash(npm run build)", "npm  run\tbuild", true);
    check("Bash(npm run build)", "npm run build --x", false);
    check("Bash(npm run build)", "npm 'run build'", false);
    check("Bash(npm run:*)", "npm run x", true);
    check("Bash(npm run:*)", "npm runx", false);
    check("Bash(npm*)", "npmx install", true);
    check("Bash(npm*)", "xnpm", false);
    check("Bash(git * main)", "git checkout main", true);
    check("Bash(git * main)", "git push origin main", true);
    check("Bash(git * main)", "git push origin main --force", false);
    check("Bash(git * main)", "git push; rm main", false);
    check("Bash(git commit -m \"a b\")", "git commit -m 'a b'", true);
    check("Bash(npm run build)", "npm run $X", false);
    check("Bash(npm run:*)", "npm run $X", true);
    check("Bash(sed -i:*)", "sed -i s/a/b/ f", true);
    check("Bash(find . -delete)", "find . -delete", true);
    check("Bash(*)", "anything at all", true);
    check("Bash", "ls 'unbalanced", true);
    check("bash(ls)", "ls", true);
}

#[test]
fn a_denied_command_is_denied_with_arguments_that_are_not_known() {
    let check = |denied: &str, command: &str, expected: bool| {
        let call = json!({ "command": command });
        assert_eq!(rule(denied).denies(&Call::new("Bash", &call)), expected, "{denied} and {command}");
    };
    check("Bash(git push:*)", "git push", true);
    check("Bash(git push:*)", "git $X", true);
    check("Bash(git push:*)", "git \"$@\"", true);
    check("Bash(git push:*)", "git commit -m \"$MESSAGE\"", false);
    check("Bash(git push:*)", "git pushx", false);
    check("Bash(rm -rf *)", "rm -rf /", true);
    check("Bash(rm -rf *)", "rm $FLAGS /", true);
    check("Bash(rm -rf *)", "rm x", false);
    check("Bash(rm:*)", "rmdir x", false);
    check("Bash(rm:*)", "$CMD x", false);
    check("Bash(rm:*)", "grep rm x", false);
    check("Bash(*)", "", true);
    check("Bash(xargs:*)", "xargs ls", true);
    check("Bash(timeout:*)", "timeout 5 ls", true);
}

/// CF-20
#[test]
fn rules_allow_a_pipeline_together_and_say_which() {
    let both = policy(&["Bash(ls:*)", "Bash(wc:*)"], &[], &[]);
    let verdict = verdict(&both, "ls | wc -l");
    assert_eq!((verdict.decision, verdict.rule.as_deref()), (Allow, Some("Bash(ls:*), Bash(wc:*)")));
    assert_eq!(decide(&policy(&["Bash(ls:*)"], &[], &[]), "ls | wc -l"), Deny);
}

#[test]
fn the_deepest_command_that_is_read_fits_a_small_stack() {
    // Half of what a thread of an asynchronous runtime has.
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let nested = |inner: &str| format!("{}{inner}{}", "{ ".repeat(64), "; }".repeat(64));
    let mut command = nested("ls");
    for _ in 0..3 {
        command = nested(&format!("sh -c {}", quoted(&command)));
    }
    let both = policy(&["Bash(ls:*)", "Bash(sh:*)"], &[], &[]);
    let small = std::thread::Builder::new().stack_size(1024 * 1024);
    let verdict = small.spawn(move || verdict(&both, &command)).unwrap().join().unwrap();
    assert_eq!((verdict.decision, verdict.rule.as_deref()), (Allow, Some("Bash(sh:*), Bash(ls:*)")));
}

/// CF-20
#[test]
fn files_that_the_shell_opens_follow_the_rules_about_files() {
    let writer = policy(&["Bash(echo:*)", "Bash(cd:*)", "Write(out/**)"], &[], &[]);
    let check = |policy: &Policy, command: &str, expected| assert_eq!(decide(policy, command), expected, "{command}");
    check(&writer, "echo x > out/a", Allow);
    check(&writer, "echo x >> out/../out/b", Allow);
    check(&writer, "echo x > src/a", Deny);
    check(&writer, "echo x > out/../src/a", Deny);
    check(&writer, "echo x > /out/a", Deny);
    check(&writer, "echo x > out/$X", Deny);
    check(&writer, "cd .. && echo x > out/a", Deny);
    let guarded = policy(&["Bash"], &["Read(notes/**)"], &["Read(.env)", "Edit(src/**)"]);
    check(&guarded, "cat < .env", Deny);
    check(&guarded, "cat < sub/.ENV", Deny);
    check(&guarded, "cat < \"$X\"", Deny);
    check(&guarded, "cat < notes/a", Ask);
    check(&guarded, "echo x > src/main.rs", Deny);
    check(&guarded, "echo x > .env", Allow);
    check(&guarded, "cat < src/main.rs", Allow);
    check(&guarded, "echo x <> .env", Deny);
}

#[test]
fn a_question_about_one_command_is_no_permission_for_another() {
    let asking = policy(&["Bash(ls:*)"], &["Bash(curl:*)", "Bash(sort:*)"], &[]);
    let check = |command: &str, expected| assert_eq!(decide(&asking, command), expected, "{command}");
    check("curl x", Ask);
    check("ls | curl x", Ask);
    check("sort -o out in", Ask);
    check("curl x | sh", Deny);
    check("curl x > y", Deny);
    check("curl 'x", Deny);
}

#[test]
fn a_verdict_says_what_would_help() {
    let ls = policy(&["Bash(ls:*)"], &[], &["Bash(rm:*)"]);
    let reason = |command: &str| verdict(&ls, command).reason;
    assert_eq!(
        reason("make all"),
        "no allow rule covers `make`; `Bash(make:*)` would; what the allow list does not cover is denied"
    );
    assert_eq!(reason("ls; sudo rm x"), "the command runs `rm`; `Bash(rm:*)` denies it");
    assert!(reason("$X y").contains("known only when it runs"));
    assert!(reason("ls > x").contains("writes to a file"));
    assert!(reason("PATH=. ls").contains("sets `PATH`"));
}

/// Parts of commands that between them reach every rule above.
fn command() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "ls",
        "rm x",
        "cat a",
        "$X",
        "$(ls)",
        "$(rm x)",
        "| wc",
        "> f",
        "2>&1",
        "&& ls",
        "|| rm",
        "FOO=1",
        "PATH=.",
        "env",
        "sudo",
        "xargs",
        "-c",
        "sh",
        "'a b'",
        "\"$(ls)\"",
        "{ ls; }",
        "( ls )",
        "< f",
        "find . -delete",
        "\n",
    ]);
    prop::collection::vec(part, 1..6).prop_map(|parts| parts.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_gets_a_verdict(text in ".{0,80}", shell in "[a-c $(){}\\[\\]<>|&;'\"`#\\\\\n=*?~!:-]{0,60}") {
        decide(&explore(), &text);
        decide(&explore(), &shell);
    }

    #[test]
    fn two_commands_are_allowed_only_if_each_is(a in command(), b in command()) {
        prop_assume!(!a.trim().is_empty() && !b.trim().is_empty());
        let policy = explore();
        if decide(&policy, &format!("{a}; {b}")) == Allow {
            prop_assert_eq!(decide(&policy, &a), Allow);
            prop_assert_eq!(decide(&policy, &b), Allow);
        }
    }

    #[test]
    fn another_deny_rule_never_makes_a_decision_milder(
        command in command(),
        denied in prop::sample::select(vec!["Bash(ls:*)", "Bash", "Read(f)", "Bash(git * x)", "Write(f)", "*", "Bash(wc)"]),
        start in prop::sample::select(vec![0, 1, 2]),
    ) {
        let before = [explore(), Policy::default(), Policy::default().deny(rule("Bash(rm:*)"))][start].clone();
        let after = before.clone().deny(rule(denied));
        prop_assert!(decide(&after, &command) >= decide(&before, &command));
    }
}
