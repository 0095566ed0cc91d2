//! Building blocks of joins: keys, hash tables of packed rows, Bloom filters.

pub mod bloom;
pub mod keys;
pub mod table;
