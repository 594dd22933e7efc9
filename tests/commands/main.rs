//! The program as its users meet it: the real binary, started on throw-away folders.

mod agents;
mod doctor;
mod explain;
mod prove;
mod run;
mod tools;
mod world;
