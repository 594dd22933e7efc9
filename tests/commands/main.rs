//! The program as its users meet it: the real binary, started on throw-away folders.

mod agents;
mod doctor;
mod explain;
mod hidden;
mod prove;
mod read_only;
mod real_model;
mod run;
mod tools;
mod world;
