//! Guests against the host: one binary, one module per group of cases.
//!
//! The ids in front of the tests (`FS-03`, `RES-07`) are those of the case list of the threat model.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests set up and inspect a world of their own")]

mod api;
mod bash;
mod bash_commands;
mod bash_escapes;
mod bash_session;
mod bounds;
mod cache;
mod compile;
mod components;
mod crash_table;
mod crowds;
mod delegation;
mod escapes;
mod examples;
mod exec;
mod folders;
mod foreign;
mod hidden;
mod hostile_model;
mod layout;
mod limits;
mod links;
mod names;
mod net;
mod net_addresses;
mod net_answers;
mod net_verdicts;
mod one_step;
mod plugins;
mod protected;
mod quotas;
mod requirements;
mod runner;
mod scratch;
mod secrets;
mod stops;
