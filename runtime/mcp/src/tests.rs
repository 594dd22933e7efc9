//! The server over a pipe, spoken to in lines as a client writes them.

mod calls;
mod ends;
mod oddities;
mod sessions;
mod stage;
