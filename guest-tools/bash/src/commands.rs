//! The commands that this shell brings itself: those that the interpreter lacks or does differently, and
//! those that read a file as they go, where the interpreter would hold all of it.

mod cat;
mod cp;
mod cut;
mod destinations;
mod diff;
mod ends;
mod granted;
mod input;
mod inputs;
mod ls;
mod mv;
mod options;
mod output;
mod tee;
mod uniq;
mod wc;

use bashkit::BashBuilder;

/// Commands of the interpreter that are left out: for a network, a user or a machine that is not there,
/// and those that no other shell has.
pub(crate) const LEFT_OUT: [&str; 25] = [
    "assert", "busybox", "csv", "curl", "df", "dotenv", "free", "glob", "http", "json", "log", "man", "openssl",
    "pgrep", "pkill", "ps", "retry", "semver", "sudo", "template", "uptime", "users", "verify", "wget", "who",
];

/// Adds them, and those that the agent was granted.
pub(crate) fn add(builder: BashBuilder) -> BashBuilder {
    let builder = builder
        .command("cat", cat::Cat)
        .command("cp", cp::Cp)
        .command("cut", cut::Cut)
        .command("diff", diff::Diff)
        .command("head", ends::Ends::Head)
        .command("ls", ls::Ls)
        .command("mv", mv::Mv)
        .command("tail", ends::Ends::Tail)
        .command("tee", tee::Tee)
        .command("uniq", uniq::Uniq)
        .command("wc", wc::Wc);
    granted::add(builder)
}
