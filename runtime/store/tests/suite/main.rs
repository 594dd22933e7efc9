//! What holds for every store, held against all of them; and what holds for one of them.

mod cluster;
mod conformance;
mod machine;
mod said;
