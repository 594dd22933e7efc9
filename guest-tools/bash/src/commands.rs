//! The commands that this shell brings itself: those that the interpreter lacks or does differently, and
//! those that read a file as they go, where the interpreter would hold all of it.

mod cat;
mod cut;
mod granted;
mod head;
mod input;
mod ls;
mod mv;
mod options;
mod output;
mod tail;
mod tee;
mod uniq;
mod wc;

use bashkit::BashBuilder;

/// Commands of the interpreter that make no sense here: there is no network.
pub(crate) const LEFT_OUT: [&str; 3] = ["curl", "http", "wget"];

/// Adds them, and those that the agent was granted.
pub(crate) fn add(builder: BashBuilder) -> BashBuilder {
    let builder = builder
        .command("cat", cat::Cat)
        .command("cut", cut::Cut)
        .command("head", head::Head)
        .command("ls", ls::Ls)
        .command("mv", mv::Mv)
        .command("tail", tail::Tail)
        .command("tee", tee::Tee)
        .command("uniq", uniq::Uniq)
        .command("wc", wc::Wc);
    granted::add(builder)
}
