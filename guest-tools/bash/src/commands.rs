//! The commands that this shell brings itself: those that the interpreter lacks or does differently, and
//! those that read a file as they go, where the interpreter would hold all of it.

mod cat;
mod cp;
mod cut;
mod destinations;
mod diff;
mod ends;
mod granted;
mod grep;
mod input;
mod inputs;
mod ls;
mod mv;
mod nested;
mod options;
mod output;
mod plainly;
mod rm;
mod seq;
mod tee;
mod uniq;
mod wc;
mod yes;

use bashkit::BashBuilder;

pub(crate) use granted::add as add_granted;

/// Commands of the interpreter that are left out: for a network, a user or a machine that is not there,
/// those that no other shell has, and `make`, which only looks like the program.
pub(crate) const LEFT_OUT: [&str; 25] = [
    "assert", "busybox", "csv", "curl", "df", "dotenv", "free", "glob", "http", "json", "log", "man", "openssl",
    "pgrep", "pkill", "ps", "retry", "semver", "sudo", "template", "uptime", "users", "verify", "wget", "who",
];

/// Adds them.
pub(crate) fn add(builder: BashBuilder) -> BashBuilder {
    plainly::add(builder)
        .command("cat", cat::Cat)
        .command("cp", cp::Cp)
        .command("cut", cut::Cut)
        .command("diff", diff::Diff)
        .command("grep", grep::Grep)
        .command("head", ends::Ends::Head)
        .command("ls", ls::Ls)
        .command("mv", mv::Mv)
        .command("rm", rm::Rm)
        .command("seq", seq::Seq)
        .command("tail", ends::Ends::Tail)
        .command("tee", tee::Tee)
        .command("uniq", uniq::Uniq)
        .command("wc", wc::Wc)
        .command("yes", yes::Yes)
}
