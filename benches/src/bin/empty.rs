//! An empty program: what starting any process costs.

fn main() {}
