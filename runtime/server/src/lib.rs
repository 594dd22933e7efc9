//! Agents over HTTP, for many tenants.
//!
//! A request comes in through `listen.rs` (how much of it, how slowly), `guard.rs` (for which host, from which page) and
//! `entry.rs` (with which key: the tenant comes from the key and from nowhere else). `routes/` says what there is;
//! `runs.rs` has agents work on something and writes down what happens, so that `stream.rs` can tell it to whoever
//! asks, from any moment on. What agents there are and what they may do is behind [`House`], which the rest of the
//! program implements.

mod admission;
mod app;
mod body;
mod compat;
mod description;
mod entry;
mod guard;
mod house;
mod listen;
mod metrics;
mod page;
mod problem;
mod rate;
mod routes;
mod runs;
mod stream;

pub use app::{App, Settings};
pub use entry::{KeySecret, Scope};
pub use house::{AgentCard, House, NewSecret, Quotas, Refused, SecretCard, ToolCard};
pub use listen::{Bounds, listen, serve};
