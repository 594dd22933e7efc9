//! Models as their users meet them: the offline one, remote dialects against servers, and programs elsewhere.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests set up and inspect a world of their own")]

mod external;
mod offline;
mod outside;
mod remote;
mod server;
mod tree;
