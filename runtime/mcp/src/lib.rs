//! How Palisade speaks MCP, the Model Context Protocol: tools of agents, and agents, for the models of others.
//!
//! A [`Server`] offers toolboxes as they are: what a call may do was decided where they were made, and every call goes
//! the way of a run's ([`palisade_agent::Toolbox`]). This crate translates. It knows no sandbox, no files and no
//! terminal; [`serve`] speaks over whatever it is given to read from and write to.
//!
//! A [`Client`] is the other side: it speaks to a server of others, which may say anything, and turns what that says
//! into values that are bounded and errors that are typed.

mod agents;
mod client;
mod exchange;
mod hints;
mod line;
mod line_writer;
mod lines;
mod message;
mod server;
mod telling;

#[cfg(test)]
mod tests;

pub use agents::{AGENT_PREFIX, AgentOffer, AgentTool, Answer, Runs, Work};
pub use client::{Client, ClientError, Pieces, Posted, Posting, Said, Told};
pub use exchange::{Exchange, NEWEST, Outline, VERSIONS};
pub use hints::Hints;
pub use server::{Offer, ServeError, Server, serve};
