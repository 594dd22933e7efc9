//! Agents that ask agents, through the tools they have for it, with a crew and models made for the tests.

#![expect(clippy::unwrap_used, reason = "a test stops where its own assumptions fail")]

mod ask;
mod background;
mod desk;
mod events;
mod messages;
mod parallel;
mod pool;
mod queue;
mod revocation;
mod rights;
mod stage;
mod task;
mod trouble;
