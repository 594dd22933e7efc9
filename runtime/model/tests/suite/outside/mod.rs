//! Agents outside of the sandbox, played by small programs that speak as the real ones do.

mod claude;
mod codex_and_pi;
mod endings;
mod world;
