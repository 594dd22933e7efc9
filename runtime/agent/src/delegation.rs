//! Agents that ask agents. What one may do is worked out by the host alone, from its definition and from what
//! the one that asks may do; a request is words and carries no rights.

mod crew;
mod seat;

pub use crew::{Crew, Equipment, Peer, Recruit, RecruitError};
pub use seat::{DelegationLimits, Seat};
