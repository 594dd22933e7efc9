//! The sources and the compiler that a program is built from, as variables for `commands/version.rs`. A variable that
//! is not set is unknown: sources without git, as in an archive, build as well.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

/// The parts of a clone that end up in the program.
const SOURCES: [&str; 6] = ["Cargo.lock", "Cargo.toml", "agents", "guest-tools", "runtime", "wit"];

/// Sets the variables, and has cargo ask again when a commit is made or a source is changed.
pub(crate) fn tell(root: &Path) {
    set("TARGET", env::var("TARGET").ok());
    set("PROFILE", env::var("PROFILE").ok());
    set("RUSTC", env::var_os("RUSTC").and_then(|rustc| output(Command::new(rustc).arg("--version"))));
    set("WASMTIME", fs::read_to_string(root.join("Cargo.lock")).ok().and_then(|lock| locked(&lock, "wasmtime")));
    // A clone that merely surrounds the sources says nothing about them.
    let clone = git(root, &["rev-parse", "--show-toplevel"]).and_then(|path| fs::canonicalize(path).ok());
    if clone.is_some() && clone == fs::canonicalize(root).ok() {
        set("COMMIT", git(root, &["rev-parse", "HEAD"]));
        set("COMMIT_DATE", git(root, &["show", "--no-patch", "--date=iso-strict-local", "--format=%cd", "HEAD"]));
        let changes = git(root, &[&["status", "--porcelain", "--"][..], &SOURCES].concat());
        set("DIRTY", changes.map(|changes| (!changes.is_empty()).to_string()));
        watch_commits(root);
    }
    for source in SOURCES {
        watch(&root.join(source));
    }
}

/// Watches the commit that is checked out. In a worktree its files are elsewhere, and git says where.
fn watch_commits(root: &Path) {
    let branch = git(root, &["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
    // The log changes with each commit, also when the branch has no file of its own yet.
    for name in ["HEAD", "logs/HEAD", &branch].into_iter().filter(|name| !name.is_empty()) {
        if let Some(path) = git(root, &["rev-parse", "--git-path", name]) {
            watch(&root.join(path));
        }
    }
}

/// A file that is not there would have cargo ask at every build.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

fn set(name: &str, value: Option<String>) {
    if let Some(value) = value {
        println!("cargo::rustc-env=PALISADE_BUILD_{name}={value}");
    }
}

/// The version of a package in a lock file.
fn locked(lock: &str, package: &str) -> Option<String> {
    let (_, after) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    after.split('"').next().map(str::to_owned)
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    // A hook of another repository may have set these. Reading must not touch the index, which others may hold.
    let mut command = Command::new("git");
    command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE").env("TZ", "UTC");
    output(command.arg("--no-optional-locks").arg("-C").arg(root).args(arguments))
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = output.status.success().then(|| String::from_utf8(output.stdout).ok())??;
    Some(text.trim().to_owned())
}
