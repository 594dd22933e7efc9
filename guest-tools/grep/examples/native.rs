//! Runs `grep` as a native program in the current directory, to compare it with the sandboxed one:
//! `cargo run --release -p palisade-tool-grep --example native -- '{"pattern":"fn main"}'`.
#![expect(clippy::print_stdout, reason = "the output is the point")]

fn main() {
    for input in std::env::args().skip(1) {
        match palisade_tool_grep::call(&input) {
            Ok(text) => println!("{text}"),
            Err(failure) => println!("{failure:?}"),
        }
    }
}
