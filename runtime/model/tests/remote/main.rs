//! Every dialect over real HTTP on loopback: against a server of our own that fails as a script says,
//! and against one that somebody else wrote.

#![expect(clippy::unwrap_used, reason = "a test stops where its own assumptions fail")]

mod aimock;
mod anthropic;
mod cuts;
mod failures;
mod floods;
mod hostile;
mod keys;
mod openai;
mod recorded;
#[path = "../server/mod.rs"]
mod server;
mod timeouts;
mod waits;
mod world;
