//! The program as its users meet it: the real binary, started on throw-away folders.

mod agents;
mod answers;
mod apart;
mod authoring;
mod chat;
mod components;
mod config;
mod delegation;
mod doctor;
mod events;
mod examples;
mod exec;
mod explain;
#[path = "../../runtime/cli/src/render/tests/glass.rs"]
mod glass;
mod hidden;
mod home;
mod mcp;
mod model;
mod offline;
mod outside;
mod plugin_tools;
mod plugins;
mod prove;
mod read_only;
mod real_model;
mod revocation;
mod run;
mod running;
mod sessions;
mod shell;
mod skills;
mod terminal;
mod tools;
mod web;
mod world;
