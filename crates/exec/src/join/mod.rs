//! What joins are made of: keys, hash tables of packed rows, Bloom filters.

pub mod bloom;
pub mod keys;
pub mod table;
