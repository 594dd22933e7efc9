//! `bash` beside the real one: the same script over an equal tree prints the same and ends the same.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
};

use palisade_tests::{
    shell::{Ran, Shell},
    world::World,
};

const CASES: [&str; 2] = [include_str!("../cases/bash/language.txt"), include_str!("../cases/bash/tools.txt")];
const TREE: &str = include_str!("../cases/bash/tree.sh");
const DOCUMENT: &str = include_str!("../../docs/bash.md");

/// Cases are paragraphs.
pub(crate) fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").map(|case| case.trim_matches('\n')).filter(|case| !case.is_empty())
}

/// The scripts that the document says are known to differ.
fn known_differences() -> Vec<&'static str> {
    let (_, listed) = DOCUMENT.split_once("## Known differences").unwrap();
    let blocks = listed.split("```sh\n").skip(1);
    blocks.map(|block| block.split_once("\n```").unwrap().0).collect()
}

fn native(folder: &Path, script: &str) -> Ran {
    let mut bash = Command::new("/bin/bash");
    bash.args(["-c", script]).current_dir(folder).stdin(Stdio::null()).env_clear();
    bash.envs([("PATH", "/usr/bin:/bin"), ("LC_ALL", "C.UTF-8"), ("HOME", "/workspace"), ("TZ", "UTC")]);
    let output = bash.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(folder.to_str().unwrap(), "/workspace");
    Ran { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// Copies a tree with the times of its files.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&from).unwrap(), &to).unwrap();
        } else if kind.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
        if !kind.is_symlink() {
            File::open(&to).unwrap().set_modified(entry.metadata().unwrap().modified().unwrap()).unwrap();
        }
    }
}

/// Empties a folder and fills it with a copy of another.
fn refill(folder: &Path, template: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let remove = if entry.file_type().unwrap().is_dir() { fs::remove_dir_all } else { fs::remove_file };
        remove(entry.path()).unwrap();
    }
    copy(template, folder);
}

/// X11, F6. Also the other way round: a difference that is listed and no longer there fails.
#[test]
fn scripts_print_and_end_as_they_do_in_the_real_shell() {
    let world = World::new();
    let shell = Shell::load(&world);
    let folder = tempfile::tempdir().unwrap();
    let (template, beside) = (folder.path().join("template"), folder.path().join("workspace"));
    fs::create_dir(&template).unwrap();
    fs::create_dir(&beside).unwrap();
    assert_eq!(native(&template, TREE).code, 0);
    let known = known_differences();
    let cases: Vec<&str> = CASES.iter().flat_map(|text| paragraphs(text)).collect();
    let (mut compared, mut wrong) = (0, Vec::new());
    for script in cases.iter().chain(known.iter().filter(|script| !cases.contains(script))) {
        refill(&beside, &template);
        refill(&world.workspace(), &template);
        let real = native(&beside, script);
        let ours = shell.run(&world, script);
        let is_missing = real.stderr.contains(": command not found") && !ours.stderr.contains(": command not found");
        if is_missing {
            continue;
        }
        compared += 1;
        let same = (real.code, &real.stdout) == (ours.code, &ours.stdout);
        if same == known.contains(script) {
            let what = if same { "listed as a difference and there is none" } else { "different" };
            wrong.push(format!("--- {what}: {script}\nreal {real:?}\nours {ours:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} cases:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared >= 400, "only {compared} cases could be compared; some commands are not installed here");
}

/// DF-14. What is listed as a difference has a reason in front of it.
#[test]
fn every_known_difference_has_a_reason() {
    let (_, listed) = DOCUMENT.split_once("## Known differences").unwrap();
    let known = known_differences();
    assert!(!known.is_empty());
    for before in listed.split("```sh\n").take(known.len()) {
        let reason = before.rsplit("```").next().unwrap().trim();
        assert!(reason.len() > 30, "no reason before a difference: {reason:?}");
    }
}
