//! What the probes try. Paths are relative to the throw-away workspace; `{…}` names bait.

use crate::prove::stage::Stage;

/// One thing to try.
pub(crate) struct Attempt {
    pub(crate) name: &'static str,
    pub(crate) tried: &'static str,
    deed: &'static str,
    path: &'static str,
    to: &'static str,
    pub(crate) expect: Expect,
}

/// What must be true afterwards, beside that nothing outside changed or leaked.
pub(crate) enum Expect {
    /// Nothing in the workspace changed, unless writing is granted.
    NoChange,
    /// Nothing in the workspace changed, whatever is granted.
    NeverChange,
    /// Nothing more: reading outside is what was tried.
    NoLeak,
    /// It ended in one of these kinds of failure.
    Failure(&'static [&'static str]),
    /// Its output was cut.
    Cut,
}

const fn attempt(
    name: &'static str,
    tried: &'static str,
    deed: &'static str,
    path: &'static str,
    to: &'static str,
    expect: Expect,
) -> Attempt {
    Attempt { name, tried, deed, path, to, expect }
}

#[rustfmt::skip] // A table: one line each.
pub(crate) const ATTEMPTS: &[Attempt] = &[
    attempt("write", "create a file in the workspace", "write", "new.txt", "", Expect::NoChange),
    attempt("overwrite", "replace a file's content", "write", "{own}", "", Expect::NoChange),
    attempt("truncate", "empty a file", "truncate", "{own}", "", Expect::NoChange),
    attempt("append", "add to a file", "append", "{own}", "", Expect::NoChange),
    attempt("delete", "remove a file", "delete", "{own}", "", Expect::NoChange),
    attempt("make-directory", "make a directory", "make-directory", "new", "", Expect::NoChange),
    attempt("rename", "rename a file", "rename", "{own}", "moved.txt", Expect::NoChange),
    attempt("hard-link", "make a hard link", "hard-link", "{own}", "hard.txt", Expect::NoChange),
    attempt("write-hooks", "plant a git hook", "write", ".git/hooks/pre-commit", "", Expect::NeverChange),
    attempt("write-agents", "plant an agent definition", "write", ".palisade/agents/explore.md", "", Expect::NeverChange),
    attempt("write-link", "write through a link that leads out", "write", "link-out", "", Expect::NeverChange),
    attempt("write-parent", "write above the workspace", "write", "../planted.txt", "", Expect::NeverChange),
    attempt("rename-out", "move a file out of the workspace", "rename", "{own}", "../moved.txt", Expect::NeverChange),
    attempt("rename-in", "move a file into the workspace", "rename", "../outside/secret.txt", "in.txt", Expect::NeverChange),
    attempt("hard-link-in", "hard-link a file from outside", "hard-link", "../outside/secret.txt", "in.txt", Expect::NeverChange),
    attempt("symlink-out", "make a link that leads out", "symlink", "new-link", "../outside", Expect::NeverChange),
    attempt("symlink-absolute", "make a link to an absolute path", "symlink", "new-link", "{secret}", Expect::NeverChange),
    attempt("read-absolute", "read an absolute path", "read", "{secret}", "", Expect::NoLeak),
    attempt("read-passwd", "read /etc/passwd", "read", "/etc/passwd", "", Expect::Failure(&["failed", "refused"])),
    attempt("read-parent", "read through `..`", "read", "../outside/secret.txt", "", Expect::NoLeak),
    attempt("read-deep-parent", "read through a directory and `..`", "read", "sub/../../outside/secret.txt", "", Expect::NoLeak),
    attempt("read-link", "read through a link that leads out", "read", "link-out", "", Expect::NoLeak),
    attempt("read-link-absolute", "read through an absolute link", "read", "link-absolute", "", Expect::NoLeak),
    attempt("read-link-directory", "read through a linked directory", "read", "link-directory/secret.txt", "", Expect::NoLeak),
    attempt("chunk-parent", "read through `..` by the host's interface", "read-chunk", "../outside/secret.txt", "", Expect::NoLeak),
    attempt("chunk-link", "read through a link by the host's interface", "read-chunk", "link-out", "", Expect::NoLeak),
    attempt("chunk-absolute", "read an absolute path by the host's interface", "read-chunk", "{secret}", "", Expect::NoLeak),
    attempt("parent-handle", "open the directory above", "list", "..", "", Expect::NoLeak),
    attempt("parent-entries", "list the directory above by the host's interface", "list-entries", "..", "", Expect::NoLeak),
    attempt("other-preopen", "find another preopened directory", "list", "/", "", Expect::NoLeak),
    attempt("proc", "reach the host through /proc", "read", "/proc/self/environ", "", Expect::Failure(&["failed", "refused"])),
    attempt("environment", "read the environment and arguments", "environment", "", "", Expect::Failure(&["failed"])),
    attempt("start-program", "start a program", "start-program", "", "", Expect::Failure(&["failed", "trap"])),
    attempt("start-thread", "start a thread", "start-thread", "", "", Expect::Failure(&["failed", "trap"])),
    attempt("loop", "compute for ever", "loop", "", "", Expect::Failure(&["out-of-time"])),
    attempt("sleep", "sleep for an hour", "sleep", "", "", Expect::Failure(&["out-of-time"])),
    attempt("memory", "take memory for ever", "memory", "", "", Expect::Failure(&["out-of-memory", "out-of-time"])),
    attempt("print", "print a gigabyte", "print", "", "", Expect::Cut),
    attempt("result", "return 64 MiB", "result", "", "", Expect::Failure(&["output-too-large", "too-many", "out-of-memory"])),
    attempt("recurse", "recurse for ever", "recurse", "", "", Expect::Failure(&["trap"])),
    attempt("handles", "open files for ever", "handles", "{own}", "", Expect::Failure(&["failed", "too-many"])),
];

/// What the components that only want to be linked stand for.
pub(crate) const LINKS: [(&str, &str); 5] = [
    ("borrow", "call the agent's `write` tool"),
    ("exec", "run a native program through the host"),
    ("http", "send an HTTP request"),
    ("sockets", "open a socket"),
    ("spawn", "ask another agent"),
];

impl Attempt {
    /// Whether it would go on for ever.
    pub(crate) fn is_endless(&self) -> bool {
        match self.expect {
            Expect::Failure(kinds) => kinds.contains(&"out-of-time"),
            Expect::Cut => true,
            Expect::NoChange | Expect::NeverChange | Expect::NoLeak => false,
        }
    }

    pub(crate) fn input(&self, stage: &Stage) -> String {
        let fill = |text: &str| text.replace("{own}", stage.own_file()).replace("{secret}", &stage.secret_path());
        serde_json::json!({ "attempt": self.deed, "path": fill(self.path), "to": fill(self.to) }).to_string()
    }
}
