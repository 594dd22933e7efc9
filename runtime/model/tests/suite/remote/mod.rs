//! Every dialect over real HTTP on loopback: against a server of our own that fails as a script says,
//! and against one that somebody else wrote.

mod aimock;
mod anthropic;
mod cuts;
mod failures;
mod floods;
mod hostile;
mod keys;
mod openai;
mod recorded;
pub(crate) use super::server;
mod timeouts;
mod waits;
mod world;
