//! An Oracle-compatible database instance whose shared memory you can see into.
fn main() {}
