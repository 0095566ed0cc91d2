//! Building blocks of joins: keys, hash tables of packed rows, Bloom filters.

pub mod bloom;
pub mod how;
pub mod keys;
pub mod row_key;
pub mod table;
